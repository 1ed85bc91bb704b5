"""Outlines of masks where the picture has the object's edge, not where its blur ends."""

from __future__ import annotations

import cv2
import numpy as np

from bgsub.video.frames import Bytes

EDGE = 0.6
"""Share of an object's score that its outermost pixels have, at least."""

_RING = np.ones((3, 3), np.uint8)
_SOLID = np.ones((4, 4), np.uint8)
_AROUND = np.ones((7, 7), np.uint8)


def without_halo(mask: Bytes, score: Bytes) -> Bytes:
    """Leave off a mask's outermost pixels where they are a blend with the background.

    A lens, and colour at half the resolution, blur an edge over some pixels. All of them deviate
    by more than noise where the object contrasts strongly, and a threshold that faint objects need
    makes those with strong contrast too wide. So the outermost pixels stay if they have most of the
    score of the object beside them: the score that 4×4 pixels of it have at least.

    Parameters
    ----------
    mask : ndarray of uint8, shape (h, w)
        0 or 1.
    score : ndarray of uint8, shape (h, w)

    Returns
    -------
    ndarray of uint8, shape (h, w)
        0 or 1.
    """
    inner = cv2.erode(mask, _RING, borderValue=1)
    solid = cv2.erode(cv2.multiply(score, mask), _SOLID, borderValue=255)
    beside = cv2.convertScaleAbs(cv2.dilate(solid, _AROUND), alpha=EDGE)
    strong = cv2.compare(score, beside, cv2.CMP_GE)
    return np.asarray(cv2.bitwise_and(mask, cv2.bitwise_or(strong, inner)), dtype=np.uint8)
