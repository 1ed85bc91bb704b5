"""Principal component pursuit: a low-rank part and sparse entries, by convex optimisation (PCP)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgsub.robustpca.checks import check_number
from bgsub.robustpca.competitors.pixel_method import PixelMethod, Progress, column_blocks
from bgsub.robustpca.competitors.row_method import check_lambda, warn_not_converged
from bgsub.robustpca.gram import ArrayColumns, ColumnReader
from bgsub.robustpca.spaces import Floats

_RELAXATION = 1.6
# The penalty follows the residuals until they are within this factor of each other.
_BALANCE = 1.5
# In every iteration of the first ones, then now and then.
_FREE_ITERATIONS, _LATER_EVERY = 40, 10
# The dual residual may be ten times as large as the primal one: balanced so, footage takes a
# quarter of the iterations to the same objective (to 1e-5 of it).
_DUAL_SHARE = 0.1


class PCP(PixelMethod):
    """Principal component pursuit (PCP), by the alternating direction method of multipliers.

    Minimises ‖L‖_* + λ‖S‖_1 subject to L + S = X. The centre is the mean of the rows of L and the
    components are the principal axes of L about it: the k-dimensional affine subspace that is
    nearest to L, as comparable to the other methods as can be (PCP itself knows no centre; with 0
    in its place the mean would use up a component).

    Parameters
    ----------
    n_components : int
        k, at least 1. If L has a lower rank, fewer components are returned, with a warning. L does
        not depend on k: a fit with more components begins with those of a fit with fewer.
    lam : float, optional
        λ; None is 1/√max(n, p).
    tol : float
        The iteration ends when the optimality conditions hold to this: ‖X − L − S‖_F ≤ tol · ‖X‖_F
        (the primal residual) and μ‖S − S'‖_F ≤ 10 tol · ‖Y‖_F, with S' of the iteration before
        (the dual residual). Below 1e-6 only float64 gets.
    max_iter : int
        Most iterations.
    growth : float
        Factor, above 1, by which the penalty μ grows where the primal residual is the larger one of
        the two, relative to what is allowed, and by which it falls where the dual one is.
    progress : callable, optional
        Called with the iterations done and the larger residual.

    Attributes
    ----------
    center_ : ndarray of shape (p,)
    components_ : ndarray of shape (k, p)
        Orthonormal rows in order of the variance of L.
    left_, right_ : ndarray of shape (n, r), (r, p)
        L = left_ @ right_.
    rank_ : int
        r, the rank of L.
    lam_, residual_ : float
        λ, and the larger of the last two residuals, with a tenth of the dual one.
    n_iter_, converged_ : int, bool
    support_ : ndarray of shape (n,), bool
        True everywhere: outliers are entries, not rows.
    errors_, scores_, outlier_scores_, error_location_, error_scale_
        As in `TRPCA`, of the projection of X on centre and components.

    Notes
    -----
    With Y the multiplier and μ the penalty, an iteration lowers the singular values of Z = X − S +
    Y/μ by 1/μ to get L, the entries of W = X − L + Y/μ by λ/μ to get S, and takes Y ← μ(W − S). So
    Y is μW cut off at ±λ and S = W − Y/μ: the state is W alone. (In W, L is over-relaxed: 1.6 L −
    0.6 (X − S').) The singular values come from the eigenpairs of ZZᵀ (n ≤ p), whose blocks of
    columns are multiplied in the precision of the entries and summed in float64; for the low-rank
    factor Z is multiplied from the left, block by block. Each iteration is one pass over X: n²p
    operations for ZZᵀ and 4npr for L, O(n³) for the eigenpairs.

    Y is always λ times a subgradient of ‖S‖_1, and Y + μ(S − S') is one of ‖L‖_*: with both
    residuals 0 the pair is optimal. Lin, Chen and Ma let μ grow in every iteration and look at the
    primal residual alone. Then S soon cannot move any more, and on noisy matrices what is called
    converged is far from the optimum; so here the residuals decide about μ, less often from
    iteration to iteration, as a penalty that keeps moving need not converge.

    References
    ----------
    E. J. Candès, X. Li, Y. Ma, J. Wright: "Robust principal component analysis?", Journal of the
    ACM 58 (2011; preprint 2009). Z. Lin, M. Chen, Y. Ma: "The augmented Lagrange multiplier method
    for exact recovery of corrupted low-rank matrices" (2010). S. Boyd and others: "Distributed
    optimization and statistical learning via the alternating direction method of multipliers",
    Foundations and Trends in Machine Learning 3 (2011).

    Examples
    --------
    >>> import numpy as np
    >>> from bgsub.robustpca.competitors.pcp import PCP
    >>> rng = np.random.default_rng(0)
    >>> L = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 40))
    >>> X = L + np.where(rng.random(L.shape) < 0.05, 10.0, 0.0)
    >>> fit = PCP(2).fit(X)
    >>> fit.rank_, bool(np.abs(fit.low_rank_ - L).max() < 1e-3)
    (2, True)
    """

    left_: NDArray[Any]
    right_: NDArray[Any]
    rank_: int
    lam_: float
    residual_: float

    def __init__(
        self,
        n_components: int = 10,
        *,
        lam: float | None = None,
        tol: float = 3e-5,
        max_iter: int = 1000,
        growth: float = 1.5,
        progress: Progress | None = None,
    ) -> None:
        self.n_components = n_components
        self.lam = lam
        self.tol = tol
        self.max_iter = max_iter
        self.growth = growth
        self.progress = progress

    @property
    def low_rank_(self) -> NDArray[Any]:
        """L, shape (n, p), formed anew each time; S is X − L."""
        return np.asarray(self.left_ @ self.right_)

    def _check(self, n_samples: int) -> None:
        super()._check(n_samples)
        check_lambda(self.lam)
        check_number("growth", self.growth, 1.0, strictly=True)

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
            self.residual_ = state.iterate(self.growth)
            self.n_iter_ += 1
            if self.progress is not None:
                self.progress(self.n_iter_, self.residual_)
        self.converged_ = self.residual_ <= self.tol
        if not self.converged_:
            warn_not_converged("PCP", self.max_iter, self.residual_, self.tol)
        return state.left, state.lengths, state.right


class _Pursuit:
    """The iteration on n × p entries, n ≤ p, one block of columns after another."""

    def __init__(self, reader: ColumnReader, dtype: type[Any], lam: float) -> None:
        self._reader, self._dtype, self._lam = reader, dtype, lam
        n, p = reader.shape
        self._blocks = list(column_blocks(n, p))
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

    def iterate(self, growth: float) -> float:
        """One iteration; returns the larger of the primal and a tenth of the dual residual."""
        mu, dtype = self._mu, self._dtype
        self._shrink(mu)
        left = self.left.astype(dtype)
        shrunk = left * (1.0 - dtype(1.0) / (mu * self._lengths_of_Z)).astype(dtype)
        right = np.empty((left.shape[1], self._reader.shape[1]), dtype=dtype)
        following = self._next_penalty(growth)
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
            squares += [_square(rest - L), _square(new - S), _square(Y)]
            rest += Y * dtype(1.0 / following)
            gram += _product(rest)
        self.right = right / self._lengths_of_Z[:, None].astype(dtype)
        self._gram, self._previous, self._mu = gram, mu, following
        primal, dual, length = np.sqrt(squares)
        self._primal = float(primal) / self._length
        self._dual = mu * float(dual) / float(length) * _DUAL_SHARE
        return max(self._primal, self._dual)

    def _next_penalty(self, growth: float) -> float:
        """μ of the next iteration, by the residuals of the last one."""
        self._iteration += 1
        # Ever less often: with a penalty that keeps moving the iteration need not converge.
        if self._iteration > _FREE_ITERATIONS and self._iteration % _LATER_EVERY:
            return self._mu
        if self._primal > _BALANCE * self._dual:
            return self._mu * growth
        if self._dual > _BALANCE * self._primal:
            return self._mu / growth
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

    def _shrink(self, mu: float) -> None:
        """Left singular vectors of Z, and the singular values lowered by 1/μ."""
        squares, vectors = np.linalg.eigh(self._gram)
        lengths = np.sqrt(np.maximum(squares, 0.0))[::-1]
        kept = lengths * mu > 1.0
        self.left, self._lengths_of_Z = vectors[:, ::-1][:, kept], lengths[kept]
        self.lengths = self._lengths_of_Z - 1.0 / mu


def _square(block: NDArray[Any]) -> float:
    return float(np.vdot(block, block))


def _product(block: NDArray[Any]) -> Floats:
    """ZZᵀ of a block, in the precision of its entries; blocks are summed in float64."""
    return np.asarray(block @ block.T, dtype=np.float64)


def memory_bytes(n_samples: int, n_features: int, *, itemsize: int = 4) -> int:
    """Bytes that a fit of `PCP` needs besides X, at most.

    Parameters
    ----------
    n_samples, n_features : int
        n and p.
    itemsize : int
        4 for 8-bit and float32 matrices, 8 for float64.
    """
    n, p = sorted((n_samples, n_features))
    # W, the right factor twice (rank n at worst), matrices of n × n, and blocks.
    return itemsize * (n * p + 2 * n * p) + 8 * 6 * n * n + 16 * (1 << 19) * 8
