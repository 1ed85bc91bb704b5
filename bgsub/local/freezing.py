"""Measure the noise of film that a codec freezes: places repeat their levels, and jump."""

from __future__ import annotations

import numpy as np

from bgsub.local.channels import largest_difference
from bgsub.local.clean_frames import Singles, coarseness
from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.robustpca.median import median, quantile
from bgsub.video.frames import Bytes

_FROZEN = 0.75
"""Share of the pixels that repeat exactly from which a film is frozen; noise of sensors repeats a
tenth, and what little noise a codec with more bits leaves does two thirds."""

# Of the pixels and of the frames: objects seldom cover more than a fifth of the picture, and parts
# of a film between two complete pictures of a codec are longer than a tenth of what is sampled. The
# share of normal values, in both directions, within so many σ.
_PIXELS, _FRAMES, _WITHIN = 0.8, 0.9, 1.2816
_PAIRS = 15
_MOST = 2.0  # times what codecs usually add


def frozen_noise(pictures: Bytes, center: Singles, params: LocalParams = DEFAULTS) -> float:
    """Give the noise of film that a codec freezes, in grey levels, and 0 of other film.

    With few bits a codec repeats what it has for as long as it may, and what it gets wrong is
    another thing after each complete picture. So at most places most frames have no noise at all,
    and some differ in all of the picture at once, as no median over time tells. Where three
    quarters of the pixels are the same in one frame of the sample and the next, the noise is what
    four fifths of the pixels do not exceed in nine tenths of the frames; at most twice
    `LocalParams.least_noise`.

    Parameters
    ----------
    pictures : ndarray of uint8, shape (n, h, w, 3)
        In order of time.
    center : ndarray of float32, shape (h, w, 3)
        Mean of their clean frames.
    params : LocalParams, optional

    Returns
    -------
    float
    """
    step = 2 * coarseness(*center.shape[:2])
    few, place = pictures[:, ::step, ::step], center[::step, ::step]
    last = len(few) - 1
    asked = np.linspace(0, last - 1, min(last, _PAIRS)).round().astype(int)
    same = [(largest_difference(few[j], few[j + 1]) == 0).mean() for j in asked.tolist()]
    if not same or median(np.array(same)) < _FROZEN:
        return 0.0
    apart = [quantile(np.abs(one - place).ravel(), _PIXELS) for one in few]
    noise = quantile(np.array(apart), _FRAMES) / _WITHIN
    return min(noise, _MOST * params.least_noise)
