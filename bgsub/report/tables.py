"""Write tables as text, CSV, JSON, Markdown or LaTeX: any rows, and the events of a run."""

from __future__ import annotations

import csv
import io
import itertools
import json
import textwrap
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bgsub.errors import plural
from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.events import Event, outlier_frames
from bgsub.tracking.events import EVENT_COLUMNS, SceneEvent, event_row
from bgsub.video.selection import format_time

Row = Mapping[str, Any]

SCHEMA_VERSION = 1
"""Of the JSON listings of events."""

_DIGITS = 4
_LEAST_WIDTH = 8
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "−": r"$-$",
        "λ": r"$\lambda$",
        "²": r"$^2$",
        "³": r"$^3$",
        "√": r"$\surd$",
        "·": r"$\cdot$",
        "‖": r"$\|$",
    }
    | {letter: f"\\{letter}" for letter in "&%$#_{}"}
)


def list_rows(form: str, columns: Sequence[str], rows: Sequence[Row], **facts: Any) -> str:
    """Return rows as "table", "csv", "json", "markdown" or "latex".

    None is an empty cell; in CSV true and false are 1 and 0, and numbers have eight digits. The
    JSON object says the facts besides its ``rows``.
    """
    if form == "table":
        return values_text(columns, rows)
    if form == "csv":
        return csv_text(columns, ([_exact(row[name]) for name in columns] for row in rows))
    if form == "json":
        listing = {**facts, "rows": [{name: row[name] for name in columns} for row in rows]}
        return json.dumps(listing, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    cells, numbers = _cells(columns, rows), _are_numbers(columns, rows)
    if form == "markdown":
        return markdown_text([columns, *cells], numbers)
    header, *lines = (
        " & ".join(cell.translate(_LATEX) for cell in line) + r" \\" for line in [columns, *cells]
    )
    tabular = "".join("r" if number else "l" for number in numbers)
    body = [rf"\begin{{tabular}}{{{tabular}}}", r"\toprule", header, r"\midrule", *lines]
    return "\n".join([*body, r"\bottomrule", r"\end{tabular}", ""])


def values_text(columns: Sequence[str], rows: Sequence[Row], *, width: int | None = None) -> str:
    """Return columns for people, numbers to the right; those without any value are left out.

    With a width, long words take several lines, with an empty one between the rows.
    """
    columns = [
        name for name in columns if not rows or any(row[name] not in {None, ""} for row in rows)
    ]
    cells, numbers = _cells(columns, rows), _are_numbers(columns, rows)
    down = list(zip(columns, *cells, strict=True))
    widths = [max(map(len, column)) for column in down]
    room = None if width is None else width - 2 * (len(widths) - 1)
    if room is None or sum(widths) <= room:
        return align([columns, *cells], numbers)
    words = [max(map(len, " ".join(column).split()), default=0) for column in down]
    widths = _narrowed(widths, words, room)
    blocks = []
    for row in [columns, *cells]:
        texts = [
            textwrap.wrap(cell, most, break_on_hyphens=False) or [""]
            for cell, most in zip(row, widths, strict=True)
        ]
        together = itertools.zip_longest(*texts, fillvalue="")
        blocks.append("".join(_aligned(parts, widths, numbers) for parts in together))
    return "\n".join(blocks)


def align(lines: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """Put cells under each other in columns, those of some columns to the right.

    Examples
    --------
    >>> print(align([("name", "n"), ("a", "10")], [False, True]), end="")
    name   n
    a     10
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(_aligned(line, widths, right) for line in lines)


def _aligned(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    parts = [
        cell.rjust(width) if to_right else cell.ljust(width)
        for cell, width, to_right in zip(cells, widths, right, strict=True)
    ]
    return "  ".join(parts).rstrip() + "\n"


def _narrowed(widths: list[int], words: list[int], room: int) -> list[int]:
    """Cut widths to one common limit, the largest with which they fit, if possible not words."""
    for floors in (words, [_LEAST_WIDTH] * len(widths)):
        for limit in range(max(widths), _LEAST_WIDTH, -1):
            pairs = zip(widths, floors, strict=True)
            cut = [min(width, max(limit, floor)) for width, floor in pairs]
            if sum(cut) <= room:
                return cut
    return [min(width, _LEAST_WIDTH) for width in widths]


def csv_text(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return one line a row below a header, the values as they are."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def markdown_text(lines: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """Return lines of cells, the first of them the header, as a table in GitHub's Markdown."""
    header, *rows = [[cell.replace("|", r"\|") for cell in line] for line in lines]
    rules = ["---:" if to_right else "---" for to_right in right]
    return "".join(f"| {' | '.join(line)} |\n" for line in (header, rules, *rows))


def _cells(columns: Sequence[str], rows: Sequence[Row]) -> list[list[str]]:
    return [[_short(row[name]) for name in columns] for row in rows]


def _short(value: Any) -> str:
    """Write a value as people read it.

    Examples
    --------
    >>> [_short(value) for value in (None, True, 7, 0.123456, 1234567.8, 2e-7, "a")]
    ['', 'yes', '7', '0.1235', '1234568', '2e-07', 'a']
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 10 ** (_DIGITS - 1) else f"{value:.{_DIGITS}g}"
    return str(value)


def _exact(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    return f"{value:.8g}" if isinstance(value, float) else value


def _are_numbers(columns: Sequence[str], rows: Sequence[Row]) -> list[bool]:
    """Find the columns that hold numbers and nothing else."""
    return [
        all(isinstance(row[name], (int, float)) or row[name] is None for row in rows)
        for name in columns
    ]


def list_events(form: str, events: list[Event], table: ErrorTable, name: str) -> str:
    """Return events of frames as "table", "csv", "json", "frames" or "ffmpeg"."""
    if form == "table":
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
        return align([header, *rows], [True] * len(header)) if rows else ""
    if form == "csv":
        names = list(_plain(Event(1, 1, 1, 0.0, 0.0, 1, 0.0, 0.0, 1)))
        return csv_text(names, (_plain(event).values() for event in events))
    if form == "json":
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
    if form == "frames":
        return _frames(events, table.frames.tolist())
    return as_ffmpeg(events)


def list_sightings(form: str, events: Sequence[SceneEvent], name: str) -> str:
    """Return events of objects as "table", "csv", "json", "frames" or "ffmpeg"."""
    if form == "table":
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
                "region": event.region,
            }
            for event in events
        ]
        return values_text((*columns, "region"), rows) if rows else ""
    if form == "csv":  # by region with its name
        if any(event.region is not None for event in events):
            named = ([*event_row(event), event.region] for event in events)
            return csv_text([*EVENT_COLUMNS, "region"], named)
        return csv_text(EVENT_COLUMNS, map(event_row, events))
    if form == "json":
        listing = {"schema_version": SCHEMA_VERSION, "input": name}
        plain = {**listing, "events": [event.to_dict() for event in events]}
        return json.dumps(plain, indent=2, allow_nan=False) + "\n"
    if form == "frames":
        last = max((event.last_frame for event in events), default=0)
        return _frames(events, range(1, last + 1))
    return as_ffmpeg(events)


def _frames(events: Sequence[Event] | Sequence[SceneEvent], numbers: Sequence[int]) -> str:
    """Return the number of every frame in an event, one a line."""
    spans = (
        numbers[bisect_left(numbers, event.first_frame) : bisect_right(numbers, event.last_frame)]
        for event in events
    )
    return "".join(f"{number}\n" for span in spans for number in span)


def as_ffmpeg(events: Sequence[Event] | Sequence[SceneEvent]) -> str:
    """Return a filter for ``ffmpeg -vf`` that leaves the frames of events and nothing else."""
    # FFmpeg counts frames from 0.
    parts = [f"between(n,{event.first_frame - 1},{event.last_frame - 1})" for event in events]
    return f"select='{'+'.join(parts) or 0}',setpts=N/FRAME_RATE/TB\n"


_TRACKS_SHOWN = 8


def _first_of(tracks: Sequence[int]) -> str:
    """Name the first tracks of an event; of a busy street there may be hundreds."""
    shown = " ".join(map(str, tracks[:_TRACKS_SHOWN]))
    more = len(tracks) - _TRACKS_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


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


def summary(events: list[Event], table: ErrorTable, name: str) -> str:
    """Return in one line what was found in an input, and how many events are listed."""
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
