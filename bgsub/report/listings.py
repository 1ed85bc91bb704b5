"""Write outlier events as a table, CSV, JSON, frame numbers or a filter for ffmpeg."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.events import Event, outlier_frames
from bgsub.report.tables import align, csv_text
from bgsub.video.timecode import format_time
from bgsub.wording import plural

SCHEMA_VERSION = 1
"""Of the JSON listing."""


def as_table(events: list[Event]) -> str:
    """Write columns for people; nothing at all where there is no event."""
    if not events:
        return ""
    header = ("event", "first", "last", "start", "end", "peak", "score", "flag")
    rows = [
        (
            str(event.number),
            str(event.first_frame),
            str(event.last_frame),
            format_time(event.start_s),
            format_time(event.end_s),
            str(event.peak_frame),
            f"{event.peak_score:.1f}",
            event.flag or "-",
        )
        for event in events
    ]
    return align([header, *rows], [True] * len(header))


def as_csv(events: list[Event]) -> str:
    """Write CSV: a line an event, times in seconds."""
    names = list(_plain(Event(1, 1, 1, 0.0, 0.0, 1, 0.0, 0.0, 1)))
    return csv_text(names, (list(_plain(event).values()) for event in events))


def as_json(events: list[Event], table: ErrorTable, name: str) -> str:
    """Write one JSON object: what the events are of, and a list of them."""
    change = table.scene_change
    listing = {
        "schema_version": SCHEMA_VERSION,
        "input": name,
        "frames": table.frames.size,
        "outliers": int(outlier_frames(table).sum()),
        "doubtful": int(table.doubts.sum()),
        "cutoff": table.cutoff,
        "scene_change": None
        if change is None
        else {"first_frame": change.first_frame, "first_time_s": round(change.first_time, 6)},
        "events": [_plain(event) for event in events],
    }
    return json.dumps(listing, indent=2, allow_nan=False) + "\n"


def _as_frames(events: list[Event], table: ErrorTable) -> str:
    """Write the number of every frame in an event, one a line."""
    lines = []
    for event in events:
        inside = (table.frames >= event.first_frame) & (table.frames <= event.last_frame)
        lines += [f"{number}\n" for number in table.frames[inside]]
    return "".join(lines)


def as_ffmpeg(spans: Sequence[tuple[int, int]]) -> str:
    """Give a filter for ``ffmpeg -vf`` that leaves spans of frames and nothing else.

    Examples
    --------
    >>> print(as_ffmpeg([(481, 633)]), end="")
    select='between(n,480,632)',setpts=N/FRAME_RATE/TB
    """
    # FFmpeg counts frames from 0.
    parts = [f"between(n,{first - 1},{last - 1})" for first, last in spans]
    return f"select='{'+'.join(parts) or 0}',setpts=N/FRAME_RATE/TB\n"


def list_events(form: str, events: list[Event], table: ErrorTable, name: str) -> str:
    """Write events in one of the forms "table", "csv", "json", "frames" and "ffmpeg"."""
    forms: dict[str, Callable[[], str]] = {
        "table": lambda: as_table(events),
        "csv": lambda: as_csv(events),
        "json": lambda: as_json(events, table, name),
        "frames": lambda: _as_frames(events, table),
        "ffmpeg": lambda: as_ffmpeg([(event.first_frame, event.last_frame) for event in events]),
    }
    return forms[form]()


def summary(events: list[Event], table: ErrorTable, name: str) -> str:
    """Sum up in one line what was found.

    Parameters
    ----------
    events : list of Event
        Those that are listed.
    table : ErrorTable
    name : str
        What the frames are of.
    """
    found = int(outlier_frames(table).sum())
    verb = "is an outlier" if found <= 1 else "are outliers"
    text = f"{name}: {found or 'none'} of {plural(table.frames.size, 'frame')} {verb}"
    if found:
        text += f", {plural(len(events), 'event') if events else 'but no event is left'}"
    text += f" (score above {table.cutoff:.4g})"
    if table.scene_change is not None:
        first = table.scene_change.first_frame
        text += f"; from {first} to the end the scene stays different"
    if table.doubts.any():
        doubtful = int(table.doubts.sum())
        may_be = "1 frame is" if doubtful == 1 else f"{doubtful} frames are"
        text += f"; {may_be} doubtful, after damage"
    return text


def _plain(event: Event) -> dict[str, int | float | str]:
    return {
        "number": event.number,
        "first_frame": event.first_frame,
        "last_frame": event.last_frame,
        "start_s": round(event.start_s, 6),
        "end_s": round(event.end_s, 6),
        "peak_frame": event.peak_frame,
        "peak_time_s": round(event.peak_time_s, 6),
        "peak_score": round(event.peak_score, 4),
        "frames": event.n_frames,
        "flag": event.flag,
    }
