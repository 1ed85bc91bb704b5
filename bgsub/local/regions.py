"""Find the parts of a picture that a mask lies in, so that nothing else need be looked at."""

from __future__ import annotations

from typing import Any, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.video.contours import pixels_within
from bgsub.video.frames import Bytes, doubled

_Level = TypeVar("_Level", np.uint8, np.float32)

Box = tuple[int, int, int, int]
"""Top, bottom, left and right, the second and fourth exclusive."""

_CELL = 8
# Pixels that could be worked on while another part is begun; so close parts are taken as one. What
# looks less far takes less for a pixel, and more calls.
_START, _START_NEAR = 2500, 15_000
# Of more parts than this all are taken as one: finding out which are apart would take longer.
_MOST = 100
# Least areas that a box covers beyond which finding out what is in it would seldom spare anything.
_SURE = 20


def boxes_of(
    mask: Bytes, far: int, near: int, step: int = 1, least_area: int = 0
) -> list[tuple[Box, list[Box]]]:
    """Find boxes in which a mask can be worked on part by part, as if on the picture at once.

    Parameters
    ----------
    mask : ndarray of uint8, shape (h, w)
        0 or 1.
    far, near : int
        Pixels around the mask that the wide boxes have, and the narrow ones in them, where the
        picture has them; `near` is no more than `far`. What lies in another box of the same kind is
        at least twice as far away.
    step : int, optional
        Boxes begin at its multiples, and end there, but where the picture ends.
    least_area : int, optional
        Parts are passed over that cannot become so many pixels: of which not even the box, a pixel
        larger to every side, covers them, or nothing in it with a pixel around has them.

    Returns
    -------
    list of tuple of Box and list of Box
        Wide boxes, and the narrow ones of what is in each, at places of the picture. Boxes of a
        kind are disjoint; all of the mask but what was passed over is in both.
    """
    parts = [_tight(mask, part) for part in _coarse_boxes(mask, step)]
    found = []
    apart = _joined(parts, 2 * far + step, 0)
    for box in _large(apart, 2 * far + step, least_area, _START):
        apart = _joined(_within(parts, box), 2 * near + step, 0)
        own = [one for one in apart if _can_become(mask, one, least_area)]
        inner = _large(own, 2 * near + step, least_area, _START_NEAR)
        if inner:
            shape = mask.shape
            padded = [_padded(one, shape, near, step) for one in inner]
            found.append((_padded(box, shape, far, step), padded))
    return found


def _large(apart: list[Box], gap: int, least_area: int, start: int) -> list[Box]:
    """Leave out small boxes, and take those as one for which that spares beginning another."""
    return _joined([box for box in apart if _area(box, 1) >= least_area], gap, start)


def _can_become(mask: Bytes, box: Box, least_area: int) -> bool:
    """Say whether something of a mask in a box has the least area with a pixel more around it."""
    if _area(box, 1) > _SURE * least_area:
        return True
    top, bottom, left, right = box
    part = cv2.copyMakeBorder(mask[top:bottom, left:right], 1, 1, 1, 1, cv2.BORDER_CONSTANT)
    grown = cv2.dilate(part, np.ones((3, 3), np.uint8))
    outlines, _ = cv2.findContours(grown, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    return any(pixels_within(one) >= least_area for one in outlines)


def _within(boxes: list[Box], box: Box) -> list[Box]:
    """Give the boxes that lie in another one."""
    top, bottom, left, right = box
    return [
        one
        for one in boxes
        if top <= one[0] and one[1] <= bottom and left <= one[2] and one[3] <= right
    ]


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
        min(-(-(bottom + reach) // step) * step, shape[0]),
        max(left - reach, 0) // step * step,
        min(-(-(right + reach) // step) * step, shape[1]),
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


def shrunk(picture: NDArray[_Level], scale: int) -> NDArray[_Level]:
    """Means of a picture over squares, (h, w, c); what is left over at its ends is left out."""
    rows, columns = (side // scale for side in picture.shape[:2])
    part = picture[: rows * scale, : columns * scale]
    found = cv2.resize(part, (max(columns, 1), max(rows, 1)), interpolation=cv2.INTER_AREA)
    return np.asarray(found.reshape(*found.shape[:2], -1), dtype=picture.dtype)


def enlarged(mask: cv2.typing.MatLike, step: int, shape: tuple[int, ...]) -> Bytes:
    """Give the mask of a picture of a shape whose every so many pixels have the mask that is known.

    Takes what `repeated` takes, but one mask of bytes, in a fraction of the time.
    """
    few = np.asarray(mask, dtype=np.uint8)
    high, wide = few.shape
    if step == 2:
        large = doubled(few)
    else:
        size = (step * wide, step * high)
        large = np.asarray(cv2.resize(few, size, interpolation=cv2.INTER_NEAREST), np.uint8)
    return large[: shape[0], : shape[1]]


def repeated(part: NDArray[np.bool_], step: int, height: int, width: int) -> NDArray[np.bool_]:
    """Say of all pixels, (…, h, w), what is known of every so many, down and across."""
    if step == 1:
        return part
    wide = part.repeat(step, axis=-1)[..., :width]
    return wide.repeat(step, axis=-2)[..., :height, :]


def large_parts(where: NDArray[np.bool_], least: float) -> NDArray[np.bool_]:
    """Leave what hangs together and covers so large a share of the picture, at least."""
    _, parts, stats, _ = cv2.connectedComponentsWithStats(where.view(np.uint8), connectivity=8)
    large = stats[:, cv2.CC_STAT_AREA] >= least * where.size
    large[0] = False
    return np.asarray(large[parts])
