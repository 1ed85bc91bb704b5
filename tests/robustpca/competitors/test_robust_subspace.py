from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse.linalg  # noqa: F401 - what libraries take is no part of a fit

from bgsub.errors import ConvergenceWarning
from bgsub.robustpca.competitors.pca import PCA
from bgsub.robustpca.competitors.robust_subspace import RobustSubspace, memory_bytes
from bgsub.robustpca.gram import ArrayColumns
from tests.robustpca.helpers import contaminated, frames, subspace_angle


def speckled(n=60, p=80, k=2, *, share=0.1, noise=0.05, seed=0):
    rng = np.random.default_rng(seed)
    L = 5 + rng.normal(size=(n, k)) @ rng.normal(size=(k, p))
    outlying = rng.random((n, p)) < share
    X = L + noise * rng.normal(size=(n, p))
    X[outlying] += rng.choice([-1, 1], outlying.sum()) * rng.uniform(5, 20, outlying.sum())
    return X, L, outlying


def objective(X, fit, sigma):
    squares = (X - fit.inverse_transform(fit.coefficients_)) ** 2
    return (squares / (squares + sigma**2)).sum()


@pytest.mark.parametrize("shape", [(30, 50), (50, 30)])
def test_a_huge_scale_is_pca(shape):
    X = contaminated(*shape)
    fit, pca = RobustSubspace(3, scale=1e7, tol=1e-10).fit(X), PCA(3).fit(X)
    np.testing.assert_allclose(fit.center_, pca.center_, atol=1e-6)
    np.testing.assert_allclose(fit.components_, pca.components_, atol=1e-6)
    np.testing.assert_allclose(fit.coefficients_, pca.scores_, atol=1e-5)


@pytest.mark.parametrize("shape", [(60, 80), (80, 60)])
def test_outlying_entries_do_not_matter(shape):
    X, L, outlying = speckled(*shape)
    fit = RobustSubspace(2, tol=1e-8).fit(X)
    background = fit.inverse_transform(fit.coefficients_)
    assert np.abs(background - L).max() < 0.2  # 4 σ of the noise
    clean = PCA(2).fit(np.where(outlying, L, X))
    ordinary = PCA(2).fit(X)
    angle = subspace_angle(fit.components_, clean.components_)
    assert angle < 0.02
    assert subspace_angle(ordinary.components_, clean.components_) > 10 * angle


def test_the_scale_is_that_of_the_noise_of_each_pixel():
    rng = np.random.default_rng(0)
    sigma = rng.uniform(0.5, 2.0, size=50)
    X = rng.normal(size=(400, 1)) @ rng.normal(size=(1, 50)) * 5 + sigma * rng.normal(
        size=(400, 50)
    )
    fit = RobustSubspace(1).fit(X)
    np.testing.assert_allclose(fit.scales_ / 2.5, sigma, rtol=0.25)


def test_the_objective_falls_and_no_neighbour_is_better():
    X, _, _ = speckled(40, 30)
    fit = RobustSubspace(2, scale=1.0, tol=1e-12, max_iter=2000).fit(X)
    reached = objective(X, fit, 1.0)
    assert reached == pytest.approx(fit.objective_, rel=1e-6)
    assert reached < objective(X, RobustSubspace(2, scale=1e7, tol=1e-9).fit(X), 1.0)
    # Stationary: no small step of the centre or of a component helps.
    rng = np.random.default_rng(0)
    for name in ("center_", "components_", "coefficients_"):
        value = getattr(fit, name).copy()
        for _ in range(10):
            setattr(fit, name, value + 1e-4 * rng.normal(size=value.shape))
            assert objective(X, fit, 1.0) > reached - 1e-6
        setattr(fit, name, value)


def test_without_annealing_it_starts_at_the_last_scale():
    X, _, _ = speckled()
    fit = RobustSubspace(2, scale=1.0, n_anneal=0, tol=1e-8).fit(X)
    annealed = RobustSubspace(2, scale=1.0, tol=1e-8).fit(X)
    assert fit.converged_
    assert fit.objective_ >= annealed.objective_ * (1 - 1e-3)


def test_constant_pixels_and_blocks(monkeypatch):
    X = frames(40, 300)
    X[:, 5] = 17
    whole = RobustSubspace(2).fit(X)
    monkeypatch.setattr("bgsub.robustpca.competitors.pixel_method._BLOCK_ELEMENTS", 1)
    blocks = RobustSubspace(2).fit(ArrayColumns(X))
    np.testing.assert_allclose(blocks.center_, whole.center_, atol=0.02)
    assert subspace_angle(blocks.components_, whole.components_) < 0.01
    assert whole.center_[5] == pytest.approx(17, abs=1e-3)
    assert (whole.scales_ > 0).all()


def test_not_converging_is_said():
    with pytest.warns(ConvergenceWarning, match="RobustSubspace did not converge in max_iter=3"):
        fit = RobustSubspace(2, max_iter=3).fit(speckled()[0])
    assert not fit.converged_


def test_memory_is_less_than_that_of_the_matrix_for_long_rows():
    assert memory_bytes(600, 1_000_000) < 4 * 600 * 1_000_000


@pytest.mark.parametrize(("n", "p"), [(700, 5000), (2000, 500)])
def test_a_fit_takes_the_memory_that_is_announced(n, p):
    X = np.random.default_rng(0).integers(0, 256, (n, p)).astype(np.float32)
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            RobustSubspace(3, max_iter=2, n_anneal=1).fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0.7 * memory_bytes(n, p, 3) <= peak <= memory_bytes(n, p, 3)


@pytest.mark.parametrize(("name", "value"), [("scale", 0.0), ("n_anneal", -1)])
def test_parameters_out_of_range_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name}="):
        RobustSubspace(2, **{name: value}).fit(np.eye(6))
