from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgsub.robustpca.descent import algorithm1, descend, random_orthonormal, smallest
from bgsub.robustpca.spaces import column_median, residuals

from .helpers import both_spaces, contaminated, frames


def starts(X, k, count, seed=0):
    """U⁰ of each restart, and X₀U⁰."""
    rng = np.random.default_rng(seed)
    bases = [random_orthonormal(X.shape[1], k, rng) for _ in range(count)]
    return bases, np.stack([(X - column_median(X)) @ U for U in bases])


def pixels(space, X, fit):
    """m and U of a fit in either space."""
    m0 = column_median(X).astype(np.float64)
    if fit.basis.shape[0] == X.shape[0] and type(space).__name__ == "RowSpace":
        return m0 + (X - m0).T @ fit.weights, (X - m0).T @ fit.basis
    return m0 + fit.weights, fit.basis


@pytest.mark.parametrize("shape", [(31, 90), (60, 25), (31, 31)])
@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("kind", ["floats", "bytes"])
def test_both_roads_do_what_algorithm_1_does(shape, k, kind):
    X = contaminated(*shape) if kind == "floats" else frames(*shape).astype(np.float64)
    t = (shape[0] + 1) // 2
    bases, scores = starts(X, k, 3)
    references = [algorithm1(X, U, t) for U in bases]
    for space in both_spaces(X):
        for found, wanted in zip(descend(space, scores, t), references, strict=True):
            assert len(found.objectives) == len(wanted.objectives)
            assert found.converged
            np.testing.assert_allclose(found.objectives, wanted.objectives, rtol=1e-9)
            np.testing.assert_array_equal(found.fit.support, wanted.fit.support)
            np.testing.assert_allclose(found.fit.residuals, wanted.fit.residuals, rtol=1e-6)
            m, U = pixels(space, X, found.fit)
            m_wanted, _ = pixels(None, X, wanted.fit)
            np.testing.assert_allclose(m, m_wanted, rtol=0, atol=1e-6)
            np.testing.assert_allclose(U.T @ U, np.eye(k), atol=1e-9)
            projections = U @ U.T - wanted.fit.basis @ wanted.fit.basis.T
            assert np.linalg.norm(projections, 2) < 1e-6


matrices = st.tuples(
    st.integers(2, 12), st.integers(1, 12), st.integers(1, 5), st.integers(0, 2**31)
)


@settings(max_examples=15, deadline=None)
@given(
    matrices, st.sampled_from(["normal", "heavy", "bytes", "copies", "scaled"]), st.floats(0.5, 1.0)
)
def test_the_objective_never_increases(sizes, kind, fraction):
    n, p, k, seed = sizes
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    if kind == "heavy":
        X = rng.standard_cauchy(size=(n, p))
    elif kind == "bytes":
        X = rng.integers(0, 256, (n, p)).astype(np.float64)
    elif kind == "copies":
        X = X[rng.integers(0, 3, n) % n]
    elif kind == "scaled":
        X = X * np.logspace(-3, 3, p)
    t = max((n + 1) // 2, int(fraction * n))
    k = min(k, p)
    bases, scores = starts(X, k, 3, seed)
    # Residuals are differences of squared lengths: below this they are rounding errors.
    noise = 1e-13 * n * ((X - column_median(X)) ** 2).sum(axis=1).max()
    for space in both_spaces(X):
        for descent in descend(space, scores, t, tol=0.0, max_iter=40):
            history = np.array(descent.objectives)
            assert np.isfinite(history).all()
            assert (np.diff(history) <= 1e-9 * history[:-1] + noise).all()
            assert np.isfinite(descent.fit.scores).all()
            assert descent.fit.support.sum() == t
    for U in bases:
        history = np.array(algorithm1(X, U, t, tol=0.0, max_iter=40).objectives)
        assert (np.diff(history) <= 1e-9 * history[:-1] + noise).all()


def test_restarts_do_not_disturb_one_another():
    X = contaminated(30, 50)
    _, scores = starts(X, 3, 5)
    for space in both_spaces(X):
        together = descend(space, scores, 15)
        for i, wanted in enumerate(together):
            (alone,) = descend(space, scores[i : i + 1], 15)
            np.testing.assert_allclose(alone.objectives, wanted.objectives, rtol=1e-9)
            np.testing.assert_array_equal(alone.fit.support, wanted.fit.support)


def test_support_holds_the_smallest_residuals():
    X = contaminated(30, 50)
    _, scores = starts(X, 3, 3)
    for space in both_spaces(X):
        for descent in descend(space, scores, 17):
            fit = descent.fit
            assert fit.residuals[fit.support].max() <= fit.residuals[~fit.support].min()
            np.testing.assert_allclose(fit.residuals[fit.support].mean(), descent.objectives[-1])


def test_ties_are_broken_by_row_number():
    assert smallest(np.array([1.0, 0.0, 1.0, 1.0]), 2).tolist() == [True, True, False, False]
    assert smallest(np.zeros(4), 2).tolist() == [True, True, False, False]
    alternating = np.tile([1.0, 0.0], 500)
    found = np.flatnonzero(smallest(alternating, 600))
    np.testing.assert_array_equal(found, [*range(200), *range(201, 1000, 2)])


def test_small_components_survive_beside_large_ones():
    scales = np.array([1e4, 300.0, 10.0, 0.1])
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4)) * scales @ random_orthonormal(80, 4, rng).T
    X += 1e-3 * rng.normal(size=X.shape)
    _, scores = starts(X, 4, 2)
    for space in both_spaces(X):
        for descent in descend(space, scores, 25):
            assert descent.fit.rank == 4
            assert descent.objectives[-1] < 1e-4
            _, U = pixels(space, X, descent.fit)
            np.testing.assert_allclose(U.T @ U, np.eye(4), atol=1e-4)


