"""Take out of a mask what is an edge of the background that has moved by less than a pixel."""

from __future__ import annotations

import math
from collections.abc import Callable

import cv2
import numpy as np

from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.video.contours import pixels_within
from bgsub.video.frames import Bytes

_WIDEST = 5
"""Pixels that the sliver of such an edge is wide, at most: what it moved by, blur, and the vote."""

_COMPACT = 1 / 3
"""Share of the square over its box's diagonal that a sliver covers, at most: edges are long."""

_FURTHEST = 1.0
"""Pixels by which an edge moves, at most, when a camera drifts or trembles."""

_RING = np.ones((3, 3), np.uint8)
_AROUND = 2
"""Pixels around a blob that its rim and the slope there need."""

_SOBEL = 1 / 8
"""Scale that makes a slope a pixel of what a 3×3 Sobel filter gives."""


def without_moved_edges(
    mask: Bytes,
    picture: Bytes,
    background: Callable[[slice, slice], Bytes],
    params: LocalParams = DEFAULTS,
) -> Bytes:
    """Leave long and thin blobs out of a mask that are an edge of the background beside its place.

    A camera that drifts or trembles moves all edges by a part of a pixel, and along a strong one
    that leaves a sliver. To first order a background b that moved by s pixels along n differs from
    itself by −s n·∇b. A blob is that if its differences d in luma, over its pixels and those that
    touch them, are explained by one s of at most a pixel for half of their energy; n is the
    direction in which the background changes most there. An object has a colour of its own, and
    hides the edge instead of moving it.

    Parameters
    ----------
    mask : ndarray of uint8, shape (h, w)
        0 or 255. What is left out is set to 0 in it.
    picture : ndarray of uint8, shape (h, w, 3)
    background : callable
        Gives the background of some rows and columns.
    params : LocalParams, optional

    Returns
    -------
    ndarray of uint8, shape (h, w)
        The mask that was given.

    Notes
    -----
    O(h·w) where there is a thin blob.

    References
    ----------
    B. D. Lucas, T. Kanade, An iterative image registration technique, IJCAI 1981, for the shift
    that fits best; here it is asked for of a blob and its rim.
    """
    outlines, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    thin = [one for one in outlines if _is_sliver(one)]
    if not thin or params.edge_moved > 1:
        return mask
    x, y, wide, high = cv2.boundingRect(np.concatenate(thin))
    rows = slice(max(y - _AROUND, 0), min(y + high + _AROUND, mask.shape[0]))
    columns = slice(max(x - _AROUND, 0), min(x + wide + _AROUND, mask.shape[1]))
    place = _luma(background(rows, columns))
    planes = np.empty((3, *place.shape), np.float32)
    cv2.subtract(_luma(picture[rows, columns]), place, dst=planes[0], dtype=cv2.CV_32F)
    cv2.Sobel(place, cv2.CV_32F, 1, 0, dst=planes[1], scale=_SOBEL)
    cv2.Sobel(place, cv2.CV_32F, 0, 1, dst=planes[2], scale=_SOBEL)
    for outline in thin:
        left, top, wide, high = cv2.boundingRect(outline)
        left, top = max(left - columns.start - 1, 0), max(top - rows.start - 1, 0)
        part = np.s_[top : top + high + 2, left : left + wide + 2]
        blob = np.zeros((planes[0][part]).shape, np.uint8)
        cv2.drawContours(blob, [outline - (columns.start + left, rows.start + top)], -1, 255, -1)
        near = cv2.dilate(blob, _RING).view(np.bool_)
        values = planes[:, *part][:, near]
        if _is_moved((values @ values.T).tolist(), params.edge_moved):
            mask[rows, columns][part][blob > 0] = 0
    return mask


def _is_sliver(outline: cv2.typing.MatLike) -> bool:
    """Say whether what an outline encloses is long and thin."""
    area = pixels_within(outline)
    _, _, wide, high = cv2.boundingRect(outline)
    return 2 * area <= _WIDEST * len(outline) and area <= _COMPACT * (wide**2 + high**2)


def _luma(picture: Bytes) -> Bytes:
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY), dtype=np.uint8)


def _is_moved(products: list[list[float]], share: float) -> bool:
    """Say whether one shift of a place explains a share of the energy of what differs there.

    Parameters
    ----------
    products : list of list of float
        Sums of the products of d, ∂b/∂x and ∂b/∂y with each other.
    share : float
    """
    (energy, dx, dy), (_, xx, xy), (_, _, yy) = products
    angle = 0.5 * math.atan2(2 * xy, xx - yy)
    x, y = math.cos(angle), math.sin(angle)
    slope, together = x * x * xx + 2 * x * y * xy + y * y * yy, x * dx + y * dy
    is_near = abs(together) <= _FURTHEST * slope
    return is_near and together**2 >= share * energy * slope > 0
