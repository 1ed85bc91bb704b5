"""Saved models on footage: the same as in the run on the same, and errors on new footage."""

import numpy as np
import pytest

from bgsub.errors import InputError
from bgsub.pipeline.run import apply, model_errors, run


class TestSameFootage:
    def test_apply_gives_the_background_and_the_masks_of_the_run(
        self, whole_run, tmp_path, options, video
    ):
        chosen = options(format="mkv", outputs={"background", "mask", "errors"})
        apply(whole_run.out / "model.npz", whole_run.path, tmp_path / "out", chosen)
        for name in ("background.mkv", "mask.mkv"):
            ours, theirs = (
                video(folder / name).astype(int) for folder in (tmp_path / "out", whole_run.out)
            )
            assert ours.shape == theirs.shape
            differ = ours != theirs
            assert differ.mean() < 1e-3
            if name == "background.mkv":
                assert np.abs(ours - theirs).max() <= 1


class TestNewFootage:
    def test_a_single_frame(self, whole_run, scene, save, tmp_path, options):
        chosen = options(format="mkv")
        result = apply(
            whole_run.out / "model.npz", save(scene(n=1, visit=0)), tmp_path / "out", chosen
        )
        assert result.manifest["frames"]["used"] == 1
        assert result.manifest["frames"]["outliers"] == 1

    def test_threshold_and_cutoff_are_those_of_the_model_unless_given(
        self, whole_run, tmp_path, options
    ):
        model = whole_run.out / "model.npz"
        kept = apply(model, whole_run.path, tmp_path / "a", options(outputs={"mask"}))
        assert kept.manifest["threshold"] == whole_run.result.manifest["threshold"]
        assert kept.manifest["cutoff"] == whole_run.result.manifest["cutoff"]
        chosen = options(outputs={"mask"}, threshold=50.0, cutoff=99.0)
        given = apply(model, whole_run.path, tmp_path / "b", chosen)
        assert (given.manifest["threshold"], given.manifest["cutoff"]) == (50.0, 99.0)

    def test_the_manifest_says_what_was_done(self, whole_run, tmp_path, options, manifest_of):
        model = whole_run.out / "model.npz"
        apply(model, whole_run.path, tmp_path / "out", options(outputs={"errors", "model"}))
        manifest = manifest_of(tmp_path / "out")
        assert (manifest["command"], manifest["model"]) == ("apply", str(model))
        assert (tmp_path / "out" / "model.npz").read_bytes() == model.read_bytes()


class TestRefusals:
    @pytest.mark.parametrize("height", [36, 40])
    def test_another_size_names_both(self, height, whole_run, scene, save, tmp_path, options):
        path = save(scene(n=3, height=height, width=64, visit=9))
        for call in (
            lambda: apply(whole_run.out / "model.npz", path, tmp_path / "out", options()),
            lambda: model_errors(whole_run.out / "model.npz", path, options()),
        ):
            with pytest.raises(InputError, match=f"64.{height}.*48.36") as caught:
                call()
            assert "clip.npy" in str(caught.value)
        assert not (tmp_path / "out").exists()

    def test_scale_can_make_it_fit(self, whole_run, scene, save, options):
        path = save(scene(n=3, height=72, width=96, visit=9))
        table = model_errors(whole_run.out / "model.npz", path, options(scale=0.5)).table
        assert table.frames.tolist() == [1, 2, 3]

    def test_no_model(self, whole_run, tmp_path, options):
        with pytest.raises(InputError, match=r"clip\.npy: is not a model"):
            apply(whole_run.path, whole_run.path, tmp_path / "out", options())
        assert not (tmp_path / "out").exists()


def test_a_grey_model_reads_colour_footage_as_grey(scene, save, options, tmp_path, video):
    grey = scene(color=False)
    run(save(grey), tmp_path / "model", options(outputs={"model"}))
    colour = np.repeat(grey[..., None], 3, axis=3)
    chosen = options(format="mkv", outputs={"background"})
    apply(tmp_path / "model" / "model.npz", save(colour), tmp_path / "out", chosen)
    assert video(tmp_path / "out" / "background.mkv", "gray").shape == grey.shape


def test_a_model_of_compressed_video_on_more_of_it(scene, encode, options, tmp_path, video):
    path = encode(scene())
    run(path, tmp_path / "model", options(outputs={"model", "background"}))
    chosen = options(outputs={"background", "foreground", "mask", "errors"})
    result = apply(tmp_path / "model" / "model.npz", path, tmp_path / "out", chosen)
    assert result.manifest["frames"]["outliers"] == 16
    ours, theirs = (video(tmp_path / name / "background.mp4") for name in ("out", "model"))
    assert np.abs(ours.astype(int) - theirs).mean() < 1
