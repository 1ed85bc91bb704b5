"""Find what each frame shows by itself: here, in threads, or in processes beside this one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import NamedTuple, TypeVar

from bgsub.fit.blocks import render_rows
from bgsub.fit.store import FrameBlock
from bgsub.pipeline.frames import SceneFrame
from bgsub.pipeline.masker import Flags, Masker
from bgsub.runtime.helpers import Helpers, Task
from bgsub.runtime.threads import WORTH_A_THREAD, Workers
from bgsub.segmenter.masks import Seen
from bgsub.video.frames import Layout

Item = TypeVar("Item")
Value = TypeVar("Value")

_CALL_PIXELS = 200_000
"""Pixels of the frames that are handed over together: a few milliseconds of work."""

_WORTH_S = 0.4
"""Seconds of work that a process is started for, at least."""

# What a mask of a busy scene takes, about: for its frame, and for each of its pixels.
_CALL_S, _PIXEL_S = 1.2e-3, 27e-9

# More would wait for what this process does in the order of the frames, which takes half of the
# time of a mask where pictures are small, and a fifth where they are large.
_MOST_FOR_SMALL, _MOST_FOR_LARGE = 3, 6

_CALLS_AHEAD = 4
"""Calls for each helper behind the block that is wanted next, at least."""

# Bytes that mask, scores, blobs and colours take for each pixel of a frame that waits.
_OF_A_PIXEL = 7


class FrameGroup(NamedTuple):
    """A block, and its frames."""

    block: FrameBlock
    frames: list[SceneFrame]


class Looker:
    """Find the masks of frames, block by block.

    Parameters
    ----------
    masker : Masker or None
        None where no mask is wanted.
    inside : ndarray of bool, shape (h, w), or None
        Pixels that can be foreground.
    with_scores : bool
        Whether anybody wants the scores that masks are cut from.
    """

    def __init__(self, masker: Masker | None, inside: Flags | None, *, with_scores: bool) -> None:
        self._masker, self._inside, self._with_scores = masker, inside, with_scores

    def decide(self, frame: SceneFrame) -> Seen:
        """Say what one frame shows."""
        return self._learned.look(frame, self._inside, with_scores=self._with_scores)

    @property
    def _learned(self) -> Masker:
        if self._masker is None:
            message = "no masks were asked for"
            raise RuntimeError(message)
        return self._masker

    def look(self, groups: Iterable[FrameGroup], workers: Workers) -> Iterator[FrameGroup]:
        """Tell frames what they show, unless that takes their backgrounds."""
        masker, helpers = self._masker, workers.helpers
        if masker is None or masker.needs_background:
            yield from groups
            return
        maker = masker.elsewhere(self._inside, with_scores=self._with_scores)
        if helpers is not None and maker is not None:
            helpers.begin(*maker)
            yield from self._look_with(helpers, groups)
            return
        for group in _with_neighbors(groups):
            size, frames = masker.frames_at_once, group.frames
            parts = [frames[start : start + size] for start in range(0, len(frames), size)]
            yield _told(group, workers.map(self._look_all, parts))

    def _look_all(self, frames: list[SceneFrame]) -> list[Seen]:
        return self._learned.look_all(frames, self._inside, with_scores=self._with_scores)

    def _look_with(self, helpers: Helpers, groups: Iterable[FrameGroup]) -> Iterator[FrameGroup]:
        """Look at frames in this process and others, whichever is free."""
        at_once, ahead = self._learned.frames_at_once, _CALLS_AHEAD * len(helpers)
        waiting: deque[tuple[FrameGroup, list[Task[list[Seen]]]]] = deque()
        calls = 0
        for group in groups:
            rows, frames = group.block.rows, group.frames
            size = call_frames(frames[0].layout, at_once)
            parts = [slice(start, start + size) for start in range(0, len(frames), size)]
            tasks = [
                helpers.submit(rows[part], partial(self._look_all, frames[part])) for part in parts
            ]
            waiting.append((group, tasks))
            calls += len(tasks)
            while waiting and calls - len(waiting[0][1]) >= ahead:
                oldest, tasks = waiting.popleft()
                calls -= len(tasks)
                yield _told(oldest, map(helpers.result, tasks))
        for group, tasks in waiting:
            yield _told(group, map(helpers.result, tasks))
        helpers.close()  # their memory, while the last frames are written


def _with_neighbors(groups: Iterable[FrameGroup]) -> Iterator[FrameGroup]:
    """Tell frames which ones are before and after them: a group waits for the next one."""
    last: SceneFrame | None = None
    waiting: FrameGroup | None = None
    for group in chain(groups, [None]):
        if waiting is not None:
            own = waiting.frames
            after = [] if group is None else group.frames[:1]
            line = [last, *own, *after, None]
            for i, frame in enumerate(own):
                frame.neighbors = line[i], line[i + 2]
            yield waiting
            # Frames that knew each other would keep all before them in memory.
            for frame in own:
                frame.neighbors = None, None
            last = own[-1] if own else last
        waiting = group


def _told(group: FrameGroup, found: Iterable[list[Seen]]) -> FrameGroup:
    """Tell the frames of a group what they show."""
    for frame, seen in zip(group.frames, chain.from_iterable(found), strict=True):
        frame.decide(seen)
    return group


def call_frames(layout: Layout, at_once: int) -> int:
    """Give the frames that are handed over together, where so many are best looked at together."""
    return at_once * max(1, _CALL_PIXELS // (at_once * layout.pixels))


def helpers_worth(layout: Layout, kind: type[Masker], frames: int, threads: int) -> int:
    """Give the processes that are worth their start for the masks of so many frames."""
    if not kind.elsewhere_bytes(layout.height, layout.width):
        return 0
    seconds = frames * (_CALL_S + _PIXEL_S * layout.pixels)
    most = _MOST_FOR_SMALL if layout.pixels < WORTH_A_THREAD else _MOST_FOR_LARGE
    return min(threads - 1, most, int(seconds / _WORTH_S))


def helper_bytes(layout: Layout, kind: type[Masker]) -> int:
    """Give the memory of a helper, and of the frames that wait for it."""
    own = kind.elsewhere_bytes(layout.height, layout.width)
    frames = _CALLS_AHEAD * call_frames(layout, 1) + render_rows(layout.size)
    return own + waiting_bytes(layout, frames)


def waiting_bytes(layout: Layout, frames: int) -> int:
    """Give the memory of so many frames that wait, with what they show."""
    return frames * (layout.size + _OF_A_PIXEL * layout.pixels)


def in_threads(
    function: Callable[[Item], Value],
    items: Iterable[Item],
    frames: list[SceneFrame],
    workers: Workers,
) -> Iterable[Value]:
    """Map a function over what belongs to frames, in threads where that is worth it."""
    small = frames[0].layout.pixels < WORTH_A_THREAD
    return map(function, items) if small else workers.map(function, items)
