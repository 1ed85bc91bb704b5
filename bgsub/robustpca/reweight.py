"""Score how far a residual lies above the ordinary ones, and reweight by that.

The score of an observation is the robust z-score of its reconstruction error e_i = √r_i. Location
and scale come from the best half of the errors: for a normal distribution the lower half has mean
μ − σ√(2/π) and standard deviation σ√(1 − 2/π), which is solved for μ and σ. Observations that were
fitted have smaller errors than equal ones that were not, so theirs are first divided by 1 − h_i
(h_i = 1/t + y_iᵀ(YᵀY)⁻¹y_i, the leverage), the leave-one-out error of a regression on the scores.

Reweighting as in FAST-LTS and the minimum covariance determinant (Rousseeuw and Van Driessen, 1999
and 2006): observations below a cut-off are inliers, centre and components are fitted to all of them
by PCA, and so on until the inliers repeat. Mostly they stay the same; rows of which each belongs to
the fit only while another is in it take turns instead, and then all rows of the turn are inliers.
It recovers the efficiency that a fit to the best half gives away.

No row decides how another one is seen: scales come from the best half or from medians, never from a
maximum, so a single row of any size changes nothing but its own score.
"""

from __future__ import annotations

import math

import numpy as np

from bgsub.robustpca.spaces import Fit, Flags, Floats, Rows, Space

REWEIGHT_CUTOFF = 3.5
"""Independent observations with a robust z-score up to this are inliers of the reweighting step."""

FOOTAGE_CUTOFF = 8.0
"""The same for the frames of a video.

Consecutive frames resemble each other, so a half of them that fits well can be a stretch of time,
and the rest of a scene that drifts lies many of its standard deviations away: with 3.5, 23 % of 480
frames of moving water stayed outside the fit, with 8 none.
"""

_HALF_MEAN = np.sqrt(2.0 / np.pi)
_HALF_STD = np.sqrt(1.0 - 2.0 / np.pi)
_MAX_ROUNDS = 30
_EPS = float(np.finfo(float).eps)
# Where half of the errors are exactly alike any other is this many scales away, or more.
_SURE = 1e-9
# Errors are roots of squares, so smaller ones have underflowed; and no score overflows with it.
LEAST_SCALE = 1e-200


def leverages(scores: Floats, support: Flags, copies: Rows | None = None) -> Floats:
    """Compute the leverage of every row from the scores (n, k) of the fitted ones, 0 for others.

    Copies of a picture are left out of the fit together, so each has the leverage of all of them;
    half at most, where few others are left.
    """
    fitted = scores[support][:, np.any(scores[support] != 0.0, axis=0)]
    own = np.full(len(fitted), 1.0 / len(fitted))
    if fitted.shape[1]:
        values, vectors = np.linalg.eigh(fitted.T @ fitted)
        kept = values > max(values[-1], 0.0) * 1e-12
        standard = (fitted @ vectors[:, kept]) / np.sqrt(values[kept])
        own += (standard**2).sum(axis=1)
    # Of one picture alone there is no other to judge it by.
    if copies is not None and np.ptp(copies[support]) > 0:
        together = np.bincount(copies[support], own)[copies[support]]
        own = np.maximum(own, np.minimum(together, 0.5))
    result = np.zeros(scores.shape[0])
    result[support] = np.minimum(own, 1.0)
    return result


def left_out(scores: Floats, support: Flags, copies: Rows | None = None) -> Floats:
    """Return 1 − leverage of every row, by which its residual grows as if it had been left out.

    At least .05: a row that a component belongs to alone says nothing about itself.
    """
    return np.asarray(np.maximum(1.0 - leverages(scores, support, copies), 0.05))


def predictive_errors(fit: Fit) -> Floats:
    """Compute √r_i, shape (n,), of fitted rows as if each had been left out of the fit alone."""
    return np.asarray(np.sqrt(fit.residuals) / left_out(fit.scores, fit.support))


def location_and_scale(errors: Floats, *, resolution: float = 0.0) -> tuple[float, float]:
    """Estimate mean and standard deviation of the ordinary errors from the best half.

    The scale is 0 only where all errors are equal; where half of them are, it is far below the
    least difference from them. `resolution` is the smallest that means anything (rounding noise).
    """
    half = np.sort(errors)[: (errors.size + 1) // 2]
    scale = float(half.std() / _HALF_STD)
    location = float(half.mean() + _HALF_MEAN * scale)
    scale = max(scale, resolution)
    # Means of equal numbers are rounded, so what is as small as that is no difference.
    different = errors > half[-1] * (1.0 + 64 * _EPS)
    if scale <= _EPS * location and different.any():
        scale = max(_SURE * float((errors[different] - half[-1]).min()), LEAST_SCALE)
    return location, scale


def robust_scores(errors: Floats, *, resolution: float = 0.0) -> Floats:
    """Compute the robust z-score of each error against the best half; 0 where all are equal."""
    location, scale = location_and_scale(errors, resolution=resolution)
    if scale <= _EPS * location:
        return np.zeros_like(errors)
    return (errors - location) / scale


def reweight(
    space: Space, fit: Fit, n_components: int, *, cutoff: float = REWEIGHT_CUTOFF
) -> tuple[Fit, int, bool]:
    """Refit to all inliers, those with a robust z-score up to the cut-off, until they repeat.

    Returns PCA of the inliers, the refits done, at most 30, and whether the inliers repeated. At
    least as many as the trimmed fit has stay inliers; of a circle they are those of any round.
    """
    n_support = int(fit.support.sum())
    resolution = rounding_level(space)
    sets: list[Flags] = []
    for rounds in range(_MAX_ROUNDS + 1):
        errors = predictive_errors(fit)
        inliers = np.asarray(robust_scores(errors, resolution=resolution) <= cutoff)
        if inliers.sum() < n_support:
            inliers[np.argsort(errors, kind="stable")[:n_support]] = True
        seen = [i for i, earlier in enumerate(sets) if np.array_equal(earlier, inliers)]
        if seen and seen[0] == rounds - 1:
            return fit, rounds, True
        if seen:
            circle = np.logical_or.reduce(sets[seen[0] :])
            fit = space.principal(circle, n_components)
            return fit, rounds + 1, True
        if rounds == _MAX_ROUNDS:
            break
        sets.append(inliers)
        fit = space.principal(inliers, n_components)
    return fit, _MAX_ROUNDS, False


def rounding_level(space: Space) -> float:
    """Return √r below which ordinary residuals are rounding noise of ‖x̃‖² − ‖y‖² in float64.

    By the median row; where half of the rows are at the median themselves, by the smallest other.
    """
    norms = space.squared_norms
    typical = float(np.median(norms)) or float(norms[norms > 0.0].min(initial=np.inf))
    return 4.0 * math.sqrt(_EPS) * math.sqrt(typical) if math.isfinite(typical) else 0.0
