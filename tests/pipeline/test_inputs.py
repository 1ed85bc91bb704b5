"""Inputs are opened in the layout that the outputs need, and plans follow from them."""

import logging

import pytest

from bgsub.background.model import BackgroundModel
from bgsub.errors import InputError, MemoryLimitError, UsageError
from bgsub.pipeline.inputs import load_for, memory_need, model_for, open_input, plan_run


@pytest.fixture
def clip(encode, scene):
    return encode(scene(n=40))


@pytest.mark.parametrize(
    ("outputs", "format_", "kind"),
    [
        ({"errors"}, "mp4", "gray"),
        ({"errors", "plot", "spectrum"}, "mkv", "gray"),
        ({"mask"}, "mp4", "yuv420"),
        ({"background"}, "mkv", "bgr"),
    ],
)
def test_colours_are_kept_where_an_output_shows_them(outputs, format_, kind, clip, options):
    assert open_input(clip, options(outputs=outputs, format=format_)).layout.kind == kind


def test_footage_is_read_as_that_of_a_model(whole_run, clip, options):
    model = BackgroundModel.load(whole_run.out / "model.npz")
    assert open_input(clip, options(outputs={"errors"}), like=model).layout == model.layout


def test_memory_counts_what_the_outputs_need(clip, options):
    def need(outputs, **changes):
        given = options(outputs=outputs, **changes)
        return memory_need(open_input(clip, given), given, 40)

    errors, masks, both = need({"errors"}), need({"mask"}), need({"mask", "errors"})
    assert (errors.fit, masks.fit, both.fit) == (True, False, True)
    assert (errors.local, errors.videos, errors.pictures) == (0, 0, False)
    assert masks.local == both.local > masks.local_sample > 0
    assert need({"scores"}).videos == 2 * need({"mask"}).videos == 2
    assert need({"background"}).local == masks.local
    assert need({"background"}, model="paper").local == 0
    assert need({"mask"}, model="paper").local == 0
    assert errors.kept == need({"mask"}, model="paper").kept == 0
    assert need({"mask"}, threads=2).kept == 2 * need({"mask"}, threads=1).kept > 0


def test_a_plan_is_said_where_there_was_a_choice_and_refused_where_none_fits(clip, options, caplog):
    with caplog.at_level(logging.INFO, "bgsub.notes"):
        plan_run(open_input(clip, options()), options(fit_frames=None))
        assert caplog.messages == []
    with pytest.raises(MemoryLimitError, match=r"clip\.mp4: needs at least"):
        plan_run(open_input(clip, options()), options(memory="2M"))


def test_a_model_takes_threshold_and_cutoff_that_are_given(whole_run, options):
    path = whole_run.out / "model.npz"
    model = load_for(path, options(threshold=9.0, cutoff=4.0))
    assert (model.threshold, model.cutoff) == (9.0, 4.0)
    with pytest.raises(UsageError, match="--spectrum"):
        load_for(path, options(outputs={"spectrum"}))


def test_footage_of_another_kind_is_refused(whole_run, scene, save, options):
    model = BackgroundModel.load(whole_run.out / "model.npz")
    grey = open_input(save(scene(n=3, color=False)), options(color="gray", format="mkv"))
    with pytest.raises(InputError, match=r"is read as gray, but .*model\.npz was fitted to bgr"):
        model_for(model, grey, whole_run.out / "model.npz")
