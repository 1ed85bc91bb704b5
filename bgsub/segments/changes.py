"""Find lasting changes of a scene in a quick look: a thing moved, lights, a knock of the camera.

The film is cut into short blocks, each with the median of a few small pictures and a measure of how
lively every pixel is. What counts is where a pixel is quiet: a block that differs from the last
quiet view there, in a region that stays so and in which nobody moves, begins another state of the
scene. Somebody who sits down is lively, if little; a chair is not. Light that changes slowly is
followed, and a change of gain and offset that is not drastic is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.segments.blocks import LIVELY, Block, Flags, Floats, blocks_of, small_luma
from bgsub.segments.light import fit_light
from bgsub.segments.moments import Film
from bgsub.segments.reasons import reason_of

LEAST_S, MOST_GLIMPSES = 0.25, 4000
"""Seconds between the pictures that are looked at, and their number at most."""


_LASTING = 2
"""Blocks for which a change must stay."""


_LEAST_CHANGE = 12.0
"""Grey levels by which a quiet pixel must differ."""

_LIVELY_CHANGE = 4.0
"""The same in units of its liveliness."""

_LEAST_SHARE = 0.005
"""Share of the picture that must have changed."""

_STIR = 0.25
"""Lively pixels beside a changed region, as a share of it, from which somebody is there."""

_GAIN, _OFFSET = 1.6, 40.0
"""Factor and grey levels from which a change of light is another state."""

_CLEAR = 0.5
"""Difference from a picture, as a share of that between two, up to which a frame is like it."""


@dataclass(frozen=True)
class Change:
    """A lasting change.

    Attributes
    ----------
    first : int
        Number of the first frame behind it.
    reason : str
    """

    first: int
    reason: str


@dataclass(eq=False)
class _View:
    """The scene as it is known: the last quiet value of every pixel."""

    median: Floats
    stir: Floats
    known: Flags
    seen: NDArray[np.int64]

    @classmethod
    def of(cls, block: Block) -> _View:
        seen = np.full(block.median.shape, block.first, np.int64)
        return cls(block.median.copy(), block.stir.copy(), block.quiet.copy(), seen)

    def update(self, block: Block, where: Flags) -> None:
        """Take over what is quiet in a block."""
        where = where & block.quiet
        self.median[where], self.stir[where] = block.median[where], block.stir[where]
        self.seen[where] = block.first
        self.known |= where

    def changed(self, block: Block) -> Flags:
        """Mark quiet pixels that differ from what is known, but for light."""
        both = self.known & block.quiet
        if both.sum() < 0.1 * both.size:
            return np.zeros_like(both)
        gain, offset = fit_light(self.median[both], block.median[both])
        if not 1 / _GAIN <= gain <= _GAIN or abs(offset) > _OFFSET:
            return both
        away = np.abs(block.median - (gain * self.median + offset))
        limit = np.maximum(_LEAST_CHANGE, _LIVELY_CHANGE * np.maximum(self.stir, block.stir))
        return np.asarray(both & (away > limit))


@dataclass(eq=False)
class _Candidate:
    """A change that has not lasted long enough yet."""

    first: Block
    mask: Flags
    blocks: int = 1
    settled: Block | None = None

    def goes_on(self, block: Block, changed: Flags) -> bool:
        """Say whether a block shows the same change still."""
        limit = np.maximum(_LEAST_CHANGE, _LIVELY_CHANGE * np.maximum(self.first.stir, block.stir))
        same = np.abs(block.median - self.first.median) <= limit
        mask = self.mask & changed & same
        if mask.mean() < max(_LEAST_SHARE, 0.5 * self.mask.mean()):
            return False
        self.mask, self.blocks = mask, self.blocks + 1
        return True

    def stirs(self, block: Block) -> bool:
        """Say whether somebody moves in it or beside it."""
        return bool((_around(self.mask) & ~block.quiet).sum() > _STIR * self.mask.sum())


@dataclass(frozen=True, eq=False)
class _Found:
    """A change between two blocks.

    Attributes
    ----------
    low, high : int
        Frames between which it is.
    before, after : ndarray of float32, shape (h, w)
    mask : ndarray of bool, shape (h, w)
    """

    low: int
    high: int
    before: Floats
    after: Floats
    mask: Flags


def find_changes(film: Film) -> list[Change]:
    """Look quickly through a film for lasting changes of its scene.

    Parameters
    ----------
    film : Film

    Returns
    -------
    list of Change
        In order.

    Notes
    -----
    Decodes some thousand pictures, key frames where there are enough, and around each change all.
    """
    frames = film.frames(film.spread(LEAST_S, MOST_GLIMPSES))
    found = list(_changes_between(blocks_of(frames)))
    size = film.source.input_size
    return [
        Change(_first_behind(film, one), reason_of(one.before, one.after, one.mask, size))
        for one in found
    ]


def _changes_between(blocks: Iterable[Block]) -> Iterator[_Found]:
    """Find the lasting changes between blocks."""
    view: _View | None = None
    candidate: _Candidate | None = None
    for block in blocks:
        if view is None:
            view = _View.of(block)
            continue
        differs = view.changed(block)
        changed = _without_specks(differs)
        if changed.mean() < _LEAST_SHARE:
            candidate = None
            view.update(block, ~differs)
            continue
        if candidate is None or not candidate.goes_on(block, changed):
            candidate = _Candidate(block, changed)
        view.update(block, ~differs)
        if candidate.stirs(block):
            candidate.blocks, candidate.settled = 0, None
        elif candidate.settled is None:
            candidate.settled = block
        if candidate.blocks >= _LASTING and candidate.settled is not None:
            mask = candidate.mask
            low = int(np.median(view.seen[mask]))
            yield _Found(low, candidate.settled.last, view.median.copy(), block.median, mask)
            view, candidate = _View.of(block), None


def _around(mask: Flags) -> Flags:
    """Mark a region and what is near it, as far as the region is large."""
    side = 2 * round(float(mask.sum()) ** 0.5) + 1
    return np.asarray(cv2.dilate(mask.astype(np.uint8), np.ones((side, side), np.uint8)) > 0)


def _without_specks(marks: Flags) -> Flags:
    """Keep what holds squares of 2×2 pixels, which have no middle: OpenCV would displace it."""
    square = np.ones((2, 2), np.uint8)
    left = cv2.erode(marks.astype(np.uint8), square, anchor=(1, 1))
    return np.asarray(cv2.dilate(left, square, anchor=(0, 0)) > 0)


def _first_behind(film: Film, found: _Found) -> int:
    """Find the frame from which the place is as it stays: changed, and nobody in front of it."""
    numbers = film.moments.numbers
    between = numbers[(numbers >= found.low) & (numbers <= found.high)]
    around = _around(found.mask)
    after, most = found.after[around], _STIR * int(found.mask.sum())
    limit = np.clip(_CLEAR * np.abs(after - found.before[around]), LIVELY, _LEAST_CHANGE)
    limit[~found.mask[around]] = 2 * _LEAST_CHANGE
    first = int(between[0])
    is_next = False
    for frame in film.frames(film.places(between.tolist())):
        if is_next:
            first, is_next = frame.number, False
        away = np.abs(small_luma(frame)[around].astype(np.float32) - after)
        is_next = int((away > limit).sum()) > most
    return first
