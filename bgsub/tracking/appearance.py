"""Remember what an object looks like, and find it where it has merged with others."""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.tracking.detections import Box
from bgsub.video.frames import Bytes

_MOST_PIXELS = 40_000
"""Pixels of a patch above which it is reduced before it is looked for."""

_ALIKE = 35.0
"""Root mean square difference in grey levels up to which a place may show the object."""

_BREATH = 2
"""Pixels by which outlines move from frame to frame."""


class Appearance:
    """The pixels of an object when it was last seen alone.

    Parameters
    ----------
    picture : ndarray of shape (h, w) or (h, w, 3), uint8
    box : tuple of four ints
        x, y, width and height within the picture.
    inside : ndarray of shape (height, width), bool
        Which pixels of the box belong to the object.
    """

    def __init__(
        self, picture: Bytes, box: tuple[int, int, int, int], inside: NDArray[np.bool_]
    ) -> None:
        x, y, width, height = box
        self._patch = picture[y : y + height, x : x + width].copy()
        self._inside = inside

    def locate(
        self, picture: Bytes, center: tuple[float, float], reach: float, within: Box
    ) -> tuple[float, float, float] | None:
        """Find the object near a place, in a region that it shares with others.

        Parameters
        ----------
        picture : ndarray of shape (h, w) or (h, w, 3), uint8
        center : tuple of float
            Where the centre of its box is expected, in pixels.
        reach : float
            How far from there it may be, in pixels.
        within : Box
            What the region covers: the object reaches out of it by no more than outlines breathe.

        Returns
        -------
        tuple of float, or None
            The centre of its box, and how alike the place is, from 0 to 1. None where no place
            shows it, because something is before it.

        Notes
        -----
        O(patch · places), the patch being reduced to 40,000 pixels at most.
        """
        height, width = self._inside.shape
        across = _places(center[0], width, reach, within[::2], picture.shape[1])
        down = _places(center[1], height, reach, within[1::2], picture.shape[0])
        if not across or not down:
            return None
        left, top = across[0], down[0]
        window = picture[top : down[-1] + height, left : across[-1] + width]
        shrink = max(1, math.ceil(math.sqrt(height * width / _MOST_PIXELS)))
        patch, inside = self._patch, self._inside.view(np.uint8)
        if shrink > 1:
            window, patch = window[::shrink, ::shrink], patch[::shrink, ::shrink]
            inside = np.ascontiguousarray(inside[::shrink, ::shrink])
        least, (column, row) = _least_squares(window, patch, inside)
        count = cv2.countNonZero(inside) * (3 if patch.ndim == 3 else 1)
        rms = math.sqrt(least / max(count, 1))
        if rms > _ALIKE:
            return None
        found = (left + shrink * column + width / 2, top + shrink * row + height / 2)
        return *found, 1 - rms / _ALIKE


def _places(center: float, side: int, reach: float, within: tuple[float, ...], most: int) -> range:
    """Give where an object may begin along one axis: near its place, in its region and picture."""
    at, margin = round(center - side / 2), math.ceil(reach)
    begin, end = int(within[0]), int(within[0] + within[1]) - side
    first = max(at - margin, min(begin, end) - _BREATH, 0)
    return range(first, min(at + margin, max(begin, end) + _BREATH, most - side) + 1)


def _least_squares(window: Bytes, patch: Bytes, inside: Bytes) -> tuple[float, tuple[int, int]]:
    """Find where a patch differs least from a window; the sum of squares, and x and y there.

    Σ(w − p)² = Σw² − 2Σwp + Σp² over the pixels inside. `cv2.matchTemplate` has a way to do that
    with a mask, in double precision, which takes more than twice the time. Of colours the channel
    is compared in which the object stands out most, a third of the work; all of them are in the
    sum.
    """
    one, two = window, patch
    if window.ndim == 3:
        apart = np.abs(np.subtract(cv2.mean(patch, inside), cv2.mean(window)))
        channel = int(apart.argmax())
        one = np.asarray(cv2.extractChannel(window, channel), dtype=np.uint8)
        two = np.asarray(cv2.extractChannel(patch, channel), dtype=np.uint8)
    energy = np.square(one, dtype=np.float32)
    there = cv2.matchTemplate(energy, inside.astype(np.float32), cv2.TM_CCORR)
    common = cv2.matchTemplate(one, cv2.copyTo(two, inside), cv2.TM_CCORR)
    _, _, (x, y), _ = cv2.minMaxLoc(cv2.scaleAdd(common, -2, there))
    high, wide = inside.shape
    return cv2.norm(window[y : y + high, x : x + wide], patch, cv2.NORM_L2SQR, inside), (x, y)
