"""Link the blobs of frames in a row: what each was before, and what it becomes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.blobs import Blob

_KEPT = 0.3
"""Share of a blob that is covered by the blob which it was or becomes, at least."""

_ALIKE = 2.5
"""Factor between areas of one thing, from frame to frame, at most."""

_NEAR = 2
"""Pixels more than its size by which a thing jumps."""

_ROUNDING = 1e-6
"""Pixels that one way to compute a distance may give less than another."""

_MANY = 24
"""Pairs from which it pays to compute of all at once what they may have in common."""


@dataclass(eq=False)
class BlobNode:
    """A blob of a frame, and the blobs that it was before and becomes.

    Attributes
    ----------
    is_cut : bool
        Whether it meets the border.
    is_first, is_last : bool
        Whether no frame before, or after, tells of it.
    step : tuple of two floats or None
        Pixels by which it moved from the frame before, smoothed; None where that is not known.
    """

    blob: Blob
    is_cut: bool
    is_first: bool = False
    is_last: bool = False
    before: BlobNode | None = None
    after: BlobNode | None = None
    step: tuple[float, float] | None = None


def following(node: BlobNode) -> Iterator[BlobNode]:
    """Give what a blob becomes, frame by frame."""
    while node.after is not None:
        node = node.after
        yield node


def preceding(node: BlobNode) -> Iterator[BlobNode]:
    """Give what a blob was before, frame by frame."""
    while node.before is not None:
        node = node.before
        yield node


def way_between(one: Blob, other: Blob) -> float:
    """Measure how far the middles of two blobs are apart, in pixels."""
    return math.hypot(other.cx - one.cx, other.cy - one.cy)


def link(before: list[BlobNode], now: list[BlobNode]) -> None:
    """Link the blobs of two frames: each to the one that covers the most of it."""
    most_after: dict[BlobNode, int] = {}
    most_before: dict[BlobNode, int] = {}
    for old, new in _near_pairs(before, now):
        common = math.ceil(_KEPT * min(old.blob.area, new.blob.area)) - 1  # too few to count
        for shift in {*_shifts(old, new)}:  # often the same
            common = max(common, _common(old.blob, new.blob, *shift, common))
        if common >= max(_KEPT * old.blob.area, most_after.get(old, 0) + 1):
            most_after[old], old.after = common, new
        if common >= max(_KEPT * new.blob.area, most_before.get(new, 0) + 1):
            most_before[new], new.before = common, old
    for new in now:
        old_node = new.before
        if old_node is not None and old_node.after is new and _are_alike(old_node.blob, new.blob):
            step = (new.blob.cx - old_node.blob.cx, new.blob.cy - old_node.blob.cy)
            last = old_node.step or step
            new.step = ((step[0] + last[0]) / 2, (step[1] + last[1]) / 2)


def _near_pairs(before: list[BlobNode], now: list[BlobNode]) -> Iterator[tuple[BlobNode, BlobNode]]:
    """Give the pairs of blobs that are no further apart than they are long.

    Of many, those are left out whose boxes have less in common than counts, wherever one may have
    gone to the other.
    """
    if not before or not now:
        return
    old, new = (np.array([_extent(node.blob) for node in nodes]) for nodes in (before, now))
    sides = np.maximum(old[:, None, 2:].max(axis=2), new[None, :, 2:].max(axis=2)) + _NEAR
    off = np.abs(old[:, None, :2] - new[None, :, :2]) - (old[:, None, 2:] + new[None, :, 2:]) / 2
    i, j = np.nonzero((off <= sides[..., None]).all(axis=2))
    if i.size > _MANY:
        old, new = (np.array([_measures(node) for node in nodes]).T for nodes in (before, now))
        least = _KEPT * np.minimum(old[4, i], new[4, j])
        worth = _most_in_common(old[:, i], new[:, j]) >= least
        i, j = i[worth], j[worth]
    for a, b in zip(i.tolist(), j.tolist(), strict=True):
        yield before[a], now[b]


def _extent(blob: Blob) -> tuple[float, float, int, int]:
    """Middle, width and height of a blob's box."""
    down, across = blob.inside.shape
    return blob.x + across / 2, blob.y + down / 2, across, down


def _measures(node: BlobNode) -> tuple[float, ...]:
    """Give a blob's corner, width, height, area, middle and step as numbers."""
    blob, step = node.blob, node.step or (0.0, 0.0)
    down, across = blob.inside.shape
    return blob.x, blob.y, across, down, blob.area, blob.cx, blob.cy, *step


def _most_in_common(old: NDArray[np.float64], new: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the area that the boxes of each pair have in common at most, shifted as by `_shifts`."""
    way = new[5:7] - old[5:7]
    ratio, size = old[4] / new[4], np.sqrt(np.minimum(old[4], new[4]))
    jumps = (ratio >= 1 / _ALIKE) & (ratio <= _ALIKE)
    jumps &= np.hypot(*way) <= size + (_NEAR + _ROUNDING)
    most = np.zeros_like(size)
    for shift in (np.zeros_like(way), np.rint(old[7:9]), np.where(jumps, np.rint(way), 0)):
        start = old[:2] + shift
        end = np.minimum(start + old[2:4], new[:2] + new[2:4])
        wide, high = np.maximum(end - np.maximum(start, new[:2]), 0)
        np.maximum(most, wide * high, out=most)
    return np.asarray(most)


def _shifts(old: BlobNode, new: BlobNode) -> Iterator[tuple[int, int]]:
    """Give the shifts, in pixels, by which a blob may have become another."""
    yield 0, 0
    if old.step is not None:
        yield round(old.step[0]), round(old.step[1])
    size = math.sqrt(min(old.blob.area, new.blob.area))
    if _are_alike(old.blob, new.blob) and way_between(old.blob, new.blob) <= size + _NEAR:
        yield round(new.blob.cx - old.blob.cx), round(new.blob.cy - old.blob.cy)


def _are_alike(one: Blob, other: Blob) -> bool:
    return 1 / _ALIKE <= one.area / other.area <= _ALIKE


def _common(old: Blob, new: Blob, across: int, down: int, least: int) -> int:
    """Count the pixels that a blob shares with another when it is shifted; 0 if at most `least`."""
    x, y = old.x + across, old.y + down
    (high, wide), (new_high, new_wide) = old.inside.shape, new.inside.shape
    left, right = max(x, new.x), min(x + wide, new.x + new_wide)
    top, bottom = max(y, new.y), min(y + high, new.y + new_high)
    if left >= right or top >= bottom or (right - left) * (bottom - top) <= least:
        return 0
    one = old.inside[top - y : bottom - y, left - x : right - x]
    other = new.inside[top - new.y : bottom - new.y, left - new.x : right - new.x]
    return cv2.countNonZero(cv2.bitwise_and(one, other))
