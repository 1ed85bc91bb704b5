"""Find the soft shade that an object throws on what is close to it: under feet, between legs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.params import LocalParams
from bgsub.local.regions import enlarged, thinned
from bgsub.local.scoring import UNIT
from bgsub.video.frames import Bytes

_SOLID, _REACH = 4, 12  # pixels: a solid piece of an object, and how far its shade reaches
_DARKER = 1
"""Grey levels by which a channel may be lighter nevertheless: rounding."""

_RING = np.ones((3, 3), np.uint8)
_CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], np.uint8)

SHADE_REACH = _REACH // 2 + 1
"""Steps around a mask such that no object is so close to another one whose shade is looked for."""

_PARTS = 256


def soft_shade(
    mask: Bytes,
    score: Bytes,
    picture: Bytes,
    background: Callable[[slice, slice], Bytes],
    step: int,
    params: LocalParams,
) -> Bytes:
    """Mark what is only the light that an object takes away from what is beside it.

    Who stands on a lawn hides a part of the sky from it. That shade has a tint, as the sky has one,
    so it is no shadow by its colour; but it is weak beside the object, darker in every channel, and
    it has no edge: it fades over more pixels than any lens blurs an edge. A pixel is shade if its
    score s is less than 0.35 of that of a solid piece of the object within 12 pixels, if the scores
    of the 3×3 pixels around differ by less than 0.7 s, and if no channel is lighter than behind it,
    with at least the share of light that shadows leave. It is so only where shade meets the outside
    of the mask: within an object nothing tells where its parts end.

    Parameters
    ----------
    mask : ndarray of uint8, shape (h, w)
        0 or 1; of a part of a picture, which ends `SHADE_REACH` steps from the mask or with the
        picture.
    score : ndarray of uint8, shape (h, w)
        In units of `UNIT` a threshold.
    picture : ndarray of uint8, shape (h, w, 3)
    background : callable
        Gives the background of some rows and columns.
    step : int
        Every so many pixels are looked at, down and across, and lengths are as many times as long.
    params : LocalParams
        With the bounds of the shadows of the scene.

    Returns
    -------
    ndarray of uint8, shape (h, w)
        0 or 1; 0 outside the mask.

    Notes
    -----
    O(h·w).
    """
    if step > 1:
        few = _shade(
            thinned(mask, step),
            thinned(score, step),
            picture[::step, ::step],
            lambda *part: background(*(slice(step * i.start, step * i.stop, step) for i in part)),
            params,
        )
        return np.asarray(cv2.bitwise_and(enlarged(few, step, mask.shape), mask), dtype=np.uint8)
    return _shade(mask, score, picture, background, params)


def _shade(
    mask: Bytes,
    score: Bytes,
    picture: Bytes,
    background: Callable[[slice, slice], Bytes],
    params: LocalParams,
) -> Bytes:
    """Do as `soft_shade` does, at every pixel."""
    found = np.zeros_like(mask)
    if not cv2.hasNonZero(mask):
        return found
    part = _box(mask, 1)
    mask = np.ascontiguousarray(mask[part])
    soft = _weak_and_soft(mask, np.ascontiguousarray(score[part]), params)
    if not cv2.hasNonZero(soft):
        return found
    near = _box(soft, 1)
    inner = rows, columns = tuple(
        slice(own.start + one.start, own.start + one.stop)
        for own, one in zip(part, near, strict=True)
    )
    dark = _darker(picture[inner], background(rows, columns), params.shadow_darkest)
    shade = cv2.morphologyEx(cv2.bitwise_and(soft[near], dark), cv2.MORPH_OPEN, _RING)
    found[inner] = _reached(np.asarray(shade, dtype=np.uint8), mask[near])
    return found


def _box(mask: Bytes, margin: int) -> tuple[slice, slice]:
    """Rows and columns that a mask lies in, and a margin around it."""
    x, y, wide, high = cv2.boundingRect(mask)
    return (
        slice(max(y - margin, 0), min(y + high + margin, mask.shape[0])),
        slice(max(x - margin, 0), min(x + wide + margin, mask.shape[1])),
    )


def _weak_and_soft(mask: Bytes, score: Bytes, params: LocalParams) -> Bytes:
    """Mark what is weak beside a solid piece of the object and has no edge."""
    solid = cv2.erode(cv2.copyTo(score, mask), _square(_SOLID), borderValue=255)
    beside = cv2.dilate(solid, _square(2 * _REACH + 1))
    weak = cv2.compare(score, cv2.convertScaleAbs(beside, alpha=params.shade_share), cv2.CMP_LT)
    weak = cv2.bitwise_and(weak, mask)
    found = np.zeros_like(mask)
    middle = np.asarray(cv2.erode(weak, _RING), dtype=np.uint8)  # rims of all objects are weak
    if cv2.hasNonZero(middle):
        near = _box(middle, 2)
        close = score[near]
        steep = cv2.morphologyEx(close, cv2.MORPH_GRADIENT, _RING)
        soft = cv2.compare(steep, cv2.LUT(close, _slopes(params.shade_slope)), cv2.CMP_LT)
        soft = cv2.bitwise_and(soft, weak[near])
        found[near] = cv2.morphologyEx(soft, cv2.MORPH_OPEN, _RING)
    return found


@cache
def _slopes(share: float) -> NDArray[np.uint8]:
    """Differences of scores around a pixel from which it is on an edge, by its own score."""
    slopes = share * np.maximum(np.arange(256), UNIT // 2)
    return np.asarray(np.minimum(slopes.round(), 255), dtype=np.uint8)


def _reached(shade: Bytes, mask: Bytes) -> Bytes:
    """Keep of shade what meets the outside of a mask: within an object nothing tells its edges.

    Of more than 255 parts, which only noise has, none is kept: they are told apart by a byte.
    """
    count, numbers = cv2.connectedComponents(shade, connectivity=4)
    if count > _PARTS:
        return np.zeros_like(shade)
    labels = numbers.astype(np.uint8)
    inner = cv2.erode(mask, _CROSS, borderValue=1)
    beside = cv2.subtract(mask, inner)
    meets = np.zeros(_PARTS, np.bool_)
    meets[labels[np.asarray(beside) > 0]] = True
    meets[0] = False
    return np.asarray(cv2.LUT(labels, meets.view(np.uint8)), dtype=np.uint8)


def _darker(picture: Bytes, behind: Bytes, darkest: float) -> Bytes:
    """Mark what is darker in all channels, and not darker than a shadow; 0 or 255."""
    seen, there = (cv2.blur(np.ascontiguousarray(one), _RING.shape) for one in (picture, behind))
    darker = cv2.inRange(cv2.subtract(seen, there), (0, 0, 0), (_DARKER,) * 3)
    seen, there = (cv2.cvtColor(one, cv2.COLOR_BGR2GRAY) for one in (seen, there))
    lit = cv2.compare(seen, cv2.convertScaleAbs(there, alpha=darkest), cv2.CMP_GE)
    return np.asarray(cv2.bitwise_and(darker, lit), dtype=np.uint8)


def _square(side: int) -> Bytes:
    return np.ones((side, side), np.uint8)
