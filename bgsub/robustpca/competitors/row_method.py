"""Share among row-outlier methods n points of few coordinates in place of n × p pixels.

Each of these methods looks at the rows of X through lengths and inner products only, and whatever
it computes is a left multiplication of X: a centre is m = Xᵀa with weights a that sum to 1, a
component is U = (X − 1mᵀ)ᵀD, a low-rank or an outlier part is A(X − 1mᵀ). So take as the origin the
mean of the half of the rows nearest to m₀, with weights o, let J = I − 1oᵀ, and factor the centred
Gram matrix, JKJᵀ = FFᵀ with F of shape (n, ρ), ρ ≤ n − 1. Then JX₀ = FQ with orthonormal rows of Q:
the rows of F are the rows of X in coordinates, with the same distances and angles. A method that is
run on F gives the same weights, scores and residuals as one that is run on X, with ρ columns in
place of p; Q is never formed. What comes back are weights of the n rows: the Cholesky factor with
pivoting has F = [L; *] for ρ independent rows (the pivots), so Qᵀ = X₀ᵀT with T = Jᵀ[L⁻ᵀ; 0], a
point μ of these coordinates is the centre with weights w = o + Tμ, and axes V are the components
with weights B = TV. Columns of T sum to 0: backgrounds stay affine combinations of frames.

For n > p the coordinates are the columns of X themselves.

No row decides how another one is seen. The origin and what counts as rounding errors are those of
most rows, and a row that lies 10⁵ times as far from the origin as they do takes part from there,
in its direction: whatever it does to a method it does at that distance, too, and not to the digits
of all other rows. Its scores and residuals are those of the row itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from bgsub.errors import ConvergenceWarning
from bgsub.robustpca.base import AffineEstimator
from bgsub.robustpca.checks import check_number
from bgsub.robustpca.descent import smallest
from bgsub.robustpca.reweight import (
    location_and_scale,
    predictive_errors,
    robust_scores,
    rounding_level,
)
from bgsub.robustpca.spaces import Fit, Floats, RowSpace, Space
from bgsub.robustpca.trpca import principal_axes

Flags = NDArray[np.bool_]

_MEDIAN_ITERATIONS = 500
_MEDIAN_TOL = 1e-10
# Times the distance of most rows: squares still leave the others half of their digits.
_FARTHEST = 1e5
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Coordinates:
    """The rows of X as points, up to a rigid motion.

    Attributes
    ----------
    points : ndarray of shape (n, ρ), float64
        F, with rows of bounded length.
    stretch : ndarray of shape (n,)
        What the points are multiplied by to be those of the rows themselves, 1 for almost all.
    origin : ndarray of shape (q,)
        Weights of the origin in the space.
    lift : callable
        V of shape (ρ, c) to the weights TV of shape (q, c).
    noise : float
        Sums of squares up to this are rounding errors of the Gram matrix.
    """

    points: Floats
    stretch: Floats
    origin: Floats
    lift: Callable[[Floats], Floats]
    noise: float

    @classmethod
    def of(cls, points: Floats, origin: Floats, lift: Callable[[Floats], Floats]) -> Self:
        """Bound the lengths of points, which are about an origin."""
        lengths = np.sqrt(np.einsum("ij,ij->i", points, points))
        typical = float(np.median(lengths[lengths > 0.0])) if lengths.any() else 0.0
        farthest = _FARTHEST * typical
        stretch = np.maximum(lengths / farthest, 1.0) if farthest else np.ones(len(points))
        noise = typical**2 * len(points) * _EPS * 4
        return cls(points / stretch[:, None], stretch, origin, lift, noise)

    def principal(self, rows: Floats, n_components: int) -> Floats:
        """Leading principal axes of centred rows of shape (m, ρ), shape (ρ, ≤ k)."""
        _, lengths, axes = scipy.linalg.svd(rows, full_matrices=False, check_finite=False)
        kept = lengths[:n_components] ** 2 > self.noise
        return np.asarray(axes[:n_components][kept].T)

    def fit_of(self, center: Floats, axes: Floats, support: Flags) -> Fit:
        """Scores and residuals of the points, with centre and axes as they are in coordinates.

        Parameters
        ----------
        center : ndarray of shape (ρ,)
        axes : ndarray of shape (ρ, c), c ≤ k
            Orthonormal columns.
        support : ndarray of shape (n,), bool
        """
        residuals = distances(self.points, center, axes) ** 2
        return Fit(center, axes, (self.points - center) @ axes, residuals, support)

    def lifted(self, fit: Fit) -> Fit:
        """Centre and components of a fit in coordinates as weights of the space.

        Scores and residuals are those of the rows, however far they are.
        """
        center, axes = fit.weights, fit.basis
        rows = self.points * self.stretch[:, None]
        weights = self.origin + self.lift(center[:, None])[:, 0]
        residuals = distances(rows, center, axes) ** 2
        return Fit(weights, self.lift(axes), (rows - center) @ axes, residuals, fit.support)


def distances(points: Floats, center: Floats, axes: Floats) -> Floats:
    """Distance of every point from the subspace through a centre along orthonormal axes."""
    rest = points - center
    rest -= (rest @ axes) @ axes.T
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rest, rest)))


def coordinates(space: Space) -> Coordinates:
    """Coordinates of the rows; O(n³/3) operations from a Gram matrix, a copy of X for n > p."""
    n = space.n_samples
    near = smallest(space.squared_norms[:, None], (n + 1) // 2)[:, 0]
    share = near / near.sum()
    origin = space.lift(share[:, None])[:, 0]
    if not isinstance(space, RowSpace):
        points = space.project(np.eye(origin.size))
        return Coordinates.of(points - points[near].mean(axis=0), origin, np.copy)
    K = space.project(np.eye(n))
    means = K[near].mean(axis=0)
    middle = means[near].mean()
    centred = K - means - means[:, None] + middle
    # What is left of a row that lies at the origin is rounding errors, and must not be scaled up.
    errors = 64 * _EPS * (K.diagonal() + 2 * np.abs(means) + abs(middle))
    squares = np.where(centred.diagonal() > errors, centred.diagonal(), 0.0)
    lengths = np.sqrt(squares)
    inverse = np.where(lengths > 0.0, 1.0 / np.where(lengths > 0.0, lengths, 1.0), 0.0)
    # Rows of one length: else all others would be noise beside a row that is huge.
    lower, pivots, rank, _ = scipy.linalg.lapack.dpstrf(
        centred * inverse * inverse[:, None], lower=1
    )
    rank = min(rank, int((lengths > 0.0).sum()))
    order = pivots - 1
    points = np.zeros((n, rank))
    points[order] = np.tril(lower)[:, :rank] * lengths[order, None]
    top, chosen = points[order[:rank]], order[:rank]

    def lift(V: Floats) -> Floats:
        weights = np.zeros((n, V.shape[1]))
        if rank:
            weights[chosen] = scipy.linalg.solve_triangular(top, V, lower=True, trans="T")
        return np.asarray(weights - share[:, None] * weights.sum(axis=0))

    return Coordinates.of(points, origin, lift)


def spatial_median(points: Floats) -> Floats:
    """Point with the least sum of distances to the rows, shape (ρ,).

    Weiszfeld's iteration; where it meets a row, the step of Vardi and Zhang (2000) decides whether
    that row is the median. Starts at the mean; O(nρ) operations an iteration.
    """
    center = points.mean(axis=0)
    scale = float(np.abs(points - center).max(initial=0.0))
    if scale == 0.0:
        return np.asarray(center)
    for _ in range(_MEDIAN_ITERATIONS):
        difference = points - center
        lengths = np.sqrt(np.einsum("ij,ij->i", difference, difference))
        apart = lengths > 1e-12 * scale
        inverse = np.where(apart, 1.0 / np.where(apart, lengths, 1.0), 0.0)
        pull = inverse @ difference
        strength = float(np.linalg.norm(pull))
        met = int((~apart).sum())
        if strength <= met or strength == 0.0:
            break
        step = (1.0 - met / strength) * pull / inverse.sum()
        center = center + step
        if np.linalg.norm(step) <= _MEDIAN_TOL * scale:
            break
    return np.asarray(center)


def check_lambda(lam: float | None) -> None:
    """Raise ValueError unless λ is positive (or not given)."""
    if lam is not None:
        check_number("lam", lam, 0.0, strictly=True)


def warn_not_converged(name: str, max_iter: int, residual: float, tol: float) -> None:
    """Emit a ConvergenceWarning with the residual that was reached."""
    message = (
        f"{name} did not converge in max_iter={max_iter} iterations: "
        f"the residual is {residual:.1e}, above tol={tol:g}"
    )
    warnings.warn(message, ConvergenceWarning, stacklevel=5)


class RowMethod(AffineEstimator):
    """Base of the methods for which whole rows are outliers.

    Subclasses implement `_solve`. Beside the attributes of `AffineEstimator` they all set
    ``outlier_scores_``, ``error_location_`` and ``error_scale_`` as `TRPCA` does, ``n_iter_`` and
    ``converged_``.
    """

    # Whether the axes come in an order of their own, which rotation would spoil.
    _own_axes = False

    converged_: bool
    outlier_scores_: Floats
    error_location_: float
    error_scale_: float

    def _solve(self, points: Coordinates) -> Fit:
        """Fit in coordinates, see `Coordinates.fit_of`."""
        raise NotImplementedError

    def _fit_space(self, space: Space) -> list[Fit]:
        points = coordinates(space)
        fit = self._solve(points)
        fit = _positive_peaks(fit) if self._own_axes else _principal_axes(fit)
        lifted = points.lifted(fit)
        # Leverages from the points: beside the scores of a row that is huge all others vanish.
        self._set_outlier_scores(replace(lifted, scores=fit.scores), rounding_level(space))
        return [lifted]

    def _set_outlier_scores(self, fit: Fit, resolution: float) -> Self:
        errors = predictive_errors(fit) if fit.support.any() else np.sqrt(fit.residuals)
        self.outlier_scores_ = robust_scores(errors, resolution=resolution)
        self.error_location_, self.error_scale_ = location_and_scale(errors, resolution=resolution)
        return self


def _principal_axes(fit: Fit) -> Fit:
    """Rotate to the principal axes of the support, or of all rows where that is too small."""
    enough = fit.support.sum() > fit.basis.shape[1]
    rows = fit.support if enough else np.ones_like(fit.support)
    return replace(principal_axes(replace(fit, support=rows)), support=fit.support)


def _positive_peaks(fit: Fit) -> Fit:
    """Turn each component so that its score of largest magnitude is positive."""
    peaks = np.take_along_axis(fit.scores, np.abs(fit.scores).argmax(axis=0)[None], axis=0)[0]
    signs = np.where(peaks < 0.0, -1.0, 1.0)
    return replace(fit, basis=fit.basis * signs, scores=fit.scores * signs)
