"""Find the connected regions of a mask: where each lies, how large and how strong it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.video.frames import Bytes, Part, Pixels, cut_out, in_grey

# x and y of the upper left corner, width and height, in pixels.
Box = tuple[float, float, float, float]
Sign = Literal["brighter", "darker", "mixed", ""]
_BRIGHTER_FROM = 0.8  # share of pixels that differ one way, from which it is not called mixed
_ENOUGH, _LEAST_ROWS = 1000, 24  # pixels, and rows, that say what colour and sign a region has
LEAST_SHARE = 0.0008  # of the picture, of a mask's smallest object: 8×8 pixels of 320×240
# Half of 255; pixels around what a mask shows that belong to it; regions of a frame: more is noise.
_EVEN, _BESIDE, _MOST_WEAK = 128, 2, 2000
_CHILD, _PARENT = 2, 3  # columns of OpenCV's tree: a region's first hole, and a hole's region


@dataclass(frozen=True, eq=False)
class Detection:
    """One connected region of a mask, in pixels of it.

    `cx`, `cy` is its centroid, where the centre of the upper left pixel is (0.5, 0.5); `score` the
    mean probability of its pixels, NaN where that is not known; `sign` against the background and
    the mean `color`, BGR or grey, are empty where they are not known. `inside` tells which pixels
    of the box, (height, width), belong to it.
    """

    box: Box
    cx: float
    cy: float
    area: float
    score: float = float("nan")
    sign: Sign = ""
    color: NDArray[np.float64] | tuple[()] = ()
    inside: NDArray[np.bool_] | None = None


def find_detections(
    mask: Bytes,
    *,
    min_area: int = 1,
    max_area: int | None = None,
    picture: Pixels | None = None,
    luma: Bytes | None = None,
    background: Callable[[Part], Bytes] | None = None,
    scores: NDArray[np.uint8] | NDArray[np.uint16] | None = None,
    score_level: int = 1,
) -> list[Detection]:
    """Find the 8-connected regions of a mask, in the order in which a reader would meet them.

    Of the mask 0 is background and anything else foreground. The `picture` is for colours; `luma`
    and a part of the `background`, BGR or grey, for signs. Scores are probabilities of which 255 is
    1; of 16 bits they are multiples of a threshold: `score_level` is one, where the probability is
    a half. Colour and sign of a large region are those of some of its rows.
    """
    outlines, tree = _outlines(mask, cv2.RETR_CCOMP)
    outer = [i for i in range(len(outlines)) if tree[0, i, _PARENT] < 0]
    regions = [_region(mask, outlines[i], has_holes=tree[0, i, _CHILD] >= 0) for i in outer]
    if not regions:
        return []
    # Centres are summed from the corner of the box around all: to the last bit the same always.
    left, top, wide, high = map(int, surround((x, y, *i.shape[::-1]) for x, y, i in regions))
    behind = background and background(np.s_[top : top + high, left : left + wide])
    found = []
    for x, y, inside in reversed(regions):  # from top to bottom
        moments = cv2.moments(inside, binaryImage=True)
        area = round(moments["m00"])
        if area < min_area or (max_area is not None and area > max_area):
            continue
        cx = (round(moments["m10"]) + area * (x - left)) / area + 0.5
        cy = (round(moments["m01"]) + area * (y - top)) / area + 0.5
        height, width = inside.shape
        part = (slice(y, y + height), slice(x, x + width))
        rows = slice(None, None, max(1, min(area // _ENOUGH, height // _LEAST_ROWS)))
        sign: Sign = ""
        if luma is not None and behind is not None:
            there = behind[y - top :, x - left :][:height, :width]
            sign = _sign(luma[part][rows], there[rows], inside[rows])
        color: NDArray[np.float64] | tuple[()] = ()
        if picture is not None:
            values = cv2.mean(picture[part][rows], mask=inside[rows])
            color = np.array(values[: 1 if len(picture.shape) == 2 else 3])
        score = float("nan")
        if scores is not None:
            mean = cv2.mean(scores[part], inside)[0]
            score = mean / 255 if scores.dtype == np.uint8 else min(1.0, mean / (2 * score_level))
        box, middle = (x, y, width, height), (cx + left, cy + top)
        found.append(Detection(box, *middle, area, score, sign, color, inside.view(np.bool_)))
    return found


def with_weak_regions(
    mask: Bytes, scores: NDArray[np.uint8] | NDArray[np.uint16], score_level: int = 1
) -> Bytes:
    """Return a mask with the regions that were too small for it, but those beside larger ones."""
    level = _EVEN if scores.dtype == np.uint8 else score_level
    left_out = ((scores >= level) & (mask == 0)).view(np.uint8)
    outlines, _ = _outlines(left_out, cv2.RETR_EXTERNAL)
    most, result = 4 * LEAST_SHARE * mask.size, mask
    for outline in outlines[:_MOST_WEAK]:
        _, _, width, height = cv2.boundingRect(outline)
        if len(outline) < 2 or width * height > 2 * most:
            continue
        x, y, inside = cut_out(left_out, outline)
        if cv2.countNonZero(inside) > most:
            continue
        part = np.s_[y : y + height, x : x + width]
        up, before = min(y, _BESIDE), min(x, _BESIDE)
        around = mask[y - up : y + height + _BESIDE, x - before : x + width + _BESIDE]
        if cv2.hasNonZero(around):
            near = cv2.dilate(around, np.ones((2 * _BESIDE + 1,) * 2, np.uint8))
            near = near[up : up + height, before : before + width]
            if cv2.hasNonZero(cv2.bitwise_and(near, inside * 255)):
                continue
        result = mask.copy() if result is mask else result
        result[part][inside > 0] = 255
    return result


def _outlines(mask: Bytes, mode: int) -> tuple[Sequence[cv2.typing.MatLike], Any]:
    """Return what `cv2.findContours` does, which takes longer the more there is around them."""
    x, y, width, height = cv2.boundingRect(mask)
    part = mask[y : y + height, x : x + width]
    if not part.size:
        return [], None
    return cv2.findContours(part, mode, cv2.CHAIN_APPROX_SIMPLE, offset=(x, y))


def _region(mask: Bytes, outline: cv2.typing.MatLike, *, has_holes: bool) -> tuple[int, int, Bytes]:
    """Cut out the region of an outline, without others that lie in its holes."""
    x, y, inside = cut_out(mask, outline)
    if has_holes:
        _, labels = cv2.connectedComponents(inside, connectivity=8)
        across, down = outline[0, 0] - (x, y)
        inside = (labels == labels[down, across]).view(np.uint8)
    return x, y, inside


def join(parts: list[Detection]) -> Detection:
    """Take several regions for one object: the box around all, the centroid of all pixels."""
    if len(parts) == 1:
        return parts[0]
    area = float(sum(part.area for part in parts))
    signs, colors = {part.sign for part in parts}, [part.color for part in parts]
    weights: NDArray[np.float64] = np.array([part.area for part in parts], dtype=float) / area
    color = weights @ np.array(colors) if all(map(len, colors)) else ()
    cx, cy, score = weights @ [(part.cx, part.cy, part.score) for part in parts]
    sign = signs.pop() if len(signs) == 1 else "mixed"
    box = surround(part.box for part in parts)
    return Detection(box, float(cx), float(cy), area, float(score), sign, color)


def positions(flags: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows and columns of what is not 0, as `numpy.nonzero`, but faster if few are."""
    rows, columns = np.divmod(np.flatnonzero(flags), flags.shape[1])
    return rows, columns


def _sign(luma: Bytes, background: Bytes, inside: Bytes) -> Sign:
    grey = in_grey(background)
    brighter = cv2.norm(cv2.compare(luma, grey, cv2.CMP_GT), cv2.NORM_L1, inside)
    darker = cv2.norm(cv2.compare(luma, grey, cv2.CMP_LT), cv2.NORM_L1, inside)
    share = brighter / max(brighter + darker, 1)
    if share >= _BRIGHTER_FROM:
        return "brighter"
    return "darker" if share <= 1 - _BRIGHTER_FROM else "mixed"


def center(box: Box) -> tuple[float, float]:
    """Return the middle of a box."""
    return box[0] + box[2] / 2, box[1] + box[3] / 2


def surround(boxes: Iterable[Box]) -> Box:
    """Return the smallest box around several."""
    sides = [(x, y, x + width, y + height) for x, y, width, height in boxes]
    lefts, tops, rights, bottoms = zip(*sides, strict=True)
    left, top = min(lefts), min(tops)
    return left, top, max(rights) - left, max(bottoms) - top
