"""Write events.csv and events.json, and read events.json."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bgsub.errors import InputError
from bgsub.tracking.detections import Box
from bgsub.tracking.events import SceneEvent

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
    box = plain["box"]
    if plain["kind"] not in {"object", "frame", "both"}:
        raise ValueError(f"kind {plain['kind']!r}")
    return SceneEvent(
        number=int(plain["number"]),
        kind=plain["kind"],
        first_frame=int(plain["first_frame"]),
        last_frame=int(plain["last_frame"]),
        start_s=float(plain["start_s"]),
        end_s=float(plain["end_s"]),
        peak_frame=int(plain["peak_frame"]),
        peak_s=float(plain["peak_s"]),
        area=float(plain["area"]),
        tracks=tuple(int(number) for number in plain["tracks"]),
        box=None if box is None else _box(box),
    )


def _box(values: Sequence[float]) -> Box:
    x, y, width, height = (float(value) for value in values)
    return x, y, width, height


def write_events(events: Sequence[SceneEvent], folder: Path) -> None:
    """Write events.csv and events.json into a folder.

    Parameters
    ----------
    events : sequence of SceneEvent
    folder : Path
    """
    plain = [event.to_dict() for event in events]
    listing = {"schema_version": 1, "events": plain}
    text = json.dumps(listing, indent=2, allow_nan=False) + "\n"
    (folder / "events.json").write_text(text, encoding="utf-8")
    with (folder / "events.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(EVENT_COLUMNS)
        writer.writerows(event_row(event) for event in events)


def event_row(event: SceneEvent) -> list[Any]:
    """Give the row of an event in events.csv."""
    box = ["", "", "", ""] if event.box is None else [f"{value:.10g}" for value in event.box]
    tracks = " ".join(str(number) for number in event.tracks)
    times = [f"{value:.10g}" for value in (event.start_s, event.end_s)]
    row = [event.number, event.kind, event.first_frame, event.last_frame, *times]
    return [*row, event.peak_frame, f"{event.area:.10g}", tracks, *box]
