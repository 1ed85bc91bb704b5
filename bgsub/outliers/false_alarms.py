"""Relate a cut-off on scores to how often a clean frame is called an outlier.

Both scores of a frame are measured on one scale: 0 is the median of the clean frames, and
`DEFAULT_CUTOFF` is the value that one clean frame in a thousand exceeds. Either statistic is a sum
or a maximum over many pixels, and the largest of many values follows Gumbel's law, whose location
and scale come from quantiles of the clean frames themselves: the median, and whichever pair of
`_PAIRS` says the longest tail. Higher quantiles are left alone, since among the frames that were
fitted may be some with a visitor. A floor on the scale says what no camera is steadier than.

The fit itself and models without a scorer have a robust z-score of e = √r against location and
scale of the best half of the frames (see `bgsub.robustpca.reweight`). Summed over thousands of
pixels, √r of a still scene varies by 1 % and less, and a plain z-score calls a camera that settles,
or a codec that is generous to every twelfth frame, a hundred standard deviations; so the scale is
at least `NOISE_VARIATION` of the location.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Frames with a score above this are outliers: one clean frame in a thousand, by either score.
DEFAULT_CUTOFF = 12.0
DEFAULT_RATE = 1e-3
_PAIRS = ((0.25, 0.75), (0.5, 0.75))
# Smallest standard deviation of √r that means anything, as a share of its location.
NOISE_VARIATION = 0.05
# Rounding to 8 bits alone gives every pixel this variance, in grey levels².
_ROUNDING_VARIANCE = 1.0 / 12.0


def _gumbel(probability: float) -> float:
    """Quantile of Gumbel's standard law."""
    return -math.log(-math.log(probability))


# Gumbel's scales from the median to the default cut-off.
_SPAN = _gumbel(1.0 - DEFAULT_RATE) - _gumbel(0.5)


class CleanLevel(NamedTuple):
    """The median of a statistic of clean frames, and how much of it is one unit of the score."""

    location: float
    scale: float

    def scores(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the scores of some values."""
        return np.asarray((values - self.location) / self.scale)


def clean_level(values: NDArray[np.float64], least_scale: float) -> CleanLevel:
    """Estimate the level of a statistic from clean frames, of which a fifth may hold a visitor."""
    tails = [
        np.diff(np.quantile(values, pair))[0] / (_gumbel(pair[1]) - _gumbel(pair[0]))
        for pair in _PAIRS
    ]
    middle, tail = float(np.median(values)), float(max(tails))
    return CleanLevel(middle, max(tail * _SPAN / DEFAULT_CUTOFF, least_scale))


def cutoff_for(rate: float) -> float:
    """Return the cut-off that a share of clean frames, up to a half, exceeds: 12 for 1/1000."""
    # 1 - rate would be 1 for the smallest rates.
    quantile = -math.log(-math.log1p(-rate))
    return DEFAULT_CUTOFF * (quantile - _gumbel(0.5)) / _SPAN


def score_scale(location: float, scale: float, pixels: int) -> float:
    """Return the scale that scores are relative to, of location and scale of ordinary √r.

    At least `NOISE_VARIATION` of the location, and of what 8 bits leave without any noise.
    """
    return max(scale, NOISE_VARIATION * max(location, math.sqrt(pixels * _ROUNDING_VARIANCE)))


def frame_scores(
    errors: NDArray[np.float64], location: float, scale: float, pixels: int
) -> NDArray[np.float64]:
    """Compute the robust z-score of every frame from √r, as if left out, with a noise floor."""
    return np.asarray((errors - location) / score_scale(location, scale, pixels))
