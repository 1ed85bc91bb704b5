"""Tell what only flickers from what makes an event: it is small, hardly moves and is soon gone."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from bgsub.tracking.tracker import Observation

_SMALL = 0.0032
"""Share of what is looked at that four of the smallest objects of a mask cover."""

LASTING_S, WEAK_LASTING_S = 2.0, 10.0
"""Seconds for which a small thing is in sight to be an event, and more of them for a weak one."""

_MOVED = 1.5
"""Its sizes by which a small thing moves to be an event at once."""

_WEAK = 1.5
"""Thresholds below which it is weak: a pixel of the masks' scores counts for no more."""

_MOST_TRACKS = 10_000
"""Tracks that are remembered, those seen last: more than can be missed and come back."""


def small_area(region: tuple[int, int, int, int]) -> float:
    """Give the pixels below which an object makes an event only if it moves or stays.

    Parameters
    ----------
    region : tuple of four ints
        x, y, width and height of what is looked at, in pixels of the input.
    """
    return _SMALL * region[2] * region[3]


@dataclass(frozen=True)
class Sifted:
    """The objects of a frame that make events.

    Attributes
    ----------
    counted : list of Observation
        Without those that may be flicker.
    since : list of tuple of two Observation
        Of those that count from this frame on, when they were first seen, and now; in the order of
        that. They have counted ever since.
    """

    counted: list[Observation]
    since: list[tuple[Observation, Observation]]


@dataclass
class _Seen:
    first: Observation
    counts: bool = False


class FlickerSieve:
    """Leave out of frames what is small all the time, hardly moves and is soon gone.

    A leaf that turns and a wave that glitters are seen, but make no event.

    Parameters
    ----------
    small_area : float
        Pixels from which an object counts at once; of fewer it must move by one and a half of its
        sizes, or be in sight for two seconds, ten if it is weak.
    """

    def __init__(self, small_area: float = 0.0) -> None:
        self._small = small_area
        self._tracks: OrderedDict[int, _Seen] = OrderedDict()

    def sift(self, objects: Sequence[Observation]) -> Sifted:
        """Take in the objects of the next frame."""
        counted, since = [], []
        for seen in objects:
            track = self._tracks.setdefault(seen.track, _Seen(seen))
            self._tracks.move_to_end(seen.track)
            if not track.counts and self._is_more(track.first, seen):
                track.counts = True
                since.append((track.first, seen))
            if track.counts:
                counted.append(seen)
        while len(self._tracks) > _MOST_TRACKS:
            self._tracks.popitem(last=False)
        return Sifted(counted, sorted(since, key=lambda pair: pair[0].frame))

    def _is_more(self, first: Observation, seen: Observation) -> bool:
        """Say whether an object is more than something small that flickers."""
        moved = math.dist((first.cx, first.cy), (seen.cx, seen.cy))
        lasting = WEAK_LASTING_S if seen.score < _WEAK else LASTING_S
        return (
            seen.area >= self._small
            or seen.time_s - first.time_s >= lasting
            or moved >= _MOVED * math.sqrt(first.box[2] * first.box[3])
        )
