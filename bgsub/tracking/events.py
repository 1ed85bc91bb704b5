"""Group tracks and outlier frames into events; choose, write and read them."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError
from bgsub.outliers.events import Event
from bgsub.tracking.detections import Box, surround
from bgsub.tracking.regions import Region
from bgsub.tracking.tracker import Observation

Kind = Literal["object", "frame", "both"]


@dataclass(frozen=True)
class SceneEvent:
    """A time in which objects were in sight, or whole frames stood out, or both.

    Attributes
    ----------
    number : int
        From 1, in order of time.
    kind : {"object", "frame", "both"}
    first_frame, last_frame : int
        Both included.
    start_s, end_s : float
    peak_frame : int
        The frame with the largest area of objects; of a frame event, that with the highest score.
    peak_s : float
    area : float
        Pixels of all objects in the peak frame; 0 for a frame event.
    tracks : tuple of int
        Their numbers.
    box : tuple of four floats, optional
        x, y, width and height around all that was seen; None for a frame event.
    region : str, optional
        Where its objects were, of events that are listed by region.
    """

    number: int
    kind: Kind
    first_frame: int
    last_frame: int
    start_s: float
    end_s: float
    peak_frame: int
    peak_s: float
    area: float = 0.0
    tracks: tuple[int, ...] = ()
    box: Box | None = None
    region: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return all values as plain JSON, without a region where none was asked for."""
        plain = asdict(self) | {"tracks": list(self.tracks), "box": self.box and list(self.box)}
        return {name: each for name, each in plain.items() if name != "region" or each is not None}


@dataclass
class _Open:
    """An event that may go on."""

    first: Observation
    last: Observation
    peak: Observation
    area: float
    box: Box
    tracks: set[int] = field(default_factory=set)


class EventCollector:
    """Group the objects of frames into events, as the frames come.

    Parameters
    ----------
    merge_gap_s : float
        Events with at most so many seconds between them become one.
    """

    def __init__(self, merge_gap_s: float = 1.0) -> None:
        self._gap = merge_gap_s
        self._open: _Open | None = None
        self._done: list[SceneEvent] = []

    def add(self, objects: Sequence[Observation]) -> None:
        """Take in the objects of the next frame."""
        if not objects:
            return
        first = objects[0]
        now = self._open
        if now is not None and not self._goes_on(now.last, first):
            self._close()
            now = None
        area = _total_area(objects)
        box = surround(each.box for each in objects)
        if now is None:
            now = self._open = _Open(first, first, first, area, box)
        elif area > now.area:
            now.peak, now.area = first, area
        now.last = first
        now.box = surround([now.box, box])
        now.tracks.update(each.track for each in objects)

    def _goes_on(self, last: Observation, first: Observation) -> bool:
        """Return whether there is no gap between two frames, or one that does not count."""
        return first.frame - last.frame <= 1 or first.time_s - last.time_s <= self._gap

    def _close(self) -> None:
        now, self._open = self._open, None
        if now is None:
            return
        frames = (now.first.frame, now.last.frame, now.first.time_s, now.last.time_s)
        peak = (now.peak.frame, now.peak.time_s, now.area)
        tracks = tuple(sorted(now.tracks))
        self._done.append(
            SceneEvent(len(self._done) + 1, "object", *frames, *peak, tracks, now.box)
        )

    def finish(self) -> list[SceneEvent]:
        """End the event that is going on, and return all in order of time."""
        self._close()
        return self._done


def with_frame_events(objects: Sequence[SceneEvent], frames: Sequence[Event]) -> list[SceneEvent]:
    """Join events of objects with those of whole frames that overlap them in time.

    They are in order of time, numbered anew; events that a frame event bridges become one.
    """
    plain = [
        SceneEvent(
            number=0,
            kind="frame",
            first_frame=event.first_frame,
            last_frame=event.last_frame,
            start_s=event.start_s,
            end_s=event.end_s,
            peak_frame=event.peak_frame,
            peak_s=event.peak_time_s,
        )
        for event in frames
    ]
    joined: list[SceneEvent] = []
    for event in sorted([*objects, *plain], key=lambda each: (each.first_frame, each.last_frame)):
        if joined and event.first_frame <= joined[-1].last_frame:
            joined[-1] = _join(joined[-1], event)
        else:
            joined.append(event)
    return [replace(event, number=number) for number, event in enumerate(joined, start=1)]


