"""Linear algebra that is defined, and the same on every run, for matrices of any rank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Up to this size a full symmetric eigenproblem is about as quick as Lanczos iterations, and much
# quicker where the eigenvalues that are wanted lie close together, as those of noise do.
_DENSE_EIGEN = 512


def leading_eigenpairs(
    S: Floats, count: int, scale: float, start: Floats | None = None
) -> tuple[Floats, Floats]:
    """Find the largest eigenvalues of a positive semidefinite matrix, and their eigenvectors.

    Parameters
    ----------
    S : ndarray of shape (n, n)
    count : int
        How many; fewer are returned where the others vanish.
    scale : float
        Magnitude of the numbers of which S was made by subtraction: its rounding errors are seen
        against this, not against what was left.
    start : ndarray of shape (n, c), optional
        Near the eigenvectors, of any lengths: saves iterations.

    Returns
    -------
    values : ndarray of shape (c,), descending
    vectors : ndarray of shape (n, c)

    Notes
    -----
    O(n² · count) operations per Lanczos iteration, O(n³) where n is small or count near it.
    """
    import scipy.linalg

    size = S.shape[0]
    count = min(count, size)
    if size <= _DENSE_EIGEN or count > size // 8:
        values, vectors = scipy.linalg.eigh(S, subset_by_index=(size - count, size - 1))
    else:
        values, vectors = _lanczos(S, count, start)
    order = np.argsort(values)[::-1][:count]
    values, vectors = values[order], vectors[:, order]
    kept = values > max(values[0], scale) * size * np.finfo(float).eps * 4
    return values[kept], vectors[:, kept]


def _lanczos(S: Floats, count: int, start: Floats | None) -> tuple[Floats, Floats]:
    """Leading eigenpairs of a large matrix, in no particular order.

    ARPACK goes on from random numbers of its own, or fails, when the Krylov space is exhausted.
    That happens when the rank is below the dimension of that space; then S times as many vectors
    spans the whole range of S, and a small eigenproblem is left.
    """
    import scipy.sparse.linalg

    dimension = max(2 * count + 1, 20)
    sample = S @ np.random.default_rng(0).standard_normal((S.shape[0], dimension + 1))
    # Of random vectors in a smaller space the last ones have nothing of their own.
    triangle: Floats = np.asarray(np.linalg.qr(sample, mode="r"))
    lengths = np.abs(triangle.diagonal())
    if lengths.min() > lengths[0] * 1e-13:
        first = sample[:, 0] / np.linalg.norm(sample[:, 0])
        if start is not None and start.any():
            near = start.sum(axis=1)
            # With something of every eigenvector, as a space that is exhausted ends in random ones.
            first = near / np.linalg.norm(near) + 0.01 * first
        pairs = scipy.sparse.linalg.eigsh(S, k=count, which="LA", v0=first, ncv=dimension)
        return pairs[0], pairs[1]
    Q = np.linalg.qr(sample)[0]
    values, vectors = np.linalg.eigh(Q.T @ (S @ Q))
    return values, Q @ vectors


def pivoted_factor(K: Floats) -> Floats:
    """L of shape (n, ρ) with K = LLᵀ, by Cholesky with pivoting, which stands a rank below n.

    Rows are scaled to like lengths first: else the others would be noise beside a row that is huge.
    Not to one length, which would leave the choice of pivots, and with it L, to rounding. Two more
    matrices of the size of K are held.
    """
    import scipy.linalg

    n = K.shape[0]
    lengths = np.sqrt(K.diagonal())
    scales = lengths * np.linspace(1.0, 2.0, n)
    inverse = np.where(scales > 0.0, 1.0 / np.where(scales > 0.0, scales, 1.0), 0.0)
    scaled = K * inverse[:, None]
    scaled *= inverse
    # Its transpose has the order of columns that LAPACK wants: no copy of n² numbers is made.
    lower, pivots, rank, _ = scipy.linalg.lapack.dpstrf(scaled.T, lower=1, overwrite_a=1)
    for column in range(1, rank):
        lower[:column, column] = 0.0
    factor = np.empty((n, rank))
    factor[pivots - 1] = lower[:, :rank]
    factor *= scales[:, None]
    return factor


def wishart(degrees: int, size: int, rng: np.random.Generator) -> Floats:
    """HᵀH for a standard normal H of shape (degrees, size), by Bartlett's decomposition."""
    rows = min(max(degrees, 0), size)
    H = np.triu(rng.standard_normal((rows, size)), 1)
    H[np.arange(rows), np.arange(rows)] = np.sqrt(rng.chisquare(degrees - np.arange(rows)))
    return H.T @ H


def inverse_root(gram: Floats) -> Floats:
    """Symmetric S^(−1/2), zero in the directions in which S vanishes."""
    values, vectors = np.linalg.eigh(gram)
    keep = values > values[-1] * 1e-14
    roots = np.where(keep, 1.0 / np.sqrt(np.where(keep, values, 1.0)), 0.0)
    return np.asarray((vectors * roots) @ vectors.T)


_ROW_BLOCK_ELEMENTS = 1 << 20


def row_blocks(n: int, p: int) -> Iterator[slice]:
    """Cut n rows of p entries into slices that are converted at once."""
    step = max(1, _ROW_BLOCK_ELEMENTS // max(p, 1))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def centred_blocks(X: NDArray[Any], center: NDArray[Any]) -> Iterator[tuple[slice, Floats]]:
    """X − 1mᵀ in float64, a fresh block of rows at a time, with the rows that it holds."""
    for rows in row_blocks(*X.shape):
        yield rows, np.subtract(X[rows], center, dtype=np.float64)
