"""Choose where Algorithm 1 runs: among n rows or among p columns, whichever are fewer.

Both spaces write the centre as m = m₀ + Aᵀw and the components as U = AᵀB for a fixed matrix A with
q rows, and offer the same three maps. With X₀ = X − 1m₀ᵀ and K = X₀X₀ᵀ:

===============  =====  ==============  ================  ==================
space            A      project X₀AᵀC   metric AAᵀC       lift (AᵀC = X₀ᵀD)
===============  =====  ==============  ================  ==================
`RowSpace`       X₀     K C             K C               C = D
`FeatureSpace`   I      X₀ C            C                 C = X₀ᵀD
===============  =====  ==============  ================  ==================

The linear algebra below them is defined for matrices of any rank, and the same on every run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import iadd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgsub.runtime.threads import ThreadPool

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Flags = NDArray[np.bool_]
Rows = NDArray[np.int64]

NORMAL_MAD = 0.6744897501960817  # median of |a standard normal variable|: makes medians into σ
# Up to this share of the rows of K, copying them takes less time than multiplying by all.
_WORTH_GATHERING = 0.8
# Columns of K that are multiplied at once: with the rows that are gathered they stay in the cache.
_STRIP = 128
# Up to this size a full symmetric eigenproblem is about as quick as Lanczos iterations, and much
# quicker where the eigenvalues that are wanted lie close together, as those of noise do.
_DENSE_EIGEN = 512
_ROW_BLOCK_ELEMENTS = 1 << 20
_TILE = 1 << 14  # columns whose float32 work stays in the cache


@dataclass(frozen=True)
class Fit:
    """A centre and components, in the weights of a space."""

    weights: Floats  # w, shape (q,): the centre m = m₀ + Aᵀw
    basis: Floats  # B, shape (q, k): the components U = AᵀB; zero columns where the rank is below k
    scores: Floats  # Y = (X − 1mᵀ)U, shape (n, k)
    residuals: Floats  # r_i(m, U) = ‖x_i − m‖² − ‖Y_i‖², shape (n,)
    support: Flags  # the rows that were fitted, shape (n,)

    @property
    def alive(self) -> Flags:
        """Which components exist, shape (k,)."""
        return np.asarray(np.any(self.basis != 0.0, axis=0))

    @property
    def rank(self) -> int:
        """How many exist."""
        return int(self.alive.sum())


class RowSpace:
    """Weights of the n rows, from K = X₀X₀ᵀ alone; threads change no bit of the results."""

    def __init__(
        self, K: Floats, n_features: int, pool: ThreadPool | None = None, copies: Rows | None = None
    ) -> None:
        self._K, self._n_features, self.copies = K, n_features, copies
        self._pool = pool or ThreadPool(1)
        self._factor: Floats | None = None
        self.n_samples = int(K.shape[0])
        self.squared_norms: Floats = K.diagonal()  # ‖x_i − m₀‖², shape (n,)

    def project(self, C: Floats) -> Floats:
        """K C; rows without a weight cost nothing: a descent's are outside of all supports."""
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
        """K C, which is the projection of C."""
        return projected

    def lift(self, D: Floats) -> Floats:
        """D itself."""
        return D

    def draw_scores(self, n_components: int, rng: np.random.Generator) -> Floats:
        """Draw X₀U, shape (n, k), for U uniform on the Stiefel manifold of p × k matrices.

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
        # W = HᵀH for a standard normal H, by Bartlett's decomposition.
        degrees = max(self._n_features - rank, 0)
        diagonal = np.arange(min(degrees, n_components))
        H = np.triu(rng.standard_normal((diagonal.size, n_components)), 1)
        H[diagonal, diagonal] = np.sqrt(rng.chisquare(degrees - diagonal))
        return self._factor @ g @ inverse_root(g.T @ g + H.T @ H)

    def principal(self, rows: Flags, n_components: int) -> Fit:
        """Fit classical PCA to the marked rows, from their centred Gram matrix, O(n²k)."""
        weights = rows / rows.sum()
        index = np.flatnonzero(rows)
        part = self._K[np.ix_(index, index)]
        means = part.mean(axis=0)
        part -= means
        part -= means[:, None]
        part += means.mean()
        scale = float(self.squared_norms[index].max())
        values, vectors = leading_eigenpairs(part, n_components, scale)
        basis = np.zeros((self.n_samples, n_components))
        # In exact arithmetic eigenvectors of non-zero eigenvalues sum to zero already.
        vectors = vectors - vectors.mean(axis=0)
        basis[index, : values.size] = vectors / np.sqrt(values)
        return _fit_of(self, weights, basis, rows)


class FeatureSpace:
    """The data themselves, centred by blocks, for more rows than columns: O(np) per column."""

    copies: Rows | None = None  # nobody looks for copies here

    def __init__(
        self, X: NDArray[Any], offset: NDArray[Any], pool: ThreadPool | None = None
    ) -> None:
        self._X, self._offset = X, offset
        self._pool = pool or ThreadPool(1)
        self.n_samples = int(X.shape[0])
        squares = self._of_blocks(lambda _, block: np.einsum("ij,ij->i", block, block))
        self.squared_norms: Floats = np.concatenate(list(squares))  # ‖x_i − m₀‖², shape (n,)

    def _of_blocks(self, function: Callable[[slice, Floats], Floats]) -> Iterator[Floats]:
        """Values of a function of every block of rows, and of its entries less the offset."""

        def work(rows: slice) -> Floats:
            return function(rows, np.subtract(self._X[rows], self._offset, dtype=np.float64))

        # Few at a time: a value may take as much memory as p² numbers do.
        blocks, count = list(row_blocks(*self._X.shape)), self._pool.threads
        for first in range(0, len(blocks), count):
            yield from self._pool.map(work, blocks[first : first + count])

    def project(self, C: Floats) -> Floats:
        """X₀ C, shape (n, c)."""
        return np.concatenate(list(self._of_blocks(lambda _, block: block @ C)))

    def metric(self, C: Floats, projected: Floats) -> Floats:  # noqa: ARG002 - the other space needs it
        """C itself."""
        return C

    def lift(self, D: Floats) -> Floats:
        """X₀ᵀ D, shape (p, c)."""
        return reduce(iadd, self._of_blocks(lambda rows, block: block.T @ D[rows]))

    def draw_scores(self, n_components: int, rng: np.random.Generator) -> Floats:
        """Draw X₀U for U uniform on the Stiefel manifold, the polar factor of a normal matrix."""
        columns = min(n_components, self._X.shape[1])
        g = rng.standard_normal((self._X.shape[1], columns))
        scores = np.zeros((self.n_samples, n_components))
        scores[:, :columns] = self.project(g @ inverse_root(g.T @ g))
        return scores

    def principal(self, rows: Flags, n_components: int) -> Fit:
        """Fit classical PCA to the marked rows, from their scatter matrix, O(np²).

        Where they are fewer than the columns, from their Gram matrix, O(n²p).
        """
        weights = self.lift((rows / rows.sum())[:, None])[:, 0]
        p = self._X.shape[1]
        scale = float(self.squared_norms[rows].max())
        if rows.sum() < p:
            inside = np.subtract(self._X[rows], self._offset, dtype=np.float64) - weights
            values, vectors = leading_eigenpairs(inside @ inside.T, n_components, scale)
            vectors = inside.T @ (vectors / np.sqrt(values))
        else:

            def scatter(part: slice, block: Floats) -> Floats:
                inside = block[rows[part]] - weights
                return inside.T @ inside

            total: Floats = reduce(iadd, self._of_blocks(scatter))
            values, vectors = leading_eigenpairs(total, n_components, scale)
        basis = np.zeros((p, n_components))
        basis[:, : values.size] = vectors
        return _fit_of(self, weights, basis, rows)


Space = RowSpace | FeatureSpace


def _fit_of(space: Space, weights: Floats, basis: Floats, rows: Flags) -> Fit:
    """Scores and residuals that belong to a centre and a basis."""
    stacked = np.column_stack([basis, weights])
    projected = space.project(stacked)
    metric = space.metric(stacked, projected)
    scores = projected[:, :-1] - weights @ metric[:, :-1]
    distances = space.squared_norms - 2.0 * projected[:, -1] + weights @ metric[:, -1]
    residuals = np.maximum(distances - np.einsum("nk,nk->n", scores, scores), 0.0)
    return Fit(weights, basis, scores, residuals, rows.copy())


def leading_eigenpairs(S: Floats, count: int, scale: float) -> tuple[Floats, Floats]:
    """Compute the largest eigenvalues (c,) of a positive semidefinite matrix, with eigenvectors.

    Fewer than `count` where the others vanish against `scale`, the magnitude of what S is a
    difference of.
    """
    import scipy.linalg

    size = S.shape[0]
    count = min(count, size)
    if size <= _DENSE_EIGEN or count > size // 8:
        values, vectors = scipy.linalg.eigh(S, subset_by_index=(size - count, size - 1))
    else:
        values, vectors = _lanczos(S, count)
    order = np.argsort(values)[::-1][:count]
    values, vectors = values[order], vectors[:, order]
    kept = values > max(values[0], scale) * size * np.finfo(float).eps * 4
    return values[kept], vectors[:, kept]


def _lanczos(S: Floats, count: int) -> tuple[Floats, Floats]:
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
        pairs = scipy.sparse.linalg.eigsh(S, k=count, which="LA", v0=sample[:, 0], ncv=dimension)
        return pairs[0], pairs[1]
    Q = np.linalg.qr(sample)[0]
    values, vectors = np.linalg.eigh(Q.T @ (S @ Q))
    return values, Q @ vectors


def pivoted_factor(K: Floats) -> Floats:
    """L of shape (n, ρ) with K = LLᵀ, by Cholesky with pivoting, which stands a rank below n.

    Rows are scaled to like lengths first: else the others would be noise beside a row that is huge.
    Not to one length, which would leave the choice of pivots, and with it L, to rounding.
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


