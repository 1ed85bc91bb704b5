"""Look quickly through a video for lasting changes of its scene."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.background.camera import COARSEST, Registration
from bgsub.errors import EmptySelectionError, plural
from bgsub.video.base import IndexedSource
from bgsub.video.film import VideoFileSource
from bgsub.video.film_index import Entry, Place
from bgsub.video.frames import Bytes, Frame
from bgsub.video.seek import frames_at, index_film
from bgsub.video.selection import Picker
from bgsub.video.source import FrameSource

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]

_ENOUGH_KEYS = 60  # key frames that show what lasts in a video, whatever their distance
_BEHIND = 12  # frames behind a key frame that are decoded for a sample


class Film:
    """A video whose frames are looked up: by seeking where that is exact, or else in one pass.

    `numbers` and `times` are those of the frames that are selected; `from_the_start` says why every
    part is decoded from the beginning, and is empty if frames can be sought.
    """

    def __init__(self, source: FrameSource) -> None:
        found = index_film(source) if isinstance(source, VideoFileSource) else ""
        self.source, self.from_the_start = source, found if isinstance(found, str) else ""
        self._index = None if isinstance(found, str) else found
        if self._index is not None and isinstance(source, VideoFileSource):
            numbers, times = np.arange(1, self._index.times.size + 1), self._index.times
            if not source.options.selection.is_everything:
                wants = Picker(source.options.selection).wants
                chosen = list(map(wants, numbers.tolist(), times.tolist()))
                numbers, times = numbers[chosen], times[chosen]
        else:
            if isinstance(source, IndexedSource):
                pairs = source.moments()
            else:
                pairs = [(frame.number, frame.time_s) for frame in source]
            numbers = np.array([number for number, _ in pairs], dtype=np.int64)
            times = np.array([time_s for _, time_s in pairs])
        if numbers.size == 0:
            raise EmptySelectionError(f"{source.name}: no frame is selected")
        self.numbers, self.times = numbers, times

    @cached_property
    def _keys(self) -> NDArray[np.int64] | None:
        """Numbers of key frames, if one of them shows that they are decoded alone."""
        if self._index is None:
            return None
        keys = self._index.keys + 1
        number = int(keys[keys.size // 2])
        places = [self._index.place(number, from_its_key=True), self._index.place(number)]
        found = [frame.data for place in places for frame in frames_at(self.source, [place])]
        return keys if len(found) == 2 and np.array_equal(found[0], found[1]) else None

    def places(self, numbers: Iterable[int], *, cheaply: bool = False) -> list[Place]:
        """Return where frames are found; `cheaply` decodes none before the key frame of each."""
        if self._index is not None:
            alone = cheaply and self._keys is not None
            return [self._index.place(int(number), from_its_key=alone) for number in numbers]
        chosen = np.fromiter(numbers, dtype=np.int64)
        times = self.times[np.searchsorted(self.numbers, chosen)]
        return [Place(*pair) for pair in zip(chosen.tolist(), times.tolist(), strict=True)]

    def spread(self, least_s: float, most: int) -> list[Place]:
        """Choose at most so many frames, `least_s` apart or more: key frames where enough are."""
        numbers, times = self.numbers, self.times
        step_s = max(least_s, float(times[-1] - times[0]) / most)
        targets = np.arange(times[0], times[-1] + 1e-6, step_s)
        places = np.unique(np.searchsorted(times, targets - 1e-6))
        chosen = numbers[places[places < times.size]]
        if self._keys is not None:
            keys = np.intersect1d(self._keys, numbers)
            following = np.searchsorted(keys, chosen)
            near = np.unique(keys[following[following < keys.size]])
            if near.size >= _ENOUGH_KEYS or 2 * near.size >= chosen.size:
                chosen = near
        return self.places(chosen.tolist(), cheaply=True)

    def samples(self, first: int, last: int, count: int) -> list[Place]:
        """Choose at most `count` frames from `first` to `last`: near behind key frames, if any."""
        numbers = self.numbers[(self.numbers >= first) & (self.numbers <= last)]
        if self._keys is not None:
            before = np.searchsorted(self._keys, numbers, side="right") - 1
            behind = numbers - self._keys[np.maximum(before, 0)]
            near = numbers[(before >= 0) & (behind <= _BEHIND)]
            if near.size >= count:
                numbers = near
        if numbers.size > count:
            edges = (np.arange(count) + 0.5) * numbers.size / count
            numbers = numbers[edges.astype(np.int64)]
        return self.places(numbers.tolist(), cheaply=True)

    def entry(self, number: int) -> Entry | None:
        """Return where decoding up to a frame may begin; None is the start of the video."""
        return None if self._index is None else self._index.entry(number)


_LEAST_S, _MOST_GLIMPSES = 0.25, 4000  # seconds between frames that are looked at; their number
_SMALL = 80 * 60  # pixels that frames are scaled down to
_BLOCK_S, _BLOCK_FRAMES = 4.0, 8  # seconds and frames of a block at least
_LASTING = 2  # blocks for which a change must stay
_LIVELY = 8.0  # grey levels from the median, in a tenth of the frames, of a pixel that is not quiet
# Grey levels by which a quiet pixel must differ, and the same in units of its liveliness.
_LEAST_CHANGE, _LIVELY_CHANGE = 12.0, 4.0
_LEAST_SHARE = 0.005  # of the picture that must have changed
_STIR = 0.25  # lively pixels beside a changed region, as a share of it, if somebody is there
_GAIN, _OFFSET = 1.6, 40.0  # factor and grey levels from which a change of light is another state
# Difference from a picture, as a share of that between two, up to which a frame is like it.
_CLEAR = 0.5
# Small pixels from which the camera has moved, and share of the differences that this explains.
_LEAST_SHIFT, _EXPLAINED = 0.3, 0.4
# Share of the picture from which all of it has changed, and grey levels by which its median must
# differ for it to be brighter or darker.
_MOST_PICTURE, _OTHER_LIGHT = 0.4, 12.0


class Change(NamedTuple):
    """A lasting change."""

    first: int  # frame behind it
    reason: str


class _Block:
    """Small frames in a row: their median, and the 0.9 quantile of the differences from it.

    Pixels in which nothing moves are quiet.
    """

    def __init__(self, members: list[tuple[int, float, Bytes]]) -> None:
        self.first, self.last = members[0][0], members[-1][0]
        pictures = np.stack([picture for _, _, picture in members]).astype(np.float32)
        self.median: Floats = np.median(pictures, axis=0).astype(np.float32)
        place = int(0.9 * (len(members) - 1))
        stir = np.partition(np.abs(pictures - self.median), place, axis=0)[place]
        self.stir: Floats = stir.astype(np.float32)
        self.quiet: Flags = self.stir <= max(_LIVELY, 3.0 * float(np.quantile(self.stir, 0.25)))


def _small_luma(frame: Frame) -> Bytes:
    layout = frame.layout
    luma = np.ascontiguousarray(layout.luma(frame.data)).reshape(layout.height, layout.width)
    scale = min(1.0, (_SMALL / luma.size) ** 0.5)
    size = max(4, round(layout.width * scale)), max(4, round(layout.height * scale))
    return np.asarray(cv2.resize(luma, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def _blocks(frames: Iterable[Frame]) -> Iterator[_Block]:
    """Gather frames into blocks; the last one may be shorter."""
    waiting: list[tuple[int, float, Bytes]] = []
    for frame in frames:
        long_enough = len(waiting) >= _BLOCK_FRAMES
        if long_enough and frame.time_s - waiting[0][1] >= _BLOCK_S - 1e-6:
            yield _Block(waiting)
            waiting = []
        waiting.append((frame.number, frame.time_s, _small_luma(frame)))
    if len(waiting) >= _BLOCK_FRAMES:
        yield _Block(waiting)


def fit_light(before: Floats, after: Floats) -> tuple[float, float]:
    """Fit gain and offset of one picture to another, robustly (Geman-McClure weights)."""
    gain, offset = 1.0, float(np.median(after - before))
    for _ in range(8):
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


def reason_of(before: Floats, after: Floats, mask: Flags, input_size: tuple[int, int]) -> str:
    """Return what has changed between two small pictures, in the pixels of the video."""
    (width, height), (rows, columns) = input_size, mask.shape
    was, now = (np.clip(np.rint(each), 0, 255).astype(np.uint8) for each in (before, after))
    if min(was.shape) >= COARSEST:
        found = Registration(was, 1.0).find_small(now)
        way = float(np.hypot(found.motion.right, found.motion.down))
        # In all of it: a thing that was moved explains its own places, and nothing else does.
        if found.sure and way >= _LEAST_SHIFT and found.explained >= _EXPLAINED:
            return f"the camera moved by {plural(round(way * width / columns), 'pixel')}"
    if mask.mean() >= _MOST_PICTURE:
        brighter = float(np.median(after) - np.median(before))
        if abs(brighter) > _OTHER_LIGHT:
            return f"it became {'brighter' if brighter > 0 else 'darker'}"
        return "most of the picture changed"
    ys, xs = np.nonzero(mask)
    x, y = xs.min() / columns * width, ys.min() / rows * height
    right, bottom = (xs.max() + 1) / columns * width, (ys.max() + 1) / rows * height
    return f"a change at {x:.0f},{y:.0f},{right - x:.0f},{bottom - y:.0f}"


def _limit(one: Floats, other: Floats) -> Floats:
    """Return the grey levels by which pixels of such liveliness must differ."""
    return np.maximum(_LEAST_CHANGE, _LIVELY_CHANGE * np.maximum(one, other))


class _View:
    """The scene as it is known: the last quiet value of every pixel, and when it was seen."""

    def __init__(self, block: _Block) -> None:
        self.median, self.stir = block.median.copy(), block.stir.copy()
        self.known = block.quiet.copy()
        self.seen = np.full(block.median.shape, block.first, np.int64)

    def update(self, block: _Block, where: Flags) -> None:
        """Take over what is quiet in a block."""
        where = where & block.quiet
        self.median[where], self.stir[where] = block.median[where], block.stir[where]
        self.seen[where] = block.first
        self.known |= where

    def changed(self, block: _Block) -> Flags:
        """Mark quiet pixels that differ from what is known, but for light."""
        both = self.known & block.quiet
        if both.sum() < 0.1 * both.size:
            return np.zeros_like(both)
        gain, offset = fit_light(self.median[both], block.median[both])
        if not 1 / _GAIN <= gain <= _GAIN or abs(offset) > _OFFSET:
            return both
        away = np.abs(block.median - (gain * self.median + offset))
        return np.asarray(both & (away > _limit(self.stir, block.stir)))


class _Found(NamedTuple):
    """A change somewhere from frame `low` to frame `high`."""

    low: int
    high: int
    before: Floats
    after: Floats
    mask: Flags


def find_changes(film: Film) -> list[Change]:
    """Find the lasting changes of a scene, in order.

    Decodes some thousand frames, key frames where there are enough, and around each change all.
    """
    frames = frames_at(film.source, film.spread(_LEAST_S, _MOST_GLIMPSES))
    size = film.source.input_size
    return [
        Change(_first_behind(film, one), reason_of(one.before, one.after, one.mask, size))
        for one in list(_changes_between(_blocks(frames)))
    ]


def _changes_between(blocks: Iterator[_Block]) -> Iterator[_Found]:
    """Yield changes that stay for some blocks, when nobody stirs in them or beside them."""
    start = next(blocks, None)
    if start is None:
        return
    view, first, settled, lasted = _View(start), None, None, 0
    mask = np.zeros_like(view.known)
    for block in blocks:
        differs = view.changed(block)
        # Squares of 2×2 pixels have no middle: without anchors OpenCV would displace what is left.
        left = cv2.erode(differs.astype(np.uint8), np.ones((2, 2), np.uint8), anchor=(1, 1))
        changed = np.asarray(cv2.dilate(left, np.ones((2, 2), np.uint8), anchor=(0, 0)) > 0)
        if changed.mean() < _LEAST_SHARE:
            first = None
            view.update(block, ~differs)
            continue
        same = mask
        if first is not None:
            away = np.abs(block.median - first.median)
            same = mask & changed & (away <= _limit(first.stir, block.stir))
        if first is None or same.mean() < max(_LEAST_SHARE, 0.5 * mask.mean()):
            first, settled, lasted, same = block, None, 0, changed
        mask, lasted = same, lasted + 1
        view.update(block, ~differs)
        if (_around(mask) & ~block.quiet).sum() > _STIR * mask.sum():
            lasted, settled = 0, None
        elif settled is None:
            settled = block
        if lasted >= _LASTING and settled is not None:
            low = int(np.median(view.seen[mask]))
            yield _Found(low, settled.last, view.median.copy(), block.median, mask)
            view, first = _View(block), None


def _around(mask: Flags) -> Flags:
    """Mark a region and what is near it, as far as the region is large."""
    side = 2 * round(float(mask.sum()) ** 0.5) + 1
    return np.asarray(cv2.dilate(mask.astype(np.uint8), np.ones((side, side), np.uint8)) > 0)


def _first_behind(film: Film, found: _Found) -> int:
    """Find the frame from which the place is as it stays: changed, and nobody in front of it."""
    numbers = film.numbers
    between = numbers[(numbers >= found.low) & (numbers <= found.high)]
    around = _around(found.mask)
    after, most = found.after[around], _STIR * int(found.mask.sum())
    limit = np.clip(_CLEAR * np.abs(after - found.before[around]), _LIVELY, _LEAST_CHANGE)
    limit[~found.mask[around]] = 2 * _LEAST_CHANGE
    first, is_next = int(between[0]), False
    for frame in frames_at(film.source, film.places(between.tolist())):
        if is_next:
            first, is_next = frame.number, False
        away = np.abs(_small_luma(frame)[around].astype(np.float32) - after)
        is_next = int((away > limit).sum()) > most
    return first
