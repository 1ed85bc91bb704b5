"""Robust PCA with an outlier term that is sparse in rows (ORPCA)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from bgsub.robustpca.checks import check_components, check_iteration, support_size
from bgsub.robustpca.competitors.row_method import (
    Coordinates,
    RowMethod,
    check_lambda,
    distances,
    warn_not_converged,
)
from bgsub.robustpca.descent import smallest
from bgsub.robustpca.spaces import Fit, Floats

# λ falls by this factor along the path, each solution being the start for the next.
_PATH_FACTOR = 0.7
_PATH_TOL = 1e-2
_PATH_ITERATIONS = 20
# Axes beyond k that are iterated along: the iteration converges with their gap.
_OVERSAMPLING = 8


class ORPCA(RowMethod):
    """Robust PCA via bilinear decomposition with row-sparse outliers (ORPCA).

    Finds m, U (orthonormal), S and O that minimise
    ‖X − 1mᵀ − SUᵀ − O‖²_F + λ‖O‖_{2,1}; the rows of O that are not zero are the outliers.

    Parameters
    ----------
    n_components : int
        k, at least 1. If the data have a lower rank, fewer components are returned, with a warning.
    lam : float, optional
        λ, in units of X. Infinity is PCA. None follows the path of λ downwards until exactly n − t
        rows of O are not zero, and takes the least such λ.
    support_fraction : float, optional
        t/n in [0.5, 1], used without `lam`; None is t = ⌈n/2⌉.
    tol : float
        The iteration ends when no distance d_i (cut off at λ/2) changes by more than this share of
        λ/2, nor λ itself along the path.
    max_iter : int
        Most iterations, all λ of the path together.

    Attributes
    ----------
    lam_ : float
        λ of the result.
    support_ : ndarray of shape (n,), bool
        The rows where O is zero.
    n_iter_, converged_ : int, bool
        Iterations done, all λ together, and whether the last of them met `tol`.
    center_, components_, errors_, scores_, outlier_scores_, error_location_, error_scale_,
    center_weights_, component_weights_
        As in `TRPCA`.

    Notes
    -----
    S and O have a closed form given m and U: s_i = Uᵀ(x_i − m), and with d_i = √r_i the distance of
    x_i from the subspace, o_i is the residual vector shrunk by (1 − λ/2d_i)₊. Put in, this leaves
    Σ_i h(d_i) with Huber's function, h(d) = d² for d ≤ λ/2 and λd − λ²/4 beyond. h is concave in
    d², so it lies below its tangent there: with weights ω_i = min(1, λ/2d_i) the weighted PCA
    (m the weighted mean, U the leading eigenvectors of Σω_i x̃_i x̃_iᵀ) never increases it. The
    paper alternates with O held fixed in place of ω, which has the same objective and the same
    stationary points, and takes smaller steps. In place of the full eigenproblem each iteration
    makes one Rayleigh-Ritz step from the last axes, which suffices for the descent.

    m is a weighted mean of rows and U a combination of the rows weighted by ω_i s_i: left
    multiplications of X, so all of it happens in the coordinates of `row_method`; O(nρk) ≤ O(n²k)
    operations an iteration whatever p is, after O(n³/3) once. The problem is not convex; the path
    from PCA at λ = ∞ downwards, warm-started, makes the result deterministic.

    References
    ----------
    G. Mateos, G. B. Giannakis: "Robust PCA as bilinear decomposition with outlier-sparsity
    regularization", IEEE Transactions on Signal Processing 60 (2012).

    Examples
    --------
    >>> import numpy as np
    >>> from bgsub.robustpca.competitors.orpca import ORPCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 40))
    >>> X += 0.01 * rng.normal(size=X.shape)
    >>> X[:10] += rng.normal(scale=5, size=(10, 40))
    >>> fit = ORPCA(2, support_fraction=50 / 60).fit(X)
    >>> np.flatnonzero(~fit.support_).tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """

    lam_: float

    def __init__(
        self,
        n_components: int = 10,
        *,
        lam: float | None = None,
        support_fraction: float | None = None,
        tol: float = 1e-5,
        max_iter: int = 3000,
    ) -> None:
        self.n_components = n_components
        self.lam = lam
        self.support_fraction = support_fraction
        self.tol = tol
        self.max_iter = max_iter

    def _check(self, n_samples: int) -> None:
        check_components(self.n_components)
        check_lambda(self.lam)
        check_iteration(self.tol, self.max_iter)
        support_size(n_samples, self.support_fraction)

    def _solve(self, points: Coordinates) -> Fit:
        F = points.points
        center = F.mean(axis=0)
        axes = points.principal(F - center, self.n_components + _OVERSAMPLING)
        resolution = float(np.sqrt(points.noise))
        state = _State(F, center, axes, self.n_components, resolution)
        t = support_size(len(F), self.support_fraction)
        if self.lam is not None:
            half, residual = self.lam / 2, self._approach(state, self.lam / 2)
        elif t == len(F) or state.distances.max() <= resolution:  # PCA leaves nothing
            half, residual = np.inf, 0.0
        else:
            half, residual = self._follow_path(state, t)
        self.lam_ = 2 * half
        self.n_iter_ = state.n_iter
        self.converged_ = residual <= self.tol
        if not self.converged_:
            warn_not_converged("ORPCA", self.max_iter, residual, self.tol)
        # Rows on the boundary are inliers whatever rounding says, and so is rounding noise.
        inside = state.distances <= max(half * (1 + 1e-9), resolution)
        if self.lam is None:
            inside |= smallest(state.distances[:, None], t)[:, 0]
        return points.fit_of(state.center, state.leading, inside)

    def _approach(self, state: _State, half: float) -> float:
        """Lower λ/2 to a given value; returns the residual."""
        current = _PATH_FACTOR * float(state.distances.max(initial=0.0))
        while current > half and state.n_iter < self.max_iter:
            state.descend(current, _PATH_TOL, _PATH_ITERATIONS)
            current *= _PATH_FACTOR
        return state.descend(half, self.tol, self.max_iter - state.n_iter)

    def _follow_path(self, state: _State, t: int) -> tuple[float, float]:
        """Lower λ/2 to where it meets the t-th distance; returns it and the residual."""
        half = float(state.distances.max(initial=0.0))
        while True:
            lower = max(float(np.partition(state.distances, t - 1)[t - 1]), _PATH_FACTOR * half)
            change = abs(lower - half) / max(half, state.resolution)
            left = self.max_iter - state.n_iter
            if change <= self.tol or left <= 0:
                # The last λ to the end; should its t-th distance move, the path goes on.
                residual = max(state.descend(half, self.tol, left), change if left <= 0 else 0.0)
                moved = float(np.partition(state.distances, t - 1)[t - 1])
                if left <= 0 or abs(moved - half) <= 10 * self.tol * max(half, state.resolution):
                    return half, residual
            half = lower
            state.descend(half, _PATH_TOL, min(_PATH_ITERATIONS, left))


@dataclass
class _State:
    """Centre and axes on their way down, with the distances that belong to them."""

    points: Floats
    center: Floats
    axes: Floats
    n_components: int
    resolution: float  # of distances: less than this is rounding errors
    n_iter: int = 0

    def __post_init__(self) -> None:
        self.distances = distances(self.points, self.center, self.leading)

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
            self.axes, self.center = _weighted_step(
                self.points, self.axes, half / np.maximum(self.distances, half)
            )
            self.distances = distances(self.points, self.center, self.leading)
            self.n_iter += 1
            change = float(np.abs(np.minimum(self.distances, half) - before).max())
            residual = change / max(half, self.resolution)
            if residual <= tol:
                break
        return residual


def _weighted_step(points: Floats, axes: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Rayleigh-Ritz step of the weighted scatter matrix on the span of the axes and their image.

    The span holds the axes themselves, so the first k of the new ones explain no less.
    """
    center = weights @ points / weights.sum()
    rows = (points - center) * np.sqrt(weights)[:, None]
    image = rows.T @ (rows @ axes)
    basis = scipy.linalg.qr(np.column_stack([axes, image]), mode="economic", check_finite=False)[0]
    _, _, turn = scipy.linalg.svd(rows @ basis, full_matrices=False, check_finite=False)
    return basis @ turn[: axes.shape[1]].T, center
