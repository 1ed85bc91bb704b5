"""Saved models on footage, and errors without results: those of a run."""

import numpy as np
import pytest

from bgsub.background.model import BackgroundModel
from bgsub.errors import InputError, UsageError
from bgsub.outliers.errors_table import read_csv
from bgsub.pipeline.run import apply, fit_errors, model_errors, run
from bgsub.video.images import read_image, write_image
from bgsub.video.source import open_source
from tests.conftest import make_options


@pytest.fixture(scope="module")
def model(whole_run):
    return whole_run.out / "model.npz"


@pytest.fixture(scope="module")
def applied(whole_run, model, tmp_path_factory):
    """Of frames 27 to 42, of which the last ten show the visitor."""
    outputs = {"background", "mask", "errors", "model"}
    chosen = make_options(format="mkv", outputs=outputs, start=27, end=42)
    return apply(model, whole_run.path, tmp_path_factory.mktemp("applied") / "out", chosen)


class TestSameFootage:
    def test_background_and_masks_are_those_of_the_run(self, whole_run, applied, video):
        for name in ("background.mkv", "mask.mkv"):
            ours = video(applied.out / name).astype(int)
            theirs = video(whole_run.out / name).astype(int)[26:42]
            assert (ours != theirs).mean() < 1e-3
            if name == "background.mkv":
                assert np.abs(ours - theirs).max() <= 1

    def test_the_manifest_says_what_was_done(self, whole_run, applied, model):
        facts, of_run = applied.manifest, whole_run.result.manifest
        assert (facts["command"], facts["model"]) == ("apply", str(model))
        assert (facts["threshold"], facts["cutoff"]) == (of_run["threshold"], of_run["cutoff"])
        assert (applied.out / "model.npz").read_bytes() == model.read_bytes()

    def test_errors_without_results_are_those_that_it_writes(
        self, whole_run, applied, model, options
    ):
        written = read_csv(applied.out / "errors.csv")
        told = model_errors(model, whole_run.path, options()).table
        np.testing.assert_allclose(written.errors, told.errors[26:42], rtol=1e-8)
        fitted = fit_errors(whole_run.path, whole_run.options).table
        np.testing.assert_allclose(told.errors, fitted.errors, rtol=1e-4)
        np.testing.assert_array_equal(told.outliers, fitted.outliers)
        np.testing.assert_array_equal(told.frames, fitted.frames)
        np.testing.assert_allclose(told.times, fitted.times)
        assert told.pixels == fitted.pixels

    def test_a_fit_makes_the_errors_of_the_run_and_writes_nothing(self, whole_run):
        before = sorted(whole_run.out.parent.iterdir())
        table = fit_errors(whole_run.path, whole_run.options).table
        written = read_csv(whole_run.out / "errors.csv")
        np.testing.assert_allclose(table.errors, written.errors, rtol=1e-8)
        np.testing.assert_allclose(table.scores, written.scores, rtol=1e-6)
        np.testing.assert_array_equal(table.outliers, written.outliers)
        assert sorted(whole_run.out.parent.iterdir()) == before

    def test_progress_is_told_to_the_end(self, whole_run, model, options):
        told = []
        model_errors(model, whole_run.path, options(), progress=lambda *what: told.append(what))
        assert {stage for stage, _, _ in told} == {"errors"}
        assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
        assert told[-1][1] == told[-1][2]


