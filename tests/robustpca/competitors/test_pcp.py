from __future__ import annotations

import numpy as np
import pytest

from bgsub.errors import ConvergenceWarning
from bgsub.metrics import subspace_angle
from bgsub.robustpca.competitors.pcp import PCP, memory_bytes
from bgsub.robustpca.gram import ArrayColumns
from tests.robustpca.helpers import frames


def published(n, p, rank, share, *, seed=0):
    """The random matrices of the paper: Gaussian factors, signs at random places."""
    rng = np.random.default_rng(seed)
    L = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, p)) / np.sqrt(n)
    S = np.where(rng.random((n, p)) < share, rng.choice([-1.0, 1.0], (n, p)), 0.0)
    return L, S


def direct(X, lam, iterations=40, growth=1.5):
    """Inexact augmented Lagrangian as Lin, Chen and Ma print it."""
    largest = np.linalg.norm(X, 2)
    Y = X / max(largest, np.abs(X).max() / lam)
    S, mu = np.zeros_like(X), 1.25 / largest
    for _ in range(iterations):
        U, s, Vt = np.linalg.svd(X - S + Y / mu, full_matrices=False)
        L = (U * np.maximum(s - 1 / mu, 0)) @ Vt
        W = X - L + Y / mu
        S = np.sign(W) * np.maximum(np.abs(W) - lam / mu, 0)
        Y = Y + mu * (X - L - S)
        mu = min(mu * growth, 1.25 / largest * 1e7)
    return L, S


@pytest.mark.parametrize("shape", [(100, 100), (60, 140), (140, 60)])
def test_recovers_at_the_published_rank_and_sparsity(shape):
    # Table I of the paper: rank 0.05 n, 5 % of the entries.
    L, S = published(*shape, round(0.05 * min(shape)), 0.05)
    fit = PCP(3, tol=1e-8).fit(L + S)
    assert fit.rank_ == round(0.05 * min(shape))
    np.testing.assert_allclose(fit.low_rank_, L, atol=1e-6)
    assert fit.lam_ == pytest.approx(1 / np.sqrt(max(shape)))
    assert fit.converged_


def test_gross_entries_of_any_size_are_recovered():
    L, S = published(80, 120, 2, 0.05)
    fit = PCP(2, tol=1e-10).fit(L + 1000 * S)
    np.testing.assert_allclose(fit.low_rank_, L, atol=1e-6)


@pytest.mark.parametrize("shape", [(30, 50), (50, 30)])
def test_same_iterates_as_the_direct_method_on_the_matrix(shape):
    X = frames(*shape).astype(np.float64)
    fit = PCP(3, tol=1e-9).fit(X)
    L, _ = direct(X, 1 / np.sqrt(50), fit.n_iter_)
    np.testing.assert_allclose(fit.low_rank_, L, atol=1e-6 * 255)


@pytest.mark.parametrize("shape", [(30, 50), (50, 30)])
def test_centre_and_components_are_the_pca_of_the_low_rank_part(shape):
    L, S = published(*shape, 4, 0.03)
    fit = PCP(3).fit(L + S)
    low = fit.low_rank_
    np.testing.assert_allclose(fit.center_, low.mean(axis=0), atol=1e-9)
    centred = low - low.mean(axis=0)
    assert subspace_angle(fit.components_, np.linalg.svd(centred)[2][:3]) < 1e-7
    more = PCP(4).fit(L + S)
    np.testing.assert_allclose(more.components_[:3], fit.components_, atol=1e-9)


def test_uint8_runs_in_float32_block_by_block(monkeypatch):
    X = frames(40, 500)
    monkeypatch.setattr("bgsub.robustpca.competitors.pixel_method._BLOCK_ELEMENTS", 1)
    fit = PCP(3).fit(ArrayColumns(X))
    assert fit.right_.dtype == np.float32
    wide = PCP(3, tol=1e-6).fit(X.astype(np.float64))
    np.testing.assert_allclose(fit.low_rank_, wide.low_rank_, atol=0.05)


def test_a_large_lambda_leaves_everything_to_the_low_rank_part():
    X = frames(30, 50).astype(np.float64)
    fit = PCP(3, lam=10.0, tol=1e-8).fit(X)
    np.testing.assert_allclose(fit.low_rank_, X, atol=1e-4)


def test_not_converging_is_said_with_the_residual():
    with pytest.warns(ConvergenceWarning, match=r"PCP did not converge in max_iter=2 .*residual"):
        fit = PCP(1, max_iter=2).fit(frames(30, 50))
    assert not fit.converged_
    assert fit.residual_ > fit.tol


def test_a_progress_callback_may_stop_the_fit():
    def stop(done, residual):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        PCP(3, progress=stop).fit(frames(30, 50))


def test_memory_does_not_depend_on_the_orientation():
    assert memory_bytes(100, 5000) == memory_bytes(5000, 100)
    assert memory_bytes(600, 20000) > 12 * 600 * 20000


def test_a_penalty_that_does_not_grow_is_refused():
    with pytest.raises(ValueError, match="growth=1"):
        PCP(2, growth=1.0).fit(np.eye(5))
