"""Find what each frame shows by itself, in threads where that is worth it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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
        last: SceneFrame | None = None
        for group in groups:
            for frame in group.frames:
                frame.previous, last = last, frame
            found = workers.map(self.decide, group.frames)
            for frame, seen in zip(group.frames, found, strict=True):
                frame.decide(seen)
                # Frames that knew each other would keep all before them in memory.
                frame.previous = None
            yield group


def in_threads(
    function: Callable[[Item], Value],
    items: Iterable[Item],
    frames: list[SceneFrame],
    workers: Workers,
) -> Iterable[Value]:
    """Map a function over what belongs to frames, in threads where that is worth it."""
    small = frames[0].layout.pixels < WORTH_A_THREAD
    return map(function, items) if small else workers.map(function, items)
