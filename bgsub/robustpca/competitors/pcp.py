"""Principal component pursuit: a low-rank part and sparse entries, by convex optimisation (PCP)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgsub.robustpca.competitors.pixel_method import PixelMethod, Progress, column_blocks
from bgsub.robustpca.competitors.row_method import check_lambda, warn_not_converged
from bgsub.robustpca.gram import ArrayColumns, ColumnReader
from bgsub.robustpca.spaces import Floats

_MOST_PENALTY = 1e7


class PCP(PixelMethod):
    """Principal component pursuit (PCP), by the inexact augmented Lagrangian method.

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
        The iteration ends when ‖X − L − S‖_F ≤ tol · ‖X‖_F. Lin, Chen and Ma use 1e-7, which is
        what float32 just reaches.
    max_iter : int
        Most iterations.
    growth : float
        Factor, above 1, by which the penalty grows with each iteration.
    progress : callable, optional
        Called with the iterations done and ‖X − L − S‖_F/‖X‖_F.

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
        λ, and the last ‖X − L − S‖_F/‖X‖_F.
    n_iter_, converged_ : int, bool
    support_ : ndarray of shape (n,), bool
        True everywhere: outliers are entries, not rows.
    errors_, scores_, outlier_scores_, error_location_, error_scale_
        As in `TRPCA`, of the projection of X on centre and components.

    Notes
    -----
    With Y the multiplier and μ the penalty, an iteration lowers the singular values of
    Z = X − S + Y/μ by 1/μ to get L, the entries of W = X − L + Y/μ by λ/μ to get S, and takes
    Y ← μ(W − S). So Y is μW cut off at ±λ and S = W − Y/μ: the state is W alone. The singular
    values come from the eigenpairs of ZZᵀ (n ≤ p), which is summed in float64 over blocks of
    columns; for the low-rank factor Z is multiplied from the left, block by block. Each iteration
    is one pass over X: n²p operations for ZZᵀ and 4npr for L, O(n³) for the eigenpairs.

    References
    ----------
    E. J. Candès, X. Li, Y. Ma, J. Wright: "Robust principal component analysis?", Journal of the
    ACM 58 (2011; preprint 2009). Z. Lin, M. Chen, Y. Ma: "The augmented Lagrange multiplier method
    for exact recovery of corrupted low-rank matrices" (2010).

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
        tol: float = 1e-6,
        max_iter: int = 200,
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
        if not self.growth > 1.0:
            message = f"growth={self.growth}: a factor above 1 is needed"
            raise ValueError(message)

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
        kept = spread > max(self.tol, 1e-6) * lengths.max(initial=0.0)
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
        self._most = self._mu * _MOST_PENALTY
        self._gram = gram * (1.0 + 1.0 / (self._mu * self._dual_norm)) ** 2
        self._W: list[NDArray[Any]] = []

    def _read(self, part: slice) -> NDArray[Any]:
        return self._reader.columns(part.start, part.stop).astype(self._dtype)

    def iterate(self, growth: float) -> float:
        """One iteration; returns ‖X − L − S‖_F/‖X‖_F."""
        mu = self._mu
        self._shrink(mu)
        left = self.left.astype(self._dtype)
        shrunk = left * (1.0 - self._dtype(1.0) / (mu * self._lengths_of_Z)).astype(self._dtype)
        right = np.empty((left.shape[1], self._reader.shape[1]), dtype=self._dtype)
        following = min(mu * growth, self._most)
        gram, change = np.zeros_like(self._gram), 0.0
        first = not self._W
        for index, part in enumerate(self._blocks):
            X = self._read(part)
            if first:
                Y = X / self._dtype(self._dual_norm)
                Z = X + Y / self._dtype(mu)
            else:
                Y = self._multiplier(self._W[index], self._previous)
                Z = X - self._W[index]
                Z += Y * self._dtype(1.0 / self._previous + 1.0 / mu)
            right[:, part] = left.T @ Z
            W = X - shrunk @ right[:, part]
            W += Y * self._dtype(1.0 / mu)
            new = self._multiplier(W, mu)
            np.subtract(new, Y, out=Y)
            change += float(np.vdot(Y, Y))
            X -= W
            new *= self._dtype(1.0 / mu + 1.0 / following)
            X += new
            gram += _product(X)
            if first:
                self._W.append(W)
            else:
                self._W[index] = W
        self.right = right / self._lengths_of_Z[:, None].astype(self._dtype)
        self._gram, self._previous, self._mu = gram, mu, following
        return math.sqrt(change) / mu / self._length

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


def _product(block: NDArray[Any]) -> Floats:
    wide = block.astype(np.float64, copy=False)
    return wide @ wide.T


def memory_bytes(n_samples: int, n_features: int, *, itemsize: int = 4) -> int:
    """Bytes that a fit of `PCP` needs beside X, at most.

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
