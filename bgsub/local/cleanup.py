"""From scores to a mask: neighbours vote, shadows go, holes are filled, specks dropped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.outlines import redraw_outlines
from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.local.scoring import UNIT
from bgsub.local.shadows import object_evidence
from bgsub.runtime.threads import scratch
from bgsub.video.contours import pixels_within
from bgsub.video.frames import Bytes

SOLID = 0.75
"""Share of evidence from which a blob too small for the opening is an object as it is."""

SCORE_LEVEL = 90
"""Hundredths of a threshold from which `vote` marks, by default."""

_HUNDREDTHS = np.rint(np.arange(256) * (100 / UNIT)).astype(np.uint16)
_WINDOW = 5
_MARGIN = 8
_CELL = 16

Box = tuple[int, int, int, int]
"""Top, bottom, left and right, the second and fourth exclusive."""


def mean_score(score: Bytes, most: float = DEFAULTS.vote_most) -> Bytes:
    """Mean of the clipped scores of 5×5 pixels, which is all that the raw mask depends on.

    Parameters
    ----------
    score : ndarray of uint8, shape (h, w)
        In units of `UNIT` a threshold.

    Returns
    -------
    ndarray of uint8, shape (h, w)
        In the same unit, rounded; new memory.
    """
    clipped = scratch("local clipped", score.shape, np.uint8)
    np.minimum(score, np.uint8(most * UNIT), out=clipped)
    return np.asarray(cv2.blur(clipped, (_WINDOW, _WINDOW)), dtype=np.uint8)


def vote(mean: Bytes, level: float = DEFAULTS.vote_level) -> Bytes:
    """Raw mask: where what `mean_score` gave exceeds 0.9 thresholds.

    Returns
    -------
    ndarray of uint8, shape (h, w)
        0 or 1, scratch memory.
    """
    raw = scratch("local clipped", mean.shape, np.uint8)
    cv2.threshold(mean, int(level * UNIT), 1, cv2.THRESH_BINARY, dst=raw)
    return raw


def in_hundredths(mean: Bytes) -> NDArray[np.uint16]:
    """What `mean_score` gave in hundredths of a threshold; `vote` marks from `SCORE_LEVEL` on."""
    return np.asarray(cv2.LUT(mean, _HUNDREDTHS), dtype=np.uint16)


@dataclass(frozen=True)
class BlobRule:
    """Which blobs stay.

    Attributes
    ----------
    least_area : int
        Pixels, holes counted in.
    fill : bool
        Fill holes.
    """

    least_area: int
    fill: bool = True

    def apply(self, mask: Bytes) -> Bytes:
        """Mask of 0 and 255 from one of 0 and 1; blobs are 8-connected."""
        result = np.zeros_like(mask)
        outlines, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        large = [one for one in outlines if pixels_within(one) >= self.least_area]
        if large:
            cv2.drawContours(result, large, -1, 255, cv2.FILLED)
        if not self.fill:
            result *= mask
        return result


def boxes_of(mask: Bytes) -> list[Box]:
    """Disjoint boxes that hold all of a mask of 0 and 1, with a margin."""
    height, width = mask.shape
    if height * width <= 2 * 80 * 80:
        left, top, wide, high = cv2.boundingRect(mask)
        return [_padded((top, top + high, left, left + wide), mask.shape)] if wide else []
    size = (-(-width // _CELL), -(-height // _CELL))
    coarse = cv2.resize(mask * np.uint8(255), size, interpolation=cv2.INTER_AREA)
    outlines, _ = cv2.findContours(
        cv2.dilate(np.minimum(coarse, 1), np.ones((3, 3), np.uint8)),
        cv2.RETR_EXTERNAL,
        cv2.CHAIN_APPROX_SIMPLE,
    )
    found = []
    for outline in outlines:
        x, y, wide, high = cv2.boundingRect(outline)
        found.append((y * _CELL, (y + high) * _CELL, x * _CELL, (x + wide) * _CELL))
    return [_padded(box, mask.shape, 0) for box in _disjoint(found)]


def _padded(box: Box, shape: tuple[int, ...], margin: int = _MARGIN) -> Box:
    top, bottom, left, right = box
    return (
        max(top - margin, 0),
        min(bottom + margin, shape[0]),
        max(left - margin, 0),
        min(right + margin, shape[1]),
    )


def _disjoint(boxes: list[Box]) -> list[Box]:
    """Join boxes that overlap until none do."""
    done: list[Box] = []
    for box in boxes:
        joined, rest = box, done
        while touching := [other for other in rest if _overlap(joined, other)]:
            rest = [other for other in rest if other not in touching]
            tops, bottoms, lefts, rights = zip(joined, *touching, strict=True)
            joined = (min(tops), max(bottoms), min(lefts), max(rights))
        done = [*rest, joined]
    return done


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


def without_shadows(
    mask: Bytes,
    picture: Bytes,
    background: Callable[[slice, slice], Bytes],
    sigma: float,
    step: int,
    params: LocalParams = DEFAULTS,
) -> Bytes:
    """Leave in a mask what is an object and not the background in another light.

    Parameters
    ----------
    mask : ndarray of uint8, shape (h, w)
        0 or 1.
    picture : ndarray of uint8, shape (h, w, 3)
    background : callable
        Gives the background of some rows and columns.
    sigma : float
    step : int
        Every so many pixels are looked at, down and across.
    params : LocalParams, optional

    Returns
    -------
    ndarray of uint8, shape (h, w)
        0 or 1.
    """
    kept = np.zeros_like(mask)
    for top, bottom, left, right in boxes_of(mask):
        rows, columns = slice(top, bottom), slice(left, right)
        inside = np.ascontiguousarray(mask[rows, columns])
        shown = _thinned(picture[rows, columns], step)
        behind = _thinned(background(rows, columns), step)
        thin = _thinned(inside, step)
        found = _solid(object_evidence(shown, behind, thin, sigma, params), thin, step, params)
        if step > 1:
            size = (step * found.shape[1], step * found.shape[0])
            large = cv2.resize(found, size, interpolation=cv2.INTER_NEAREST)
            found = np.asarray(large[: bottom - top, : right - left], dtype=np.uint8)
        kept[rows, columns] = cv2.bitwise_and(found, inside)
    return kept


def _thinned(picture: Bytes, step: int) -> Bytes:
    """Every so many pixels, down and across."""
    height, width = picture.shape[:2]
    if step == 1 or height % step or width % step:
        return np.ascontiguousarray(picture[::step, ::step])
    # The same pixels; NumPy takes four times as long for those of three channels.
    size = (width // step, height // step)
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_NEAREST), dtype=np.uint8)


def with_sharp_outlines(
    mask: Bytes, raw: Bytes, score: Bytes, edge: float = DEFAULTS.outline_edge
) -> Bytes:
    """A mask of 0 and 1 whose outlines lie at the edges of its objects, see `outlines`."""
    if not edge:
        return mask
    kept = np.zeros_like(mask)
    for top, bottom, left, right in boxes_of(mask):
        part = np.s_[top:bottom, left:right]
        inside = np.ascontiguousarray(mask[part])
        kept[part] = redraw_outlines(inside, raw[part], score[part], edge)
    return kept


def _solid(evidence: Bytes, mask: Bytes, step: int, params: LocalParams) -> Bytes:
    """Opened and closed evidence, and small blobs that are evidence nearly throughout."""
    window = np.ones((params.open_px // (2 * step) * 2 + 1,) * 2, np.uint8)
    opened = cv2.morphologyEx(evidence, cv2.MORPH_OPEN, window)
    window = np.ones((params.close_px // (2 * step) * 2 + 1,) * 2, np.uint8)
    closed = np.asarray(cv2.morphologyEx(opened, cv2.MORPH_CLOSE, window), dtype=np.uint8)
    outlines, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    for outline in outlines:
        x, y, wide, high = cv2.boundingRect(outline)
        if wide <= 2 * params.open_px and high >= wide:
            part = np.s_[y : y + high, x : x + wide]
            blob = np.zeros((high, wide), np.uint8)
            cv2.drawContours(blob, [outline - (x, y)], -1, 1, cv2.FILLED)
            blob &= mask[part]
            if np.count_nonzero(evidence[part] & blob) >= SOLID * np.count_nonzero(blob):
                closed[part] |= blob
    return closed
