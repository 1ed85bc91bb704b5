"""Methods for which single entries are outliers: PCP and robust subspace learning.

They are no left multiplications of X, so the Gram matrix alone does not do: pixels are read by
blocks of columns. 8-bit and float32 matrices are handled in float32, float64 ones in float64.
Neither copies X as a whole.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from bgsub.errors import RankWarning
from bgsub.robustpca.base import AffineEstimator, orthonormal_rows
from bgsub.robustpca.competitors.row_methods import PCA
from bgsub.robustpca.gram import ArrayColumns, ColumnReader, as_columns
from bgsub.robustpca.spaces import Fit, Floats, peak_signs, slices

Progress = Callable[[int, float], None]  # called with the iterations done and the residual
_BLOCK_ELEMENTS = 1 << 19
_RELAXATION = 1.6
# The penalty follows the residuals, by the second factor, until they are within the first one of
# each other.
_BALANCE, _GROWTH = 1.5, 1.5
# In every iteration of the first ones, then now and then.
_FREE_ITERATIONS, _LATER_EVERY = 40, 10
# The dual residual may be ten times as large as the primal one: balanced so, footage takes a
# quarter of the iterations to the same objective (to 1e-5 of it).
_DUAL_SHARE = 0.1
# 1.4826 makes the median absolute deviation the standard deviation of a normal sample.
_MAD_TO_SIGMA = 1.4826
_SCALE_FACTOR = 2.5
# No pixel has less than this share of the median scale: a constant one would be all outliers.
_LEAST_SCALE = 0.1
# Geman and McClure's function is convex up to σ/√3: where it starts, nothing is an outlier.
_CONVEX = float(np.sqrt(3.0))
_RIDGE = 1e-6  # damping of the normal equations, relative to their mean diagonal


def _column_blocks(n: int, p: int) -> Iterator[slice]:
    """Cut p columns of n entries into slices that stay in the cache."""
    return slices(p, min(max(_BLOCK_ELEMENTS // max(n, 1), 64), 4096))


class PixelMethod(AffineEstimator):
    """Base of the methods for which single entries are outliers; all rows count as fitted."""

    def _fit_pixels(self, reader: ColumnReader, dtype: type[Any]) -> tuple[Floats, Floats]:
        """Centre (p,) and at most k components (c, p), linearly independent."""
        raise NotImplementedError

    def fit(self, X: NDArray[Any] | ColumnReader, y: object = None) -> Self:  # noqa: ARG002 - convention
        """Fit centre and components; see `AffineEstimator.fit`."""
        reader = as_columns(self._training_matrix(X))
        dtype = np.float64 if reader.dtype == np.float64 else np.float32
        center, components = self._fit_pixels(reader, dtype)
        center = center.astype(np.float64)
        components = orthonormal_rows(components.astype(np.float64).T)
        (n, p), rank = reader.shape, len(components)
        scores, squares = np.zeros((n, self.n_components)), np.zeros(n)
        for part in _column_blocks(n, p):
            block = reader.columns(part.start, part.stop)
            rows = np.subtract(block, center[part], dtype=np.float64)
            squares += np.einsum("ij,ij->i", rows, rows)
            scores[:, :rank] += rows @ components[:, part].T
        residuals = np.maximum(squares - np.einsum("nk,nk->n", scores, scores), 0.0)
        basis = np.pad(components.T, ((0, 0), (0, self.n_components - rank)))
        fit = Fit(center, basis, scores, residuals, np.ones(n, dtype=bool))
        self._set_fit(fit)
        self._set_pixels([(center, components)])
        self._set_outlier_scores(fit)
        return self


@dataclass(eq=False, repr=False)
class PCP(PixelMethod):
    """Principal component pursuit (PCP), by the alternating direction method of multipliers.

    Minimises ‖L‖_* + λ‖S‖_1 subject to L + S = X, with λ = 1/√max(n, p) by default. The centre is
    the mean of the rows of L and the components are the principal axes of L about it: PCP itself
    knows no centre. L = ``left_ @ right_`` does not depend on k: a fit with more components begins
    with those of a fit with fewer.

    With Y the multiplier and μ the penalty, an iteration lowers the singular values of Z = X − S +
    Y/μ by 1/μ to get L, the entries of W = X − L + Y/μ by λ/μ to get S, and takes Y ← μ(W − S). So
    Y is μW cut off at ±λ and S = W − Y/μ: the state is W alone. (In W, L is over-relaxed: 1.6 L −
    0.6 (X − S').) The singular values come from the eigenpairs of ZZᵀ (n ≤ p), which is formed in
    float64: squares in float32 would leave those below some 1/1000 of the largest to rounding.

    Y is always λ times a subgradient of ‖S‖_1, and Y + μ(S − S') is one of ‖L‖_*: with both
    residuals 0 the pair is optimal. It ends when the primal one, ‖X − L − S‖_F ≤ tol · ‖X‖_F, and
    the dual one, μ‖S − S'‖_F ≤ 10 tol · ‖Y‖_F with S' of the iteration before, are met; below 1e-6
    only float64 gets. Lin, Chen and Ma let μ grow in every iteration and look at the primal
    residual alone; then S soon cannot move any more, and on noisy matrices what is called converged
    is far from the optimum. So here the residuals decide whether μ grows or falls.

    E. J. Candès, X. Li, Y. Ma, J. Wright: "Robust principal component analysis?", Journal of the
    ACM 58 (2011; preprint 2009). Z. Lin, M. Chen, Y. Ma: "The augmented Lagrange multiplier method
    for exact recovery of corrupted low-rank matrices" (2010). S. Boyd and others: "Distributed
    optimization and statistical learning via the alternating direction method of multipliers",
    Foundations and Trends in Machine Learning 3 (2011).
    """

    n_components: int = 10
    _: KW_ONLY
    lam: float | None = None
    tol: float = 3e-5
    max_iter: int = 1000
    progress: Progress | None = None

    def _fit_pixels(self, reader: ColumnReader, dtype: type[Any]) -> tuple[Floats, Floats]:
        n, p = reader.shape
        self.lam_ = 1.0 / math.sqrt(max(n, p)) if self.lam is None else float(self.lam)
        if n <= p:
            left, lengths, right = self._pursue(reader, dtype)
        else:  # the problem is the same for the transposed matrix
            right, lengths, left = (
                factor.T for factor in self._pursue(ArrayColumns(reader.columns(0, p).T), dtype)
            )
        self.rank_ = lengths.size
        self.left_ = np.asarray(left * lengths, dtype=dtype)
        self.right_ = np.asarray(right, dtype=dtype)
        shares = left.astype(np.float64) * lengths
        center = shares.mean(axis=0) @ right
        _, spread, turn = np.linalg.svd(shares - shares.mean(axis=0), full_matrices=False)
        kept = spread > 1e-6 * lengths.max(initial=0.0)
        return center, turn[kept][: self.n_components] @ right

    def _pursue(
        self, reader: ColumnReader, dtype: type[Any]
    ) -> tuple[NDArray[Any], Floats, NDArray[Any]]:
        """Singular vectors and values of L, shapes (n, r), (r,), (r, p), for n ≤ p."""
        state = _Pursuit(reader, dtype, self.lam_)
        self.n_iter_, self.residual_ = 0, 0.0 if state.largest == 0.0 else math.inf
        while self.residual_ > self.tol and self.n_iter_ < self.max_iter:
            self.residual_ = state.iterate()
            self.n_iter_ += 1
            if self.progress is not None:
                self.progress(self.n_iter_, self.residual_)
        self._set_converged(self.residual_)
        return state.left, state.lengths, state.right


class _Pursuit:
    """The iteration on n × p entries, n ≤ p, one block of columns after another."""

    def __init__(self, reader: ColumnReader, dtype: type[Any], lam: float) -> None:
        self._reader, self._dtype, self._lam = reader, dtype, lam
        n, p = reader.shape
        self._blocks = list(_column_blocks(n, p))
        gram, peak = np.zeros((n, n)), 0.0
        for part in self._blocks:
            block = self._read(part)
            gram += _product(block)
            peak = max(peak, float(np.abs(block).max()))
        self._length = math.sqrt(gram.trace())
        self.largest = math.sqrt(max(float(np.linalg.eigvalsh(gram)[-1]), 0.0))
        self.left, self.lengths = np.zeros((n, 0), dtype=dtype), np.zeros(0)
        self.right = np.zeros((0, p), dtype=dtype)
        if self.largest == 0.0:
            return
        # The first multiplier is a multiple of X for which the dual norm is 1.
        self._dual_norm = max(self.largest, peak / lam)
        self._mu = self._previous = 1.25 / self.largest
        self._primal, self._dual, self._iteration = 1.0, 0.0, 0
        self._gram = gram * (1.0 + 1.0 / (self._mu * self._dual_norm)) ** 2
        self._W: list[Any] = [None] * len(self._blocks)

    def _read(self, part: slice) -> NDArray[Any]:
        return self._reader.columns(part.start, part.stop).astype(self._dtype)

    def iterate(self) -> float:
        """One iteration; returns the larger of the primal and a tenth of the dual residual."""
        mu, dtype = self._mu, self._dtype
        eigenvalues, vectors = np.linalg.eigh(self._gram)
        lengths = np.sqrt(np.maximum(eigenvalues, 0.0))[::-1]  # singular values of Z
        kept = lengths * mu > 1.0
        self.left, lengths = vectors[:, ::-1][:, kept], lengths[kept]
        self.lengths = lengths - 1.0 / mu
        left = self.left.astype(dtype)
        shrunk = left * (1.0 - dtype(1.0) / (mu * lengths)).astype(dtype)
        right = np.empty((left.shape[1], self._reader.shape[1]), dtype=dtype)
        following = self._next_penalty()
        gram, squares = np.zeros_like(self._gram), np.zeros(3)
        for index, part in enumerate(self._blocks):
            X = self._read(part)
            Y, S = self._multiplier_and_sparse(index, X)
            Y *= dtype(1.0 / mu)
            right[:, part] = left.T @ (X - S + Y)
            L = shrunk @ right[:, part]
            W = dtype(1.0 - _RELAXATION) * (S - X)
            W -= dtype(_RELAXATION) * L
            W += X
            W += Y
            self._W[index] = W
            Y = self._multiplier(W, mu)
            new = W - Y * dtype(1.0 / mu)
            rest = X - new
            squares += [float(np.vdot(each, each)) for each in (rest - L, new - S, Y)]
            rest += Y * dtype(1.0 / following)
            gram += _product(rest)
        self.right = right / lengths[:, None].astype(dtype)
        self._gram, self._previous, self._mu = gram, mu, following
        primal, dual, length = np.sqrt(squares)
        self._primal = float(primal) / self._length
        self._dual = mu * float(dual) / float(length) * _DUAL_SHARE
        return max(self._primal, self._dual)

    def _next_penalty(self) -> float:
        """μ of the next iteration, by the residuals of the last one."""
        self._iteration += 1
        # Ever less often: with a penalty that keeps moving the iteration need not converge.
        if self._iteration > _FREE_ITERATIONS and self._iteration % _LATER_EVERY:
            return self._mu
        if self._primal > _BALANCE * self._dual:
            return self._mu * _GROWTH
        if self._dual > _BALANCE * self._primal:
            return self._mu / _GROWTH
        return self._mu

    def _multiplier_and_sparse(
        self, index: int, X: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Y and S of the last iteration, for a block of columns."""
        if self._W[index] is None:
            return X * self._dtype(1.0 / self._dual_norm), np.zeros_like(X)
        W = self._W[index]
        Y = self._multiplier(W, self._previous)
        return Y, W - Y * self._dtype(1.0 / self._previous)

    def _multiplier(self, W: NDArray[Any], mu: float) -> NDArray[Any]:
        """Y, which is μW cut off at ±λ."""
        Y = W * self._dtype(mu)
        return np.asarray(np.clip(Y, -self._lam, self._lam, out=Y))


def _product(block: NDArray[Any]) -> Floats:
    """ZZᵀ of a block, in float64."""
    block = block.astype(np.float64, copy=False)
    return np.asarray(block @ block.T)


@dataclass(eq=False, repr=False)
class RobustSubspace(PixelMethod):
    """Robust subspace learning (RPCA of De la Torre and Black): outliers are single pixels.

    Minimises Σ_i Σ_j ρ(e_ij, σ_j) over the centre, the components and the coefficients c_i of every
    row, with e = X − 1mᵀ − CU and Geman and McClure's ρ(e, σ) = e²/(e² + σ²). `scale` is σ of all
    pixels, in units of X; None estimates it pixel by pixel: 2.5 · 1.4826 times the median absolute
    deviation of the residuals of PCA, and once more of those of the fit when the annealing ends,
    the `n_anneal` iterations during which σ falls geometrically from where nothing is an outlier.
    ``inverse_transform(coefficients_)``, of the robust c_i, is the background without what outlying
    pixels do to an orthogonal projection.

    ρ is concave in e², so it lies below its tangent there, and the objective falls whenever the sum
    of squares with the weights (1/σ²)·(σ²/(e² + σ²))² does. Centre and components given C are a
    weighted regression of every pixel on C, C given those is one of every row on U; they take
    turns, with the weights renewed before each, where the paper takes gradient steps. The start is
    PCA. All normal equations come from one product of the weights with the k(k + 1)/2 products of
    coefficients, in one pass over X.

    F. De la Torre, M. J. Black: "Robust principal component analysis for computer vision", ICCV
    2001; "A framework for robust subspace learning", IJCV 54 (2003).
    """

    n_components: int = 10
    _: KW_ONLY
    scale: float | None = None
    n_anneal: int = 8
    tol: float = 1e-4
    max_iter: int = 200
    progress: Progress | None = None

    def _fit_pixels(self, reader: ColumnReader, dtype: type[Any]) -> tuple[Floats, Floats]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankWarning)  # the caller says so about the result
            start = PCA(self.n_components).fit(reader)
        learning = _Learning(reader, dtype, start)
        peaks = self._estimate_scales(learning)
        self.n_iter_, self.residual_, self.objective_ = 0, 0.0, 0.0
        # PCA that leaves nothing but rounding errors has fitted everything there is.
        if start.components_.shape[0] and peaks.max() > learning.rounding:
            self._iterate(learning, np.maximum(_CONVEX * peaks / self.scales_, 1.0))
        self._set_converged(self.residual_)
        center, components, self.coefficients_ = learning.principal()
        return center, components

    def _estimate_scales(self, learning: _Learning) -> Floats:
        """Set σ of every pixel from the residuals; returns their largest magnitudes."""
        deviations, peaks = learning.spread()
        if self.scale is not None:
            self.scales_ = np.full(deviations.size, float(self.scale))
            return peaks
        scales = _SCALE_FACTOR * _MAD_TO_SIGMA * deviations
        positive = scales[scales > 0.0]
        least = _LEAST_SCALE * float(np.median(positive)) if positive.size else 1.0
        self.scales_ = np.maximum(scales, least)
        return peaks

    def _iterate(self, learning: _Learning, excess: Floats) -> None:
        """Anneal σ from `excess` times its value, then go on until the objective settles."""
        previous = self.residual_ = np.inf
        while self.residual_ > self.tol and self.n_iter_ < self.max_iter:
            share = max(1.0 - self.n_iter_ / self.n_anneal, 0.0) if self.n_anneal else 0.0
            if self.n_iter_ == self.n_anneal and self.n_anneal:
                self._estimate_scales(learning)
            self.objective_ = learning.iterate(self.scales_ * excess**share)
            self.n_iter_ += 1
            if share == 0.0:
                fall = previous - self.objective_
                self.residual_ = max(fall / max(previous, 1e-300), 0.0) if fall < np.inf else fall
                previous = self.objective_
            if self.progress is not None:
                self.progress(self.n_iter_, float(self.residual_))


class _Learning:
    """Centre, components and coefficients, improved by passes over blocks of columns."""

    def __init__(self, reader: ColumnReader, dtype: type[Any], start: PCA) -> None:
        self._reader, self._dtype = reader, dtype
        self._blocks = list(_column_blocks(*reader.shape))
        self._center = start.center_.copy()
        self._components = start.components_.copy()
        self._coefficients = start.scores_.copy()
        self.rounding = 1e-6 * float(np.sqrt(start.errors_ + (start.scores_**2).sum(1)).max())

    def _residual(self, part: slice) -> NDArray[Any]:
        """X − 1mᵀ − CU of a block of columns."""
        dtype = self._dtype
        X = self._reader.columns(part.start, part.stop)
        E = np.subtract(X, self._center[part], dtype=dtype, casting="unsafe")
        E -= self._coefficients.astype(dtype) @ self._components[:, part].astype(dtype)
        return np.asarray(E)

    def spread(self) -> tuple[Floats, Floats]:
        """Median absolute deviation and largest magnitude of the residuals of each pixel."""
        deviations, peaks = np.empty(self._center.size), np.empty(self._center.size)
        for part in self._blocks:
            E = self._residual(part)
            peaks[part] = np.abs(E).max(axis=0)
            deviations[part] = np.median(np.abs(E - np.median(E, axis=0)), axis=0)
        return deviations, peaks

    def iterate(self, scales: Floats) -> float:
        """Regress every pixel, then every row; returns the objective in between."""
        n, k = self._coefficients.shape
        design = np.column_stack([np.ones(n), self._coefficients]).astype(self._dtype)
        pairs = _pairs(design)
        normal, moments = np.zeros((n, k * (k + 1) // 2)), np.zeros((n, k))
        objective = 0.0
        for part in self._blocks:
            E, sigma = self._residual(part), scales[part].astype(self._dtype)
            W, _ = _weights(E, sigma)
            step = _solve(W.T @ pairs, np.multiply(W, E, out=W).T @ design)
            self._center[part] += step[:, 0]
            self._components[:, part] += step[:, 1:].T
            E -= design @ step.T.astype(self._dtype)
            W, value = _weights(E, sigma)
            objective += value
            W /= sigma * sigma
            U = np.ascontiguousarray(self._components[:, part].T, dtype=self._dtype)
            normal += W @ _pairs(U)
            moments += np.multiply(W, E, out=W) @ U
        self._coefficients += _solve(normal, moments)
        # To keep the regressions well-conditioned: orthonormal components, the same product CU.
        Q, R = scipy.linalg.qr(self._components.T, mode="economic", check_finite=False)
        self._components = np.ascontiguousarray(Q.T)
        self._coefficients = self._coefficients @ R.T
        return objective

    def principal(self) -> tuple[Floats, Floats, Floats]:
        """Centre, components along the principal axes of the coefficients, coefficients."""
        mean = self._coefficients.mean(axis=0)
        centred = self._coefficients - mean
        _, lengths, turn = np.linalg.svd(centred, full_matrices=False)
        turn = turn[lengths > 1e-12 * max(lengths.max(initial=0.0), self.rounding)]
        turn = turn * peak_signs(centred @ turn.T)[:, None]
        center = self._center + mean @ self._components
        return center, turn @ self._components, centred @ turn.T


def _weights(E: NDArray[Any], sigma: NDArray[Any]) -> tuple[NDArray[Any], float]:
    """(σ²/(e² + σ²))² of every entry, and Σ e²/(e² + σ²)."""
    W = E / sigma
    np.multiply(W, W, out=W)
    W += 1.0
    np.reciprocal(W, out=W)
    objective = float(W.size - W.sum(dtype=np.float64))
    np.multiply(W, W, out=W)
    return W, objective


def _pairs(rows: NDArray[Any]) -> NDArray[Any]:
    """Products of the columns i ≤ j, shape (m, c(c + 1)/2)."""
    first, second = np.triu_indices(rows.shape[1])
    return np.asarray(rows[:, first] * rows[:, second])


def _solve(pairs: NDArray[Any], moments: NDArray[Any]) -> Floats:
    """Solve all the normal equations, damped so that even a pixel without weight has a solution."""
    m, c = moments.shape
    first, second = np.triu_indices(c)
    normal = np.empty((m, c, c))
    normal[:, first, second] = pairs
    normal[:, second, first] = pairs
    diagonal = np.arange(c)
    squares = normal[:, diagonal, diagonal]
    damping = _RIDGE * squares + 1e-12 * squares.mean() + np.finfo(float).tiny
    normal[:, diagonal, diagonal] += damping
    return np.asarray(np.linalg.solve(normal, moments.astype(np.float64)[:, :, None])[:, :, 0])
