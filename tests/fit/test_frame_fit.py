from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bgsub.background.model import BackgroundModel
from bgsub.errors import MemoryLimitError, UsageError
from bgsub.fit.frame_fit import (
    FittedFrames,
    background_coefficients,
    ordinary_frames,
    regression_weights,
    truncated,
)
from bgsub.options import RunOptions
from bgsub.pipeline.run import apply, run
from bgsub.robustpca.competitors import METHODS, Settings
from bgsub.video.images import read_image, write_image


@pytest.mark.parametrize("name", METHODS)
def test_run_with_any_method(name, scene, save, options, tmp_path, manifest_of):
    frames = scene(12, visit=9)
    path, out = save(frames), tmp_path / "out"
    outputs = {"errors", "model", "background"}
    chosen = {"outputs": outputs, "format": "png", "model": "paper"}
    run(path, out, options(method=name, k=2, **chosen))
    manifest = manifest_of(out)
    assert manifest["options"]["method"] == name
    assert manifest["converged"]
    assert ("objective" in manifest) == (name == "trpca")
    model = BackgroundModel.load(out / "model.npz")
    assert model.facts["method"] == name
    np.testing.assert_allclose(
        model.components[:, : model.layout.pixels] @ model.components[:, : model.layout.pixels].T,
        np.eye(2),
        atol=1e-4,
    )
    # Colours follow the luma: of a frame without visitor nothing but noise is left.
    background = read_image(out / "background" / "000005.png").astype(float)
    assert np.abs(background - frames[4][..., ::-1]).mean() < 6.0


def test_pixel_methods_respect_the_mask(scene, save, options, tmp_path):
    mask = np.full((24, 32), 255, dtype=np.uint8)
    mask[:7] = 0
    write_image(tmp_path / "mask.png", mask)
    out = tmp_path / "out"
    chosen = {"outputs": {"model"}, "model": "paper", "mask_image": str(tmp_path / "mask.png")}
    run(save(scene(24, visit=18)), out, options(method="pcp", **chosen))
    model = BackgroundModel.load(out / "model.npz")
    inside = model.components[:, : model.layout.pixels][:, mask.ravel() > 0]
    np.testing.assert_allclose(inside @ inside.T, np.eye(2), atol=1e-4)


def test_too_little_memory_for_the_pixels_is_said_before_any_work(
    scene, save, options, tmp_path, monkeypatch
):
    huge = replace(METHODS["pcp"], memory_bytes=lambda _n, _p, _k: 10**12)
    monkeypatch.setitem(METHODS, "pcp", huge)
    with pytest.raises(MemoryLimitError, match="needs at least 1001G"):
        run(save(scene(24, visit=18)), tmp_path / "out", options(method="pcp"))
    assert not (tmp_path / "out").exists()


