"""Tell objects in a mask from the background under another light."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.clean_frames import Singles
from bgsub.local.marked import MarkedPixels
from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.local.texture import shows_texture
from bgsub.video.frames import Bytes

_FIFTHS = np.full(5, 0.2, np.float32)
_THREE = np.float32(3)
# Standard errors of what chance leaves of noise, as each pixel is asked; and the side in pixels of
# a window that holds the rim of a shadow.
_ERRORS, _RIM = 4.0, 15
UNEVEN = 0.2
"""Share of its depth that the tint and the rim of a shadow have, and what another light leaves."""
LIGHT_REACH = _FIFTHS.size // 2 + _RIM // 2
"""Pixels around one whose light counts for it."""
_OFFSET = 4
_LOGARITHM = np.log(np.arange(256, dtype=np.float32) + _OFFSET)
_LUMA = np.array([[0.114, 0.587, 0.299]], np.float32)


def object_evidence(
    picture: Bytes,
    background: Bytes,
    mask: Bytes,
    noise: float | Singles,
    params: LocalParams = DEFAULTS,
) -> Bytes:
    """Mark where a mask cannot be the background in shadow or in other light.

    With l_c = log (x_c + 4)/(b_c + 4), the ratio of light in channel c, and all means taken over
    those of 5×5 pixels that are in the mask: a shadow leaves the same share of light in every
    channel and at every pixel around, but for noise. Evidence is any of: |mean l_c − mean l| · x̄
    over 2.5 σ; the deviation of l · x̄ over 2.5 σ; a ratio outside 0.6 to 1.3. None of them counts
    where the background's texture is still seen, see `texture`.

    Parameters
    ----------
    picture, background : ndarray of uint8, shape (h, w, 3)
    mask : ndarray of uint8, shape (h, w)
        0 or 1.
    noise : float or ndarray of float32, shape (256,) or (2, 256)
        σ in grey levels, of all pixels or by their luma; and the part of it that the pixels of a
        window share, which is all if it is not given.
    params : LocalParams, optional

    Returns
    -------
    ndarray of uint8, shape (h, w)
        0 or 1; 0 outside the mask.
    """
    marked = MarkedPixels(mask)
    if not marked.count:
        return np.zeros_like(mask)
    seen, there = marked.of(picture), marked.of(background)
    light = light_of(marked, seen, there)
    low, high = (
        math.log(max(one, 1e-6)) for one in (params.shadow_darkest, params.shadow_brightest)
    )
    chroma, texture = bounds_of(light, marked, noise, params)
    found: NDArray[np.bool_] = light.chroma > chroma
    found |= light.texture > texture
    found |= light.ratio < low
    found |= light.ratio > high
    if params.texture_kept <= 1 and found.any():
        found &= ~shows_texture(light.level, light.place, marked, params, found)
    return marked.mask_of(found)


class Light(NamedTuple):
    """How the light at the pixels of a mask differs from that of their background, m values each.

    Attributes
    ----------
    ratio : ndarray of float32
        Mean of l, the logarithm of the ratio, over the pixels of the mask among 5×5.
    chroma : ndarray of float32
        Largest |mean l_c − mean l| · x̄, in grey levels.
    texture : ndarray of float32
        Deviation of l · x̄, in grey levels.
    share : ndarray of float32
        Share of the 5×5 pixels that are in the mask.
    level, place : ndarray of float32
        Luma of the frame, and 4 more, and of its background.
    """

    ratio: Singles
    chroma: Singles
    texture: Singles
    share: Singles
    level: Singles
    place: Singles


def bounds_of(
    light: Light,
    marked: MarkedPixels,
    noise: float | Singles,
    params: LocalParams = DEFAULTS,
) -> tuple[Singles, Singles]:
    """Give the chroma and the texture that places in other light have at most, in grey levels.

    Noise hides colours and texture. But what each pixel has of it by itself goes out of the mean of
    a window, and in its deviation it is known: of both only what chance leaves counts. What pixels
    share counts as it is. Light is not as even, though: a deep shadow has a tint, and a rim, up to
    a share of its depth, which is that of what is deepest near by. So no bound is lower, and none
    is higher than if all noise were shared.

    Parameters
    ----------
    light : Light
    marked : MarkedPixels
        The m pixels.
    noise : float or ndarray of float32, shape (256,) or (2, 256)
        See `object_evidence`.
    params : LocalParams, optional

    Returns
    -------
    chroma, texture : ndarray of float32, shape (m,)
    """
    table = np.broadcast_to(np.float32(noise), (2, 256))
    single, shared = table.take((light.level - _OFFSET).astype(np.uint8), axis=1)
    common = np.minimum(shared, single) ** 2
    own = single * single - common
    count = np.float32(_FIFTHS.size**2) * light.share
    depth = np.abs(np.expm1(light.ratio)) * light.place
    uneven = np.float32(UNEVEN) * marked.highest_around(depth, _RIM)
    left = np.float32(_ERRORS**2) / count, 1 + np.float32(_ERRORS) * np.sqrt(2 / count)
    chroma, texture = (
        np.minimum(
            np.maximum(np.sqrt(factor * factor * common + part * own), uneven), factor * single
        )
        for factor, part in zip((params.shadow_chroma, params.shadow_texture), left, strict=True)
    )
    return chroma, texture


def light_of(marked: MarkedPixels, seen: Bytes, there: Bytes) -> Light:
    """Compare the light of a frame with that of its background.

    Parameters
    ----------
    marked : MarkedPixels
        m of them.
    seen, there : ndarray of uint8, shape (m, 3)
        Colours of the frame and of its background there.
    """
    ratios = np.ascontiguousarray((cv2.LUT(seen, _LOGARITHM) - cv2.LUT(there, _LOGARITHM)).T)
    level, place = _luma(seen), _luma(there)
    level += _OFFSET
    own = _third(ratios)
    inside = np.ones(marked.count, np.float32)
    *around, share = marked.gather(_mean(marked.lay_out(*ratios, inside)))
    squares, brightness = marked.gather(_mean(marked.lay_out(own * own, level)))
    weight = np.reciprocal(np.maximum(share, np.float32(1e-3)))
    overall = _third(around)
    blue, green, red = (np.abs(one - overall) for one in around)
    chroma = np.maximum(np.maximum(blue, green), red) * (weight * level)
    mean = overall * weight
    variance = np.maximum(squares * weight - mean * mean, np.float32(0))
    texture = np.sqrt(variance) * (brightness * weight)
    return Light(mean, chroma, texture, share, level, place)


def _luma(colors: Bytes) -> Singles:
    """Luma of a list of colours, rounded, shape (m,)."""
    luma = cv2.transform(colors.reshape(-1, 1, 3), _LUMA)
    return np.asarray(luma.reshape(-1), dtype=np.float32)


def _mean(planes: Singles) -> Singles:
    """Mean of 5×5 values: twice as quick as cv2.boxFilter, which sums in double precision."""
    return np.asarray(cv2.sepFilter2D(planes, -1, _FIFTHS, _FIFTHS), dtype=np.float32)


def _third(lists: Iterable[Singles]) -> Singles:
    first, second, third = lists
    return np.asarray((first + second + third) / _THREE, dtype=np.float32)
