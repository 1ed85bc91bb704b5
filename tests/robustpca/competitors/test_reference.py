from __future__ import annotations

import numpy as np
import pytest

from bgsub.robustpca.competitors.reference import algorithm1, random_orthonormal, residuals
from bgsub.robustpca.median import column_median
from tests.robustpca.helpers import contaminated


@pytest.mark.parametrize("p", [3, 5, 40])
def test_random_orthonormal_is_uniform(p):
    rng = np.random.default_rng(0)
    draws = np.stack([random_orthonormal(p, 3, rng) for _ in range(3000)])
    identity = np.broadcast_to(np.eye(3), (3000, 3, 3))
    np.testing.assert_allclose(np.einsum("spk,spl->skl", draws, draws), identity, atol=1e-12)
    np.testing.assert_allclose(draws.mean(axis=0), 0.0, atol=5 / np.sqrt(3000 * p))
    second = np.einsum("spk,sqk->pq", draws, draws) / 3000
    np.testing.assert_allclose(second, 3 / p * np.eye(p), atol=0.15 / p + 0.01)


def test_residuals_are_squared_distances_to_the_affine_subspace():
    rng = np.random.default_rng(0)
    X, m, U = rng.normal(size=(6, 8)), rng.normal(size=8), random_orthonormal(8, 2, rng)
    nearest = [np.linalg.lstsq(U, x - m, rcond=None)[0] for x in X]
    expected = [((x - m - U @ y) ** 2).sum() for x, y in zip(X, nearest, strict=True)]
    np.testing.assert_allclose(residuals(X, m, U), expected)


def test_every_row_as_support_leads_to_the_pca():
    X = contaminated(40, 15, share=0.0)
    U = random_orthonormal(15, 3, np.random.default_rng(1))
    descent = algorithm1(X, U, 40, tol=1e-14)
    singular = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(descent.objective, (singular[3:] ** 2).sum() / 40, rtol=1e-9)
    np.testing.assert_allclose(descent.fit.basis.T @ descent.fit.basis, np.eye(3), atol=1e-12)


def test_every_iteration_is_counted_and_none_increases():
    X = contaminated(41, 25)
    U = random_orthonormal(25, 3, np.random.default_rng(1))
    descent = algorithm1(X, U, 21)
    assert descent.converged
    assert descent.n_iter == len(descent.objectives) - 1 > 1
    assert (np.diff(descent.objectives) <= 0).all()
    assert descent.objective == np.sort(descent.fit.residuals)[:21].mean()
    stopped = algorithm1(X, U, 21, tol=0.0, max_iter=1)
    assert (stopped.n_iter, stopped.converged) == (1, False)


@pytest.mark.parametrize("X", [np.full((5, 4), 3.0), np.ones((1, 4))])
def test_no_direction_at_all(X):
    U = random_orthonormal(4, 2, np.random.default_rng(1))
    descent = algorithm1(X, U, (len(X) + 1) // 2)
    assert descent.objective == 0.0
    assert np.isfinite(descent.fit.basis).all()


def test_weights_scores_and_residuals_belong_to_the_centre_and_the_basis():
    X = contaminated(41, 25)
    fit = algorithm1(X, random_orthonormal(25, 3, np.random.default_rng(1)), 21).fit
    m = column_median(X) + fit.weights
    np.testing.assert_allclose(fit.scores, (X - m) @ fit.basis, atol=1e-10)
    np.testing.assert_allclose(fit.residuals, residuals(X, m, fit.basis), atol=1e-10)
    assert fit.support.sum() == 21
    assert fit.residuals[fit.support].max() <= fit.residuals[~fit.support].min()
