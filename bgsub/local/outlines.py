"""Outlines of masks where the picture has the object's edge, not where its blur ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.params import DEFAULTS
from bgsub.local.regions import thinned
from bgsub.local.scoring import UNIT
from bgsub.video.frames import Bytes

_CLEAR = 1.5
"""Thresholds from which a pixel beside an object is part of it, though its neighbours are not."""

_SIDE = 7
"""Pixels of the square whose objects' colours are what a pixel in its middle may be part of."""

OUTLINE_REACH = _SIDE // 2 + 1
"""Steps around a mask that its new outlines depend on, at most."""

_RING = np.ones((3, 3), np.uint8)
_AROUND = np.ones((_SIDE, _SIDE), np.uint8)


class Colors(NamedTuple):
    """A frame, and the place behind it.

    Attributes
    ----------
    seen, behind : ndarray of uint8, shape (h, w, 3)
    """

    seen: Bytes
    behind: Bytes


def redraw_outlines(
    mask: Bytes,
    raw: Bytes,
    own: Callable[[NDArray[np.intp]], Bytes],
    colors: Colors,
    edge: float = DEFAULTS.outline_edge,
    depth: int = DEFAULTS.outline_px,
    step: int = 1,
) -> Bytes:
    """Move the outlines of a mask, inwards or outwards, to where the edges are.

    A lens, a codec, and colour at half the resolution blur an edge over some pixels. All of them
    deviate by more than noise where the object contrasts strongly, and a threshold that faint
    objects need makes those with strong contrast too wide. Halfway between the colours of place and
    object is where the edge is, whatever the contrast. So the outermost pixels stay if they differ
    from the place by more than half of what the object beside them would differ from it: the mean
    colour of the mask but its outermost pixels, or where that is thin of all of it, in 7×7 pixels.
    By the same measure what is thin, as limbs and distant people are, gets back what the vote of
    5×5 pixels took.

    Parameters
    ----------
    mask : ndarray of uint8, shape (h, w)
        0 or 1.
    raw : ndarray of uint8, shape (h, w)
        The mask before shadows were taken out of it; they do not come back.
    own : callable
        Gives the scores of m > 0 single pixels, by their indices.
    colors : Colors
    edge : float
        Share of an object's difference that its outermost pixels have.
    depth : int
        Pixels by which outlines move inwards, at most; outwards it is one.
    step : int
        An object's colours are those of every so many pixels, of a square as many times as wide.

    Returns
    -------
    ndarray of uint8, shape (h, w)
        0 or 1.

    Notes
    -----
    O(h·w). Differences are the largest of a channel's.
    """
    near = np.asarray(cv2.subtract(cv2.dilate(mask, _RING), raw), dtype=np.uint8)
    at = np.flatnonzero(near.view(np.bool_))
    if at.size:
        near.reshape(-1)[at] = own(at) >= _CLEAR * UNIT
    solid = cv2.erode(mask, _RING, borderValue=1)
    inner = solid
    if depth > 1:
        inner = cv2.erode(solid, _RING, iterations=depth - 1, borderValue=1)
    asked = np.flatnonzero(cv2.bitwise_or(cv2.subtract(mask, inner), near).view(np.bool_))
    strong = inner.copy()
    strong.reshape(-1)[asked] = _is_object(asked, mask, solid, colors, edge, step)
    found = cv2.bitwise_or(solid, cv2.bitwise_and(mask, strong))
    for _ in range(depth - 1):
        left = cv2.erode(found, _RING, borderValue=1)
        found = cv2.bitwise_or(left, cv2.bitwise_and(found, strong))
    return np.asarray(cv2.bitwise_or(found, cv2.bitwise_and(near, strong)), dtype=np.uint8)


def _is_object(
    at: NDArray[np.intp],
    mask: Bytes,
    solid: cv2.typing.MatLike,
    colors: Colors,
    edge: float,
    step: int,
) -> NDArray[np.bool_]:
    """Say of some pixels, by their indices, whether they have that share of the object beside."""
    thin, inner = (thinned(one, step) for one in (mask, np.asarray(solid, np.uint8)))
    known = cv2.bitwise_or(inner, cv2.subtract(thin, cv2.dilate(inner, _AROUND)))
    # Colours and how many, summed together: four channels take as long as three.
    shown = cv2.copyTo(thinned(colors.seen, step), known)
    own = _summed(cv2.merge((shown, known))).reshape(-1, 4)
    own = own.take(_thinned_at(at, mask.shape[1], step), axis=0)
    sums, count = own[:, :3], own[:, 3:]
    seen, behind = (np.ascontiguousarray(one).reshape(-1, 3).take(at, axis=0) for one in colors)
    beside = _largest(sums - count * behind)
    return np.asarray(_largest(seen.astype(np.int16) - behind) * count[:, 0] > edge * beside)


def _thinned_at(at: NDArray[np.intp], width: int, step: int) -> NDArray[np.intp]:
    """Give the indices that pixels have in a picture of every so many, by those in the whole."""
    if step == 1:
        return at
    rows, columns = np.divmod(at, width)
    few: NDArray[np.intp] = rows // step * -(-width // step) + columns // step
    return few


def _summed(values: cv2.typing.MatLike) -> NDArray[np.int16]:
    """Sum the values around every pixel; nothing is beyond the borders."""
    size, border = (_SIDE, _SIDE), cv2.BORDER_CONSTANT
    sums = cv2.boxFilter(values, cv2.CV_16U, size, normalize=False, borderType=border)
    return np.asarray(sums).view(np.int16)  # 49 times 255 at most


def _largest(differences: NDArray[np.int16]) -> NDArray[np.int16]:
    """Give the largest of every three, whatever their signs."""
    blue, green, red = np.abs(differences).T
    return np.asarray(np.maximum(np.maximum(blue, green), red))