@pytest.mark.parametrize("p", [3, 40])
def test_random_orthonormal_is_uniform(p):
    rng = np.random.default_rng(0)
    draws = np.stack([random_orthonormal(p, 3, rng) for _ in range(3000)])
    identity = np.broadcast_to(np.eye(3), (3000, 3, 3))
    np.testing.assert_allclose(np.einsum("spk,spl->skl", draws, draws), identity, atol=1e-12)
    np.testing.assert_allclose(draws.mean(axis=0), 0.0, atol=5 / np.sqrt(3000 * p))
    second = np.einsum("spk,sqk->pq", draws, draws) / 3000
    np.testing.assert_allclose(second, 3 / p * np.eye(p), atol=0.15 / p + 0.01)


def test_every_row_as_support_leads_to_the_pca():
    X = contaminated(40, 15, share=0.0)
    U = random_orthonormal(15, 3, np.random.default_rng(1))
    descent = algorithm1(X, U, 40, tol=1e-14)
    singular = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(descent.objectives[-1], (singular[3:] ** 2).sum() / 40, rtol=1e-9)
    np.testing.assert_allclose(descent.fit.basis.T @ descent.fit.basis, np.eye(3), atol=1e-12)


def test_every_iteration_is_counted_and_none_increases():
    X = contaminated(41, 25)
    U = random_orthonormal(25, 3, np.random.default_rng(1))
    descent = algorithm1(X, U, 21)
    assert descent.converged
    assert len(descent.objectives) > 2
    assert (np.diff(descent.objectives) <= 0).all()
    assert descent.objectives[-1] == np.sort(descent.fit.residuals)[:21].mean()
    stopped = algorithm1(X, U, 21, tol=0.0, max_iter=1)
    assert (len(stopped.objectives), stopped.converged) == (2, False)


@pytest.mark.parametrize("X", [np.full((5, 4), 3.0), np.ones((1, 4))])
def test_no_direction_at_all(X):
    U = random_orthonormal(4, 2, np.random.default_rng(1))
    descent = algorithm1(X, U, (len(X) + 1) // 2)
    assert descent.objectives[-1] == 0.0
    assert np.isfinite(descent.fit.basis).all()


def test_weights_scores_and_residuals_belong_to_the_centre_and_the_basis():
    X = contaminated(41, 25)
    fit = algorithm1(X, random_orthonormal(25, 3, np.random.default_rng(1)), 21).fit
    m = column_median(X) + fit.weights
    np.testing.assert_allclose(fit.scores, (X - m) @ fit.basis, atol=1e-10)
    np.testing.assert_allclose(fit.residuals, residuals(X, m, fit.basis.T), atol=1e-10)
    assert fit.support.sum() == 21
    assert fit.residuals[fit.support].max() <= fit.residuals[~fit.support].min()
