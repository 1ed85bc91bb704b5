from __future__ import annotations

import numpy as np
import pytest

from bgsub.robustpca.gram import gram_matrix
from bgsub.robustpca.spaces import RowSpace, column_median, leading_eigenpairs

from .helpers import both_spaces, contaminated


@pytest.mark.parametrize("shape", [(30, 50), (50, 30)])
def test_maps_of_both_spaces(shape):
    X = contaminated(*shape)
    centred = X - column_median(X)
    D = np.random.default_rng(0).normal(size=(shape[0], 4))
    for space, A in zip(both_spaces(X), (centred, np.eye(shape[1])), strict=True):
        C = space.lift(D)
        np.testing.assert_allclose(A.T @ C, centred.T @ D, rtol=1e-9, atol=1e-9)
        projected = space.project(C)
        np.testing.assert_allclose(projected, centred @ A.T @ C, rtol=1e-9, atol=1e-8)
        np.testing.assert_allclose(space.metric(C, projected), A @ A.T @ C, rtol=1e-9, atol=1e-8)
        np.testing.assert_allclose(space.squared_norms, (centred**2).sum(axis=1))
        assert space.n_samples == shape[0]


@pytest.mark.parametrize("weighted", [0, 1, 15, 25, 30])
def test_rows_without_a_weight_take_no_part_in_a_product(weighted):
    X = contaminated(30, 50)
    K = gram_matrix(X).values
    C = np.zeros((30, 4))
    rows = np.random.default_rng(weighted).permutation(30)[:weighted]
    C[rows] = np.random.default_rng(0).normal(size=(weighted, 4))
    np.testing.assert_allclose(RowSpace(K, 50).project(C), K @ C, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("shape", [(30, 50), (50, 30), (320, 40), (400, 30)])
def test_principal_is_the_svd_of_the_chosen_rows(shape):
    X = contaminated(*shape)
    rows = np.arange(shape[0]) >= shape[0] // 3
    chosen = X[rows] - X[rows].mean(axis=0)
    _, singular, Vt = np.linalg.svd(chosen, full_matrices=False)
    direct = X - X[rows].mean(axis=0)
    direct = direct - direct @ Vt[:4].T @ Vt[:4]
    for space in both_spaces(X):
        fit = space.principal(rows, 4)
        variances = (fit.scores[rows] ** 2).sum(axis=0)
        np.testing.assert_allclose(variances, singular[:4] ** 2, rtol=1e-9)
        np.testing.assert_allclose(fit.residuals, (direct**2).sum(axis=1), rtol=1e-7, atol=1e-9)
        np.testing.assert_array_equal(fit.support, rows)
        assert fit.rank == 4


@pytest.mark.parametrize("n", [12, 400])
@pytest.mark.parametrize("rank", [0, 1, 2])
def test_principal_of_a_low_rank_is_that_rank(n, rank):
    rng = np.random.default_rng(n)
    states = 40 * rng.normal(size=(rank + 1, 30))
    X = states[np.arange(n) % (rank + 1)]
    X[0] += 100 * rng.normal(size=30)
    rows = np.arange(n) > 0
    for space in both_spaces(X):
        fits = [space.principal(rows, 10) for _ in range(2)]
        assert fits[0].rank == rank
        assert fits[0].residuals[0] > 1.0
        assert fits[0].residuals[1:].max() < 1e-8
        np.testing.assert_array_equal(fits[0].basis, fits[1].basis)


def test_a_huge_row_does_not_drown_the_others():
    X = np.vstack([contaminated(30, 60, share=0.0), 1e9 * np.ones((1, 60))])
    space, _ = both_spaces(X)
    scores = space.draw_scores(8, np.random.default_rng(0))
    assert np.linalg.matrix_rank(scores[:-1]) == 8


def moments(draws):
    """Mean of Y Yᵀ and of the squared entries' products: second and fourth moments of rows."""
    outer = np.einsum("snk,smk->snm", draws, draws)
    return outer.mean(axis=0), np.einsum("snm,snm->s", outer, outer).mean()


@pytest.mark.parametrize(("n", "p"), [(6, 9), (6, 200), (12, 7)])
def test_starts_in_the_row_space_have_the_distribution_of_the_paper(n, p):
    """Compare X₀U for U drawn on the Stiefel manifold itself with what the spaces draw.

    For uniform U: E[UUᵀ] = (k/p) I, hence E[YYᵀ] = (k/p) X₀X₀ᵀ exactly.
    """
    k, draws = 3, 1500
    X = np.random.default_rng(5).normal(size=(n, p)) * np.linspace(1, 3, p)
    centred = X - column_median(X)
    rng = np.random.default_rng(6)
    direct = centred @ np.linalg.qr(rng.normal(size=(draws, p, k)))[0]
    expected = k / p * centred @ centred.T
    scale = np.abs(expected).max()
    fourth = moments(direct)[1]
    for space in both_spaces(X):
        drawn = np.stack([space.draw_scores(k, rng) for _ in range(draws)])
        second, quartic = moments(drawn)
        assert np.abs(second - expected).max() < 0.06 * scale
        assert abs(quartic / fourth - 1) < 0.05
        spread = np.linalg.eigvalsh(np.einsum("snk,snl->skl", drawn, drawn)).mean(axis=0)
        wanted = np.linalg.eigvalsh(np.einsum("snk,snl->skl", direct, direct)).mean(axis=0)
        np.testing.assert_allclose(spread, wanted, rtol=0.05)


def test_starts_with_all_dimensions_keep_all_lengths():
    X = contaminated(5, 4)
    for space in both_spaces(X):
        scores = space.draw_scores(4, np.random.default_rng(0))
        np.testing.assert_allclose((scores**2).sum(axis=1), space.squared_norms)
        more = space.draw_scores(7, np.random.default_rng(0))
        assert more.shape == (5, 7)
        np.testing.assert_allclose((more**2).sum(axis=1), space.squared_norms)


def test_starts_of_nothing_are_zero():
    space = RowSpace(np.zeros((3, 3)), 5)
    np.testing.assert_array_equal(space.draw_scores(2, np.random.default_rng(0)), np.zeros((3, 2)))


@pytest.mark.parametrize("size", [20, 600])
@pytest.mark.parametrize("rank", [0, 1, 5, 17, 20])
def test_leading_eigenpairs(size, rank):
    A = np.random.default_rng(rank).normal(size=(size, rank))
    S = A @ A.T
    values, vectors = leading_eigenpairs(S, 7, 1.0)
    expected = np.linalg.eigvalsh(S)[::-1][: min(rank, 7)]
    np.testing.assert_allclose(values, expected)
    np.testing.assert_allclose(S @ vectors, vectors * values, atol=1e-10 * size)
    again = leading_eigenpairs(S, 7, 1.0)
    np.testing.assert_array_equal(vectors, again[1])


def test_rounding_noise_of_large_numbers_is_no_eigenvalue():
    S = 1e-9 * np.eye(5)
    assert leading_eigenpairs(S, 2, 1e9)[0].size == 0
    assert leading_eigenpairs(S, 2, 1e-9)[0].size == 2
