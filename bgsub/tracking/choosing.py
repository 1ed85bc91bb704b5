"""Choose which objects make an event, and which events count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from bgsub.outliers.events import Event
from bgsub.tracking.events import EventCollector, SceneEvent, with_frame_events
from bgsub.tracking.regions import Region
from bgsub.tracking.tracker import Observation


@dataclass(frozen=True, kw_only=True)
class EventFilter:
    """Which objects make an event, and which events are listed.

    Attributes
    ----------
    min_area, max_area : float, optional
        Pixels of an object.
    small_area : float
        See `bgsub.tracking.flicker.FlickerSieve`.
    min_length : int
        Frames of an event.
    merge_gap_s : float
        Seconds between events that become one.
    region : Region, optional
        Objects whose centre is elsewhere do not count.
    ignored : ndarray of shape (h, w), bool, optional
        Nor do those whose centre lies where this is true.
    """

    min_area: float | None = None
    max_area: float | None = None
    small_area: float = 0.0
    min_length: int = 1
    merge_gap_s: float = 1.0
    region: Region | None = None
    ignored: NDArray[np.bool_] | None = None

    def takes(self, seen: Observation) -> bool:
        """Say whether an object counts."""
        if self.min_area is not None and seen.area < self.min_area:
            return False
        if self.max_area is not None and seen.area > self.max_area:
            return False
        if self.region is not None and not self.region.holds(seen.cx, seen.cy):
            return False
        if self.ignored is None:
            return True
        height, width = self.ignored.shape
        row, column = min(int(seen.cy), height - 1), min(int(seen.cx), width - 1)
        return not self.ignored[row, column]


def choose_events(
    objects: Iterable[Observation], frames: Sequence[Event], chosen: EventFilter
) -> list[SceneEvent]:
    """Form events of the objects that count, and join them with those of whole frames.

    Parameters
    ----------
    objects : iterable of Observation
        In order of time, as objects.csv holds them.
    frames : sequence of Event
        Events of whole frames; left out where a region is chosen, for they have no place.
    chosen : EventFilter

    Returns
    -------
    list of SceneEvent
        In order of time.
    """
    collector = EventCollector(chosen.merge_gap_s, chosen.small_area)
    for _, group in groupby(objects, lambda seen: seen.frame):
        collector.add([seen for seen in group if chosen.takes(seen)])
    events = with_frame_events(collector.finish(), [] if chosen.region is not None else frames)
    long = [e for e in events if e.last_frame - e.first_frame + 1 >= chosen.min_length]
    return with_frame_events(long, [])  # numbers them anew
