from __future__ import annotations

import numpy as np
import pytest

from bgsub.errors import ConvergenceWarning, RankWarning
from bgsub.paper.curves import data1
from bgsub.robustpca.competitors.row_methods import PCA, spatial_median
from bgsub.robustpca.competitors.row_sparse import ORPCA, OutlierPursuit
from tests.robustpca.helpers import contaminated, subspace_angle


def direct(X, k, lam, outliers=0.0):
    """The paper's alternation on X: PCA without outliers, then these by shrinking residuals."""
    before = np.inf
    while np.abs(outliers - before).max() > 1e-12:
        clean = X - outliers
        m = clean.mean(axis=0)
        U = np.linalg.svd(clean - m, full_matrices=False)[2][:k]
        rest = X - m - (X - m) @ U.T @ U
        lengths = np.linalg.norm(rest, axis=1)
        before, outliers = outliers, rest * np.maximum(1 - lam / 2 / lengths, 0)[:, None]
    return m, U, outliers


def objective(X, m, U, lam):
    rest = X - m - (X - m) @ U.T @ U
    lengths = np.linalg.norm(rest, axis=1)
    outliers = rest * np.maximum(1 - lam / 2 / lengths, 0)[:, None]
    return ((rest - outliers) ** 2).sum() + lam * np.linalg.norm(outliers, axis=1).sum()


@pytest.mark.parametrize("shape", [(30, 50), (50, 12)])
@pytest.mark.parametrize("lam", [1.0, 6.0, 25.0])
def test_same_solution_as_the_papers_alternation_on_the_matrix(shape, lam):
    X = contaminated(*shape, share=0.2)
    fit = ORPCA(3, lam=lam, tol=1e-9).fit(X)
    reached = objective(X, fit.center_, fit.components_, lam)
    m, U, _ = direct(X, 3, lam)
    assert reached <= objective(X, m, U, lam) * (1 + 1e-6)
    # There are local minima: the alternation must stay at the one that was found.
    rest = X - fit.reconstruct(X)
    shares = np.maximum(1 - lam / 2 / np.linalg.norm(rest, axis=1), 0)[:, None]
    m, U, outliers = direct(X, 3, lam, rest * shares)
    assert objective(X, m, U, lam) == pytest.approx(reached, rel=1e-6)
    assert subspace_angle(fit.components_, U) < 1e-3
    # The centre is determined up to shifts along the subspace.
    np.testing.assert_allclose(fit.reconstruct(X), m + (X - m) @ U.T @ U, atol=1e-2)
    np.testing.assert_array_equal(~fit.support_, np.any(outliers != 0, axis=1))


@pytest.mark.parametrize("lam", [np.inf, 1e9])
def test_huge_lambda_is_pca(lam):
    X = contaminated(30, 50)
    fit, pca = ORPCA(3, lam=lam).fit(X), PCA(3).fit(X)
    np.testing.assert_allclose(fit.center_, pca.center_, atol=1e-9)
    np.testing.assert_allclose(fit.components_, pca.components_, atol=1e-8)
    assert fit.support_.all()
    assert fit.lam_ == lam


def test_all_rows_in_the_support_is_pca():
    X = contaminated(30, 50)
    fit = ORPCA(3, support_fraction=1.0).fit(X)
    np.testing.assert_allclose(fit.components_, PCA(3).fit(X).components_, atol=1e-8)


@pytest.mark.parametrize("share", [0.1, 0.25, 0.4])
@pytest.mark.parametrize("n_features", [20, 80])
def test_the_path_ends_with_exactly_n_minus_t_outliers(share, n_features):
    data = data1(200, n_features, 5, outlier_share=share, random_state=1)
    fit = ORPCA(5, support_fraction=1 - share).fit(data.X)
    assert (~fit.support_).sum() == round(200 * share)
    np.testing.assert_array_equal(fit.support_, data.labels)
    # Those whose distance is above λ/2, as for any λ.
    np.testing.assert_array_equal(fit.support_, np.sqrt(fit.errors_) <= fit.lam_ / 2 * (1 + 1e-4))
    # The least such λ: the t-th distance lies on the boundary.
    last = np.sqrt(np.sort(fit.errors_)[fit.support_.sum() - 1])
    assert last == pytest.approx(fit.lam_ / 2, rel=1.1e-4)
    assert subspace_angle(ORPCA(5, lam=fit.lam_).fit(data.X).components_, fit.components_) < 1e-3


@pytest.mark.parametrize("shape", [(40, 60), (60, 20)])
def test_exact_low_rank_with_gross_rows_is_recovered(shape):
    rng = np.random.default_rng(2)
    n, p = shape
    L = 3.0 + rng.normal(size=(n, 2)) @ rng.normal(size=(2, p))
    X = L.copy()
    X[:6] += 2 * rng.normal(size=(6, p))
    fit = ORPCA(2, support_fraction=(n - 6) / n).fit(X)
    np.testing.assert_array_equal(np.flatnonzero(~fit.support_), np.arange(6))
    np.testing.assert_allclose(fit.reconstruct(L), L, atol=1e-6)


def test_not_converging_is_said():
    with pytest.warns(ConvergenceWarning, match="ORPCA did not converge in max_iter=3"):
        fit = ORPCA(3, max_iter=3, tol=1e-12).fit(contaminated(30, 50))
    assert not fit.converged_


