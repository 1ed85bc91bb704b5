"""Methods that split off an outlier term with few rows: ORPCA and outlier pursuit."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

import numpy as np
import scipy.linalg

from bgsub.errors import ConvergenceWarning
from bgsub.robustpca.competitors.row_methods import Coordinates, RowMethod, spatial_median
from bgsub.robustpca.conventions import support_size
from bgsub.robustpca.descent import smallest
from bgsub.robustpca.spaces import Fit, Floats, residuals

# λ falls by this factor along the path, each solution being the start for the next.
_PATH_FACTOR = 0.7
_PATH_TOL = 1e-2
_PATH_ITERATIONS = 20
_OVERSAMPLING = 8  # axes beyond k that are iterated along: the iteration converges with their gap
_RELAXATION = 1.6
# The search goes over s = λ/(λ_max − λ): largest value, factors between the first and last ones.
_SEARCH_RANGE = 64.0
_SEARCH_FACTOR = 4.0
_SEARCH_WIDTH = 1.1
_SEARCH_TOL = 1e-3
_RANK_TOLERANCE = 1e-12
_BALANCE_EVERY, _BALANCE_UNTIL = 10, 200  # iterations at one λ; then the penalty stays as it is


@dataclass(eq=False, repr=False)
class ORPCA(RowMethod):
    """Robust PCA via bilinear decomposition with row-sparse outliers (ORPCA).

    Finds m, U (orthonormal), S and O that minimise ‖X − 1mᵀ − SUᵀ − O‖²_F + λ‖O‖_{2,1}; rows where
    O is not zero are the outliers, the others the support. `lam` is λ in units of X, infinity is
    PCA; None follows its path downwards to the least λ with which exactly n − t rows of O are not
    zero.

    S and O have a closed form given m and U: s_i = Uᵀ(x_i − m), and with d_i = √r_i the distance of
    x_i from the subspace, o_i is the residual vector shrunk by (1 − λ/2d_i)₊. Put in, this leaves
    Σ_i h(d_i) with Huber's function, h(d) = d² for d ≤ λ/2 and λd − λ²/4 beyond. h is concave in
    d², so it lies below its tangent there: with weights ω_i = min(1, λ/2d_i) the weighted PCA (m
    the weighted mean, U the leading eigenvectors of Σω_i x̃_i x̃_iᵀ) never increases it. The paper
    alternates with O held fixed in place of ω, which has the same stationary points and smaller
    steps. In place of the full eigenproblem each iteration makes one Rayleigh-Ritz step from the
    last axes, which suffices for the descent. It ends when no d_i, cut off at λ/2, changes by more
    than `tol` of λ/2. The problem is not convex; the path from PCA at λ = ∞, warm-started, makes
    the result deterministic.

    G. Mateos, G. B. Giannakis: "Robust PCA as bilinear decomposition with outlier-sparsity
    regularization", IEEE Transactions on Signal Processing 60 (2012).
    """

    n_components: int = 10
    _: KW_ONLY
    lam: float | None = None
    support_fraction: float | None = None
    tol: float = 1e-5
    max_iter: int = 3000

    def _solve(self, points: Coordinates) -> Fit:
        F = points.points
        center = F.mean(axis=0)
        axes = points.principal(F - center, self.n_components + _OVERSAMPLING)
        resolution = float(np.sqrt(points.noise))
        state = _Path(F, center, axes, self.n_components, resolution)
        t = support_size(len(F), self.support_fraction)
        if self.lam is not None:
            half, current = self.lam / 2, _PATH_FACTOR * float(state.distances.max(initial=0.0))
            while current > half and state.n_iter < self.max_iter:
                state.descend(current, _PATH_TOL, _PATH_ITERATIONS)
                current *= _PATH_FACTOR
            residual = state.descend(half, self.tol, self.max_iter - state.n_iter)
        elif t == len(F) or state.distances.max() <= resolution:  # PCA leaves nothing
            half, residual = np.inf, 0.0
        else:
            half, residual = self._follow_path(state, t)
        self.lam_ = 2 * half
        self.n_iter_ = state.n_iter
        self._set_converged(residual)
        # Rows on the boundary are inliers whatever rounding says, and so is rounding noise.
        inside = state.distances <= max(half * (1 + 1e-9), resolution)
        if self.lam is None:
            inside |= smallest(state.distances, t)
        return points.fit_of(state.center, state.leading, inside)

    def _follow_path(self, state: _Path, t: int) -> tuple[float, float]:
        """Lower λ/2 to where it meets the t-th distance; returns it and the residual."""
        half = float(state.distances.max(initial=0.0))
        while True:
            lower = max(np.partition(state.distances, t - 1)[t - 1].item(), _PATH_FACTOR * half)
            change = abs(lower - half) / max(half, state.resolution)
            left = self.max_iter - state.n_iter
            if change <= self.tol or left <= 0:
                # The last λ to the end; should its t-th distance move, the path goes on.
                residual = max(state.descend(half, self.tol, left), change if left <= 0 else 0.0)
                moved = np.partition(state.distances, t - 1)[t - 1].item()
                if left <= 0 or abs(moved - half) <= 10 * self.tol * max(half, state.resolution):
                    return half, residual
            half = lower
            state.descend(half, _PATH_TOL, min(_PATH_ITERATIONS, left))


@dataclass
class _Path:
    """Centre and axes on their way down, with the distances that belong to them."""

    points: Floats
    center: Floats
    axes: Floats
    n_components: int
    resolution: float  # of distances: less than this is rounding errors
    n_iter: int = 0

    def __post_init__(self) -> None:
        self.distances = np.sqrt(residuals(self.points, self.center, self.leading.T))

    @property
    def leading(self) -> Floats:
        """The first k axes, which are what counts."""
        return self.axes[:, : self.n_components]

    def descend(self, half: float, tol: float, max_iter: int) -> float:
        """Iterate at one λ; returns the last change of a distance relative to λ/2."""
        residual = 0.0
        if not 0.0 < half < np.inf or self.axes.shape[1] == 0:
            return residual
        for _ in range(max(max_iter, 1)):
            before = np.minimum(self.distances, half)
            weights = half / np.maximum(self.distances, half)
            self.center = weights @ self.points / weights.sum()
            rows = (self.points - self.center) * np.sqrt(weights)[:, None]
            # A Rayleigh-Ritz step of the weighted scatter matrix on the span of the axes and their
            # image, which holds the axes themselves: the first k of the new ones explain no less.
            both = np.column_stack([self.axes, rows.T @ (rows @ self.axes)])
            basis = scipy.linalg.qr(both, mode="economic", check_finite=False)[0]
            turn = scipy.linalg.svd(rows @ basis, full_matrices=False, check_finite=False)[2]
            self.axes = basis @ turn[: self.axes.shape[1]].T
            self.distances = np.sqrt(residuals(self.points, self.center, self.leading.T))
            self.n_iter += 1
            change = float(np.abs(np.minimum(self.distances, half) - before).max())
            residual = change / max(half, self.resolution)
            if residual <= tol:
                break
        return residual


@dataclass(eq=False, repr=False)
class OutlierPursuit(RowMethod):
    """Outlier pursuit (OPRPCA), which is also the low-leverage decomposition (LLD).

    Minimises ‖L‖_* + λ‖C‖_{1,2} subject to L + C = X − 1mᵀ, with m the spatial (geometric) median
    of the rows and ‖C‖_{1,2} the sum of the lengths of the rows of C. Rows where C is not zero are
    the outliers; the components are the k leading right singular vectors of L, so that a fit with
    more components begins with those of a fit with fewer, unless λ is found by "rank".

    `lam` is λ, or "support" for the least with which no more than n − t rows of C are not zero, or
    "rank" for the least with which L has rank k or more. On noisy data the equality leaves the
    noise of ordinary rows to C unless L takes it all: then "support" ends near λ_max, where L is
    almost X − 1mᵀ, and "rank" tells more.

    With M = X − 1mᵀ, the alternating direction method of multipliers (over-relaxed) repeats

    - L ← the singular values of Z = M − C + Y/β, each lowered by 1/β: from the eigenpairs of ZᵀZ;
    - C ← the rows of M − L + Y/β, each shortened by λ/β;
    - Y ← Y + β(M − L − C),

    until the primal and the dual residual, relative to M and to Y, are both below `tol`. From Y = C
    = 0 all of it stays of the form AM, so in coordinates the result is that on X.

    H. Xu, C. Caramanis, S. Sanghavi: "Robust PCA via outlier pursuit", IEEE Transactions on
    Information Theory 58 (2012). M. McCoy, J. A. Tropp: "Two proposals for robust PCA using
    semidefinite programming", Electronic Journal of Statistics 5 (2011).
    """

    n_components: int = 10
    _: KW_ONLY
    lam: float | Literal["support", "rank"] = "support"
    support_fraction: float | None = None
    tol: float = 1e-5
    max_iter: int = 1000

    _words: ClassVar = {"lam": ("support", "rank")}
    _own_axes = True

    def _solve(self, points: Coordinates) -> Fit:
        n = len(points.points)
        n_outliers = n - support_size(n, self.support_fraction)
        center = spatial_median(points.points)
        M = points.points - center
        split = _Decomposition(M)
        if self.lam == "support":
            last = _SEARCH_RANGE if n_outliers else math.inf
            residual = self._search(split, lambda: split.outliers.sum() <= n_outliers, last)
        elif self.lam == "rank":
            residual = self._search(split, lambda: split.rank >= self.n_components, math.inf)
        else:
            residual = split.run(float(self.lam), self.tol, self.max_iter)
        self.lam_, self.rank_ = split.lam, split.rank
        self.objective_ = split.objective
        self.n_iter_ = split.n_iter
        self._set_converged(residual)
        if self.converged_ and self.lam == "support" and split.outliers.sum() > n_outliers:
            self.converged_ = False
            message = (
                f"OutlierPursuit: {split.outliers.sum()} rows of C are not zero, more than "
                f"n − t = {n_outliers}, even for λ = {split.lam / split.largest_lambda:.2f} λ_max: "
                f"on noisy data lam='rank' may tell more"
            )
            warnings.warn(message, ConvergenceWarning, stacklevel=4)
        axes = split.axes[:, split.lengths**2 > points.noise][:, : self.n_components]
        return points.fit_of(center, axes, ~split.outliers)

    def _search(
        self, split: _Decomposition, enough: Callable[[], bool | np.bool_], last: float
    ) -> float:
        """Find the least λ from which on `enough` holds, or the last one; returns the residual."""

        def run(s: float, tol: float) -> float:
            return split.run(split.largest_lambda / (1.0 + 1.0 / s), tol, self.max_iter)

        low, high, s = 1.0 / _SEARCH_RANGE, math.inf, 1.0
        while high > _SEARCH_WIDTH * low and low < _SEARCH_RANGE and split.largest_lambda > 0.0:
            # Near λ_max all that happens is of the size of λ_max − λ.
            run(s, max(min(_SEARCH_TOL, 0.05 / (1.0 + s)), self.tol))
            if enough():
                high, s = s, max(s / _SEARCH_FACTOR, math.sqrt(low * s))
            else:
                between = _SEARCH_RANGE if math.isinf(high) else math.sqrt(s * high)
                low, s = s, min(s * _SEARCH_FACTOR, between)
        high = min(high, last)
        residual = run(high, self.tol)
        # The search looked at iterates that were not quite there.
        while high < _SEARCH_RANGE and not enough():
            high = min(high * _SEARCH_WIDTH, _SEARCH_RANGE)
            residual = run(high, self.tol)
        return residual


class _Decomposition:
    """M (n, ρ) = L + C and the multiplier, which one λ hands to the next."""

    def __init__(self, M: Floats) -> None:
        self._M = M
        left, values, _ = np.linalg.svd(M, full_matrices=False)
        # Of most rows, √n times: a huge one says nothing of how well the others are split.
        self._length = math.sqrt(len(M)) * float(np.median(np.linalg.norm(M, axis=1)))
        self._length = self._length or float(np.linalg.norm(M))
        kept = values > values.max(initial=0.0) * _RANK_TOLERANCE
        leverages = (left[:, kept] ** 2).sum(axis=1)
        self.largest_lambda = float(np.sqrt(leverages.max(initial=0.0)))
        self._beta = 1.0 / float(np.median(values[kept])) if kept.any() else 1.0
        self._C = np.zeros_like(M)
        self._Y = np.zeros_like(M)
        self.outliers = np.zeros(len(M), dtype=bool)
        self.n_iter = 0
        self.lam = self.objective = 0.0
        self.rank = 0
        self.axes = np.zeros((M.shape[1], 0))
        self.lengths = np.zeros(0)

    def run(self, lam: float, tol: float, max_iter: int) -> float:
        """Iterate at one λ until the residuals are below tol; returns the larger one."""
        self.lam = lam
        residual = 0.0
        if lam >= self.largest_lambda:
            # The product of the singular vectors of M is a multiplier for C = 0: L = M is optimal.
            _, lengths, axes = np.linalg.svd(self._M, full_matrices=False)
            kept = lengths > lengths.max(initial=0.0) * _RANK_TOLERANCE
            self.lengths, self.axes, self.rank = lengths[kept], axes[kept].T, int(kept.sum())
            self.outliers = np.zeros(len(self._M), dtype=bool)
            self.objective = float(lengths.sum())
            return residual
        for iteration in range(1, max_iter + 1):
            primal, dual = self._step()
            self.n_iter += 1
            residual = max(primal, dual)
            if residual <= tol:
                break
            if iteration % _BALANCE_EVERY == 0 and iteration <= _BALANCE_UNTIL:
                self._beta *= 2.0 if primal > 5 * dual else 0.5 if dual > 5 * primal else 1.0
        return residual

    def _step(self) -> tuple[float, float]:
        M, beta = self._M, self._beta
        Z = M - self._C + self._Y / beta
        squares, V = np.linalg.eigh(Z.T @ Z)
        lengths = np.sqrt(np.maximum(squares, 0.0))
        kept = lengths * beta > 1.0
        V, lengths = V[:, kept], lengths[kept]
        L = ((Z @ V) * (1.0 - 1.0 / (beta * lengths))) @ V.T
        relaxed = _RELAXATION * L + (1.0 - _RELAXATION) * (M - self._C)
        rest = M - relaxed + self._Y / beta
        norms = np.sqrt(np.einsum("ij,ij->i", rest, rest))
        self.outliers = norms * beta > self.lam
        shrink = 1.0 - self.lam / (beta * np.where(self.outliers, norms, np.inf))
        C = rest * np.where(self.outliers, shrink, 0.0)[:, None]
        self._Y = beta * (rest - C)
        dual = beta * float(np.linalg.norm(C - self._C)) / float(np.linalg.norm(self._Y))
        self._C = C
        self.rank = int(kept.sum())
        self.lengths, self.axes = (lengths - 1.0 / beta)[::-1], V[:, ::-1]
        self.objective = float(self.lengths.sum() + self.lam * np.linalg.norm(C, axis=1).sum())
        return float(np.linalg.norm(M - L - C)) / self._length, dual
