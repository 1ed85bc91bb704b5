from __future__ import annotations

import numpy as np
import pytest

from bgsub.robustpca.competitors.hrpca import HRPCA, trimmed_mean
from bgsub.robustpca.competitors.pca import PCA
from bgsub.robustpca.competitors.row_method import spatial_median
from tests.robustpca.helpers import contaminated, subspace_angle


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


def test_the_trimmed_mean_ignores_what_is_far():
    points = np.random.default_rng(0).normal(size=(20, 3))
    moved = points.copy()
    moved[:5] += 1e6
    np.testing.assert_allclose(trimmed_mean(moved, 15), points[5:].mean(axis=0))


def test_a_negative_number_of_removals_is_refused():
    with pytest.raises(ValueError, match="max_removals=-1"):
        HRPCA(2, max_removals=-1).fit(np.eye(5))