def inverse_root(gram: Floats) -> Floats:
    """Symmetric S^(−1/2), zero in the directions in which S vanishes."""
    values, vectors = np.linalg.eigh(gram)
    keep = values > values[-1] * 1e-14
    roots = inverse_roots(values, keep)
    return np.asarray((vectors * roots) @ vectors.T)


def inverse_roots(values: Floats, kept: Flags) -> Floats:
    """Compute 1/√value where it is kept, 0 elsewhere."""
    return np.where(kept, 1.0 / np.sqrt(np.where(kept, values, 1.0)), 0.0)


def peak_signs(scores: Floats) -> Floats:
    """Return the sign of the score of largest magnitude of every component, 1 for 0, shape (k,)."""
    peaks = np.take_along_axis(scores, np.abs(scores).argmax(axis=0)[None], axis=0)[0]
    return np.where(peaks < 0.0, -1.0, 1.0)


def row_blocks(n: int, p: int) -> Iterator[slice]:
    """Cut n rows of p entries into slices that are converted at once."""
    return slices(n, max(1, _ROW_BLOCK_ELEMENTS // max(p, 1)))


def slices(size: int, step: int = _TILE) -> Iterator[slice]:
    """Cut so many into slices of a length, by default that of tiles; the last one is shorter."""
    return (slice(start, min(start + step, size)) for start in range(0, size, step))


def evenly(size: int, most: int) -> NDArray[np.int64]:
    """Return indices of as many of a size as there may be, evenly spaced."""
    return np.linspace(0, size - 1, min(size, most)).round().astype(np.int64)


def combined(scores: Singles, components: Singles, out: Singles | None = None) -> Singles:
    """Return scores @ components; `np.matmul` takes ten times as long for one component."""
    if components.shape[0] == 1:
        return np.multiply(scores, components, out=out)
    return np.matmul(scores, components, out=out)


def centred_blocks(X: Any, center: NDArray[Any]) -> Iterator[tuple[slice, Floats]]:
    """X − 1mᵀ in float64, a fresh block of rows at a time, with the rows that it holds."""
    for rows in row_blocks(*X.shape):
        yield rows, np.subtract(X[rows], center, dtype=np.float64)


def residuals(X: NDArray[Any], center: Floats, components: Floats) -> Floats:
    """Compute r_i = ‖(UUᵀ − I)(x_i − m)‖², shape (n,), on the vectors themselves."""
    errors = []
    for _, block in centred_blocks(X, center):
        rest = block - (block @ components.T) @ components
        errors.append(np.einsum("ij,ij->i", rest, rest))
    return np.concatenate(errors)


def column_median(block: NDArray[Any]) -> NDArray[Any]:
    """Compute the median of every column; for uint8 the lower one, bit by bit, with no sort."""
    if block.dtype != np.uint8:
        return np.asarray(np.median(block, axis=0), dtype=np.float64)
    # Columns cut out of long rows would be fetched from as many pages of memory each time.
    block = np.ascontiguousarray(block)
    rank = (block.shape[0] - 1) // 2
    found = np.zeros(block.shape[1], dtype=np.uint8)
    below = np.empty(block.shape, dtype=bool)
    for bit in range(7, -1, -1):
        np.less(block, found | np.uint8(1 << bit), out=below)
        # The bit is set when at most `rank` entries are smaller than the candidate. Sums of bytes
        # are what runs fast.
        count = np.add.reduce(below[:255].view(np.uint8), axis=0, dtype=np.uint8)
        for start in range(255, len(below), 255):
            some = np.add.reduce(below[start : start + 255].view(np.uint8), axis=0, dtype=np.uint8)
            count = np.add(count, some, dtype=np.int64)
        found |= (count <= rank).view(np.uint8) << np.uint8(bit)
    return found


def median(values: NDArray[Any], axis: int | None = None) -> NDArray[np.floating[Any]]:
    """Compute what `numpy.median` does without NaN, in a fraction of its time; NaN for nothing.

    NumPy asks for both middle values at once, which its quick selection does not know.
    """
    rows = values.reshape(-1) if axis is None else np.moveaxis(values, axis, -1)
    size = rows.shape[-1]
    dtype = values.dtype if np.issubdtype(values.dtype, np.floating) else np.float64
    if not size:
        return np.full(rows.shape[:-1], np.nan, dtype)
    ordered = np.partition(rows, size // 2)
    high = ordered[..., size // 2]
    low = high if size % 2 else ordered[..., : size // 2].max(axis=-1)
    return np.asarray(np.add(low, high, dtype=dtype) / 2)


def quantile(values: NDArray[np.floating[Any]], share: float) -> float:
    """Compute what `numpy.quantile` does for a vector without NaN, as quickly as `median`."""
    place = share * (values.size - 1)
    upper = min(int(place) + 1, values.size - 1)
    ordered = np.partition(values, upper)
    high = ordered[upper]
    low = ordered[:upper].max() if upper > int(place) else high
    part = place - int(place)
    step = high - low
    return float(low + step * part if part < 0.5 else high - step * (1 - part))
