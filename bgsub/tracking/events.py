"""Group tracks and outlier frames into events; choose, write and read them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bgsub.outliers.events import Event
from bgsub.runtime.files import read_json, write_rows
from bgsub.tracking.detections import Box, surround
from bgsub.tracking.regions import Region
from bgsub.tracking.tracker import Observation

Kind = Literal["object", "frame", "both"]

EVENT_COLUMNS = (  # header of events.csv; tracks are parted by spaces
    *("event", "kind", "first_frame", "last_frame", "start_s", "end_s", "peak_frame"),
    *("area", "tracks", "x", "y", "width", "height"),
)


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


class EventCollector:
    """Group objects into events, frame by frame; those at most `merge_gap_s` apart are one."""

    def __init__(self, merge_gap_s: float = 1.0) -> None:
        self._gap = merge_gap_s
        self._open: SceneEvent | None = None
        self._tracks: set[int] = set()
        self._done: list[SceneEvent] = []

    def add(self, objects: Sequence[Observation]) -> None:
        """Take in the objects of the next frame."""
        if not objects:
            return
        frame, time_s = objects[0].frame, objects[0].time_s
        # Objects that have merged share a region, which counts once.
        merged = {each.area for each in objects if each.merged}
        area = sum(merged) + sum(each.area for each in objects if not each.merged)
        times = (frame, frame, time_s, time_s, frame, time_s)
        now = SceneEvent(0, "object", *times, area, box=surround(each.box for each in objects))
        before = self._open
        if before and (frame - before.last_frame <= 1 or time_s - before.end_s <= self._gap):
            self._open = _join(before, now)
        else:
            self.finish()
            self._open = now
        self._tracks.update(each.track for each in objects)

    def finish(self) -> list[SceneEvent]:
        """End the event that is going on, and return all in order of time."""
        if self._open is not None:
            tracks, number = tuple(sorted(self._tracks)), len(self._done) + 1
            self._done.append(replace(self._open, number=number, tracks=tracks))
        self._open, self._tracks = None, set()
        return self._done


def with_frame_events(objects: Sequence[SceneEvent], frames: Sequence[Event]) -> list[SceneEvent]:
    """Join events of objects with those of whole frames that overlap or bridge them in time."""
    plain = [
        SceneEvent(
            *(0, "frame", each.first_frame, each.last_frame, each.start_s, each.end_s),
            *(each.peak_frame, each.peak_time_s),
        )
        for each in frames
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


def read_events(path: Path) -> list[SceneEvent]:
    """Read events.json; raises InputError if it is something else."""
    return read_json(path, "events.json of bgsub", lambda it: [_from_dict(e) for e in it["events"]])


def _from_dict(plain: dict[str, Any]) -> SceneEvent:
    if plain["kind"] not in {"object", "frame", "both"}:
        raise ValueError(f"kind {plain['kind']!r}")
    box: Any = plain["box"] and tuple(float(value) for value in plain["box"])
    if box is not None and (len(box) != 4 or not np.isfinite(box).all()):
        raise ValueError(f"box {box!r}")
    tracks = tuple(int(number) for number in plain["tracks"])
    event = SceneEvent(**converted(SceneEvent, plain), kind=plain["kind"], tracks=tracks, box=box)
    if event.last_frame < event.first_frame:
        raise ValueError(f"frames {event.first_frame} to {event.last_frame}")
    return event


def converted(kind: type, plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return finite values of a dataclass's fields of type int and float, which may be texts."""
    types: dict[Any, Any] = {"int": int, "float": float}
    found = {f.name: types[f.type](plain[f.name]) for f in fields(kind) if f.type in types}
    for name, value in found.items():
        if not abs(value) < math.inf:
            raise ValueError(f"{name} {value}")
    return found


def write_events(events: Sequence[SceneEvent], folder: Path) -> None:
    """Write events.csv and events.json into a folder."""
    plain = [event.to_dict() for event in events]
    listing = {"schema_version": 1, "events": plain}
    text = json.dumps(listing, indent=2, allow_nan=False) + "\n"
    (folder / "events.json").write_text(text, encoding="utf-8")
    write_rows(folder / "events.csv", [EVENT_COLUMNS, *map(event_row, events)])


def event_row(event: SceneEvent) -> list[Any]:
    """Return the row of an event in events.csv."""
    start, end, area, *box = (
        f"{value:.10g}" for value in (event.start_s, event.end_s, event.area, *(event.box or ()))
    )
    row = [event.number, event.kind, event.first_frame, event.last_frame, start, end]
    return [*row, event.peak_frame, area, " ".join(map(str, event.tracks)), *(box or [""] * 4)]


@dataclass(frozen=True, kw_only=True)
class EventFilter:
    """Which objects make an event, and which events are listed.

    Areas are in pixels, `min_length` in frames. Objects whose centre is outside of `region`, or
    where `ignored` is true, (h, w), do not count. An event is a time in which anything is in sight,
    one track, or a stay in one of `regions`.
    """

    min_area: float | None = None
    max_area: float | None = None
    min_length: int = 1
    merge_gap_s: float = 1.0
    region: Region | None = None
    ignored: NDArray[np.bool_] | None = None
    by: Literal["event", "track", "region"] = "event"
    regions: tuple[Region, ...] = ()

    def takes(self, seen: Observation) -> bool:
        """Return whether an object counts."""
        if not (self.min_area or 0) <= seen.area <= (self.max_area or math.inf):
            return False
        if self.region is not None and not self.region.holds(seen.cx, seen.cy):
            return False
        if self.ignored is None:
            return True
        height, width = self.ignored.shape
        return not self.ignored[min(int(seen.cy), height - 1), min(int(seen.cx), width - 1)]

    def events(
        self, objects: Iterable[Observation], frames: Sequence[Event] = ()
    ) -> list[SceneEvent]:
        """Form events of the objects that count, in order of time, and join those of whole frames.

        These have no place or track, and are left out where such are chosen.
        """
        plain = replace(self, by="event")
        found: list[SceneEvent] = []
        if self.by == "track":
            whole = replace(plain, merge_gap_s=math.inf)
            tracks: dict[int, list[Observation]] = {}
            for seen in objects:
                tracks.setdefault(seen.track, []).append(seen)
            for number, track in tracks.items():
                found += [replace(event, number=number) for event in whole.events(track)]
            return sorted(found, key=lambda event: event.number)
        if self.by == "region":
            everything = list(objects)
            for region in self.regions:
                within = replace(plain, region=region).events(everything)
                found += [replace(event, region=region.name) for event in within]
            found.sort(key=lambda event: (event.first_frame, event.tracks))
        else:
            collector = EventCollector(self.merge_gap_s)
            for _, group in groupby(objects, lambda seen: seen.frame):
                collector.add([seen for seen in group if self.takes(seen)])
            listed = with_frame_events(collector.finish(), frames if self.region is None else [])
            found = [e for e in listed if e.last_frame - e.first_frame + 1 >= self.min_length]
        return [replace(event, number=number) for number, event in enumerate(found, start=1)]

    def objects(
        self, objects: Iterable[Observation], events: Sequence[SceneEvent]
    ) -> list[Observation]:
        """Return the objects that count and are of one of these events."""
        spans: dict[int, list[SceneEvent]] = {}
        for event in events:
            for track in event.tracks:
                spans.setdefault(track, []).append(event)

        def is_of_one(seen: Observation) -> bool:
            own = spans.get(seen.track, ())
            return any(each.first_frame <= seen.frame <= each.last_frame for each in own)

        return [seen for seen in objects if self.takes(seen) and is_of_one(seen)]
