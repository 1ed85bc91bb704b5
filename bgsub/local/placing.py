"""Move the frames of a camera that shakes to the place of its scene, and what is found back."""

from __future__ import annotations

from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.alignment import Motion, warped
from bgsub.local.registration import Registration
from bgsub.video.frames import Bytes

Flags = NDArray[np.bool_]

_STILL = Motion()


def moved(picture: Bytes, motion: Motion) -> Bytes:
    """Move a picture to its place.

    Parameters
    ----------
    picture : ndarray of uint8, shape (h, w) or (h, w, 3)
    motion : Motion
        How it lies now.

    Returns
    -------
    ndarray of uint8
        The picture itself where nothing moves. At its borders what it does not show is continued.
    """
    if motion == _STILL:
        return picture
    # Cubic, as linear interpolation leaves half of the sharpest edges between two pixels.
    sharp = warped(picture, motion.matrix(*picture.shape[:2]), cv2.INTER_CUBIC)
    return np.asarray(sharp, np.uint8)


class Placed(NamedTuple):
    """A frame at its place, and the way back.

    Attributes
    ----------
    picture : ndarray of uint8, shape (h, w, 3) or (h, w)
    inside : ndarray of bool, shape (h, w), or None
        What counts, and what the frame shows of the place; None if all does.
    motion : Motion
    counts : ndarray of bool, shape (h, w), or None
        What counts of the frame where it lay.
    """

    picture: Bytes
    inside: Flags | None
    motion: Motion = _STILL
    counts: Flags | None = None

    def back(self, plane: NDArray[Any]) -> NDArray[Any]:
        """Move something of the place to where the frame lies; 0 where nothing counts.

        Pictures, (h, w, 3), are interpolated; of masks and scores, (h, w), the nearest are taken.
        """
        if self.motion == _STILL:
            return plane
        height, width = plane.shape[:2]
        there = cv2.invertAffineTransform(self.motion.matrix(height, width))
        way = cv2.INTER_CUBIC if plane.ndim == 3 else cv2.INTER_NEAREST
        plane = warped(plane, np.asarray(there), way)
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
    motion = _STILL if registration is None else registration.find(picture)
    if motion == _STILL:
        return Placed(picture, counts)
    height, width = picture.shape[:2]
    seen = np.ones((height, width), np.uint8) if counts is None else counts.view(np.uint8)
    flags = cv2.INTER_NEAREST | cv2.WARP_INVERSE_MAP
    shown = cv2.warpAffine(seen, motion.matrix(height, width), (width, height), flags=flags)
    inside = np.asarray(shown, np.uint8).view(np.bool_)
    return Placed(moved(picture, motion), inside, motion, counts)
