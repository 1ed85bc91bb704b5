"""Write tables as text, CSV, JSON, Markdown or LaTeX: any rows, and the events of a run."""

from __future__ import annotations

import csv
import io
import itertools
import json
import textwrap
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bgsub.errors import plural
from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.events import Event, outlier_frames
from bgsub.video.selection import format_time

if TYPE_CHECKING:
    from bgsub.tracking.events import SceneEvent

Row = Mapping[str, Any]
SCHEMA_VERSION = 1  # of the JSON listings
_DIGITS = 4
_LEAST_WIDTH = 8
_TRACKS_SHOWN = 8
_LATEX = str.maketrans(
    {letter: f"\\{letter}" for letter in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"−": r"$-$", "·": r"$\cdot$", "√": r"$\surd$", "λ": r"$\lambda$", "‖": r"$\|$"}
    | {"²": r"$^2$", "³": r"$^3$"}
)


def list_rows(form: str, columns: Sequence[str], rows: Sequence[Row], **facts: Any) -> str:
    """Return rows as "table", "csv", "json" (with facts), "markdown" or "latex"; None is empty."""
    if form == "table":
        return values_text(columns, rows)
    if form == "csv":
        return csv_text(columns, ([_exact(row[name]) for name in columns] for row in rows))
    if form == "json":
        listing = {**facts, "rows": [{name: row[name] for name in columns} for row in rows]}
        return json.dumps(listing, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    cells, numbers = _cells(columns, rows)
    if form == "markdown":
        return markdown_text([columns, *cells], numbers)
    header, *lines = (
        " & ".join(cell.translate(_LATEX) for cell in line) + r" \\" for line in [columns, *cells]
    )
    tabular = "".join("r" if number else "l" for number in numbers)
    body = [rf"\begin{{tabular}}{{{tabular}}}", r"\toprule", header, r"\midrule", *lines]
    return "\n".join([*body, r"\bottomrule", r"\end{tabular}", ""])


def values_text(columns: Sequence[str], rows: Sequence[Row], *, width: int | None = None) -> str:
    """Return the columns that hold values, for people; cells wrap if a width is given."""
    empty = {None, ""}
    columns = [name for name in columns if not rows or any(row[name] not in empty for row in rows)]
    cells, numbers = _cells(columns, rows)
    down = list(zip(columns, *cells, strict=True))
    widths = [max(map(len, column)) for column in down]
    room = None if width is None else width - 2 * (len(widths) - 1)
    if room is None or sum(widths) <= room:
        return align([columns, *cells], numbers)
    words = [max(map(len, " ".join(column).split()), default=0) for column in down]
    while sum(widths) > room and max(widths) > _LEAST_WIDTH:  # words are cut last
        at = max(range(len(widths)), key=lambda i: (widths[i] > words[i], widths[i]))
        widths[at] -= 1
    blocks = []
    for row in [columns, *cells]:
        pairs = zip(row, widths, strict=True)
        texts = [textwrap.wrap(cell, most, break_on_hyphens=False) or [""] for cell, most in pairs]
        together = itertools.zip_longest(*texts, fillvalue="")
        blocks.append("".join(_aligned(parts, widths, numbers) for parts in together))
    return "\n".join(blocks)


def align(lines: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """Put cells under each other in columns, those of some columns to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(_aligned(line, widths, right) for line in lines)


def _aligned(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    columns = zip(cells, widths, right, strict=True)
    parts = (f"{cell:{'>' if to_right else '<'}{width}}" for cell, width, to_right in columns)
    return "  ".join(parts).rstrip() + "\n"


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


def _cells(columns: Sequence[str], rows: Sequence[Row]) -> tuple[list[list[str]], list[bool]]:
    """Return the texts of rows, and which columns hold numbers and nothing else."""
    are_numbers = [
        all(isinstance(row[name], (int, float)) or row[name] is None for row in rows)
        for name in columns
    ]
    return [[_short(row[name]) for name in columns] for row in rows], are_numbers


def _short(value: Any) -> str:
    """Write a value as people read it.

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


def list_events(form: str, events: list[Event], table: ErrorTable, name: str) -> str:
    """Return events of frames as "table", "csv", "json", "frames" or "ffmpeg"."""
    if form == "table":
        header = ("event", "first", "last", "start", "end", "peak", "score", "flag")
        rows = [
            (
                *(str(number) for number in (e.number, e.first_frame, e.last_frame)),
                *(format_time(e.start_s), format_time(e.end_s), str(e.peak_frame)),
                *(f"{e.peak_score:.1f}", e.flag or "-"),
            )
            for e in events
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
            "scene_change": change
            and {"first_frame": change.first_frame, "first_time_s": round(change.first_time, 6)},
            "events": [_plain(event) for event in events],
        }
        return json.dumps(listing, indent=2, allow_nan=False) + "\n"
    return _frames(form, events, table.frames.tolist())


def list_sightings(form: str, events: Sequence[SceneEvent], name: str) -> str:
    """Return events of objects as "table", "csv", "json", "frames" or "ffmpeg"."""
    if form == "table":
        found = [
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
        return values_text(list(found[0]), found) if found else ""
    if form == "csv":  # by region with its name
        # Not with the module: errors are listed without OpenCV, which objects need.
        from bgsub.tracking.events import EVENT_COLUMNS, event_row

        named = ["region"] * any(event.region is not None for event in events)
        rows = ([*event_row(event), *(event.region for _ in named)] for event in events)
        return csv_text([*EVENT_COLUMNS, *named], rows)
    if form == "json":
        listing = {"schema_version": SCHEMA_VERSION, "input": name}
        plain = {**listing, "events": [event.to_dict() for event in events]}
        return json.dumps(plain, indent=2, allow_nan=False) + "\n"
    last = max((event.last_frame for event in events), default=0)
    return _frames(form, events, range(1, last + 1))


def _frames(form: str, events: Sequence[Event | SceneEvent], numbers: Sequence[int]) -> str:
    """Return the frames of events, one a line, or a filter for ``ffmpeg -vf`` that leaves these."""
    spans = [(event.first_frame, event.last_frame) for event in events]
    if form == "frames":
        parts = (numbers[bisect_left(numbers, a) : bisect_right(numbers, b)] for a, b in spans)
        return "".join(f"{number}\n" for part in parts for number in part)
    terms = "+".join(f"between(n,{first - 1},{last - 1})" for first, last in spans)
    return f"select='{terms or 0}',setpts=N/FRAME_RATE/TB\n"


def _first_of(tracks: Sequence[int]) -> str:
    """Name the first tracks of an event; of a busy street there may be hundreds."""
    shown = " ".join(map(str, tracks[:_TRACKS_SHOWN]))
    return f"{shown} and {more} more" if (more := len(tracks) - _TRACKS_SHOWN) > 0 else shown


def _plain(event: Event) -> dict[str, int | float | str]:
    plain = asdict(event)
    for name, digits in {"start_s": 6, "end_s": 6, "peak_time_s": 6, "peak_score": 4}.items():
        plain[name] = round(plain[name], digits)
    return {"frames" if name == "n_frames" else name: value for name, value in plain.items()}


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
