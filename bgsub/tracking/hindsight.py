"""Hold the objects of frames back until those that were not known yet have been put into them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bgsub.tracking.detections import Detection, center
from bgsub.tracking.steadiness import LONGEST, Recognized
from bgsub.tracking.tracker import Observation
from bgsub.tracking.view import View


@dataclass
class _Frame:
    number: int
    time_s: float
    recognized: Sequence[Recognized]
    objects: list[Observation] = field(default_factory=list)


class Hindsight:
    """Give objects the rows of frames in which they were specks that nothing was known of.

    Frames wait until what is recognized later can reach back to them no more. An object gets rows
    in frames in which its track has none; their sign is not known. Before a gap in which it was
    missed for too long there was another thing in its place.

    Parameters
    ----------
    view : View
    most_area : float, optional
        Pixels of the input above which a region is no object; None is no limit.
    max_gap_s : float
        Seconds for which an object may be missed.

    Notes
    -----
    Memory for the objects of a hundred frames.
    """

    def __init__(self, view: View, most_area: float | None = None, max_gap_s: float = 1.0) -> None:
        self._view, self._max_gap = view, max_gap_s
        self._most_area = math.inf if most_area is None else most_area
        self._frames: deque[_Frame] = deque()
        self._decided = 0

    def begin(self, number: int, time_s: float, recognized: Sequence[Recognized] = ()) -> None:
        """Take in the next frame, and what it shows to be objects.

        Parameters
        ----------
        number : int
            From 1.
        time_s : float
        recognized : sequence of Recognized
        """
        self._frames.append(_Frame(number, time_s, recognized))

    def decide(self, objects: list[Observation]) -> Iterator[list[Observation]]:
        """Take in the objects of the next frame that is decided, and give those that wait no more.

        Parameters
        ----------
        objects : list of Observation
            In pixels of the input, as those that are given are.
        """
        frame = self._frames[self._decided]
        frame.objects = objects
        for each in frame.recognized:
            self._reach_back(each)
        self._decided += 1
        if self._decided > LONGEST:
            self._decided -= 1
            yield self._frames.popleft().objects

    def finish(self) -> Iterator[list[Observation]]:
        """Give the objects of the frames that still wait."""
        while self._frames:
            yield self._frames.popleft().objects

    def _reach_back(self, found: Recognized) -> None:
        """Give the track of something the rows of the frames in which it was not known."""
        now = [each for each in self._frames[self._decided].objects if not each.merged]
        here = [each for each in map(self._view.on_mask, now) if _is_in(found, each)]
        if not here:
            return
        track = min(here, key=lambda each: math.dist(center(each.box), found[:2])).track
        earlier, next_s = dict(found.earlier), self._frames[self._decided].time_s
        for ago in range(1, min(max(earlier, default=0), self._decided) + 1):
            frame = self._frames[self._decided - ago]
            is_there = any(each.track == track for each in frame.objects)
            if not is_there and ago in earlier:
                if next_s - frame.time_s > self._max_gap:
                    return
                is_there = self._add(frame, track, earlier[ago])
            next_s = frame.time_s if is_there else next_s

    def _add(self, frame: _Frame, track: int, region: Detection) -> bool:
        """Give a track the row of a frame, unless it is too large."""
        place = (region.box, region.cx, region.cy, region.area, region.score, region.sign)
        seen = self._view.place(Observation(frame.number, frame.time_s, track, *place))
        if seen.area > self._most_area:
            return False
        frame.objects.append(seen)
        frame.objects.sort(key=lambda each: each.track)
        return True


def _is_in(found: Recognized, seen: Observation) -> bool:
    x, y, width, height = seen.box
    return x <= found.x <= x + width and y <= found.y <= y + height
