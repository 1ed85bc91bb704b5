from __future__ import annotations

import numpy as np
import pytest

from bgsub.robustpca.linalg import inverse_root, leading_eigenpairs, pivoted_factor, wishart


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


@pytest.mark.parametrize("rank", [2, 40])
@pytest.mark.parametrize("near", [0.0, 0.01, 10.0])
def test_a_start_changes_nothing_but_the_time(near, rank):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(600, rank))
    S = A @ A.T
    values, vectors = leading_eigenpairs(S, 7, 1.0)
    start = 30 * (vectors + near * rng.normal(size=vectors.shape) / np.sqrt(600))
    for given in (start, start[:, :1], np.zeros((600, 3)), np.zeros((600, 0))):
        found = leading_eigenpairs(S, 7, 1.0, given)
        np.testing.assert_allclose(found[0], values, rtol=1e-10)
        np.testing.assert_allclose(np.abs((found[1] * vectors).sum(axis=0)), 1.0, rtol=1e-9)
        again = leading_eigenpairs(S, 7, 1.0, given)
        np.testing.assert_array_equal(found[1], again[1])


def test_rounding_noise_of_large_numbers_is_no_eigenvalue():
    S = 1e-9 * np.eye(5)
    assert leading_eigenpairs(S, 2, 1e9)[0].size == 0
    assert leading_eigenpairs(S, 2, 1e-9)[0].size == 2


@pytest.mark.parametrize("rank", [0, 1, 4, 9])
def test_pivoted_factor(rank):
    A = np.random.default_rng(0).normal(size=(9, rank)) * np.logspace(0, 8, 9)[:, None]
    K = A @ A.T
    L = pivoted_factor(K)
    assert L.shape == (9, rank)
    np.testing.assert_allclose(L @ L.T, K, rtol=1e-6)


@pytest.mark.parametrize("degrees", [0, 2, 30])
def test_wishart_moments(degrees):
    rng = np.random.default_rng(0)
    draws = np.stack([wishart(degrees, 3, rng) for _ in range(4000)])
    np.testing.assert_allclose(draws.mean(axis=0), degrees * np.eye(3), atol=0.03 * degrees + 1e-9)
    np.testing.assert_allclose(draws[:, 0, 0].var(), 2 * degrees, rtol=0.1)
    np.testing.assert_allclose(draws[:, 0, 1].var(), degrees, rtol=0.1)
    assert np.linalg.matrix_rank(draws[0]) == min(degrees, 3)


def test_inverse_root():
    A = np.random.default_rng(0).normal(size=(6, 3))
    root = inverse_root(A.T @ A)
    np.testing.assert_allclose(root @ (A.T @ A) @ root, np.eye(3), atol=1e-12)
    np.testing.assert_array_equal(inverse_root(np.zeros((2, 2))), np.zeros((2, 2)))
