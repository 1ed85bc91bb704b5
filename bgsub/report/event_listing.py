"""List events of objects and frames: for people, spreadsheets, programs and shell scripts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from bgsub.report import tables
from bgsub.report.listings import as_ffmpeg
from bgsub.tracking.event_files import EVENT_COLUMNS, event_row
from bgsub.tracking.events import SceneEvent
from bgsub.video.timecode import format_time

_TRACKS_SHOWN = 8


def as_table(events: Sequence[SceneEvent]) -> str:
    """Give columns for people; nothing at all where there is no event."""
    if not events:
        return ""
    columns = ("event", "kind", "first", "last", "start", "end", "peak", "area", "tracks")
    rows = [
        {
            "event": event.number,
            "kind": event.kind,
            "first": event.first_frame,
            "last": event.last_frame,
            "start": format_time(event.start_s),
            "end": format_time(event.end_s),
            "peak": event.peak_frame,
            "area": round(event.area),
            "tracks": _first_of(event.tracks),
        }
        for event in events
    ]
    return tables.as_table(columns, rows)


def _first_of(tracks: Sequence[int]) -> str:
    """Name the first tracks of an event; of a busy street there may be hundreds."""
    shown = " ".join(map(str, tracks[:_TRACKS_SHOWN]))
    more = len(tracks) - _TRACKS_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def as_csv(events: Sequence[SceneEvent]) -> str:
    """Give one line an event below a header, as events.csv has them."""
    return tables.csv_text(EVENT_COLUMNS, map(event_row, events))


def list_events(form: str, events: Sequence[SceneEvent], name: str) -> str:
    """Give events in one of the forms "table", "csv", "json", "frames" and "ffmpeg"."""
    forms: dict[str, Callable[[], str]] = {
        "table": lambda: as_table(events),
        "csv": lambda: as_csv(events),
        "json": lambda: _as_json(events, name),
        "frames": lambda: "".join(
            f"{number}\n"
            for event in events
            for number in range(event.first_frame, event.last_frame + 1)
        ),
        "ffmpeg": lambda: as_ffmpeg([(event.first_frame, event.last_frame) for event in events]),
    }
    return forms[form]()


def _as_json(events: Sequence[SceneEvent], name: str) -> str:
    listing = {"schema_version": 1, "input": name, "events": [e.to_dict() for e in events]}
    return json.dumps(listing, indent=2, allow_nan=False) + "\n"
