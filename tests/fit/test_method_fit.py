from __future__ import annotations

import numpy as np
import pytest

from bgsub.fit.method_fit import (
    FittedFrames,
    background_coefficients,
    ordinary_frames,
    regression_weights,
    truncated,
)
from bgsub.robustpca.competitors.methods import METHODS, Settings


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
    np.testing.assert_allclose(background, fit.low_rank_, atol=1e-3)
    assert np.abs(background - fit.reconstruct(X)).max() > 0.1


def test_backgrounds_of_robust_subspace_are_its_regressions(X):
    fit = METHODS["robust-subspace"].make(Settings(k=3)).fit(X)
    assert background_coefficients(fit) is fit.coefficients_


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
