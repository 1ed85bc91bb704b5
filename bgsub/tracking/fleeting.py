"""Look ahead and back along the tracks of blobs, and leave out what does not last."""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.blobs import Blob
from bgsub.local.drawing import Seen
from bgsub.local.params import LocalParams
from bgsub.local.specks import Speck
from bgsub.video.frames import Bytes

_APART_S = 0.15
"""Seconds between two frames from which a track cannot be followed from one to the other."""

_KEPT = 0.3
"""Share of a blob that is covered by the blob which it was or becomes, at least."""

_ALIKE = 2.5
"""Factor between areas of one thing, from frame to frame, at most."""

_NEAR = 2
"""Pixels more than its size by which a thing jumps; and from the border at which one is cut."""

_LARGE, _CLEAR = 4, 1.4
"""Times `small`, and mean score: leaves and halos are not as large and clear at once."""

_MOST = 200
"""Blobs of a frame that are followed, the largest; of smaller ones nothing is known."""


@dataclass(eq=False)
class _Node:
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
    before: _Node | None = None
    after: _Node | None = None
    step: tuple[float, float] | None = None


@dataclass(eq=False)
class _Look:
    """What a frame shows, None once it is taken, and its blobs."""

    seen: Seen | None
    time_s: float
    nodes: list[_Node]


class BlobSieve:
    """Leave out of masks the blobs that neither last nor move on, nor ever stand out.

    The track of an object lasts, moves on, or leaves at the border; leaves, waves and halos of
    codecs come and go where they are. And an object stands out in one frame of its track at least.
    Blobs of frames in a row are linked where they cover each other, where they are or shifted by
    their motion; a blob may have been a speck, or become one. A blob goes

    - if it is followed through fewer than `LocalParams.lasting_frames` frames ahead, and back, by
      less than `lasting_way` times its size, and meets no border; not where the film begins or ends
      meanwhile, nor where objects have so little contrast that their tracks break, nor if it is
      large and clear: in a film of a frame a minute nothing can be followed;
    - if its mean score is below `lasting_strength` in all of these frames.

    Parameters
    ----------
    params : LocalParams
    inside : ndarray of bool, shape (h, w), optional
        Pixels outside show no blobs: objects come from there as from behind the border.
    small : int
        Pixels below which a blob that goes is a speck: it may be an object if it moves steadily.

    Notes
    -----
    A frame waits for `ahead` more. O(m·n) for m and n blobs of two frames; nothing for empty masks.
    """

    def __init__(
        self, params: LocalParams, inside: NDArray[np.bool_] | None = None, small: int = 0
    ) -> None:
        self._small = small
        self.ahead = params.lasting_frames
        self._params = params
        self._rim: Bytes | None = None
        if inside is not None:
            reach = np.ones((2 * _NEAR + 3, 2 * _NEAR + 3), np.uint8)
            self._rim = np.asarray(cv2.dilate((~inside).view(np.uint8), reach), dtype=np.uint8)
        self._looks: deque[_Look] = deque()
        self._decided = 0

    @property
    def waiting(self) -> int:
        """Count the frames that were added and not taken."""
        return len(self._looks) - self._decided

    def add(self, seen: Seen, time_s: float) -> None:
        """Take in what the next frame shows."""
        before = self._looks[-1] if self._looks else None
        largest = sorted(seen.blobs, key=lambda blob: -blob.area)[:_MOST]
        largest += [_as_blob(speck) for speck in seen.specks]
        nodes = [_Node(blob, self._is_cut(blob, seen.mask.shape)) for blob in largest]
        if before is not None and time_s - before.time_s <= _APART_S:
            _link(before.nodes, nodes)
        else:
            self.end()
            for node in nodes:
                node.is_first = True
        self._looks.append(_Look(seen, time_s, nodes))

    def end(self) -> None:
        """Say that there are no more frames."""
        for node in self._looks[-1].nodes if self._looks else ():
            node.is_last = True

    def take(self) -> Seen:
        """Give the oldest frame that was not taken, of whose mask the fleeting blobs are left out.

        `ahead` frames must have been added after it, or `end` been called.
        """
        look = self._looks[self._decided]
        if look.seen is None:
            message = "no frame is waiting"
            raise RuntimeError(message)
        seen, look.seen = look.seen, None
        own = look.nodes[: len(look.nodes) - len(seen.specks)]
        gone = [node.blob for node in own if self._is_fleeting(node, seen.contrast)]
        self._decided += 1
        if self._decided > self.ahead:
            self._forget()
        specks = (*seen.specks, *(_as_speck(blob) for blob in gone if blob.area < self._small))
        return seen._replace(mask=_without(seen.mask, gone), specks=specks, blobs=())

    def _forget(self) -> None:
        """Give up the oldest frame; no blob holds on to it."""
        for node in self._looks.popleft().nodes:
            if node.after is not None:
                node.after.before = None
            node.after = node.before = None
        for node in self._looks[0].nodes if self._looks else ():
            node.before = None
        self._decided -= 1

    def _is_cut(self, blob: Blob, shape: tuple[int, ...]) -> bool:
        """Say whether a blob meets the border, or pixels that do not count."""
        down, across = blob.inside.shape
        right, bottom = shape[1] - blob.x - across, shape[0] - blob.y - down
        if min(blob.x, blob.y, right, bottom) <= _NEAR:
            return True
        if self._rim is None:
            return False
        part = self._rim[blob.y : blob.y + down, blob.x : blob.x + across]
        return cv2.hasNonZero(cv2.bitwise_and(part, blob.inside))

    def _is_fleeting(self, node: _Node, contrast: float) -> bool:
        """Say whether a blob is no object, where objects have so much contrast."""
        params = self._params
        ahead = list(islice(_following(node), self.ahead))
        back = list(islice(_preceding(node), self.ahead))
        track = [node, *ahead, *back]
        newest, oldest = [node, *ahead][-1], [node, *back][-1]
        is_open_ahead = len(ahead) < self.ahead and newest.is_last
        is_open_back = len(back) < self.ahead and oldest.is_first
        if max(each.blob.strength for each in track) < params.lasting_strength:
            return not (is_open_ahead and is_open_back)
        if contrast <= params.lasting_contrast or is_open_ahead or is_open_back:
            return False
        is_cut = node.is_cut or newest.is_cut or oldest.is_cut
        if is_cut or max(len(ahead), len(back)) >= self.ahead or self._is_plain(node.blob):
            return False
        size = math.sqrt(statistics.median(each.blob.area for each in track))
        far = max(_way(end.blob, each.blob) for end in (oldest, newest) for each in track)
        return far < params.lasting_way * size

    def _is_plain(self, blob: Blob) -> bool:
        return 0 < _LARGE * self._small <= blob.area and blob.strength >= _CLEAR


