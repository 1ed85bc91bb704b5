"""Robust PCA for high dimensions by random removal (HRPCA)."""

from __future__ import annotations

import numpy as np

from bgsub.robustpca.checks import check_components, check_integer, support_size
from bgsub.robustpca.competitors.row_method import (
    Coordinates,
    Flags,
    RowMethod,
    distances,
    spatial_median,
)
from bgsub.robustpca.descent import smallest
from bgsub.robustpca.linalg import leading_eigenpairs
from bgsub.robustpca.spaces import Fit, Floats


class HRPCA(RowMethod):
    """High-dimensional robust PCA (HRPCA): random removal, judged by a robust variance.

    Repeats PCA of the rows that are left, each time removing one row at random, with probability
    proportional to its squared length within the components; of all the components on the way,
    those with the largest robust variance are kept.

    Parameters
    ----------
    n_components : int
        k, at least 1. If the data have a lower rank, fewer components are returned, with a warning.
    support_fraction : float, optional
        t/n in [0.5, 1], with t a lower bound of the number of true rows; None is t = ⌈n/2⌉.
    max_removals : int, optional
        Rows removed at most. None is 2(n − t): outliers are removed with at least even odds as long
        as they dominate the components. At most n − k − 1 are.
    random_state : int, numpy.random.Generator or None
        Seed of the removals.

    Attributes
    ----------
    robust_variance_ : float
        Σ_j V̄(u_j) of the components kept.
    n_removed_ : int
        Rows that had been removed when they were found.
    support_ : ndarray of shape (n,), bool
        The t rows with the smallest reconstruction errors.
    n_iter_ : int
        Removals done.
    converged_ : bool
        Always True: the number of steps is fixed beforehand.
    center_, components_, errors_, scores_, outlier_scores_, error_location_, error_scale_,
    center_weights_, component_weights_
        As in `TRPCA`.

    Notes
    -----
    The robust variance of a direction is V̄(u) = (1/t) Σ of the t smallest (uᵀ(x_i − m))² over all
    n rows, removed or not. The paper takes the true rows to be of mean 0; here they are centred
    beforehand by the mean m of the t rows nearest to the spatial median, which is the mean for
    t = n. Then V̄ is the variance, PCA of all rows maximises it, and HRPCA is PCA.

    The components of each step are the leading eigenvectors of Σ x̃_i x̃_iᵀ over the rows left, hence
    combinations of these rows, and all that is looked at are scores: left multiplications of X. So
    it runs in the coordinates of `row_method`. A removal takes ρ² operations from the scatter
    matrix, its leading eigenvectors O(ρ²k), with ρ < n whatever p is.

    Rows are drawn in the order of their distances from m, so the order in which they are given does
    not matter.

    References
    ----------
    H. Xu, C. Caramanis, S. Mannor: "Outlier-robust PCA: the high-dimensional case", IEEE
    Transactions on Information Theory 59 (2013).

    Examples
    --------
    >>> import numpy as np
    >>> from bgsub.robustpca.competitors.hrpca import HRPCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 40))
    >>> X[:6] += rng.normal(scale=5, size=(6, 40))
    >>> fit = HRPCA(2, support_fraction=54 / 60, random_state=0).fit(X)
    >>> np.flatnonzero(~fit.support_).tolist()
    [0, 1, 2, 3, 4, 5]
    """

    robust_variance_: float
    n_removed_: int

    def __init__(
        self,
        n_components: int = 10,
        *,
        support_fraction: float | None = None,
        max_removals: int | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.n_components = n_components
        self.support_fraction = support_fraction
        self.max_removals = max_removals
        self.random_state = random_state

    def _check(self, n_samples: int) -> None:
        check_components(self.n_components)
        support_size(n_samples, self.support_fraction)
        if self.max_removals is not None:
            check_integer("max_removals", self.max_removals, 0)

    def _solve(self, points: Coordinates) -> Fit:
        n = len(points.points)
        t = support_size(n, self.support_fraction)
        center = trimmed_mean(points.points, t)
        M = points.points - center
        removals = 2 * (n - t) if self.max_removals is None else self.max_removals
        removals = max(min(removals, n - self.n_components - 1), 0)
        removed, self.robust_variance_, self.n_removed_ = self._remove(M, t, removals)
        self.n_iter_ = removals
        self.converged_ = True
        axes = points.principal(M[~removed], self.n_components)
        support = smallest(distances(points.points, center, axes)[:, None], t)[:, 0]
        return points.fit_of(center, axes, support)

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
            scores = _leading_scores(M, scatter, self.n_components, scale) ** 2
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


def trimmed_mean(points: Floats, count: int) -> Floats:
    """Mean of the `count` points nearest to the spatial median, shape (ρ,)."""
    difference = points - spatial_median(points)
    near = smallest(np.einsum("ij,ij->i", difference, difference)[:, None], count)[:, 0]
    return np.asarray(points[near].mean(axis=0))


def _leading_scores(M: Floats, scatter: Floats, n_components: int, scale: float) -> Floats:
    """Scores of all rows along the leading eigenvectors of the scatter matrix."""
    if scale == 0.0 or scatter.shape[0] == 0:
        return np.zeros((len(M), 1))
    _, vectors = leading_eigenpairs(scatter, n_components, scale)
    return M @ vectors if vectors.shape[1] else np.zeros((len(M), 1))
