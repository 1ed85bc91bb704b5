"""Close the bays of a mask: clothes of the colour of the place."""

from __future__ import annotations

import cv2
import numpy as np

from bgsub.local.clean_frames import Singles
from bgsub.local.params import LocalParams
from bgsub.local.regions import enlarged, thinned
from bgsub.local.scoring import UNIT
from bgsub.video.frames import Bytes

_RING = np.ones((3, 3), np.uint8)
_PARTS = 256
_EVIDENT = 0.75
"""Share of a bay that shows evidence, at least."""


def bays(mask: Bytes, score: Bytes, step: int, params: LocalParams) -> Bytes:
    """Mark the bays of a mask: what it surrounds for the most part, and encloses.

    Clothes of the colour of the place leave bays in an object, which the vote of 5×5 pixels cannot
    close. Of 15×15 pixels around a straight edge half are in the mask at most, so outlines stay as
    they are but in bays. The ground between an arm and a body, or between two people, is none: of a
    bay's own outline 0.65 are in the mask, and most of it differs from the place a little. O(h·w).

    Parameters
    ----------
    mask : ndarray of uint8, shape (h, w)
        0 or 255.
    score : ndarray of uint8, shape (h, w)
        In units of `UNIT` a threshold.
    step : int
        Every so many pixels are looked at, down and across, and lengths are as many times as long.
    params : LocalParams

    Returns
    -------
    ndarray of uint8, shape (h, w)
        0 or 255; 0 in the mask.
    """
    if step > 1:
        few = thinned(mask, step)
        found, most = _bays(few, thinned(score, step), params)
        # What is not looked at beside a bay belongs to it, or lies between it and the mask.
        beside = cv2.bitwise_and(cv2.dilate(found, _RING), most)
        return np.asarray(cv2.subtract(enlarged(beside, step, mask.shape), mask), dtype=np.uint8)
    return _bays(mask, score, params)[0]


def _bays(mask: Bytes, score: Bytes, params: LocalParams) -> tuple[Bytes, Bytes]:
    """Do as `bays` does, at every pixel; and mark what is in the mask for the most part."""
    side = params.bay_px | 1
    share = cv2.blur(mask, (side, side))
    _, most = cv2.threshold(share, params.bay_share * 255 - 1, 255, cv2.THRESH_BINARY)
    found: Bytes = np.asarray(cv2.subtract(most, mask), dtype=np.uint8)
    x, y, wide, high = cv2.boundingRect(found)
    if wide:
        part = np.s_[max(y - 1, 0) : y + high + 1, max(x - 1, 0) : x + wide + 1]
        found[part] = _enclosed(found[part], mask[part], score[part], params)
    return found, np.asarray(most, dtype=np.uint8)


def _enclosed(found: Bytes, mask: Bytes, score: Bytes, params: LocalParams) -> Bytes:
    """Keep the parts whose outlines lie in a mask, and that show some evidence, for the most part.

    Of more than 255 parts, which only noise has, none is kept: they are told apart by a byte.
    """
    # Numbered by lines; by default they are by squares from the corner of what is looked at.
    count, numbers = cv2.connectedComponentsWithAlgorithm(found, 8, cv2.CV_32S, cv2.CCL_WU)
    if count > _PARTS:
        return np.zeros_like(found)
    labels = numbers.astype(np.uint8)
    outlines = np.asarray(cv2.subtract(cv2.dilate(labels, _RING), labels), dtype=np.uint8)
    around, inside = _counted(outlines, mask, 0)
    area, evident = _counted(labels, score, params.bay_score * UNIT - 1)
    kept = (inside >= params.bay_outline * around) & (evident >= _EVIDENT * area)
    kept[0] = False
    return np.asarray(cv2.LUT(labels, kept * np.uint8(255)), dtype=np.uint8)


def _counted(labels: Bytes, values: Bytes, least: float) -> tuple[Singles, Singles]:
    """Count the pixels of every label but 0, and those of them with a value above the least."""
    at = np.flatnonzero(labels > 0)  # few: a histogram of all takes twice as long
    found = labels.ravel().take(at)
    above = found[np.ascontiguousarray(values).ravel().take(at) > least]
    all_of, some = (np.bincount(one, minlength=_PARTS) for one in (found, above))
    return all_of.astype(np.float32), some.astype(np.float32)
