"""Choose which objects make an event, and which events count."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

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


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The events and objects of a run that somebody wants to see.

    Attributes
    ----------
    counted : EventFilter
    by : {"event", "track", "region"}
        What makes an event: times in which anything is in sight, one track, or a stay in one of
        the regions.
    regions : tuple of Region
        Those of "region".
    """

    counted: EventFilter
    by: Literal["event", "track", "region"] = "event"
    regions: tuple[Region, ...] = ()

    def events(self, objects: Iterable[Observation], frames: Sequence[Event]) -> list[SceneEvent]:
        """Form the events of objects; one by track has the number of its track, and no frames'."""
        if self.by == "event":
            return choose_events(objects, frames, self.counted)
        found: list[SceneEvent] = []
        if self.by == "track":
            whole = replace(self.counted, merge_gap_s=math.inf)
            tracks: dict[int, list[Observation]] = {}
            for seen in objects:
                tracks.setdefault(seen.track, []).append(seen)
            for track in tracks.values():
                one = choose_events(track, [], whole)
                found += [replace(event, number=track[0].track) for event in one]
            return sorted(found, key=lambda event: event.number)
        everything = list(objects)
        for region in self.regions:
            within = choose_events(everything, [], replace(self.counted, region=region))
            found += [replace(event, region=region.name) for event in within]
        found.sort(key=lambda event: (event.first_frame, event.tracks))
        return [replace(event, number=number) for number, event in enumerate(found, start=1)]

    def objects(
        self, objects: Iterable[Observation], events: Sequence[SceneEvent]
    ) -> list[Observation]:
        """Return the objects that count and are of one of these events."""
        spans: dict[int, list[SceneEvent]] = {}
        for event in events:
            for track in event.tracks:
                spans.setdefault(track, []).append(event)
        return [
            seen
            for seen in objects
            if self.counted.takes(seen)
            and any(
                event.first_frame <= seen.frame <= event.last_frame
                for event in spans.get(seen.track, ())
            )
        ]


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
