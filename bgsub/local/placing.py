"""Move the frames of a camera that shakes to the place of its scene, and what is found back."""

from __future__ import annotations

from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.registration import Registration, Shift
from bgsub.video.frames import Bytes

Flags = NDArray[np.bool_]


def moved(picture: NDArray[Any], shift: Shift) -> NDArray[Any]:
    """Move a picture to its place.

    Parameters
    ----------
    picture : ndarray, shape (h, w) or (h, w, 3)
    shift : Shift
        Where it lies now.

    Returns
    -------
    ndarray
        The picture itself where nothing moves. At its borders what it does not show is continued.
    """
    right, down = shift
    if not (right or down):
        return picture
    height, width = picture.shape[:2]
    seen = picture[max(0, down) : height + min(0, down), max(0, right) : width + min(0, right)]
    borders = max(0, -down), max(0, down), max(0, -right), max(0, right)
    return cv2.copyMakeBorder(seen, *borders, cv2.BORDER_REPLICATE)


class Placed(NamedTuple):
    """A frame at its place, and the way back.

    Attributes
    ----------
    picture : ndarray of uint8, shape (h, w, 3) or (h, w)
    inside : ndarray of bool, shape (h, w), or None
        What counts, and what the frame shows of the place; None if all does.
    shift : Shift
    counts : ndarray of bool, shape (h, w), or None
        What counts of the frame where it lay.
    """

    picture: Bytes
    inside: Flags | None
    shift: Shift = Shift()
    counts: Flags | None = None

    def back(self, plane: NDArray[Any]) -> NDArray[Any]:
        """Move something of the place to where the frame lies; 0 where nothing counts."""
        if self.shift == Shift():
            return plane
        plane = moved(plane, Shift(-self.shift.right, -self.shift.down))
        if self.counts is not None:
            plane[~self.counts] = 0
        return plane


def at_place(
    registration: Registration | None, picture: Bytes, counts: Flags | None = None
) -> Placed:
    """Move a frame to its place, if the camera shakes.

    Parameters
    ----------
    registration : Registration or None
        None for a camera that stands still.
    picture : ndarray of uint8, shape (h, w, 3) or (h, w)
    counts : ndarray of bool, shape (h, w), optional
        Pixels of the frame that count; all by default.
    """
    shift = Shift() if registration is None else registration.find(picture)
    if shift == Shift():
        return Placed(picture, counts)
    height, width = picture.shape[:2]
    inside = np.zeros((height, width), np.bool_)
    rows = slice(max(0, -shift.down), height - max(0, shift.down))
    columns = slice(max(0, -shift.right), width - max(0, shift.right))
    inside[rows, columns] = True
    if counts is not None:
        inside &= moved(counts.view(np.uint8), shift).view(np.bool_)
    return Placed(moved(picture, shift), inside, shift, counts)
