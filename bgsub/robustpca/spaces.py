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

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bgsub.robustpca.linalg import inverse_root, leading_eigenpairs, pivoted_factor, wishart

Floats = NDArray[np.float64]

_ROW_BLOCK_ELEMENTS = 1 << 20
# Up to this share of the rows of K, copying them takes less time than multiplying by all.
_WORTH_GATHERING = 0.8


def row_blocks(n: int, p: int) -> Iterator[slice]:
    """Cut n rows of p entries into slices that are converted at once."""
    step = max(1, _ROW_BLOCK_ELEMENTS // max(p, 1))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def centred_blocks(X: NDArray[Any], center: NDArray[Any]) -> Iterator[tuple[slice, Floats]]:
    """X − 1mᵀ in float64, a fresh block of rows at a time, with the rows that it holds."""
    for rows in row_blocks(*X.shape):
        yield rows, np.subtract(X[rows], center, dtype=np.float64)


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
    """

    def __init__(self, K: Floats, n_features: int) -> None:
        self._K = K
        self._n_features = n_features
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
        used = np.flatnonzero(C.any(axis=1))
        if used.size > _WORTH_GATHERING * self.n_samples:
            return (C.T @ self._K).T
        return (C.T[:, used] @ self._K[used]).T

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
    """

    def __init__(self, X: NDArray[Any], offset: NDArray[Any]) -> None:
        self._X = X
        self._offset = offset
        self._squared_norms: Floats = np.concatenate(
            [np.einsum("ij,ij->i", block, block) for _, block in self._blocks()]
        )

    def _blocks(self) -> Iterator[tuple[slice, Floats]]:
        return centred_blocks(self._X, self._offset)

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
        return np.concatenate([block @ C for _, block in self._blocks()])

    def metric(self, C: Floats, projected: Floats) -> Floats:  # noqa: ARG002 - the other space needs it
        """C itself."""
        return C

    def lift(self, D: Floats) -> Floats:
        """X₀ᵀ D."""
        total = np.zeros((self._X.shape[1], D.shape[1]))
        for rows, block in self._blocks():
            total += block.T @ D[rows]
        return total

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
            scatter = np.zeros((p, p))
            for chosen, block in self._blocks():
                inside = block[rows[chosen]] - weights
                scatter += inside.T @ inside
            values, vectors = leading_eigenpairs(scatter, n_components, scale)
        basis = np.zeros((p, n_components))
        basis[:, : values.size] = vectors
        return _fit_of(self, weights, basis, rows)


def _fit_of(space: Space, weights: Floats, basis: Floats, rows: NDArray[np.bool_]) -> Fit:
    """Scores and residuals that belong to a centre and a basis."""
    stacked = np.column_stack([basis, weights])
    projected = space.project(stacked)
    metric = space.metric(stacked, projected)
    scores = projected[:, :-1] - weights @ metric[:, :-1]
    distances = space.squared_norms - 2.0 * projected[:, -1] + weights @ metric[:, -1]
    residuals = np.maximum(distances - np.einsum("nk,nk->n", scores, scores), 0.0)
    return Fit(weights, basis, scores, residuals, rows.copy())
