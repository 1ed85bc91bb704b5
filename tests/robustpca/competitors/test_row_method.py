from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from bgsub.robustpca.competitors.hrpca import HRPCA
from bgsub.robustpca.competitors.orpca import ORPCA
from bgsub.robustpca.competitors.outlier_pursuit import OutlierPursuit
from bgsub.robustpca.competitors.pca import PCA
from bgsub.robustpca.competitors.row_method import (
    coordinates,
    spatial_median,
)
from bgsub.robustpca.competitors.synthetic import data1
from tests.robustpca.helpers import both_spaces, contaminated, subspace_angle


@pytest.mark.parametrize("shape", [(30, 50), (50, 30), (12, 1)])
def test_coordinates_keep_all_distances(shape):
    X = contaminated(*shape)
    for space in both_spaces(X):
        points = coordinates(space).points
        np.testing.assert_allclose(cdist(points, points), cdist(X, X), atol=1e-6)


@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_coordinates_keep_small_rows_beside_huge_ones(scale):
    X = contaminated(30, 50)
    X[0] *= scale
    space, _ = both_spaces(X)
    points = coordinates(space).points
    np.testing.assert_allclose(
        cdist(points[1:], points[1:]), cdist(X[1:], X[1:]), rtol=1e-4, atol=1e-3
    )


@pytest.mark.parametrize("shape", [(30, 50), (50, 30)])
def test_a_fit_in_coordinates_is_one_of_the_rows(shape):
    X = contaminated(*shape)
    mean, Vt = X.mean(axis=0), np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2]
    rest = X - mean - (X - mean) @ Vt[:2].T @ Vt[:2]
    for space in both_spaces(X):
        points = coordinates(space)
        center = points.points.mean(axis=0)
        axes = points.principal(points.points - center, 2)
        fit = points.lifted(points.fit_of(center, axes, np.ones(shape[0], dtype=bool)))
        assert fit.rank == 2
        np.testing.assert_allclose(fit.residuals, (rest**2).sum(axis=1), atol=1e-8)
        # The space itself makes the same of these weights.
        stacked = space.project(np.column_stack([fit.basis, fit.weights]))
        scores = stacked[:, :-1] - fit.weights @ space.metric(fit.basis, stacked[:, :-1])
        np.testing.assert_allclose(scores, fit.scores, atol=1e-7)


def test_the_median_of_a_line_is_its_median():
    x = np.array([0.0, 1.0, 5.0, 6.0, 100.0])
    np.testing.assert_allclose(spatial_median(x[:, None]), [5.0], atol=1e-6)


def test_the_median_may_be_a_row_that_most_share():
    points = np.vstack([np.tile([1.0, 2.0, 3.0], (6, 1)), np.eye(3) * 50])
    np.testing.assert_allclose(spatial_median(points), [1.0, 2.0, 3.0], atol=1e-6)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 20))
def test_no_other_point_is_nearer_to_all_rows_than_the_median(seed, n):
    rng = np.random.default_rng(seed)
    points = rng.standard_t(2, size=(n, 3))
    median = spatial_median(points)

    def cost(center):
        return np.linalg.norm(points - center, axis=1).sum()

    others = [median + step for step in 0.01 * rng.normal(size=(20, 3))]
    assert cost(median) <= min(cost(other) for other in [*others, *points]) * (1 + 1e-6)


def test_outlier_scores_tell_outliers_even_after_pca():
    X = contaminated(40, 60, share=0.05)
    X[:2] += 100
    fit = PCA(1).fit(X)
    assert fit.outlier_scores_.shape == (40,)
    assert np.isfinite(fit.outlier_scores_).all()


METHODS = {
    "ORPCA": lambda: ORPCA(3, support_fraction=0.7),
    "ORPCA, λ given": lambda: ORPCA(3, lam=1.0),
    "outlier pursuit, rank": lambda: OutlierPursuit(3, lam="rank", tol=1e-3),
    "outlier pursuit, paper": lambda: OutlierPursuit(3, lam="paper"),
    "HRPCA": lambda: HRPCA(3, support_fraction=0.7, random_state=0),
}


@pytest.mark.parametrize("direction", ["random", "one pixel", "in the plane"])
@pytest.mark.parametrize("p", [20, 100])
@pytest.mark.parametrize("method", METHODS)
def test_how_huge_a_row_is_does_not_matter_to_the_others(method, p, direction):
    """From some size on a row is as far as it can be: what it does to the rest stays the same."""
    data = data1(36, p, 3, outlier_share=0.2, random_state=0)
    X = data.X.copy()
    row = np.flatnonzero(data.labels)[0]
    if direction != "in the plane":
        X[row] = np.random.default_rng(1).normal(size=p) if direction == "random" else 0.0
        X[row, 3] += 1.0
    far = X[row].copy()

    def fitted(size):
        X[row] = size * far
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return METHODS[method]().fit(X)

    expected = fitted(1e8)
    assert np.isfinite(expected.outlier_scores_).all()
    for size in (1e13, 1e60):
        fit = fitted(size)
        np.testing.assert_array_equal(fit.support_, expected.support_)
        assert fit.components_.shape == expected.components_.shape
        if len(fit.components_):
            assert subspace_angle(fit.components_, expected.components_) < 1e-4
        others = np.arange(len(X)) != row
        np.testing.assert_allclose(
            fit.outlier_scores_[others], expected.outlier_scores_[others], rtol=1e-3, atol=1e-3
        )
        np.testing.assert_allclose(fit.errors_[others], expected.errors_[others], rtol=1e-3)
