"""Robust subspace learning: a Geman-McClure M-estimator for every pixel (RPCA of De la Torre)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from bgsub.errors import RankWarning
from bgsub.robustpca.checks import check_integer, check_number
from bgsub.robustpca.competitors.pca import PCA
from bgsub.robustpca.competitors.pixel_method import PixelMethod, Progress, column_blocks
from bgsub.robustpca.competitors.row_method import warn_not_converged
from bgsub.robustpca.gram import ColumnReader
from bgsub.robustpca.spaces import Floats

# 1.4826 makes the median absolute deviation the standard deviation of a normal sample.
_MAD_TO_SIGMA = 1.4826
_SCALE_FACTOR = 2.5
# No pixel has less than this share of the median scale: a constant one would be all outliers.
_LEAST_SCALE = 0.1
# Geman and McClure's function is convex up to σ/√3: where it starts, nothing is an outlier.
_CONVEX = float(np.sqrt(3.0))
# Damping of the normal equations, relative to their mean diagonal.
_RIDGE = 1e-6


class RobustSubspace(PixelMethod):
    """Robust subspace learning (RPCA of De la Torre and Black): outliers are single pixels.

    Minimises Σ_i Σ_j ρ(e_ij, σ_j) over the centre, the components and the coefficients c_i of every
    row, with e = X − 1mᵀ − CU and Geman and McClure's ρ(e, σ) = e²/(e² + σ²).

    Parameters
    ----------
    n_components : int
        k, at least 1. If the data have a lower rank, fewer components are returned, with a warning.
    scale : float, optional
        σ of all pixels, in units of X; a huge one gives PCA. None estimates it pixel by pixel:
        2.5 · 1.4826 times the median absolute deviation of the residuals of PCA, and once more of
        those of the fit when the annealing ends.
    n_anneal : int
        Iterations during which σ falls geometrically from where nothing is an outlier.
    tol : float
        The iteration ends when the objective falls by less than this share of itself.
    max_iter : int
        Most iterations, annealing included.
    progress : callable, optional
        Called with the iterations done and the relative fall of the objective.

    Attributes
    ----------
    center_ : ndarray of shape (p,)
    components_ : ndarray of shape (k, p)
        Orthonormal rows in order of the variance of the coefficients.
    coefficients_ : ndarray of shape (n, k)
        The robust c_i in these components: ``inverse_transform(coefficients_)`` is the background
        without what outlying pixels do to an orthogonal projection.
    scales_ : ndarray of shape (p,)
        σ_j.
    objective_, residual_ : float
        The objective, and its last relative fall.
    n_iter_, converged_ : int, bool
    support_ : ndarray of shape (n,), bool
        True everywhere: outliers are entries, not rows.
    errors_, scores_, outlier_scores_, error_location_, error_scale_
        As in `TRPCA`, of the orthogonal projection on centre and components.

    Notes
    -----
    ρ is concave in e², so it lies below its tangent there, and the objective falls whenever the sum
    of squares with the weights (1/σ²)·(σ²/(e² + σ²))² does. Centre and components given C are a
    weighted regression of every pixel on C, C given those is one of every row on U; they take
    turns, with the weights renewed before each. The paper takes normalised gradient steps on the
    same objective; regressions take the full step and need no step length. The start is PCA.

    All normal equations come from one product of the weights with the k(k + 1)/2 products of
    coefficients, so an iteration is one pass over X with O(npk²) operations and no array of the
    size of X.

    References
    ----------
    F. De la Torre, M. J. Black: "Robust principal component analysis for computer vision", ICCV
    2001; "A framework for robust subspace learning", IJCV 54 (2003).

    Examples
    --------
    >>> import numpy as np
    >>> from bgsub.robustpca.competitors.robust_subspace import RobustSubspace
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 40)) + 0.1 * rng.normal(size=(60, 40))
    >>> outlying = rng.random(X.shape) < 0.05
    >>> X[outlying] += 10
    >>> fit = RobustSubspace(2).fit(X)
    >>> rest = X - fit.inverse_transform(fit.coefficients_)
    >>> bool((np.abs(rest) > 5)[outlying].all()), bool((np.abs(rest) < 1)[~outlying].all())
    (True, True)
    """

    coefficients_: Floats
    scales_: Floats
    objective_: float
    residual_: float

    def __init__(
        self,
        n_components: int = 10,
        *,
        scale: float | None = None,
        n_anneal: int = 8,
        tol: float = 1e-4,
        max_iter: int = 200,
        progress: Progress | None = None,
    ) -> None:
        self.n_components = n_components
        self.scale = scale
        self.n_anneal = n_anneal
        self.tol = tol
        self.max_iter = max_iter
        self.progress = progress

    def _check(self, n_samples: int) -> None:
        super()._check(n_samples)
        if self.scale is not None:
            check_number("scale", self.scale, 0.0, strictly=True)
        check_integer("n_anneal", self.n_anneal, 0)

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
        self.converged_ = self.residual_ <= self.tol
        if not self.converged_:
            warn_not_converged("RobustSubspace", self.max_iter, self.residual_, self.tol)
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
        self._blocks = list(column_blocks(*reader.shape))
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
        self._orthonormalise()
        return objective

    def _orthonormalise(self) -> None:
        """Keep the regressions well-conditioned: orthonormal components, the same product CU."""
        Q, R = scipy.linalg.qr(self._components.T, mode="economic", check_finite=False)
        self._components = np.ascontiguousarray(Q.T)
        self._coefficients = self._coefficients @ R.T

    def principal(self) -> tuple[Floats, Floats, Floats]:
        """Centre, components along the principal axes of the coefficients, coefficients."""
        mean = self._coefficients.mean(axis=0)
        centred = self._coefficients - mean
        _, lengths, turn = np.linalg.svd(centred, full_matrices=False)
        turn = turn[lengths > 1e-12 * max(lengths.max(initial=0.0), self.rounding)]
        coefficients = centred @ turn.T
        columns = np.arange(turn.shape[0])
        peaks = coefficients[np.abs(coefficients).argmax(axis=0), columns]
        turn = turn * np.where(peaks < 0.0, -1.0, 1.0)[:, None]
        center = self._center + mean @ self._components
        return center, turn @ self._components, centred @ turn.T


def memory_bytes(
    n_samples: int, n_features: int, n_components: int = 10, *, itemsize: int = 4
) -> int:
    """Bytes that a fit of `RobustSubspace` needs besides X, at most.

    Parameters
    ----------
    n_samples, n_features, n_components : int
        n, p and k.
    itemsize : int
        4 for 8-bit and float32 matrices, 8 for float64.
    """
    n, p, k = n_samples, n_features, n_components
    gram = 4 * 8 * min(n, p) ** 2 + (8 * n * p if n > p else 0)
    return gram + 8 * (4 * k + 6) * (n + p) + 8 * n * k * k + 8 * itemsize * max(1 << 19, 64 * n)


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
