"""Find what each frame shows by itself, in threads where that is worth it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import NamedTuple, TypeVar

from bgsub.fit.store import FrameBlock
from bgsub.pipeline.frames import SceneFrame
from bgsub.pipeline.masker import Flags, Masker
from bgsub.runtime.threads import WORTH_A_THREAD, Workers
from bgsub.segmenter.masks import Seen

Item = TypeVar("Item")
Value = TypeVar("Value")

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
        masker = self._masker
        if masker is None or masker.needs_background:
            yield from groups
            return
        for group in _with_neighbors(groups):
            size, frames = masker.frames_at_once, group.frames
            parts = [frames[start : start + size] for start in range(0, len(frames), size)]
            yield _told(group, workers.map(self._look_all, parts))

    def _look_all(self, frames: list[SceneFrame]) -> list[Seen]:
        return self._learned.look_all(frames, self._inside, with_scores=self._with_scores)


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


def in_threads(
    function: Callable[[Item], Value],
    items: Iterable[Item],
    frames: list[SceneFrame],
    workers: Workers,
) -> Iterable[Value]:
    """Map a function over what belongs to frames, in threads where that is worth it."""
    small = frames[0].layout.pixels < WORTH_A_THREAD
    return map(function, items) if small else workers.map(function, items)
