"""Frames → fit → model, against TRPCA and the paper's formula in double precision."""

import numpy as np
import pytest

from bgsub import TRPCA
from bgsub.background.model import BackgroundModel
from bgsub.errors import UsageError
from bgsub.fit.frame_fit import check_rank
from bgsub.pipeline.run import fit_errors, run
from bgsub.video.frames import Layout


@pytest.mark.parametrize(("k", "n", "advice"), [(9, 9, "--k 1 or less"), (5, 12, "--k 2 or less")])
def test_a_rank_that_cannot_be_is_refused_with_advice(k, n, advice):
    with pytest.raises(UsageError, match=f"--k {k}.*{advice}"):
        check_rank(k, n)


def test_of_a_single_frame_the_frames_are_said_and_not_the_rank():
    with pytest.raises(UsageError, match=r"^1 frame is selected.*; select more frames$"):
        check_rank(1, 1)


@pytest.mark.parametrize(("k", "n"), [(1, 2), (3, 9), (4, 12)])
def test_the_largest_rank(k, n):
    check_rank(k, n)


def weights_of_backgrounds(fit):
    """A with x_b,i = Σ_j a_ij x_j, which holds on any version of the same frames."""
    weights = fit.center_weights_ + fit.scores_ @ fit.component_weights_.T
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-9)
    return weights


class TestBackground:
    def test_in_grey_is_m_plus_u_ut_x_minus_m(self, scene, save, options, tmp_path, video):
        frames = scene(color=False)
        chosen = options(format="mkv", outputs={"background"}, model="paper")
        run(save(frames), tmp_path / "out", chosen)
        rows = frames.reshape(len(frames), -1)
        fit = TRPCA(2, random_state=1).fit(rows)
        m, U = fit.center_, fit.components_.T
        expected = m + (rows - m) @ U @ U.T
        background = video(tmp_path / "out" / "background.mkv", "gray").reshape(rows.shape)
        assert np.abs(background - np.clip(expected, 0, 255)).max() <= 1

    def test_in_colour_is_the_same_mixture_of_frames_as_in_grey(
        self, whole_run, options, tmp_path, video
    ):
        frames = whole_run.frames
        layout = Layout("bgr", *frames.shape[1:3])
        luma = np.stack([layout.luma(layout.pack(np.ascontiguousarray(f))) for f in frames])
        fit = TRPCA(2, random_state=1).fit(luma.reshape(len(frames), -1))
        expected = weights_of_backgrounds(fit) @ frames.reshape(len(frames), -1)
        chosen = options(format="mkv", outputs={"background"}, model="paper")
        run(whole_run.path, tmp_path / "out", chosen)
        background = video(tmp_path / "out" / "background.mkv").reshape(len(frames), -1)
        assert np.abs(background - np.clip(expected, 0, 255)).max() <= 1

    def test_does_not_show_the_visitor(self, scene, save, options, tmp_path, video):
        frames, empty = scene(30, 36, 48, visit=20), scene(30, 36, 48, visit=99, noise=0)[..., ::-1]
        run(save(frames), tmp_path / "out", options(format="mkv", outputs={"background"}))
        background = video(tmp_path / "out" / "background.mkv")
        wrong, visited = (np.abs(f.astype(int) - empty) for f in (background, frames[..., ::-1]))
        assert visited[28, 11:18, 8:15].mean() > 60
        assert wrong[28, 11:18, 8:15].mean() < 10
        assert wrong[:20].mean() < 2


class TestModel:
    def test_holds_the_fit(self, whole_run, scene):
        model = BackgroundModel.load(whole_run.out / "model.npz")
        assert model.components.shape == (2, 4 * 24 * 32)
        assert model.support[:30].all()
        assert not model.support[32:].any()
        np.testing.assert_array_equal(model.frame_numbers, np.arange(1, 49))
        assert model.geometry == {"input_size": [32, 24], "roi": None, "scale": 1.0}
        assert model.threshold == whole_run.result.manifest["threshold"]

    def test_noise_is_that_of_the_luma_of_frames_without_a_visitor(
        self, scene, save, options, tmp_path
    ):
        chosen = options(outputs={"model"}, model="paper")
        run(save(scene(color=False, noise=3)), tmp_path / "out", chosen)
        noise = BackgroundModel.load(tmp_path / "out" / "model.npz").noise
        assert np.median(noise) == pytest.approx(3, rel=0.15)
        assert noise.min() > 0.75
        assert noise.max() < 7


def test_errors_are_those_of_the_estimator(scene, save, options):
    frames = scene(color=False)
    table = fit_errors(save(frames), options()).table
    fit = TRPCA(2, random_state=1).fit(frames.reshape(len(frames), -1))
    np.testing.assert_allclose(table.errors, fit.errors_, rtol=1e-9)
    assert table.outliers.tolist() == [False] * 32 + [True] * 16


def test_reweighting_can_be_switched_off(scene, save, options):
    frames = scene(color=False)
    table = fit_errors(save(frames), options(reweight=False)).table
    fit = TRPCA(2, random_state=1, reweight=False).fit(frames.reshape(len(frames), -1))
    np.testing.assert_allclose(table.errors, fit.errors_, rtol=1e-9)


def test_the_support_fraction_reaches_the_fit(scene, save, options):
    frames = scene(color=False)
    table = fit_errors(save(frames), options(support_fraction=1.0, reweight=False)).table
    fit = TRPCA(2, random_state=1, support_fraction=1.0, reweight=False)
    fit.fit(frames.reshape(len(frames), -1))
    np.testing.assert_allclose(table.errors, fit.errors_, rtol=1e-9)
