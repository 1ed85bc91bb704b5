from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from bgsub.robustpca.competitors.row_methods import HRPCA, PCA, coordinates, spatial_median
from tests.robustpca.helpers import both_spaces, contaminated, frames, subspace_angle


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


@pytest.mark.parametrize("shape", [(30, 50), (50, 30)])
def test_pca_is_the_svd(shape):
    X = contaminated(*shape)
    fit = PCA(4).fit(X)
    mean = X.mean(axis=0)
    _, singular, Vt = np.linalg.svd(X - mean, full_matrices=False)
    np.testing.assert_allclose(fit.center_, mean, atol=1e-12)
    np.testing.assert_allclose(np.abs(fit.components_ @ Vt[:4].T), np.eye(4), atol=1e-9)
    np.testing.assert_allclose((fit.scores_**2).sum(axis=0), singular[:4] ** 2, rtol=1e-9)
    assert fit.support_.all()
    assert fit.converged_


def test_more_components_begin_with_the_fewer():
    X = frames(40, 90)
    np.testing.assert_allclose(PCA(5).fit(X).components_[:2], PCA(2).fit(X).components_, atol=1e-9)


def test_signs_and_order_are_fixed():
    X = contaminated(30, 50)
    first, second = PCA(3).fit(X), PCA(3).fit(X[::-1])
    np.testing.assert_allclose(first.components_, second.components_, atol=1e-9)
    assert (np.diff(first.scores_.var(axis=0)) < 0).all()
    assert (np.take_along_axis(first.scores_, np.abs(first.scores_).argmax(0)[None], 0) > 0).all()


def test_pca_is_not_robust():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 60))
    U = np.linalg.svd(X)[2][:2]
    X[0] += 1000 * rng.normal(size=60)
    assert subspace_angle(PCA(2).fit(X).components_, U) > 0.5


def direct(X, k, t, removals, seed):
    """The algorithm of the paper on the matrix itself; rows are drawn from near to far."""
    near = np.argsort(np.linalg.norm(X - spatial_median(X), axis=1), kind="stable")[:t]
    M = X - X[near].mean(axis=0)
    M = M[np.argsort((M**2).sum(axis=1), kind="stable")]
    rng = np.random.default_rng(seed)
    left = list(range(len(M)))
    best, best_axes, trace = -1.0, None, []
    for _ in range(removals + 1):
        U = np.linalg.svd(M[left], full_matrices=False)[2][:k]
        variance = np.sort((M @ U.T) ** 2, axis=0)[:t].sum() / t
        trace.append(variance)
        if variance > best:
            best, best_axes = variance, U
        lengths = ((M[left] @ U.T) ** 2).sum(axis=1)
        cumulated = np.cumsum(lengths)
        drawn = np.searchsorted(cumulated, rng.random() * cumulated[-1], side="right")
        left.pop(int(drawn))
    return best_axes, best, int(np.argmax(trace))


@pytest.mark.parametrize("shape", [(30, 50), (40, 12)])
@pytest.mark.parametrize("seed", [0, 1])
def test_same_removals_as_the_direct_method_on_the_matrix(shape, seed):
    X = contaminated(*shape)
    n = shape[0]
    t = round(0.7 * n)
    fit = HRPCA(3, support_fraction=0.7, random_state=seed).fit(X)
    U, best, removed = direct(X, 3, t, 2 * (n - t), seed)
    assert fit.n_removed_ == removed
    assert fit.robust_variance_ == pytest.approx(best, rel=1e-9)
    assert subspace_angle(fit.components_, U) < 1e-6
    assert fit.n_iter_ == 2 * (n - t)
    assert fit.support_.sum() == t


@pytest.mark.parametrize("max_removals", [None, 20])
def test_all_rows_in_the_support_is_pca(max_removals):
    X = contaminated(30, 50)
    fit = HRPCA(3, support_fraction=1.0, max_removals=max_removals, random_state=0).fit(X)
    pca = PCA(3).fit(X)
    np.testing.assert_allclose(fit.center_, pca.center_, atol=1e-9)
    np.testing.assert_allclose(fit.components_, pca.components_, atol=1e-8)
    assert fit.n_removed_ == 0


@pytest.mark.parametrize("shape", [(60, 40), (60, 90)])
def test_exact_low_rank_with_gross_rows_is_recovered(shape):
    rng = np.random.default_rng(2)
    L = rng.normal(size=(60, 2)) @ rng.normal(size=(2, shape[1]))
    X = L.copy()
    X[:6] += 1000 * rng.normal(size=(6, shape[1]))
    fit = HRPCA(2, support_fraction=54 / 60, random_state=0).fit(X)
    np.testing.assert_array_equal(np.flatnonzero(~fit.support_), np.arange(6))
    np.testing.assert_allclose(fit.reconstruct(L), L, atol=1e-6)


def test_a_seed_fixes_the_result():
    X = contaminated(40, 60)
    first = HRPCA(3, random_state=5).fit(X)
    second = HRPCA(3, random_state=5).fit(X)
    np.testing.assert_array_equal(first.components_, second.components_)


def test_a_negative_number_of_removals_is_refused():
    with pytest.raises(ValueError, match="max_removals=-1"):
        HRPCA(2, max_removals=-1).fit(np.eye(5))
