"""Methods for which whole rows are outliers: their common coordinates, PCA and HRPCA.

Each of them looks at the rows of X through lengths and inner products only, and whatever
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

The origin and what counts as rounding errors are those of most rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property

import numpy as np
import scipy.linalg

from bgsub.robustpca import spaces
from bgsub.robustpca.base import AffineEstimator
from bgsub.robustpca.conventions import support_size
from bgsub.robustpca.descent import smallest
from bgsub.robustpca.reweight import rounding_level
from bgsub.robustpca.spaces import Fit, Flags, Floats, RowSpace, Space, inverse_roots, peak_signs
from bgsub.robustpca.trpca import principal_axes

_MEDIAN_ITERATIONS = 500
_MEDIAN_TOL = 1e-10
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Coordinates:
    """The rows of X as points, up to a rigid motion."""

    points: Floats  # F, shape (n, ρ)
    origin: Floats  # weights of the origin in the space, shape (q,)
    lift: Callable[[Floats], Floats]  # V of shape (ρ, c) to the weights TV of shape (q, c)

    @cached_property
    def noise(self) -> float:
        """Sums of squares up to this are rounding errors of the Gram matrix."""
        lengths = np.sqrt(np.einsum("ij,ij->i", self.points, self.points))
        typical = float(np.median(lengths[lengths > 0.0])) if lengths.any() else 0.0
        return typical**2 * len(self.points) * _EPS * 4

    def principal(self, rows: Floats, n_components: int) -> Floats:
        """Leading principal axes of centred rows of shape (m, ρ), shape (ρ, ≤ k)."""
        _, lengths, axes = scipy.linalg.svd(rows, full_matrices=False, check_finite=False)
        kept = lengths[:n_components] ** 2 > self.noise
        return np.asarray(axes[:n_components][kept].T)

    def fit_of(self, center: Floats, axes: Floats, support: Flags) -> Fit:
        """Scores and residuals of the points for a centre (ρ,) and orthonormal axes (ρ, c ≤ k)."""
        errors = spaces.residuals(self.points, center, axes.T)
        return Fit(center, axes, (self.points - center) @ axes, errors, support)

    def lifted(self, fit: Fit) -> Fit:
        """Express centre and components of a fit in weights of the space."""
        weights = self.origin + self.lift(fit.weights[:, None])[:, 0]
        return replace(fit, weights=weights, basis=self.lift(fit.basis))


def coordinates(space: Space) -> Coordinates:
    """Coordinates of the rows; O(n³/3) operations from a Gram matrix, a copy of X for n > p."""
    n = space.n_samples
    near = smallest(space.squared_norms, (n + 1) // 2)
    share = near / near.sum()
    origin = space.lift(share[:, None])[:, 0]
    if not isinstance(space, RowSpace):
        points = space.project(np.eye(origin.size))
        return Coordinates(points - points[near].mean(axis=0), origin, np.copy)
    K = space.project(np.eye(n))
    means = K[near].mean(axis=0)
    middle = means[near].mean()
    centred = K - means - means[:, None] + middle
    # What is left of a row that lies at the origin is rounding errors, and must not be scaled up.
    errors = 64 * _EPS * (K.diagonal() + 2 * np.abs(means) + abs(middle))
    squares = np.where(centred.diagonal() > errors, centred.diagonal(), 0.0)
    scale = inverse_roots(squares, squares > 0.0)
    # Rows of one length: else all others would be noise beside a row that is huge.
    lower, pivots, rank, _ = scipy.linalg.lapack.dpstrf(centred * scale * scale[:, None], lower=1)
    rank = min(rank, int(np.count_nonzero(squares)))
    order = pivots - 1
    points = np.zeros((n, rank))
    points[order] = np.tril(lower)[:, :rank] * np.sqrt(squares[order, None])
    top, chosen = points[order[:rank]], order[:rank]

    def lift(V: Floats) -> Floats:
        weights = np.zeros((n, V.shape[1]))
        if rank:
            weights[chosen] = scipy.linalg.solve_triangular(top, V, lower=True, trans="T")
        return np.asarray(weights - share[:, None] * weights.sum(axis=0))

    return Coordinates(points, origin, lift)


def spatial_median(points: Floats) -> Floats:
    """Point with the least sum of distances to the rows, by Weiszfeld, Vardi and Zhang (2000)."""
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


class RowMethod(AffineEstimator):
    """Base of the methods for which whole rows are outliers; subclasses implement `_solve`."""

    # Whether the axes come in an order of their own, which rotation would spoil.
    _own_axes = False

    def _solve(self, points: Coordinates) -> Fit:
        """Fit in coordinates, see `Coordinates.fit_of`."""
        raise NotImplementedError

    def _fit_space(self, space: Space) -> list[Fit]:
        points = coordinates(space)
        fit = self._solve(points)
        if self._own_axes:
            signs = peak_signs(fit.scores)
            fit = replace(fit, basis=fit.basis * signs, scores=fit.scores * signs)
        else:
            # Of the support, or of all rows where that is too small.
            enough = fit.support.sum() > fit.basis.shape[1]
            rows = fit.support if enough else np.ones_like(fit.support)
            fit = replace(principal_axes(replace(fit, support=rows)), support=fit.support)
        self._set_outlier_scores(fit, rounding_level(space))
        return [points.lifted(fit)]


@dataclass(eq=False, repr=False)
class PCA(RowMethod):
    """Principal component analysis (PCA); not robust.

    Minimises Σ_i r_i(m, U) over all n rows. In the row space: with J = I − 11ᵀ/n the mean has the
    weights 1/n, and for the leading eigenpairs JKJ V = VΛ the components are U = X₀ᵀVΛ^(−1/2),
    since X₀ᵀJ then has the right singular vectors U; columns of V sum to 0. K. Pearson: "On lines
    and planes of closest fit to systems of points in space", 1901.
    """

    n_components: int = 10

    def _fit_space(self, space: Space) -> list[Fit]:
        everything = np.ones(space.n_samples, dtype=bool)
        fit = space.principal(everything, self.n_components)
        fit = principal_axes(fit, space.squared_norms)
        self.n_iter_, self.converged_ = 1, True
        self._set_outlier_scores(fit, rounding_level(space))
        return [fit]


@dataclass(eq=False, repr=False)
class HRPCA(RowMethod):
    """High-dimensional robust PCA (HRPCA): random removal, judged by a robust variance.

    Repeats PCA of the rows that are left, each time removing one row at random, with probability
    proportional to its squared length within the components; of all the components on the way,
    those with the largest robust variance are kept. The support are the t rows that they
    reconstruct best. `max_removals` is n − k − 1 at the utmost and 2(n − t) by default: outliers
    are removed with at least even odds as long as they dominate the components.

    The robust variance of a direction is V̄(u) = (1/t) Σ of the t smallest (uᵀ(x_i − m))² over all
    n rows, removed or not. The paper takes the true rows to be of mean 0; here they are centred
    beforehand by the mean m of the t rows nearest to the spatial median. For t = n this is PCA.

    Rows are drawn in the order of their distances from m: that of the rows given does not matter.

    H. Xu, C. Caramanis, S. Mannor: "Outlier-robust PCA: the high-dimensional case", IEEE
    Transactions on Information Theory 59 (2013).
    """

    n_components: int = 10
    _: KW_ONLY
    support_fraction: float | None = None
    max_removals: int | None = None
    random_state: int | np.random.Generator | None = None

    def _solve(self, points: Coordinates) -> Fit:
        n = len(points.points)
        t = support_size(n, self.support_fraction)
        apart = points.points - spatial_median(points.points)
        near = smallest(np.einsum("ij,ij->i", apart, apart), t)
        center = points.points[near].mean(axis=0)
        M = points.points - center
        removals = 2 * (n - t) if self.max_removals is None else self.max_removals
        removals = max(min(removals, n - self.n_components - 1), 0)
        removed, self.robust_variance_, self.n_removed_ = self._remove(M, t, removals)
        self.n_iter_, self.converged_ = removals, True
        axes = points.principal(M[~removed], self.n_components)
        distances = np.sqrt(spaces.residuals(points.points, center, axes.T))
        return points.fit_of(center, axes, smallest(distances, t))

    def _remove(self, M: Floats, t: int, removals: int) -> tuple[Flags, float, int]:
        """Remove rows one by one; returns those removed at the best step, V̄ and their number."""
        rng = np.random.default_rng(self.random_state)
        squares = np.einsum("ij,ij->i", M, M)
        order = np.argsort(squares, kind="stable")
        M, scale = M[order], float(squares.max(initial=0.0))
        scatter = M.T @ M
        left = np.ones(len(M), dtype=bool)
        best, best_left, n_best = -1.0, left.copy(), 0
        for step in range(removals + 1):
            axes = np.zeros((0, 0))
            if scatter.size:
                axes = spaces.leading_eigenpairs(scatter, self.n_components, scale)[1]
            scores = (M @ axes) ** 2
            variance = float(np.partition(scores, t - 1, axis=0)[:t].sum() / t)
            if variance > best:
                best, best_left, n_best = variance, left.copy(), step
            lengths = scores.sum(axis=1) * left
            if step == removals or lengths.sum() <= 0.0:
                break
            cumulated = np.cumsum(lengths)
            chosen = int(np.searchsorted(cumulated, rng.random() * cumulated[-1], side="right"))
            left[chosen] = False
            scatter -= np.outer(M[chosen], M[chosen])
        removed = np.zeros(len(M), dtype=bool)
        removed[order] = ~best_left
        return removed, best, n_best
