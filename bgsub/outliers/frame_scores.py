"""Score frames: how far their errors lie above those of ordinary frames.

The score of a frame is the robust z-score of its error e = √r against the location and scale of the
best half of the frames (see `bgsub.robustpca.reweight`). Summed over thousands of pixels, √r of
ordinary frames of a still scene varies by 1 % and less, and a plain z-score calls a camera that
settles, or a codec that is generous to every twelfth frame, a hundred standard deviations. The
noise of cameras and codecs is not steady to less than a few per cent; hence the scale is never
taken as smaller than `NOISE_VARIATION` of the location.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

NOISE_VARIATION = 0.05
"""Smallest standard deviation of √r that means anything, as a share of its location."""

# Rounding to 8 bits alone gives every pixel this variance, in grey levels².
_ROUNDING_VARIANCE = 1.0 / 12.0


def score_scale(location: float, scale: float, pixels: int) -> float:
    """Scale that scores of frames are relative to, in units of √r.

    Parameters
    ----------
    location, scale : float
        Mean and standard deviation of √r of ordinary frames, from their best half.
    pixels : int
        p, the pixels that r is summed over.

    Returns
    -------
    float
        Above 0: at least `NOISE_VARIATION` of the location, and of what rounding to 8 bits would
        leave in a scene without any noise.
    """
    least = NOISE_VARIATION * max(location, math.sqrt(pixels * _ROUNDING_VARIANCE))
    return max(scale, least)


def frame_scores(
    errors: NDArray[np.float64], location: float, scale: float, pixels: int
) -> NDArray[np.float64]:
    """Compute the robust z-score of every frame, with the noise floor of video.

    Parameters
    ----------
    errors : ndarray of shape (n,)
        e = √r in grey levels; for frames that were fitted, as if they had been left out: after a
        fit with `bgsub.TRPCA` these are ``error_location_ + error_scale_ * outlier_scores_``.
    location, scale : float
        Mean and standard deviation of e of ordinary frames.
    pixels : int
        p.

    Returns
    -------
    ndarray of shape (n,)
    """
    return np.asarray((errors - location) / score_scale(location, scale, pixels))
