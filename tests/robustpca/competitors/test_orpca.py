from __future__ import annotations

import numpy as np
import pytest

from bgsub.errors import ConvergenceWarning
from bgsub.robustpca.competitors.orpca import ORPCA
from bgsub.robustpca.competitors.pca import PCA
from bgsub.robustpca.competitors.synthetic import data1
from tests.robustpca.helpers import contaminated, subspace_angle


def direct(X, k, lam, outliers=0.0, iterations=1000):
    """The paper's alternation on X: PCA without outliers, then these by shrinking residuals."""
    for _ in range(iterations):
        clean = X - outliers
        m = clean.mean(axis=0)
        U = np.linalg.svd(clean - m, full_matrices=False)[2][:k]
        rest = X - m - (X - m) @ U.T @ U
        lengths = np.linalg.norm(rest, axis=1)
        outliers = rest * np.maximum(1 - lam / 2 / lengths, 0)[:, None]
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
    again = ORPCA(5, lam=fit.lam_).fit(data.X)
    assert subspace_angle(again.components_, fit.components_) < 1e-3


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
