"""Decide whether the last outlier frames are a lasting change of the scene or a visitor.

A moved object, a parked car or a lamp that stays off makes every later frame an outlier, for the
fit has one centre. It differs from a visitor in that those frames agree with each other: against
a centre of their own, m', and the same components, they leave no more than ordinary frames do.
r'_i = ‖x_i − m'‖² − ‖Uᵀ(x_i − m')‖² with m' = m₀ + X₀ᵀw' follows from the Gram matrix alone.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgsub.robustpca.spaces import Floats

_MIN_FRAMES, _MIN_SECONDS = 25, 2.0  # a state that lasts less may be somebody standing still
_NEARLY_ALL = 0.95  # share of the frames that must fit: a bird may cross the new scene
# Of the end of the span, these shares are tried, for a visitor may have come with the change.
_TAIL_SHARES = (0.5, 0.25, 0.125)
# The own centre is the mean of the best frames of the tail, as in a concentration step.
_TRIMMED_SHARE, _MAX_STEPS = 0.75, 20
# A frame fits when no more than this share of its excess error is left: of the frames that decide
# whether there is a lasting change, and of those that decide since when.
_EXCESS_LEFT, _EXCESS_LEFT_FIRST = 0.03, 0.25


class SceneChange(NamedTuple):
    """From this frame of the input, and this second, to the end the scene stays different."""

    first_frame: int
    first_time: float


def lasting_change(
    K: Floats,
    component_weights: Floats,
    *,
    scores: Floats,
    cutoff: float,
    location: float,
    scale: float,
    frames: NDArray[np.int64],
    times: Floats,
) -> SceneChange | None:
    """Find a lasting change of the scene in the outlier frames that reach the end.

    None when the last frame is no outlier, when the outliers at the end do not agree with each
    other (a visitor who moves), or when they last less than 25 frames or 2 seconds. K, (n, n), is
    the Gram matrix of the median-centred frames that were fitted, with U = X₀ᵀB of
    `component_weights` B, (n, k). `scores` are robust z-scores, √r = location + scale · score.
    """
    ordinary = np.flatnonzero(scores <= cutoff)
    start = int(ordinary[-1]) + 1 if ordinary.size else 0
    if start == 0:  # Without ordinary frames there is nothing to differ from.
        return None
    gram, projected = K[start:, start:], K[start:] @ component_weights
    noise = location**2
    excess = np.maximum((location + scale * scores[start:]) ** 2 - noise, 1e-12)
    for share in _TAIL_SHARES:
        length = math.ceil(len(gram) * share)
        if length < _MIN_FRAMES or times[-1] - times[-length] < _MIN_SECONDS:
            return None
        error = _errors_of_own_centre(gram, projected, length)
        left = (error**2 - noise) / excess  # the share that is left of the excess
        fits = (error <= location + cutoff * scale) | (left <= _EXCESS_LEFT)
        if fits[-length:].mean() < _NEARLY_ALL:
            continue
        fits |= left <= _EXCESS_LEFT_FIRST
        # The first frame that fits and from which on nearly all do.
        shares = np.cumsum(fits[::-1])[::-1] / np.arange(fits.size, 0, -1)
        first = start + int(np.flatnonzero(fits & (shares >= _NEARLY_ALL))[0])
        return SceneChange(int(frames[first]), float(times[first]))
    return None


def _errors_of_own_centre(gram: Floats, projected: Floats, length: int) -> Floats:
    """Compute √r', as if left out, of the frames against the trimmed mean of the last `length`."""
    kept = np.arange(len(gram) - length, len(gram))
    count = math.ceil(_TRIMMED_SHARE * length)
    for _ in range(_MAX_STEPS):
        order = np.argsort(_residuals(gram, projected, kept)[-length:], kind="stable")[:count]
        best = np.sort(order) + len(gram) - length
        if np.array_equal(best, kept):
            break
        kept = best
    error = np.sqrt(_residuals(gram, projected, kept))
    error[kept] /= 1.0 - 1.0 / kept.size
    return np.asarray(error)


def _residuals(gram: Floats, projected: Floats, kept: NDArray[np.int64]) -> Floats:
    """Compute r' against the mean of the kept frames."""
    to_mean = gram[:, kept].mean(axis=1)
    distances = gram.diagonal() - 2.0 * to_mean + to_mean[kept].mean()
    scores = projected - projected[kept].mean(axis=0)
    return np.asarray(np.maximum(distances - np.einsum("nk,nk->n", scores, scores), 0.0))
