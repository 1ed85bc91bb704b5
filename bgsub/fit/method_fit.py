"""Bring what a fit by any method says of its frames into one form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bgsub.robustpca.reweight import location_and_scale, predictive_errors, robust_scores
from bgsub.robustpca.spaces import Fit

if TYPE_CHECKING:
    from bgsub.robustpca.competitors.methods import Estimator

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class FittedFrames:
    """Errors of frames, location and scale of the ordinary √r, robust z-scores relative to these.

    A background is the centre and the coefficients of its frame times the components.
    """

    errors: Floats
    location: float
    scale: float
    outlier_scores: Floats
    coefficients: Floats

    @classmethod
    def of(cls, estimator: Estimator) -> FittedFrames:
        """Read what a fitted estimator says of the frames it was fitted to."""
        return cls(
            estimator.errors_,
            float(estimator.error_location_),
            float(estimator.error_scale_),
            estimator.outlier_scores_,
            background_coefficients(estimator),
        )


def background_coefficients(estimator: Any) -> Floats:
    """Return the coefficients of the background of every fitted frame, shape (n, c).

    The orthogonal projection on the components for the row methods. The methods with outlying
    pixels have better ones of their own, which these pixels did not touch: `RobustSubspace` its
    robust regressions, `PCP` the coordinates of its low-rank part.
    """
    if hasattr(estimator, "coefficients_"):
        return np.asarray(estimator.coefficients_)
    if hasattr(estimator, "left_"):
        turn = estimator.right_ @ estimator.components_.T
        low_rank = estimator.left_.astype(np.float64) @ turn
        return np.asarray(low_rank - estimator.center_ @ estimator.components_.T)
    return np.asarray(estimator.scores_)


def truncated(estimator: Any, k: int) -> FittedFrames:
    """Return what a fit with the first k components alone says, for methods whose fits are nested.

    Leaving out components adds their squared scores to the errors.
    """
    scores = estimator.scores_
    errors = estimator.errors_ + (scores[:, k:] ** 2).sum(axis=1)
    fit = Fit(np.zeros(1), np.zeros((1, k)), scores[:, :k], errors, estimator.support_)
    predicted = predictive_errors(fit)
    location, scale = location_and_scale(predicted)
    coefficients = background_coefficients(estimator)[:, :k]
    return FittedFrames(errors, location, scale, robust_scores(predicted), coefficients)


def ordinary_frames(scores: Floats, errors: Floats, cutoff: float) -> Flags:
    """Pick the frames below the cut-off, or the better half where these are fewer, shape (n,)."""
    ordinary = np.asarray(scores <= cutoff)
    half = (errors.size + 1) // 2
    if ordinary.sum() < half:
        ordinary = np.zeros(errors.size, dtype=bool)
        ordinary[np.argsort(errors, kind="stable")[:half]] = True
    return ordinary


def regression_weights(coefficients: Floats, ordinary: Flags) -> tuple[Floats, Floats]:
    """Compute weights of ordinary frames that regress any of their planes on the coefficients.

    Returns
    -------
    weights : ndarray of shape (n,)
        w, which sum to 1: the plane at coefficients 0 is Σ w_j x_j.
    basis : ndarray of shape (n, k)
        B, columns of which sum to 0: the plane changes by Σ B_j x_j per coefficient.

    Notes
    -----
    The least-squares solution of x_j ≈ m + Σ_c y_jc u_c over the ordinary frames is a left
    multiplication of the frames by the pseudo-inverse of (1 Y).
    """
    design = np.column_stack([np.ones(int(ordinary.sum())), coefficients[ordinary]])
    inverse = np.linalg.pinv(design)
    weights = np.zeros((ordinary.size, inverse.shape[0]))
    weights[ordinary] = inverse.T
    return weights[:, 0], weights[:, 1:]


def with_residual(stage: str, residual: float) -> str:
    """Write a stage of progress with the residual behind it, where there is one yet.

    Examples
    --------
    >>> with_residual("pcp", 0.0123)
    'pcp · residual 1.2e-02'
    """
    return f"{stage} · residual {residual:.1e}" if math.isfinite(residual) else stage