def _join(one: SceneEvent, two: SceneEvent) -> SceneEvent:
    peak = max(one, two, key=lambda each: each.area)
    last = max(one, two, key=lambda each: each.last_frame)
    boxes = [event.box for event in (one, two) if event.box is not None]
    return replace(
        one,
        kind=one.kind if one.kind == two.kind else "both",
        last_frame=last.last_frame,
        end_s=last.end_s,
        peak_frame=peak.peak_frame,
        peak_s=peak.peak_s,
        area=peak.area,
        tracks=tuple(sorted({*one.tracks, *two.tracks})),
        box=surround(boxes) if boxes else None,
    )


def _total_area(objects: Sequence[Observation]) -> float:
    """Add up areas; objects that have merged share a region, which counts once."""
    merged = {each.area for each in objects if each.merged}
    return sum(merged) + sum(each.area for each in objects if not each.merged)


EVENT_COLUMNS = (
    *("event", "kind", "first_frame", "last_frame", "start_s", "end_s", "peak_frame"),
    *("area", "tracks", "x", "y", "width", "height"),
)
"""Header of events.csv; tracks are parted by spaces."""


def read_events(path: Path) -> list[SceneEvent]:
    """Read events.json.

    Raises
    ------
    InputError
        If it is something else; says what is wrong.
    """
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        return [_from_dict(each) for each in plain["events"]]
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (KeyError, TypeError, ValueError, RecursionError, OverflowError) as error:
        raise InputError(f"{path}: is no events.json of bgsub ({error!r})") from error


def _from_dict(plain: dict[str, Any]) -> SceneEvent:
    if plain["kind"] not in {"object", "frame", "both"}:
        raise ValueError(f"kind {plain['kind']!r}")
    frames = int(plain["first_frame"]), int(plain["last_frame"])
    times = float(plain["start_s"]), float(plain["end_s"])
    peak = int(plain["peak_frame"]), float(plain["peak_s"])
    tracks = tuple(int(number) for number in plain["tracks"])
    box: Any = plain["box"] and tuple(float(value) for value in plain["box"])
    if box is not None and len(box) != 4:
        raise ValueError(f"box {box!r}")
    return SceneEvent(
        int(plain["number"]),
        plain["kind"],
        *frames,
        *times,
        *peak,
        float(plain["area"]),
        tracks,
        box,
    )


def write_events(events: Sequence[SceneEvent], folder: Path) -> None:
    """Write events.csv and events.json into a folder."""
    plain = [event.to_dict() for event in events]
    listing = {"schema_version": 1, "events": plain}
    text = json.dumps(listing, indent=2, allow_nan=False) + "\n"
    (folder / "events.json").write_text(text, encoding="utf-8")
    with (folder / "events.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(EVENT_COLUMNS)
        writer.writerows(event_row(event) for event in events)


def event_row(event: SceneEvent) -> list[Any]:
    """Return the row of an event in events.csv."""
    box = ["", "", "", ""] if event.box is None else [f"{value:.10g}" for value in event.box]
    tracks = " ".join(str(number) for number in event.tracks)
    times = [f"{value:.10g}" for value in (event.start_s, event.end_s)]
    row = [event.number, event.kind, event.first_frame, event.last_frame, *times]
    return [*row, event.peak_frame, f"{event.area:.10g}", tracks, *box]


@dataclass(frozen=True, kw_only=True)
class EventFilter:
    """Which objects make an event, and which events are listed.

    Attributes
    ----------
    min_area, max_area : float, optional
        Pixels of an object.
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
    min_length: int = 1
    merge_gap_s: float = 1.0
    region: Region | None = None
    ignored: NDArray[np.bool_] | None = None

    def takes(self, seen: Observation) -> bool:
        """Return whether an object counts."""
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

    The objects are in order of time, as objects.csv holds them. Events of whole frames have no
    place, and are left out where a region is chosen.
    """
    collector = EventCollector(chosen.merge_gap_s)
    for _, group in groupby(objects, lambda seen: seen.frame):
        collector.add([seen for seen in group if chosen.takes(seen)])
    events = with_frame_events(collector.finish(), [] if chosen.region is not None else frames)
    long = [e for e in events if e.last_frame - e.first_frame + 1 >= chosen.min_length]
    return with_frame_events(long, [])  # numbers them anew