def corrupted(n, p, rank, outliers, *, seed=0):
    """Exact low-rank rows and outliers, in pairs ±x: the spatial median is 0, as in the theory."""
    rng = np.random.default_rng(seed)
    L = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, p))
    X = L.copy()
    X[:outliers] = rng.normal(scale=3, size=(outliers, p))
    X[1::2], L[1::2] = -X[::2], -L[::2]
    return X, L


def alternating(M, lam, iterations=4000):
    """Plain alternating directions on the matrix itself, with the SVD of every iterate."""
    beta = 1 / np.median(np.linalg.svd(M, compute_uv=False))
    C, Y = np.zeros_like(M), np.zeros_like(M)
    for _ in range(iterations):
        U, s, Vt = np.linalg.svd(M - C + Y / beta, full_matrices=False)
        L = (U * np.maximum(s - 1 / beta, 0)) @ Vt
        R = M - L + Y / beta
        C = R * np.maximum(1 - lam / beta / np.linalg.norm(R, axis=1), 0)[:, None]
        Y += beta * (M - L - C)
    return L, C


def convex_objective(L, C, lam):
    return np.linalg.norm(L, "nuc") + lam * np.linalg.norm(C, axis=1).sum()


@pytest.mark.parametrize(("shape", "lam"), [((20, 35), 0.45), ((30, 12), 0.6)])
def test_same_solution_as_the_direct_method_on_the_matrix(shape, lam):
    X = contaminated(*shape, share=0.2)
    M = X - spatial_median(X)
    L, C = alternating(M, lam, 1500)
    fit = OutlierPursuit(2, lam=lam, tol=1e-8, max_iter=5000).fit(X)
    assert fit.objective_ == pytest.approx(convex_objective(L, C, lam), rel=1e-5)
    assert subspace_angle(fit.components_, np.linalg.svd(L)[2][:2]) < 1e-4
    np.testing.assert_allclose(fit.center_, spatial_median(X), atol=1e-6)


@pytest.mark.parametrize("outliers", [2, 6, 12])
@pytest.mark.parametrize("shape", [(60, 80), (60, 40)])
def test_finds_exactly_the_corrupted_rows_below_breakdown(outliers, shape):
    X, L = corrupted(*shape, 2, outliers)
    fit = OutlierPursuit(2, lam=0.4, tol=1e-8).fit(X)
    np.testing.assert_array_equal(np.flatnonzero(~fit.support_), np.arange(outliers))
    assert subspace_angle(fit.components_, np.linalg.svd(L)[2][:2]) < 1e-6


def test_exact_low_rank_with_gross_rows_is_recovered_without_lambda():
    X, L = corrupted(60, 80, 2, 6)
    fit = OutlierPursuit(2, support_fraction=54 / 60, tol=1e-8).fit(X)
    np.testing.assert_array_equal(np.flatnonzero(~fit.support_), np.arange(6))
    np.testing.assert_allclose(fit.reconstruct(L), L, atol=1e-6)


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_lambda_is_found_so_that_n_minus_t_rows_are_outliers(share):
    data = data1(100, 20, 3, outlier_share=share, random_state=1)
    fit = OutlierPursuit(3, support_fraction=1 - share).fit(data.X)
    assert (~fit.support_).sum() <= round(100 * share)
    lower = OutlierPursuit(3, lam=0.85 * fit.lam_).fit(data.X)
    assert (~lower.support_).sum() > round(100 * share)


def test_lambda_is_found_so_that_the_rank_is_k():
    data = data1(100, 20, 3, outlier_share=0.3, random_state=1)
    fit = OutlierPursuit(3, lam="rank").fit(data.X)
    assert fit.rank_ >= 3
    lower = OutlierPursuit(1, lam=0.85 * fit.lam_).fit(data.X)
    assert lower.rank_ < 3


def test_lambda_from_the_largest_leverage_on_is_pca_about_the_median():
    X = contaminated(30, 50)
    fit = OutlierPursuit(3, lam=1.0).fit(X)
    assert fit.support_.all()
    M = X - spatial_median(X)
    assert subspace_angle(fit.components_, np.linalg.svd(M)[2][:3]) < 1e-6
    assert fit.objective_ == pytest.approx(np.linalg.norm(M, "nuc"))


def test_tiny_lambda_leaves_nothing_to_the_low_rank_part():
    with pytest.warns(RankWarning, match="rank 0"):
        fit = OutlierPursuit(3, lam=0.01).fit(contaminated(30, 50))
    assert fit.components_.shape == (0, 50)
    assert not fit.support_.any()
    assert np.isfinite(fit.outlier_scores_).all()


def test_a_search_without_result_is_said():
    X = np.random.default_rng(0).normal(size=(30, 200))
    with pytest.warns(ConvergenceWarning, match="rows of C are not zero, more than n − t = 3"):
        fit = OutlierPursuit(3, support_fraction=0.9).fit(X)
    assert not fit.converged_


def test_outlier_pursuit_that_does_not_converge_says_so():
    with pytest.warns(ConvergenceWarning, match="OutlierPursuit did not converge in max_iter=3"):
        OutlierPursuit(2, lam=0.4, max_iter=3).fit(contaminated(30, 50))


def test_an_unknown_rule_for_lambda_is_refused():
    with pytest.raises(ValueError, match="lam='other'"):
        OutlierPursuit(2, lam="other").fit(np.eye(5))
