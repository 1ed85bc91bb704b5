"""Write a table of values as text, CSV, JSON, Markdown or LaTeX."""

from __future__ import annotations

import csv
import io
import itertools
import json
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bgsub.errors import plural
from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.events import Event, outlier_frames
from bgsub.tracking.events import EVENT_COLUMNS, SceneEvent, event_row
from bgsub.video.selection import format_time

Row = Mapping[str, Any]

_DIGITS = 4
_LEAST_WIDTH = 8
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
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


def list_rows(form: str, columns: Sequence[str], rows: Sequence[Row], **facts: Any) -> str:
    """Write rows as text, CSV, JSON, Markdown or LaTeX.

    Parameters
    ----------
    columns : sequence of str
        Keys of the rows, and the header.
    rows : sequence of mapping
        None is an empty cell.
    **facts
        What the JSON object says besides its ``rows``.
    """
    forms: dict[str, Callable[[], str]] = {
        "table": lambda: values_text(columns, rows),
        "csv": lambda: values_csv(columns, rows),
        "json": lambda: values_json(columns, rows, **facts),
        "markdown": lambda: as_markdown(columns, rows),
        "latex": lambda: _as_latex(columns, rows),
    }
    return forms[form]()


def values_text(columns: Sequence[str], rows: Sequence[Row], *, width: int | None = None) -> str:
    """Write columns for people, numbers to the right; columns without any value are left out.

    With a width, long words take several lines, with an empty one between the rows.
    """
    columns = [
        name for name in columns if not rows or any(row[name] not in {None, ""} for row in rows)
    ]
    cells = _cells(columns, rows)
    numbers = _are_numbers(columns, rows)
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    wrapped = width is not None and sum(widths) + 2 * (len(widths) - 1) > width
    if wrapped and width is not None:
        down = zip(columns, *cells, strict=True)
        words = [max(map(len, " ".join(column).split()), default=0) for column in down]
        widths = _narrowed(widths, words, width - 2 * (len(widths) - 1))
    lines: list[str] = []
    for row in [list(columns), *cells]:
        if wrapped and lines:
            lines.append("\n")
        texts = [
            textwrap.wrap(cell, most, break_on_hyphens=False) or [""]
            for cell, most in zip(row, widths, strict=True)
        ]
        together = itertools.zip_longest(*texts, fillvalue="")
        lines += [_aligned(parts, widths, numbers) for parts in together]
    return "".join(lines)


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


def values_csv(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Write CSV; true and false are 1 and 0."""
    return csv_text(columns, ([_exact(row[name]) for name in columns] for row in rows))


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return one line a row below a header, the values as they are."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def values_json(columns: Sequence[str], rows: Sequence[Row], **facts: Any) -> str:
    """Write one JSON object with a list of rows."""
    listing = {**facts, "rows": [{name: row[name] for name in columns} for row in rows]}
    return json.dumps(listing, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def as_markdown(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Write a table in GitHub's Markdown."""
    return markdown_text([columns, *_cells(columns, rows)], _are_numbers(columns, rows))


def markdown_text(lines: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """Return lines of cells, the first of them the header, as a table in Markdown."""
    header, *rows = [[cell.replace("|", r"\|") for cell in line] for line in lines]
    rules = ["---:" if to_right else "---" for to_right in right]
    return "".join(f"| {' | '.join(line)} |\n" for line in (header, rules, *rows))


def _as_latex(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Write a tabular in the style of booktabs."""
    numbers = _are_numbers(columns, rows)
    form = "".join("r" if number else "l" for number in numbers)
    lines = [rf"\begin{{tabular}}{{{form}}}", r"\toprule"]
    lines += [_latex_line(columns), r"\midrule"]
    lines += [_latex_line(row) for row in _cells(columns, rows)]
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "".join(f"{line}\n" for line in lines)


def _latex_line(cells: Sequence[str]) -> str:
    escaped = ["".join(_LATEX.get(letter, letter) for letter in cell) for cell in cells]
    return " & ".join(escaped) + r" \\"


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
    """Write a value as programs read it, with eight digits."""
    if isinstance(value, bool):
        return int(value)
    return f"{value:.8g}" if isinstance(value, float) else value


def _are_numbers(columns: Sequence[str], rows: Sequence[Row]) -> list[bool]:
    """Find the columns that hold numbers and nothing else."""
    return [
        all(isinstance(row[name], (int, float)) or row[name] is None for row in rows)
        for name in columns
    ]


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
    """Return a filter for ``ffmpeg -vf`` that leaves spans of frames and nothing else.

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


_TRACKS_SHOWN = 8


def sightings_table(events: Sequence[SceneEvent]) -> str:
    """Return columns for people; nothing at all where there is no event."""
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
            "region": event.region,
        }
        for event in events
    ]
    return values_text((*columns, "region"), rows)


def _first_of(tracks: Sequence[int]) -> str:
    """Name the first tracks of an event; of a busy street there may be hundreds."""
    shown = " ".join(map(str, tracks[:_TRACKS_SHOWN]))
    more = len(tracks) - _TRACKS_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def sightings_csv(events: Sequence[SceneEvent]) -> str:
    """Return one line an event below a header, as events.csv has them; by region with its name."""
    if any(event.region is not None for event in events):
        rows = ([*event_row(event), event.region] for event in events)
        return csv_text([*EVENT_COLUMNS, "region"], rows)
    return csv_text(EVENT_COLUMNS, map(event_row, events))


def list_sightings(form: str, events: Sequence[SceneEvent], name: str) -> str:
    """Return events in one of the forms "table", "csv", "json", "frames" and "ffmpeg"."""
    forms: dict[str, Callable[[], str]] = {
        "table": lambda: sightings_table(events),
        "csv": lambda: sightings_csv(events),
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