class TestNewFootage:
    def test_a_visitor_is_found(self, model, scene, save, options):
        table = model_errors(model, save(scene(n=40, visit=25, seed=7)), options()).table
        assert table.outliers.tolist() == [False] * 25 + [True] * 15

    def test_a_single_frame(self, model, scene, save, tmp_path, options):
        frames, chosen = scene(n=1, visit=0), options(format="mkv", outputs={"errors", "mask"})
        counts = apply(model, save(frames), tmp_path / "out", chosen).manifest["frames"]
        assert (counts["used"], counts["outliers"]) == (1, 1)

    def test_threshold_and_cutoff_may_be_given(self, whole_run, model, tmp_path, options):
        chosen = options(outputs={"mask"}, threshold=50.0, cutoff=99.0, end=9)
        given = apply(model, whole_run.path, tmp_path / "b", chosen).manifest
        assert (given["threshold"], given["cutoff"]) == (50.0, 99.0)
        assert given["mask_model"] == "paper"

    def test_options_without_effect_are_named(self, scene, save, tmp_path, options):
        path = save(scene(12, visit=9))
        run(path, tmp_path / "fit", options(outputs={"model"}, model="paper"))
        chosen = options(outputs={"errors"}, sensitivity="high")
        with pytest.warns(UserWarning, match="makes nothing of --sensitivity"):
            apply(tmp_path / "fit", path, tmp_path / "out", chosen)

    def test_a_grey_model_reads_colour_footage_as_grey(self, scene, save, options, tmp_path, video):
        grey = scene(12, visit=9, color=False)
        run(save(grey), tmp_path / "model", options(outputs={"model"}))
        colour = np.repeat(grey[..., None], 3, axis=3)
        chosen = options(format="mkv", outputs={"background"})
        apply(tmp_path / "model" / "model.npz", save(colour), tmp_path / "out", chosen)
        assert video(tmp_path / "out" / "background.mkv", "gray").shape == grey.shape

    def test_a_model_of_compressed_video_on_more_of_it(
        self, scene, encode, options, tmp_path, video
    ):
        path, fit = encode(scene(12, visit=9)), tmp_path / "model"
        run(path, fit, options(outputs={"model", "background"}))
        chosen = options(outputs={"background", "foreground", "mask", "errors"})
        result = apply(fit, path, tmp_path / "out", chosen)
        assert result.manifest["frames"]["outliers"] == 3
        ours, theirs = (video(tmp_path / name / "background.mp4") for name in ("out", "model"))
        assert np.abs(ours.astype(int) - theirs).mean() < 1
        # Lossless results of a model of compressed video give the frames back.
        outputs = ["background", "foreground"]
        exact = options(format="png", foreground="signed", outputs=outputs, end=5)
        apply(fit, path, tmp_path / "new", exact)
        for number, frame in enumerate(open_source(path, end=5), 1):
            background, shown = (
                read_image(tmp_path / "new" / name / f"{number:06d}.png") for name in outputs
            )
            picture = frame.layout.to_bgr(frame.data)
            np.testing.assert_array_equal(background + shown - np.uint8(128), picture)

    def test_footage_of_the_models_size_is_cut_and_scaled_like_the_models(
        self, scene, save, options, tmp_path
    ):
        clip = save(scene(12, visit=9))
        run(clip, tmp_path / "fit", options(outputs=["model"], roi=(4, 4, 24, 20), scale=0.5))
        new = apply(tmp_path / "fit", clip, tmp_path / "new", options(outputs={"errors"}))
        assert new.manifest["frame_size"] == [12, 10]

    def test_scale_can_make_it_fit(self, model, scene, save, options):
        path = save(scene(n=3, height=48, width=64, visit=9))
        assert model_errors(model, path, options(scale=0.5)).table.frames.tolist() == [1, 2, 3]


class TestRefusals:
    @pytest.mark.parametrize("height", [24, 40])
    def test_another_size_names_both(self, height, model, scene, save, tmp_path, options):
        path = save(scene(n=3, height=height, width=64, visit=9))
        for call in (
            lambda: apply(model, path, tmp_path / "out", options()),
            lambda: model_errors(model, path, options()),
        ):
            with pytest.raises(InputError, match=f"64.{height}.*32.24.*or --scale or --roi") as err:
                call()
            assert "clip.npy" in str(err.value)
        assert not (tmp_path / "out").exists()

    def test_another_kind(self, scene, encode, images, tmp_path, options):
        run(encode(scene(12, visit=9)), tmp_path / "fit", options(outputs={"model"}))
        with pytest.raises(InputError, match=r"is read as bgr, but .*fit was fitted to yuv420"):
            apply(tmp_path / "fit", images(scene(n=3)), tmp_path / "out", options())

    def test_no_model(self, whole_run, tmp_path, options):
        with pytest.raises(InputError, match=r"clip\.npy: is not a model"):
            apply(whole_run.path, whole_run.path, tmp_path / "out", options())
        assert not (tmp_path / "out").exists()

    def test_what_a_model_has_already(self, whole_run, model, options, tmp_path):
        write_image(tmp_path / "mask.png", np.full((24, 32), 255, dtype=np.uint8))
        for match, chosen in (
            ("--mask-image", options(mask_image=str(tmp_path / "mask.png"))),
            ("--spectrum", options(outputs={"spectrum"})),
        ):
            with pytest.raises(UsageError, match=match):
                apply(model, whole_run.path, tmp_path / "new", chosen)


def test_what_a_fit_warns_of_is_said_in_words_of_the_command_line(save, options):
    path = save(np.full((20, 36, 48), 90, dtype=np.uint8))
    (note,) = fit_errors(path, options(k=1)).notes
    assert note == "the frames that were fitted are all alike: their background is a still"


def test_masks_of_a_saved_model_are_drawn_as_the_options_say(model, whole_run, options, tmp_path):
    chosen = options(outputs={"mask"}, min_area=77, end=9)
    assert apply(model, whole_run.path, tmp_path / "out", chosen).manifest["min_area"] == 77
    assert BackgroundModel.load(model).local is not None
