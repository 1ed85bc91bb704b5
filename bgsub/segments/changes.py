"""Cut a quick look at a film into blocks: the median of some small pictures, and what moves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.errors import plural
from bgsub.segments.moments import Film
from bgsub.video.frames import Bytes, Frame

Floats = NDArray[np.float32]


Flags = NDArray[np.bool_]


_SMALL = 80 * 60
"""Pixels that pictures are scaled down to."""


_BLOCK_S, _BLOCK_FRAMES = 4.0, 8
"""Seconds and pictures of a block at least."""


LIVELY = 8.0
"""Grey levels from the median, in a tenth of the pictures, from which a pixel is not quiet."""


@dataclass(frozen=True, eq=False)
class Block:
    """What some small pictures in a row have in common.

    Attributes
    ----------
    first, last : int
        Numbers of the frames.
    median, stir : ndarray of float32, shape (h, w)
        Their median, and the 0.9 quantile of the differences from it.
    """

    first: int
    last: int
    median: Floats
    stir: Floats

    @property
    def quiet(self) -> Flags:
        """Pixels in which nothing moves."""
        return self.stir <= max(LIVELY, 3.0 * float(np.quantile(self.stir, 0.25)))


def small_luma(frame: Frame) -> Bytes:
    """Return the luma of a frame, scaled down."""
    layout = frame.layout
    luma = np.ascontiguousarray(layout.luma(frame.data)).reshape(layout.height, layout.width)
    scale = min(1.0, (_SMALL / luma.size) ** 0.5)
    size = max(4, round(layout.width * scale)), max(4, round(layout.height * scale))
    return np.asarray(cv2.resize(luma, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def blocks_of(frames: Iterable[Frame]) -> Iterator[Block]:
    """Gather frames into blocks; the last one may be shorter."""
    waiting: list[tuple[int, float, Bytes]] = []
    for frame in frames:
        long_enough = len(waiting) >= _BLOCK_FRAMES
        if long_enough and frame.time_s - waiting[0][1] >= _BLOCK_S - 1e-6:
            yield _block(waiting)
            waiting = []
        waiting.append((frame.number, frame.time_s, small_luma(frame)))
    if len(waiting) >= _BLOCK_FRAMES:
        yield _block(waiting)


def _block(members: list[tuple[int, float, Bytes]]) -> Block:
    pictures = np.stack([picture for _, _, picture in members]).astype(np.float32)
    median = np.median(pictures, axis=0).astype(np.float32)
    away = np.abs(pictures - median)
    place = int(0.9 * (len(members) - 1))
    stir = np.partition(away, place, axis=0)[place]
    return Block(members[0][0], members[-1][0], median, stir.astype(np.float32))


_ROUNDS = 8


def fit_light(before: Floats, after: Floats) -> tuple[float, float]:
    """Fit gain and offset of one picture to another, robustly (Geman-McClure weights)."""
    gain, offset = 1.0, float(np.median(after - before))
    for _ in range(_ROUNDS):
        away = np.abs(after - gain * before - offset)
        weights = 1.0 / (1.0 + (away / (2.0 * max(float(np.median(away)), 0.5))) ** 2) ** 2
        total = float(weights.sum())
        mean_x, mean_y = float(weights @ before) / total, float(weights @ after) / total
        spread = float(weights @ (before - mean_x) ** 2)
        if spread > 1.0:
            gain = float(weights @ ((before - mean_x) * (after - mean_y))) / spread
            gain = min(max(gain, 0.05), 20.0)
        offset = mean_y - gain * mean_x
    return gain, offset


_EXPLAINED = 0.6
"""Share of the differences that may be left where a displacement is what has changed."""

_LEAST_SHIFT = 0.3
"""Small pixels from which a picture is displaced."""

_MOST_PICTURE = 0.4
"""Share of the picture from which all of it has changed."""

_OTHER_LIGHT = 12.0
"""Grey levels by which the median must differ for it to be brighter or darker."""


def reason_of(before: Floats, after: Floats, mask: Flags, input_size: tuple[int, int]) -> str:
    """Return what has changed, and where.

    Parameters
    ----------
    before, after : ndarray of float32, shape (h, w)
        Small pictures of the scene.
    mask : ndarray of bool, shape (h, w)
        Pixels that have changed.
    input_size : tuple of int
        Width and height of the film, in the pixels of which places are given.
    """
    width, height = input_size
    rows, columns = mask.shape
    moved = _displacement(before, after)
    if moved is not None:
        way = round(float(np.hypot(*moved)) * width / columns)
        return f"the camera moved by {plural(way, 'pixel')}"
    levels = np.median(before), np.median(after)
    if mask.mean() >= _MOST_PICTURE:
        brighter = "brighter" if levels[1] > levels[0] else "darker"
        if abs(levels[1] - levels[0]) > _OTHER_LIGHT:
            return f"it became {brighter}"
        return "most of the picture changed"
    ys, xs = np.nonzero(mask)
    x, y = xs.min() / columns * width, ys.min() / rows * height
    right, bottom = (xs.max() + 1) / columns * width, (ys.max() + 1) / rows * height
    return f"a change at {x:.0f},{y:.0f},{right - x:.0f},{bottom - y:.0f}"


def _displacement(before: Floats, after: Floats) -> tuple[float, float] | None:
    """Return by how much the picture was displaced, in its small pixels; None if that is not it.

    The middle of the later picture is looked for in the earlier one by correlation, which does not
    depend on light. (cv2.phaseCorrelate finds smooth rooms badly, and writes its window into the
    pictures that it is given where their sides suit a fast Fourier transform.)
    """
    height, width = before.shape
    rows, columns = height // 4, width // 4
    if not rows or not columns:
        return None
    middle = np.ascontiguousarray(after[rows:-rows, columns:-columns])
    alike = _floats(cv2.matchTemplate(before, middle, cv2.TM_CCOEFF_NORMED))
    top, left = divmod(int(alike.argmax()), alike.shape[1])
    x = columns - left - _beside_peak(alike[top], left)
    y = rows - top - _beside_peak(alike[:, left], top)
    if np.hypot(x, y) < _LEAST_SHIFT:
        return None
    matrix = np.array([[1, 0, x], [0, 1, y]])
    shifted = _floats(
        cv2.warpAffine(before, matrix, (width, height), borderMode=cv2.BORDER_REPLICATE)
    )
    unmoved, moved = (each[rows:-rows, columns:-columns] for each in (before, shifted))
    # In all of it: a thing that was moved explains its own places, and nothing else does.
    return (
        (x, y) if _difference(moved, middle) < _EXPLAINED * _difference(unmoved, middle) else None
    )


def _floats(picture: NDArray[Any]) -> Floats:
    return np.asarray(picture, dtype=np.float32)


def _beside_peak(values: Floats, peak: int) -> float:
    """Return how far the top of the parabola through a peak and its neighbours is from it."""
    if not 0 < peak < values.size - 1:
        return 0.0
    before, at, behind = (float(value) for value in values[peak - 1 : peak + 2])
    bend = before - 2 * at + behind
    return 0.0 if bend >= 0 else 0.5 * (before - behind) / bend


def _difference(before: Floats, after: Floats) -> float:
    """Return the mean difference of two pictures, grey levels, but for their light."""
    gain, offset = fit_light(before.ravel(), after.ravel())
    return float(np.abs(after - gain * before - offset).mean())


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
        """Return whether a block shows the same change still."""
        limit = np.maximum(_LEAST_CHANGE, _LIVELY_CHANGE * np.maximum(self.first.stir, block.stir))
        same = np.abs(block.median - self.first.median) <= limit
        mask = self.mask & changed & same
        if mask.mean() < max(_LEAST_SHARE, 0.5 * self.mask.mean()):
            return False
        self.mask, self.blocks = mask, self.blocks + 1
        return True

    def stirs(self, block: Block) -> bool:
        """Return whether somebody moves in it or beside it."""
        return bool((_around(self.mask) & ~block.quiet).sum() > _STIR * self.mask.sum())


@dataclass(frozen=True, eq=False)
class _Found:
    """A change between two blocks.

    Attributes
    ----------
    low, high : int
        Frames between which it is.
    """

    low: int
    high: int
    before: Floats
    after: Floats
    mask: Flags


def find_changes(film: Film) -> list[Change]:
    """Look quickly through a film for lasting changes of its scene.

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
