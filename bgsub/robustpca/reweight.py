"""How far a residual lies above the ordinary ones, and the reweighting step built on it.

The score of an observation is the robust z-score of its reconstruction error e_i = √r_i. Location
and scale come from the best half of the errors: for a normal distribution the lower half has mean
μ − σ√(2/π) and standard deviation σ√(1 − 2/π), which is solved for μ and σ. Observations that were
fitted have smaller errors than equal ones that were not, so theirs are first divided by 1 − h_i
(h_i = 1/t + y_iᵀ(YᵀY)⁻¹y_i, the leverage), the leave-one-out error of a regression on the scores.

Reweighting as in FAST-LTS and the minimum covariance determinant (Rousseeuw and Van Driessen, 1999
and 2006): observations below a cut-off are inliers, centre and components are fitted to all of them
by PCA, and so on until the inliers stay the same. It recovers the efficiency that a fit to the best
half gives away.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bgsub.robustpca.spaces import Fit, Floats, Space

REWEIGHT_CUTOFF = 3.5
"""Independent observations with a robust z-score up to this are inliers of the reweighting step."""

FOOTAGE_CUTOFF = 8.0
"""The same for the frames of a video.

Consecutive frames resemble each other, so a half of them that fits well can be a stretch of time,
and the rest of a scene that drifts then lies many of its standard deviations away. With 3.5, up to
a fifth of the frames of clips of moving water without any outlier stayed outside the fit for good;
with 8 none did, and visitors lay farther out than before. For independent observations 8 is far
too much: among written digits it takes another digit for an inlier.
"""

_HALF_MEAN = np.sqrt(2.0 / np.pi)
_HALF_STD = np.sqrt(1.0 - 2.0 / np.pi)
_MAX_ROUNDS = 30


def leverages(scores: Floats, support: NDArray[np.bool_]) -> Floats:
    """Leverage of every fitted observation, 0 for the others.

    Parameters
    ----------
    scores : ndarray of shape (n, k)
    support : ndarray of shape (n,), bool
        The fitted observations.

    Returns
    -------
    ndarray of shape (n,)
        In [0, 1].
    """
    fitted = scores[support][:, np.any(scores[support] != 0.0, axis=0)]
    if fitted.shape[1] == 0:
        return np.where(support, 1.0 / len(fitted), 0.0)
    values, vectors = np.linalg.eigh(fitted.T @ fitted)
    kept = values > max(values[-1], 0.0) * 1e-12
    standard = (fitted @ vectors[:, kept]) / np.sqrt(values[kept])
    result = np.zeros(scores.shape[0])
    result[support] = np.minimum(1.0 / len(fitted) + (standard**2).sum(axis=1), 1.0)
    return result


def predictive_errors(fit: Fit) -> Floats:
    """√r_i, for fitted observations as if they had been left out of the fit, shape (n,)."""
    left = 1.0 - leverages(fit.scores, fit.support)
    # An observation that a component belongs to alone says nothing about itself.
    return np.asarray(np.sqrt(fit.residuals) / np.maximum(left, 0.05))


def location_and_scale(errors: Floats) -> tuple[float, float]:
    """Mean and standard deviation of the ordinary errors, from the best half.

    Parameters
    ----------
    errors : ndarray of shape (n,)
        e_i, of which at least half are ordinary.

    Returns
    -------
    tuple of two floats
        For a normal sample, estimates of its mean and standard deviation, unbiased in the limit.
    """
    half = np.sort(errors)[: (errors.size + 1) // 2]
    scale = float(half.std() / _HALF_STD)
    return float(half.mean() + _HALF_MEAN * scale), scale


def robust_scores(errors: Floats, *, resolution: float = 0.0) -> Floats:
    """Robust z-score of each error against the best half, shape (n,).

    Parameters
    ----------
    errors : ndarray of shape (n,)
        e_i ≥ 0.
    resolution : float
        Smallest scale that means anything, in units of e (rounding noise, quantisation).

    Returns
    -------
    ndarray of shape (n,)
        Finite; 0 everywhere when all errors are equal.
    """
    location, scale = location_and_scale(errors)
    scale = max(scale, resolution, 1e-9 * float(errors.max(initial=0.0)))
    if scale == 0.0:
        return np.zeros_like(errors)
    return (errors - location) / scale


def reweight(
    space: Space, fit: Fit, n_components: int, *, cutoff: float = REWEIGHT_CUTOFF
) -> tuple[Fit, int]:
    """Refit to all inliers until they stay the same.

    Parameters
    ----------
    space : Space
    fit : Fit
        The trimmed fit, whose support is never left: at least as many observations stay inliers.
    n_components : int
        k.
    cutoff : float
        Observations with a robust z-score up to this are inliers.

    Returns
    -------
    fit : Fit
        PCA of the inliers; `support` marks them.
    rounds : int
        Refits done.
    """
    n_support = int(fit.support.sum())
    resolution = rounding_level(space)
    for rounds in range(1, _MAX_ROUNDS + 1):
        errors = predictive_errors(fit)
        inliers = robust_scores(errors, resolution=resolution) <= cutoff
        if inliers.sum() < n_support:
            inliers[np.argsort(errors, kind="stable")[:n_support]] = True
        if rounds > 1 and np.array_equal(inliers, fit.support):
            return fit, rounds - 1
        fit = space.principal(inliers, n_components)
    return fit, _MAX_ROUNDS


def rounding_level(space: Space) -> float:
    """√r below which ordinary residuals are rounding noise of ‖x̃‖² − ‖y‖² in float64."""
    return float(np.sqrt(np.finfo(float).eps * np.median(space.squared_norms)) * 4)
