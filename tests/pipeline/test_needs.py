"""What a run has to compute follows from the outputs that are asked for, and nothing more."""

import pytest

from bgsub.fit.memory_need import ALL_FRAMES, AUTO_FIT_FRAMES
from bgsub.outliers.false_alarms import cutoff_for
from bgsub.pipeline.inputs import (
    chosen_cutoff,
    fit_settings,
    fitted_at_most,
    needs_fit,
    needs_masks,
    needs_objects,
    needs_pixels,
    scene_settings,
    videos_of,
)


def test_what_needs_a_fit(options):
    assert not needs_fit(options(outputs={"mask"}))
    assert not needs_fit(options(outputs={"mask", "scores"}))
    assert not needs_fit(options(outputs={"mask", "foreground"}, foreground="cutout"))
    assert needs_fit(options(outputs={"mask", "foreground"}))
    assert needs_fit(options(outputs={"mask", "errors"}))
    assert needs_fit(options(outputs={"mask"}, model="paper"))
    assert needs_fit(options(outputs={"mask"}, threshold=20))
    assert needs_fit(options(outputs={"mask"}, method="pca"))


def test_what_needs_masks(options):
    for outputs in ({"mask"}, {"scores", "errors"}, {"preview"}, {"model"}):
        assert needs_masks(options(outputs=outputs))
    assert needs_masks(options(outputs={"foreground"}, foreground="cutout"))
    assert not needs_masks(options(outputs={"errors", "plot"}))
    for outputs in ({"background"}, {"foreground"}):
        assert needs_masks(options(outputs=outputs))
        assert not needs_masks(options(outputs=outputs, model="paper"))


def test_what_needs_more_than_errors(options):
    assert not needs_pixels(options(outputs={"errors", "plot", "spectrum"}))
    assert needs_pixels(options(outputs={"errors", "model"}))


def test_what_needs_objects(options):
    for output in ("objects", "tracks", "events", "overlay", "preview"):
        assert needs_objects(options(outputs={output}))
    assert not needs_objects(options(outputs={"mask", "background", "errors"}))


def test_a_page_shows_the_input_too(options):
    assert videos_of(options(outputs={"mask", "errors"})) == {"mask"}
    assert videos_of(options(outputs={"mask", "report"})) == {"mask", "input"}


@pytest.mark.parametrize(
    ("given", "most"), [(None, AUTO_FIT_FRAMES), (300, 300), ("all", ALL_FRAMES)]
)
def test_how_many_frames_are_fitted(options, given, most):
    assert fitted_at_most(options(fit_frames=given)) == most


def test_a_rate_of_false_alarms_is_a_cutoff(options):
    assert chosen_cutoff(options()) is None
    assert chosen_cutoff(options(cutoff=7.5)) == 7.5
    assert chosen_cutoff(options(false_alarms=0.01)) == cutoff_for(0.01)


def test_settings_of_a_fit_say_what_is_drawn_of_it(options):
    settings = fit_settings(options(outputs={"spectrum"}, k=3, seed=5))
    assert (settings.k, settings.seed, settings.keep_choice, settings.plots) == (3, 5, True, False)


def test_settings_of_a_scene_name_no_kind_where_no_mask_is_wanted(options):
    assert scene_settings(options(outputs={"errors"})).kind is None
    local = scene_settings(options(outputs={"mask"}, shadows="keep", min_area=9))
    assert (local.kind, local.masks.shadows, local.masks.min_area) == ("local", "keep", 9)
    assert local.with_pixels
    assert scene_settings(options(outputs={"mask"}, threshold=20)).kind == "paper"
