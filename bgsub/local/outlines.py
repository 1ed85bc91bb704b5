"""Outlines of masks where the picture has the object's edge, not where its blur ends."""

from __future__ import annotations

import cv2
import numpy as np

from bgsub.local.params import DEFAULTS
from bgsub.local.scoring import UNIT
from bgsub.video.frames import Bytes

_CLEAR = 1.5
"""Thresholds from which a pixel beside an object is part of it, though its neighbours are not."""

OUTLINE_REACH = 6
"""Pixels around a mask that its new outlines depend on, at most."""

_PAIR = np.ones((2, 2), np.uint8)
_ROUNDS = 2
"""Pixels by which a codec's blur is wider than what `redraw_outlines` takes off, at most."""

_RING = np.ones((3, 3), np.uint8)
_SOLID = np.ones((4, 4), np.uint8)
_AROUND = np.ones((9, 9), np.uint8)


def redraw_outlines(
    mask: Bytes, raw: Bytes, score: Bytes, edge: float = DEFAULTS.outline_edge
) -> Bytes:
    """Move the outlines of a mask by a pixel, inwards or outwards, to where the edges are.

    A lens, and colour at half the resolution, blur an edge over some pixels. All of them deviate
    by more than noise where the object contrasts strongly, and a threshold that faint objects need
    makes those with strong contrast too wide. So the outermost pixels stay if they have most of the
    score of the object beside them: the score that 4×4 pixels of it have at least. By the same
    measure what is thin, as limbs and distant people are, gets back what the vote of 5×5 pixels
    took.

    Parameters
    ----------
    mask : ndarray of uint8, shape (h, w)
        0 or 1.
    raw : ndarray of uint8, shape (h, w)
        The mask before shadows were taken out of it; they do not come back.
    score : ndarray of uint8, shape (h, w)
    edge : float
        Share of an object's score that its outermost pixels have, at least.

    Returns
    -------
    ndarray of uint8, shape (h, w)
        0 or 1.
    """
    inner = cv2.erode(mask, _RING, borderValue=1)
    solid = cv2.erode(cv2.copyTo(score, mask), _SOLID, borderValue=255)
    beside = cv2.convertScaleAbs(cv2.dilate(solid, _AROUND), alpha=edge)
    strong = cv2.compare(score, beside, cv2.CMP_GE)
    kept = cv2.bitwise_and(mask, cv2.bitwise_or(strong, inner))
    _, clear = cv2.threshold(score, _CLEAR * UNIT - 1, 1, cv2.THRESH_BINARY)
    near = cv2.subtract(cv2.dilate(mask, _RING), raw)
    near = cv2.bitwise_and(cv2.bitwise_and(near, clear), strong)
    return np.asarray(cv2.bitwise_or(kept, near), dtype=np.uint8)


def without_blur(mask: Bytes, score: Bytes, blur: float) -> Bytes:
    """Take off the outermost pixels of objects, one or two, that are weak beside the rest.

    Compressed film, and chroma at half the resolution, blur an edge over two or three pixels, and
    `redraw_outlines` asks for less where an object is thin, as legs are: of 4×4 pixels the weakest
    is blurred too. Where objects are nearly nowhere so weak inside, they are not at their edges.

    Parameters
    ----------
    mask : ndarray of uint8, shape (h, w)
        0 or 255, without holes.
    score : ndarray of uint8, shape (h, w)
        Of single pixels.
    blur : float
        Share of the score beside, see `strong_beside`.

    Returns
    -------
    ndarray of uint8, shape (h, w)
        0 or 255.
    """
    smooth = np.asarray(cv2.medianBlur(score, 3), dtype=np.uint8)  # noise is no outline
    strong = strong_beside(smooth, mask, blur)
    for _ in range(_ROUNDS):
        inner = cv2.erode(mask, _RING, borderValue=255)
        mask = np.asarray(cv2.bitwise_and(mask, cv2.bitwise_or(strong, inner)), dtype=np.uint8)
    return mask


def strong_beside(score: Bytes, mask: Bytes, share: float) -> Bytes:
    """Mark what has a share of the score that 2×2 pixels of a mask within 4 pixels have at least.

    Returns
    -------
    ndarray of uint8, shape (h, w)
        0 or 255.
    """
    pairs = cv2.erode(cv2.copyTo(score, mask), _PAIR, borderValue=255)
    beside = cv2.convertScaleAbs(cv2.dilate(pairs, _AROUND), alpha=share)
    return np.asarray(cv2.compare(score, beside, cv2.CMP_GE), dtype=np.uint8)
