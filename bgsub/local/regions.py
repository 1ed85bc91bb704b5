"""Find the parts of a picture that a mask lies in, so that nothing else need be looked at."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.video.frames import Bytes

Box = tuple[int, int, int, int]
"""Top, bottom, left and right, the second and fourth exclusive."""

_CELL = 8
# Pixels that could be worked on while another part is begun; so close parts are taken as one.
_START = 2500
# Of more parts than this all are taken as one: finding out which are apart would take longer.
_MOST = 100


def boxes_of(mask: Bytes, reach: int, step: int = 1, least_area: int = 0) -> list[Box]:
    """Find boxes in which a mask can be worked on part by part, as if on the picture at once.

    Parameters
    ----------
    mask : ndarray of uint8, shape (h, w)
        0 or 1.
    reach : int
        Pixels around the mask that every box has, where the picture has them. What lies in another
        box is at least twice as far away.
    step : int, optional
        Boxes begin at its multiples.
    least_area : int, optional
        Parts are passed over of which not even the box, a pixel larger to every side, covers so
        many pixels.

    Returns
    -------
    list of Box
        Disjoint; all of the mask but what was passed over is in them.
    """
    parts = [_tight(mask, part) for part in _coarse_boxes(mask, step)]
    gap = 2 * reach + step
    apart = _joined(parts, gap, 0)
    large = [box for box in apart if _area(box, 1) >= least_area]
    return [_padded(box, mask.shape, reach, step) for box in _joined(large, gap, _START)]


def _coarse_boxes(mask: Bytes, step: int) -> list[Box]:
    """Boxes of what is connected once the cells that it lies in, and those beside, are set."""
    height, width = mask.shape
    below, right = -height % _CELL, -width % _CELL
    if below or right:
        mask = np.asarray(cv2.copyMakeBorder(mask, 0, below, 0, right, cv2.BORDER_CONSTANT))
    words = np.ascontiguousarray(mask).view(np.uint64)  # eight pixels of a row at once
    cells = np.bitwise_or.reduce(words.reshape(-1, _CELL, words.shape[1]), axis=1) > 0
    grown = cv2.dilate(cells.view(np.uint8), np.ones((2 * step + 1, 2 * step + 1), np.uint8))
    outlines, _ = cv2.findContours(grown, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    if len(outlines) > _MOST:
        return [(0, height, 0, width)]
    found = []
    for outline in outlines:
        x, y, wide, high = (_CELL * one for one in cv2.boundingRect(outline))
        found.append((y, min(y + high, height), x, min(x + wide, width)))
    return _joined(found, 0, 0)


def _tight(mask: Bytes, box: Box) -> Box:
    """Give the smallest box that holds what a box holds of a mask."""
    top, bottom, left, right = box
    x, y, wide, high = cv2.boundingRect(mask[top:bottom, left:right])
    return top + y, top + y + high, left + x, left + x + wide


def _padded(box: Box, shape: tuple[int, ...], reach: int, step: int) -> Box:
    top, bottom, left, right = box
    return (
        max(top - reach, 0) // step * step,
        min(bottom + reach, shape[0]),
        max(left - reach, 0) // step * step,
        min(right + reach, shape[1]),
    )


def _joined(boxes: list[Box], gap: int, spare: int) -> list[Box]:
    """Join boxes with less than a gap between them, or that together cover little more."""
    done: list[Box] = []
    for box in boxes:
        joined, rest = box, done
        while touching := [one for one in rest if _belong_together(joined, one, gap, spare)]:
            rest = [one for one in rest if one not in touching]
            joined = _around(joined, *touching)
        done = [*rest, joined]
    return done


def _belong_together(a: Box, b: Box, gap: int, spare: int) -> bool:
    if a[0] < b[1] + gap and b[0] < a[1] + gap and a[2] < b[3] + gap and b[2] < a[3] + gap:
        return True
    return bool(spare) and _area(_around(a, b)) <= _area(a) + _area(b) + spare


def _around(*boxes: Box) -> Box:
    tops, bottoms, lefts, rights = zip(*boxes, strict=True)
    return min(tops), max(bottoms), min(lefts), max(rights)


def _area(box: Box, margin: int = 0) -> int:
    return (box[1] - box[0] + 2 * margin) * (box[3] - box[2] + 2 * margin)


def thinned(picture: NDArray[Any], step: int) -> NDArray[Any]:
    """Every so many pixels of a picture, down and across."""
    height, width = picture.shape[:2]
    if step == 1 or height % step or width % step:
        return np.ascontiguousarray(picture[::step, ::step])
    # The same pixels; NumPy takes four times as long for those of three channels.
    size = (width // step, height // step)
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_NEAREST))
