"""Choose where Algorithm 1 runs: among n rows or among p columns, whichever are fewer.

Both spaces write the centre as m = m₀ + Aᵀw and the components as U = AᵀB for a fixed matrix A with
q rows, and offer the same three maps. With X₀ = X − 1m₀ᵀ and K = X₀X₀ᵀ:

===============  =====  ==============  ================  ==================
space            A      project X₀AᵀC   metric AAᵀC       lift (AᵀC = X₀ᵀD)
===============  =====  ==============  ================  ==================
`RowSpace`       X₀     K C             K C               C = D
`FeatureSpace`   I      X₀ C            C                 C = X₀ᵀD
===============  =====  ==============  ================  ==================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import iadd
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bgsub.robustpca.linalg import (
    inverse_root,
    leading_eigenpairs,
    pivoted_factor,
    row_blocks,
    wishart,
)
from bgsub.runtime.pool import ThreadPool

Floats = NDArray[np.float64]

# Up to this share of the rows of K, copying them takes less time than multiplying by all.
_WORTH_GATHERING = 0.8
# Columns of K that are multiplied at once: with the rows that are gathered they stay in the cache.
_STRIP = 128


@dataclass(frozen=True)
class Fit:
    """A centre and components, in the weights of a space.

    Attributes
    ----------
    weights : ndarray of shape (q,)
        w, the centre m = m₀ + Aᵀw.
    basis : ndarray of shape (q, k)
        B, the components U = AᵀB; zero columns where the rank is below k.
    scores : ndarray of shape (n, k)
        Y = (X − 1mᵀ)U.
    residuals : ndarray of shape (n,)
        r_i(m, U) = ‖x_i − m‖² − ‖Y_i‖².
    support : ndarray of shape (n,), bool
        The rows that were fitted.
    """

    weights: Floats
    basis: Floats
    scores: Floats
    residuals: Floats
    support: NDArray[np.bool_]

    @property
    def rank(self) -> int:
        """Number of components that exist."""
        return int(np.any(self.basis != 0.0, axis=0).sum())


class Space(Protocol):
    """What the descent needs to know of the data."""

    @property
    def n_samples(self) -> int:
        """n, the number of rows of the data."""

    @property
    def squared_norms(self) -> Floats:
        """‖x_i − m₀‖², shape (n,)."""

    def project(self, C: Floats) -> Floats:
        """X₀AᵀC, shape (n, c), for C of shape (q, c)."""

    def metric(self, C: Floats, projected: Floats) -> Floats:
        """AAᵀC, shape (q, c), given the projection of C."""

    def lift(self, D: Floats) -> Floats:
        """C with AᵀC = X₀ᵀD, shape (q, c), for D of shape (n, c)."""

    def draw_scores(self, n_components: int, rng: np.random.Generator) -> Floats:
        """X₀U for U uniform on the Stiefel manifold of p × k matrices, shape (n, k)."""

    def principal(
        self, rows: NDArray[np.bool_], n_components: int, scores: Floats | None = None
    ) -> Fit:
        """Mean and leading principal components of the marked rows (classical PCA).

        Scores of all rows, shape (n, ≤ k), that are near to those of the result save time.
        """


class RowSpace:
    """Weights of the n rows, from the Gram matrix alone: O(n²) per column whatever p is.

    Parameters
    ----------
    K : ndarray of shape (n, n), float64
        X₀X₀ᵀ.
    n_features : int
        p.
    pool : ThreadPool, optional
        Threads that share the products; they change no bit of the results.
    """

    def __init__(self, K: Floats, n_features: int, pool: ThreadPool | None = None) -> None:
        self._K = K
        self._n_features = n_features
        self._pool = pool or ThreadPool(1)
        self._factor: Floats | None = None

    @property
    def n_samples(self) -> int:
        """n, the number of rows of the data."""
        return int(self._K.shape[0])

    @property
    def squared_norms(self) -> Floats:
        """‖x_i − m₀‖², the diagonal of K."""
        return self._K.diagonal()

    def project(self, C: Floats) -> Floats:
        """K C, in C's order of memory: K is symmetric.

        Rows without a weight cost nothing: a descent's are those outside of all supports.
        """
        rows: Floats = C.T
        used = np.flatnonzero(C.any(axis=1))
        gathers = used.size <= _WORTH_GATHERING * self.n_samples
        if gathers:
            rows = rows[:, used]
        products = np.empty((rows.shape[0], self.n_samples))

        def fill(start: int) -> None:
            columns = slice(start, start + _STRIP)
            strip = self._K[used, columns] if gathers else self._K[:, columns]
            np.matmul(rows, strip, out=products[:, columns])

        self._pool.map(fill, range(0, self.n_samples, _STRIP))
        return products.T

    def metric(self, C: Floats, projected: Floats) -> Floats:  # noqa: ARG002 - the other space needs it
        """K C, which is the projection."""
        return projected

    def lift(self, D: Floats) -> Floats:
        """D itself."""
        return D

    def draw_scores(self, n_components: int, rng: np.random.Generator) -> Floats:
        """X₀U for U uniform on the Stiefel manifold.

        U = G(GᵀG)^(−1/2) is uniform for G a p × k matrix of independent standard normals. Write
        K = LLᵀ with L of shape (n, ρ); then X₀ = LQ with orthonormal rows of Q, so X₀G = L(QG)
        where QG is a ρ × k normal matrix g, and GᵀG = gᵀg + W with W from the part of G outside
        the row space, an independent Wishart matrix with p − ρ degrees of freedom. Drawing g and W
        instead of G gives X₀U = L g (gᵀg + W)^(−1/2) with exactly the distribution of the paper's
        start, at n numbers per component instead of p.
        """
        if self._factor is None:
            self._factor = pivoted_factor(self._K)
        rank = self._factor.shape[1]
        g = rng.standard_normal((rank, n_components))
        gram = g.T @ g + wishart(self._n_features - rank, n_components, rng)
        return self._factor @ g @ inverse_root(gram)

    def principal(
        self, rows: NDArray[np.bool_], n_components: int, scores: Floats | None = None
    ) -> Fit:
        """PCA of the marked rows from the eigenvectors of their centred Gram matrix, O(n²k)."""
        weights = rows / rows.sum()
        index = np.flatnonzero(rows)
        part = self._K[np.ix_(index, index)]
        means = part.mean(axis=0)
        part -= means
        part -= means[:, None]
        part += means.mean()
        scale = float(self.squared_norms[index].max())
        start = None if scores is None else scores[index]
        values, vectors = leading_eigenpairs(part, n_components, scale, start)
        basis = np.zeros((self.n_samples, n_components))
        # In exact arithmetic eigenvectors of non-zero eigenvalues sum to zero already.
        vectors = vectors - vectors.mean(axis=0)
        basis[index, : values.size] = vectors / np.sqrt(values)
        return _fit_of(self, weights, basis, rows)


class FeatureSpace:
    """The data themselves, for more rows than columns: O(np) per column.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Of any real type; centred in float64 a block of rows at a time, never as a whole.
    offset : ndarray of shape (p,)
        m₀.
    pool : ThreadPool, optional
        Threads that share the blocks of rows; they change no bit of the results.
    """

    def __init__(
        self, X: NDArray[Any], offset: NDArray[Any], pool: ThreadPool | None = None
    ) -> None:
        self._X = X
        self._offset = offset
        self._pool = pool or ThreadPool(1)
        squares = self._of_blocks(lambda _, block: np.einsum("ij,ij->i", block, block))
        self._squared_norms: Floats = np.concatenate(list(squares))

    def _of_blocks(self, function: Callable[[slice, Floats], Floats]) -> Iterator[Floats]:
        """Values of a function of every block of rows, and of its entries less the offset."""

        def work(rows: slice) -> Floats:
            return function(rows, np.subtract(self._X[rows], self._offset, dtype=np.float64))

        # Few at a time: a value may take as much memory as p² numbers do.
        blocks, count = list(row_blocks(*self._X.shape)), self._pool.threads
        for first in range(0, len(blocks), count):
            yield from self._pool.map(work, blocks[first : first + count])

    def _sum_of_blocks(self, function: Callable[[slice, Floats], Floats]) -> Floats:
        """Sum of such values, in the order of the blocks."""
        return reduce(iadd, self._of_blocks(function))

    @property
    def n_samples(self) -> int:
        """n, the number of rows of the data."""
        return int(self._X.shape[0])

    @property
    def squared_norms(self) -> Floats:
        """‖x_i − m₀‖²."""
        return self._squared_norms

    def project(self, C: Floats) -> Floats:
        """X₀ C."""
        return np.concatenate(list(self._of_blocks(lambda _, block: block @ C)))

    def metric(self, C: Floats, projected: Floats) -> Floats:  # noqa: ARG002 - the other space needs it
        """C itself."""
        return C

    def lift(self, D: Floats) -> Floats:
        """X₀ᵀ D."""
        return self._sum_of_blocks(lambda rows, block: block.T @ D[rows])

    def draw_scores(self, n_components: int, rng: np.random.Generator) -> Floats:
        """X₀U for U uniform on the Stiefel manifold, the polar factor of a normal matrix."""
        columns = min(n_components, self._X.shape[1])
        g = rng.standard_normal((self._X.shape[1], columns))
        scores = np.zeros((self.n_samples, n_components))
        scores[:, :columns] = self.project(g @ inverse_root(g.T @ g))
        return scores

    def principal(
        self,
        rows: NDArray[np.bool_],
        n_components: int,
        scores: Floats | None = None,  # noqa: ARG002 - the other space needs them
    ) -> Fit:
        """PCA of the marked rows from the eigenvectors of their scatter matrix, O(np²).

        Where they are fewer than the columns, from those of their Gram matrix, O(n²p).
        """
        weights = self.lift((rows / rows.sum())[:, None])[:, 0]
        p = self._X.shape[1]
        scale = float(self.squared_norms[rows].max())
        if rows.sum() < p:
            inside = np.subtract(self._X[rows], self._offset, dtype=np.float64) - weights
            values, vectors = leading_eigenpairs(inside @ inside.T, n_components, scale)
            vectors = inside.T @ (vectors / np.sqrt(values))
        else:
            scatter = self._sum_of_blocks(lambda b, block: _scatter(block[rows[b]] - weights))
            values, vectors = leading_eigenpairs(scatter, n_components, scale)
        basis = np.zeros((p, n_components))
        basis[:, : values.size] = vectors
        return _fit_of(self, weights, basis, rows)


def _scatter(rows: Floats) -> Floats:
    return rows.T @ rows


def _fit_of(space: Space, weights: Floats, basis: Floats, rows: NDArray[np.bool_]) -> Fit:
    """Scores and residuals that belong to a centre and a basis."""
    stacked = np.column_stack([basis, weights])
    projected = space.project(stacked)
    metric = space.metric(stacked, projected)
    scores = projected[:, :-1] - weights @ metric[:, :-1]
    distances = space.squared_norms - 2.0 * projected[:, -1] + weights @ metric[:, -1]
    residuals = np.maximum(distances - np.einsum("nk,nk->n", scores, scores), 0.0)
    return Fit(weights, basis, scores, residuals, rows.copy())
