"""Say that something is in sight while it is: an event starts, goes on, and ends exactly once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bgsub.tracking.detections import Box, surround
from bgsub.tracking.flicker import LASTING_S, FlickerSieve
from bgsub.tracking.regions import Region
from bgsub.tracking.tracker import Observation

What = Literal["start", "update", "end"]
Reason = Literal["gone", "lost", "changed", "over", "stopped"]
"""Why an event ended: nothing was seen any more; the stream was lost, or its pictures changed size;
it came to its end; or watching was stopped."""


@dataclass
class LiveEvent:
    """Something that is in sight.

    Attributes
    ----------
    number : int
        From 1.
    start_s, last_s : float
        When it was first and last seen.
    box : Box
        Where it was last seen, in pixels of the stream.
    tracks : set of int
    score : float
        Highest so far, in thresholds.
    frame_score : float or None
        Highest robust z-score of a whole frame so far.
    regions : set of str
        Names of those that it has been in.
    files : list of str
        Its clips: one, and another for each time that the stream was lost meanwhile.
    """

    number: int
    start_s: float
    last_s: float
    box: Box
    tracks: set[int] = field(default_factory=set)
    score: float = 0.0
    frame_score: float | None = None
    regions: set[str] = field(default_factory=set)
    files: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Give what a line says of it."""
        return {
            "id": self.number,
            "time_s": round(self.last_s, 3),
            "start_s": round(self.start_s, 3),
            "box": [round(side, 1) for side in self.box],
            "tracks": sorted(self.tracks),
            "regions": sorted(self.regions),
            "score": round(self.score, 2),
            "frame_score": None if self.frame_score is None else round(self.frame_score, 1),
            "file": self.files[-1] if self.files else None,
            "files": list(self.files),
        }


Announce = Callable[[What, LiveEvent, Reason | None], None]


class LiveEvents:
    """Form events of the objects of frames, one at a time: as in a film, an event is a time.

    What is small and still counts only when it has lasted, and has counted since it was first seen.

    Parameters
    ----------
    announce : callable
        Called with what happens, the event, and for its end why.
    regions : sequence of Region
    after_s : float
        An event ends when nothing has been seen for so long.
    update_s : float
        Seconds between updates.
    lost_s : float
        Seconds for which an event survives the loss of the stream.
    """

    def __init__(
        self,
        announce: Announce,
        *,
        regions: Sequence[Region] = (),
        after_s: float = 2.0,
        update_s: float = 1.0,
        lost_s: float = 10.0,
    ) -> None:
        self._announce, self._regions = announce, regions
        self._after_s, self._update_s, self._lost_s = after_s, update_s, lost_s
        self._updated_s = 0.0
        self._lost_at_s: float | None = None
        self._back_s = -math.inf
        self._sieve = FlickerSieve()
        self.open: LiveEvent | None = None
        self.count = 0

    def see(self, objects: Sequence[Observation], frame_score: float | None) -> None:
        """Take in the objects of a frame, in pixels of the stream."""
        sifted = self._sieve.sift(objects)
        counted = sifted.counted
        if self.open is not None and objects and objects[0].time_s - self._back_s <= LASTING_S:
            # What was known before the stream was lost has had no time to be known again.
            counted = list(objects)
        if not counted:
            return
        now_s, box = counted[0].time_s, surround(each.box for each in counted)
        if self.open is None:
            self.count += 1
            start_s = min([now_s, *(first.time_s for first, _ in sifted.since)])
            self.open = LiveEvent(self.count, start_s, now_s, box)
            self._add(self.open, counted, frame_score)
            self._updated_s = now_s
            self._announce("start", self.open, None)
            return
        event = self.open
        event.last_s, event.box = now_s, box
        self._add(event, counted, frame_score)
        if now_s - self._updated_s >= self._update_s:
            self._updated_s = now_s
            self._announce("update", event, None)

    def _add(
        self, event: LiveEvent, objects: Sequence[Observation], frame_score: float | None
    ) -> None:
        event.tracks.update(each.track for each in objects)
        event.regions.update(
            region.name
            for region in self._regions
            if any(region.holds(each.cx, each.cy) for each in objects)
        )
        scores = [each.score for each in objects if each.score == each.score]
        event.score = max([event.score, *scores])
        if frame_score is not None:
            before = event.frame_score
            event.frame_score = frame_score if before is None else max(before, frame_score)

    def pass_time(self, now_s: float) -> None:
        """Say that frames up to a time have been looked at."""
        if self.open is not None and now_s - max(self.open.last_s, self._back_s) > self._after_s:
            self.end("gone")

    def lose(self, now_s: float) -> None:
        """Say that the stream is lost at a time; called again while it is."""
        if self._lost_at_s is None:
            self._lost_at_s = now_s
        if self.open is not None and now_s - self._lost_at_s > self._lost_s:
            self.end("lost")

    def resume(self, now_s: float, small_area: float = 0.0) -> None:
        """Say that a stream begins, or is back: what was in sight has time to be seen again.

        Parameters
        ----------
        now_s : float
        small_area : float
            Pixels from which an object makes an event at once, see `FlickerSieve`.
        """
        if self._lost_at_s is not None:
            self._lost_at_s, self._back_s = None, now_s
        self._sieve = FlickerSieve(small_area)

    def end(self, reason: Reason) -> None:
        """End the event that is open, if there is one."""
        event, self.open = self.open, None
        if event is not None:
            self._announce("end", event, reason)