def _as_blob(speck: Speck) -> Blob:
    """Take a speck for what a blob was or becomes; it says nothing of its strength."""
    area = cv2.countNonZero(speck.inside)
    down, across = speck.inside.shape
    cx, cy = speck.x + (across - 1) / 2, speck.y + (down - 1) / 2
    return Blob(speck.x, speck.y, speck.inside, area, cx, cy, 0.0)


def _as_speck(blob: Blob) -> Speck:
    """Take a blob for a speck: what it lacks in strength, motion may make up for."""
    return Speck(blob.x, blob.y, blob.inside, blob.strength, blob.strength)


def _following(node: _Node) -> Iterator[_Node]:
    while node.after is not None:
        node = node.after
        yield node


def _preceding(node: _Node) -> Iterator[_Node]:
    while node.before is not None:
        node = node.before
        yield node


def _way(one: Blob, other: Blob) -> float:
    return math.hypot(other.cx - one.cx, other.cy - one.cy)


def _link(before: list[_Node], now: list[_Node]) -> None:
    """Link the blobs of two frames: each to the one that covers the most of it."""
    most_after: dict[_Node, int] = {}
    most_before: dict[_Node, int] = {}
    for old, new in _near_pairs(before, now):
        common = max(_common(old.blob, new.blob, *shift) for shift in _shifts(old, new))
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


def _near_pairs(before: list[_Node], now: list[_Node]) -> Iterator[tuple[_Node, _Node]]:
    """Give the pairs of blobs that are no further apart than they are long."""
    if not before or not now:
        return
    old, new = (np.array([_extent(node.blob) for node in nodes]) for nodes in (before, now))
    sides = np.maximum(old[:, None, 2:].max(axis=2), new[None, :, 2:].max(axis=2)) + _NEAR
    off = np.abs(old[:, None, :2] - new[None, :, :2]) - (old[:, None, 2:] + new[None, :, 2:]) / 2
    for i, j in zip(*np.nonzero((off <= sides[..., None]).all(axis=2)), strict=True):
        yield before[i], now[j]


def _extent(blob: Blob) -> tuple[float, float, int, int]:
    """Middle, width and height of a blob's box."""
    down, across = blob.inside.shape
    return blob.x + across / 2, blob.y + down / 2, across, down


def _shifts(old: _Node, new: _Node) -> Iterator[tuple[int, int]]:
    """Give the shifts, in pixels, by which a blob may have become another."""
    yield 0, 0
    if old.step is not None:
        yield round(old.step[0]), round(old.step[1])
    size = math.sqrt(min(old.blob.area, new.blob.area))
    if _are_alike(old.blob, new.blob) and _way(old.blob, new.blob) <= size + _NEAR:
        yield round(new.blob.cx - old.blob.cx), round(new.blob.cy - old.blob.cy)


def _are_alike(one: Blob, other: Blob) -> bool:
    return 1 / _ALIKE <= one.area / other.area <= _ALIKE


def _common(old: Blob, new: Blob, across: int, down: int) -> int:
    """Count the pixels that a blob shares with another when it is shifted."""
    x, y = old.x + across, old.y + down
    (high, wide), (new_high, new_wide) = old.inside.shape, new.inside.shape
    left, right = max(x, new.x), min(x + wide, new.x + new_wide)
    top, bottom = max(y, new.y), min(y + high, new.y + new_high)
    if left >= right or top >= bottom:
        return 0
    one = old.inside[top - y : bottom - y, left - x : right - x]
    other = new.inside[top - new.y : bottom - new.y, left - new.x : right - new.x]
    return cv2.countNonZero(cv2.bitwise_and(one, other))


def _without(mask: Bytes, blobs: list[Blob]) -> Bytes:
    """Give a mask without some of its blobs."""
    if not blobs:
        return mask
    left = mask.copy()
    for blob in blobs:
        down, across = blob.inside.shape
        left[blob.y : blob.y + down, blob.x : blob.x + across][blob.inside > 0] = 0
    return left
