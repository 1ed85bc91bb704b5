"""What in a mask is an object, and what the background under another light."""

from __future__ import annotations

import math
from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.clean_frames import Singles
from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.local.texture import shows_texture
from bgsub.video.frames import Bytes

_Plane = cv2.typing.MatLike

_FIFTHS = np.full(5, 0.2, np.float32)
_THREE = np.float32(3)
_OFFSET = 4
_LOGARITHM = np.log(np.arange(256, dtype=np.float32) + _OFFSET)
_LUMA = np.array([[0.114, 0.587, 0.299]], np.float32)


def object_evidence(
    picture: Bytes,
    background: Bytes,
    mask: Bytes,
    sigma: float,
    params: LocalParams = DEFAULTS,
) -> Bytes:
    """Where a mask cannot be the background in shadow or in other light.

    With l_c = log (x_c + 4)/(b_c + 4), the ratio of light in channel c, and all means taken over
    those of 5×5 pixels that are in the mask: a shadow leaves the same share of light in every
    channel and at every pixel around. Evidence is any of: |mean l_c − mean l| · x̄ / σ over 2.5;
    the deviation of l · x̄ / σ over 2.5; a ratio outside 0.4 to 1.3. None of them counts where the
    background's texture is still seen, see `texture`.

    Parameters
    ----------
    picture, background : ndarray of uint8, shape (h, w, 3)
    mask : ndarray of uint8, shape (h, w)
        0 or 1.
    sigma : float
        Noise in grey levels.
    params : LocalParams, optional

    Returns
    -------
    ndarray of uint8, shape (h, w)
        0 or 1; 0 outside the mask.
    """
    inside = mask.astype(np.float32)
    weight = np.reciprocal(np.maximum(_mean(inside), np.float32(1e-3)))
    ratios = [
        cv2.multiply(cv2.subtract(cv2.LUT(x, _LOGARITHM), cv2.LUT(b, _LOGARITHM)), inside)
        for x, b in zip(cv2.split(picture), cv2.split(background), strict=True)
    ]
    around = [_mean(ratio) for ratio in ratios]
    overall = _third(around)
    blue, green, red = (cv2.absdiff(one, overall) for one in around)
    level = cv2.transform(picture, _LUMA).astype(np.float32)
    level += _OFFSET
    chroma = cv2.multiply(cv2.max(cv2.max(blue, green), red), cv2.multiply(weight, level))
    own = _third(ratios)
    mean = cv2.multiply(overall, weight)
    squares = cv2.multiply(_mean(cv2.multiply(own, own)), weight)
    difference = cv2.subtract(squares, cv2.multiply(mean, mean))
    _, variance = cv2.threshold(difference, 0, 0, cv2.THRESH_TOZERO)
    brightness = cv2.multiply(_mean(cv2.multiply(level, inside)), weight)
    texture = cv2.multiply(cv2.sqrt(variance), brightness)
    low, high = (
        math.log(max(one, 1e-6)) for one in (params.shadow_darkest, params.shadow_brightest)
    )
    found: NDArray[np.bool_] = chroma > params.shadow_chroma * sigma
    found |= texture > params.shadow_texture * sigma
    found |= mean < low
    found |= mean > high
    if params.texture_kept <= 1 and found.any():
        place = cv2.transform(background, _LUMA).astype(np.float32)
        found &= ~shows_texture(level, place, inside, params)
    return np.asarray(cv2.bitwise_and(found.view(np.uint8), mask), dtype=np.uint8)


def _mean(plane: _Plane) -> Singles:
    """Mean of 5×5 values: twice as quick as cv2.boxFilter, which sums in double precision."""
    return np.asarray(cv2.sepFilter2D(plane, -1, _FIFTHS, _FIFTHS), dtype=np.float32)


def _third(planes: Sequence[_Plane]) -> Singles:
    first, second, third = planes
    total = cv2.add(cv2.add(first, second), third)
    return np.asarray(np.divide(total, _THREE, dtype=np.float32))