class TestAutomaticRank:
    @pytest.mark.parametrize("name", ["trpca", "pca", "pcp"])
    def test_run_says_what_was_chosen_and_why(
        self, name, scene, save, options, tmp_path, manifest_of, caplog
    ):
        out = tmp_path / "out"
        with caplog.at_level("INFO", logger="bgsub.fit.frame_fit"):
            chosen = {"outputs": {"errors", "model"}, "model": "paper"}
            run(save(scene(16, visit=12)), out, options(k="auto", method=name, **chosen))
        manifest = manifest_of(out)
        choice = manifest["rank_choice"]
        # The scene sways in two dimensions.
        assert choice["rank"] == manifest["k"] == manifest["components"] == 2
        assert manifest["options"]["k"] == "auto"
        assert choice["reason"].startswith("component 2 explains")
        assert BackgroundModel.load(out / "model.npz").facts["k"] == 2
        lines = [record.getMessage() for record in caplog.records]
        assert [line for line in lines if line.startswith("--k auto: 2, as component 2 explains")]

    def test_it_gives_what_that_rank_gives(self, scene, save, options, tmp_path):
        path = save(scene(16, visit=12))
        for name, k in (("a", "auto"), ("b", 2)):
            run(path, tmp_path / name, options(k=k, outputs={"errors"}))
        first, second = ((tmp_path / name / "errors.csv").read_bytes() for name in "ab")
        assert first == second

    def test_a_rank_that_is_given_is_not_chosen(
        self, scene, save, options, tmp_path, manifest_of, monkeypatch
    ):
        monkeypatch.delattr("bgsub.fit.frame_fit.choose_rank")
        run(save(scene(24, visit=18)), tmp_path / "out", options(k=3, outputs={"errors"}))
        assert "rank_choice" not in manifest_of(tmp_path / "out")

    def test_the_spectrum_shows_both(self, scene, save, options, tmp_path, manifest_of):
        chosen = options(k=5, outputs={"spectrum"}, plot_format="svg")
        run(save(scene(16, visit=12)), tmp_path / "out", chosen)
        text = (tmp_path / "out" / "spectrum.svg").read_text(encoding="utf-8")
        assert "rank 2 chosen, 5 used" in text
        assert manifest_of(tmp_path / "out")["k"] == 5

    @pytest.mark.parametrize("n", [2, 3, 5])
    def test_few_frames(self, n, scene, save, options, tmp_path, manifest_of):
        run(save(scene(n=n)), tmp_path / "out", options(k="auto", outputs={"errors", "mask"}))
        assert manifest_of(tmp_path / "out")["rank_choice"]["rank"] == 1

    def test_a_constant_video(self, save, options, tmp_path, manifest_of):
        frames = np.full((9, 36, 48), 90, dtype=np.uint8)
        run(save(frames), tmp_path / "out", options(k="auto", outputs={"errors", "mask"}))
        manifest = manifest_of(tmp_path / "out")
        assert (manifest["k"], manifest["components"]) == (1, 0)

    def test_one_frame_is_too_few(self, scene, save, options, tmp_path):
        with pytest.raises(UsageError, match="npy: 1 frame is selected, but a background takes 2"):
            run(save(scene(n=1)), tmp_path / "out", options(k="auto"))

    @pytest.mark.parametrize("k", ["automatic", "10", 0, 2.5])
    def test_other_values_are_refused(self, k):
        with pytest.raises(UsageError, match="must be a whole number of 1 or more, or auto"):
            RunOptions(k=k)

    def test_memory_is_planned_for_the_most(self):
        assert (RunOptions().k_limit, RunOptions(k=3).k_limit) == (10, 3)

    def test_a_model_has_no_spectrum(self, options, tmp_path):
        with pytest.raises(UsageError, match="--spectrum: a model has its rank already"):
            apply(tmp_path / "m.npz", "x.avi", tmp_path / "out", options(outputs={"spectrum"}))
        assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module", name="X")
def matrix():
    rng = np.random.default_rng(0)
    low_rank = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 60)) * 20 + 100
    X = low_rank + rng.normal(size=(40, 60))
    X[rng.random(X.shape) < 0.03] += 60
    return X


@pytest.mark.parametrize("name", ["pcp", "pca"])
def test_a_truncated_fit_is_the_fit_with_fewer_components(X, name):
    large, small = (METHODS[name].make(Settings(k=k)).fit(X) for k in (4, 2))
    cut, own = truncated(large, 2), FittedFrames.of(small)
    np.testing.assert_allclose(cut.errors, own.errors, rtol=1e-6)
    np.testing.assert_allclose(cut.coefficients, own.coefficients, atol=1e-6)
    assert cut.location == pytest.approx(own.location, rel=1e-6)
    np.testing.assert_allclose(cut.outlier_scores, own.outlier_scores, rtol=1e-5)


def test_backgrounds_of_pcp_are_its_low_rank_part(X):
    fit = METHODS["pcp"].make(Settings(k=22)).fit(X)
    assert fit.rank_ <= 23
    background = fit.center_ + background_coefficients(fit) @ fit.components_
    np.testing.assert_allclose(background, (fit.left_ @ fit.right_), atol=1e-3)
    assert np.abs(background - fit.reconstruct(X)).max() > 0.1


def test_ordinary_frames_are_at_least_half():
    errors = np.arange(8.0)
    few = ordinary_frames(np.array([0, 20, 20, 20, 20, 20, 20, 20.0]), errors, 12.0)
    assert few.tolist() == [True] * 4 + [False] * 4
    many = ordinary_frames(np.array([0, 0, 0, 0, 0, 0, 0, 20.0]), errors, 12.0)
    assert many.tolist() == [True] * 7 + [False]


def test_regression_weights_are_affine_and_find_the_planes():
    rng = np.random.default_rng(1)
    coefficients, center, axes = (
        rng.normal(size=(30, 2)),
        rng.normal(size=9),
        rng.normal(size=(2, 9)),
    )
    planes = center + coefficients @ axes
    ordinary = np.arange(30) < 20
    planes[~ordinary] += 50
    weights, basis = regression_weights(coefficients, ordinary)
    assert weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(basis.sum(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(weights @ planes, center, atol=1e-10)
    np.testing.assert_allclose(basis.T @ planes, axes, atol=1e-10)
    assert not weights[~ordinary].any()
