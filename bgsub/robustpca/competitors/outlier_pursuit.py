"""Outlier pursuit: a low-rank part and a row-sparse part, by convex optimisation (OPRPCA, LLD)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Literal

import numpy as np

from bgsub.errors import ConvergenceWarning
from bgsub.robustpca.checks import check_components, check_iteration, support_size
from bgsub.robustpca.competitors.row_method import (
    Coordinates,
    RowMethod,
    check_lambda,
    spatial_median,
    warn_not_converged,
)
from bgsub.robustpca.spaces import Fit, Floats

_RELAXATION = 1.6
# The search goes over s = λ/(λ_max − λ): largest value, factors between the first and last ones.
_SEARCH_RANGE = 64.0
_SEARCH_FACTOR = 4.0
_SEARCH_WIDTH = 1.1
_SEARCH_TOL = 1e-3
_RANK_TOLERANCE = 1e-12
# Times the length of most rows: as far as a row is looked at.
_FARTHEST = 1e3
# The penalty is balanced this often, and no more after so many iterations at one λ.
_BALANCE_EVERY = 10
_BALANCE_UNTIL = 200


class OutlierPursuit(RowMethod):
    """Outlier pursuit (OPRPCA), which is also the low-leverage decomposition (LLD).

    Minimises ‖L‖_* + λ‖C‖_{1,2} subject to L + C = X − 1mᵀ, with m the spatial (geometric) median
    of the rows and ‖C‖_{1,2} the sum of the lengths of the rows of C. Rows of C that are not zero
    are the outliers; the components are the k leading right singular vectors of L.

    Parameters
    ----------
    n_components : int
        k, at least 1. If L has a lower rank, fewer components are returned, with a warning. Unless
        λ is found by "rank" the decomposition does not depend on k: a fit with more components
        begins with those of a fit with fewer.
    lam : float, "support", "rank" or "paper"
        λ. "support" searches for the least λ with which no more than n − t rows of C are not zero,
        "rank" for the least λ with which L has rank k or more; "paper" is 3/(7√(n − t)), the value
        of Xu, Caramanis and Sanghavi for n − t outliers in exact low-rank data. On noisy data the
        equality leaves the noise of ordinary rows to C unless L takes it all: then "support" ends
        near λ_max, where L is almost X − 1mᵀ, and "rank" tells more.
    support_fraction : float, optional
        t/n in [0.5, 1], used by "support" and "paper"; None is t = ⌈n/2⌉.
    tol : float
        The iteration ends when the primal and the dual residual, relative to X − 1mᵀ and to the
        multiplier, are both below this.
    max_iter : int
        Most iterations at one λ.

    Attributes
    ----------
    lam_ : float
        λ of the result.
    objective_ : float
        ‖L‖_* + λ‖C‖_{1,2}.
    rank_ : int
        Rank of L.
    support_ : ndarray of shape (n,), bool
        The rows where C is zero. On noisy data that may be none: with small λ the equality leaves
        the noise of all rows to C.
    n_iter_, converged_ : int, bool
        Iterations done, all λ together, and whether the last of them met `tol`.
    center_, components_, errors_, scores_, outlier_scores_, error_location_, error_scale_,
    center_weights_, component_weights_
        As in `TRPCA`; components in order of the singular values of L.

    Notes
    -----
    The median is Σa_i x_i with weights a_i ∝ 1/‖x_i − m‖ (Weiszfeld's iteration, in the form of
    Vardi and Zhang where m meets a row). With M = X − 1mᵀ, the alternating direction method of
    multipliers (over-relaxed) repeats

    - L ← the singular values of Z = M − C + Y/β, each lowered by 1/β: from the eigenpairs of ZᵀZ;
    - C ← the rows of M − L + Y/β, each shortened by λ/β;
    - Y ← Y + β(M − L − C).

    From Y = C = 0 all of it stays of the form AM: a sum of such matrices, ZP(σ)Zᵀ… acts from the
    left (Z = AM has the left singular vectors of the n × n matrix AMMᵀAᵀ, and lowering its singular
    values multiplies it by W diag((1 − 1/βσ)₊)Wᵀ), and lengths of rows are √diag(AMMᵀAᵀ). So the
    whole iteration runs in the coordinates of `row_method`, and the result is that on X:
    O(n³) operations an iteration whatever p is.

    References
    ----------
    H. Xu, C. Caramanis, S. Sanghavi: "Robust PCA via outlier pursuit", IEEE Transactions on
    Information Theory 58 (2012). M. McCoy, J. A. Tropp: "Two proposals for robust PCA using
    semidefinite programming", Electronic Journal of Statistics 5 (2011).

    Examples
    --------
    >>> import numpy as np
    >>> from bgsub.robustpca.competitors.outlier_pursuit import OutlierPursuit
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 40))
    >>> X[:6] += rng.normal(scale=5, size=(6, 40))
    >>> fit = OutlierPursuit(2, support_fraction=54 / 60).fit(X)
    >>> np.flatnonzero(~fit.support_).tolist()
    [0, 1, 2, 3, 4, 5]
    """

    _own_axes = True

    lam_: float
    objective_: float
    rank_: int

    def __init__(
        self,
        n_components: int = 10,
        *,
        lam: float | Literal["support", "rank", "paper"] = "support",
        support_fraction: float | None = None,
        tol: float = 1e-5,
        max_iter: int = 1000,
    ) -> None:
        self.n_components = n_components
        self.lam = lam
        self.support_fraction = support_fraction
        self.tol = tol
        self.max_iter = max_iter

    def _check(self, n_samples: int) -> None:
        check_components(self.n_components)
        if isinstance(self.lam, str):
            if self.lam not in ("support", "rank", "paper"):
                message = (
                    f"lam={self.lam!r}: a number above 0, 'support', 'rank' or 'paper' is needed"
                )
                raise ValueError(message)
        else:
            check_lambda(self.lam)
        check_iteration(self.tol, self.max_iter)
        support_size(n_samples, self.support_fraction)

    def _solve(self, points: Coordinates) -> Fit:
        n = len(points.points)
        n_outliers = n - support_size(n, self.support_fraction)
        center = spatial_median(points.points)
        M = points.points - center
        lengths = np.linalg.norm(M, axis=1)
        # Of a row of C its direction alone matters to the rest, and the iteration lengthens it by
        # steps of one size: it starts where the direction is known to a thousandth.
        bound = _FARTHEST * float(np.median(lengths)) or math.inf
        short = np.minimum(lengths, bound)
        split = _Decomposition(M * (short / np.where(lengths > 0.0, lengths, 1.0))[:, None])
        if self.lam == "support":
            last = _SEARCH_RANGE if n_outliers else math.inf
            residual = self._search(split, lambda: split.outliers.sum() <= n_outliers, last)
        elif self.lam == "rank":
            residual = self._search(split, lambda: split.rank >= self.n_components, math.inf)
        else:
            lam = 3.0 / (7.0 * math.sqrt(max(n_outliers, 1))) if self.lam == "paper" else self.lam
            residual = split.run(float(lam), self.tol, self.max_iter)
        self.lam_, self.rank_ = split.lam, split.rank
        self.objective_ = split.objective + split.lam * float(
            (lengths * points.stretch - short).sum()
        )
        self.n_iter_ = split.n_iter
        self.converged_ = residual <= self.tol
        if not self.converged_:
            warn_not_converged("OutlierPursuit", self.max_iter, residual, self.tol)
        elif self.lam == "support" and split.outliers.sum() > n_outliers:
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
        """Find the least λ from which on `enough` holds, by bisection; returns the residual.

        Values of λ are those of s = λ/(λ_max − λ); `last` is taken if it holds nowhere in range.
        """

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
    """M = L + C and the multiplier, which one λ hands to the next.

    Parameters
    ----------
    M : ndarray of shape (n, ρ)
    """

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
            self._set_low_rank(self._M)
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

    def _set_low_rank(self, L: Floats) -> None:
        _, lengths, axes = np.linalg.svd(L, full_matrices=False)
        kept = lengths > lengths.max(initial=0.0) * _RANK_TOLERANCE
        self.lengths, self.axes, self.rank = lengths[kept], axes[kept].T, int(kept.sum())
        self.outliers = np.zeros(len(L), dtype=bool)
        self.objective = float(lengths.sum())

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
