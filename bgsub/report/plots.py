"""Draw errors.png: the error of every frame, its two scores, their cut-off, and the events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from bgsub.errors import cannot_write
from bgsub.outliers.errors_table import PLACE, ErrorTable
from bgsub.outliers.events import Event, outlier_frames
from bgsub.report.annotations import add_title, draw_borders, draw_events, draw_scene_change
from bgsub.report.axes import add_times, cutoff_rmse, set_error_axis
from bgsub.report.figures import BLUE, GREEN, VERMILLION, PlotFormat, render, tidy

_LINE = "#404040"

_SIZE_INCHES = (12.0, 5.0)

_MAX_MARKED_FRAMES = 150


@dataclass(frozen=True)
class Film:
    """What a table of a film in segments does not say.

    Attributes
    ----------
    frames, outliers : int
        Of the film; its table may be thinned out.
    borders : mapping of int to str
        Frames at which segments begin, but the first, each with its reason; empty where that is the
        length alone.
    """

    frames: int
    outliers: int
    borders: Mapping[int, str]


def plot_errors(
    table: ErrorTable,
    events: list[Event],
    path: Path,
    *,
    title: str,
    plot_format: PlotFormat = "png",
    film: Film | None = None,
) -> None:
    """Draw the error of every frame over frame number and time.

    The error is shown as its root mean square per pixel, in grey levels, on a logarithmic axis
    where the spread asks for it, above the two scores that decide. Needs no display.

    Parameters
    ----------
    table : ErrorTable
    events : list of Event
        Are shaded and numbered.
    path : Path
        Is replaced if it exists.
    title : str
        What the frames are of.
    plot_format : {"png", "svg"}
        A PNG file has 1200 × 500 pixels.
    film : Film, optional
        Of which the table is a part, thinned out.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    data = render_errors(table, events, title=title, plot_format=plot_format, film=film)
    try:
        path.write_bytes(data)
    except OSError as error:
        raise cannot_write(path, error) from error


def render_errors(
    table: ErrorTable,
    events: list[Event],
    *,
    title: str,
    plot_format: PlotFormat = "png",
    film: Film | None = None,
) -> bytes:
    """Draw what `plot_errors` draws, and give the file's bytes."""
    draw = partial(_draw, table=table, events=events, title=title, film=film)
    return render(draw, _SIZE_INCHES, plot_format, letters=11)


def draw_errors(axes: Axes, table: ErrorTable, events: list[Event], *, title: str) -> None:
    """Draw the error of every frame, its outliers and the events on axes of somebody's own.

    Parameters
    ----------
    axes : matplotlib Axes
    table : ErrorTable
    events : list of Event
    title : str
    """
    _draw_errors(axes, table, events)
    axes.set_xlabel("frame")
    add_title(axes, title, *_counts(table), len(events))
    axes.legend(loc="best", fontsize=9)


def _draw(
    figure: Figure, *, table: ErrorTable, events: list[Event], title: str, film: Film | None
) -> None:
    if table.local is None:
        axes = lowest = figure.add_subplot()
    else:
        axes, lowest = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    _draw_errors(axes, table, events)
    if table.local is not None:
        _draw_scores(lowest, table)
        # In one line the words are longer than this panel is high, and reach into the other one.
        axes.set_ylabel("RMS error per pixel\n(grey levels)")
        figure.align_ylabels()
    lowest.set_xlabel("frame")
    lowest.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True, min_n_ticks=1))
    lowest.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
    for one in {axes, lowest}:
        tidy(one)
    add_times(axes, table)
    counts = _counts(table) if film is None else (film.frames, film.outliers)
    add_title(axes, title, *counts, len(events))
    if film is not None:
        draw_borders([axes, *([] if lowest is axes else [lowest])], film.borders)
    handles, labels = axes.get_legend_handles_labels()
    if lowest is not axes:
        more, names = lowest.get_legend_handles_labels()
        handles, labels = handles + more, labels + names
    columns, size = (7, 10) if film is None else (8, 9)
    style: dict[str, Any] = {"ncols": columns, "frameon": False, "fontsize": size}
    figure.legend(handles, labels, loc="outside lower right", **style)


def _counts(table: ErrorTable) -> tuple[int, int]:
    """Give the numbers of frames and of outliers among them."""
    return table.frames.size, int(outlier_frames(table).sum())


def _draw_errors(axes: Axes, table: ErrorTable, events: list[Event]) -> None:
    """Draw the panel that both plots have: events, errors, and the cut-off where it is one."""
    axes.set_xlim(table.frames[0] - 0.5, table.frames[-1] + 0.5)
    set_error_axis(axes, table)
    draw_events(axes, events)
    draw_scene_change(axes, table)
    _draw_frames(axes, table)
    if table.local is None:
        _draw_cutoff(axes, table)


def _draw_scores(axes: Axes, table: ErrorTable) -> None:
    """Both scores that make a frame an outlier, and their cut-off, from 1 on a logarithmic axis."""
    if table.local is None:
        return
    axes.set_yscale("log")
    highest = max(float(table.highest.max()), table.cutoff)
    axes.set_ylim(1.0, 2.0 * max(highest, 2.0))
    for values, color, label in (
        (table.local, GREEN, "score: a place"),
        (table.scores, BLUE, "score: the whole"),
    ):
        shown = np.maximum(values, 1.0)
        axes.plot(table.frames, shown, color=color, linewidth=1.0, label=label)
    label = f"cut-off {table.cutoff:.3g}"
    axes.axhline(table.cutoff, color="black", linewidth=1.2, linestyle=(0, (6, 3)), label=label)
    axes.set_ylabel("score")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _draw_frames(axes: Axes, table: ErrorTable) -> None:
    bottom = axes.get_ylim()[0]
    shown = np.maximum(table.rmse, bottom)
    few = table.frames.size <= _MAX_MARKED_FRAMES
    axes.plot(
        table.frames,
        shown,
        color=_LINE if table.local is not None else BLUE,
        linewidth=1.0,
        zorder=3,  # above the frame of the axes, where an error may be 0
        marker="o" if few else None,
        markersize=4,
        label="frame",
    )
    flags, before = np.array(table.flags), outlier_frames(table)
    place = before & (flags == PLACE)
    for marked, sign, color, label in (
        (before & ~place, "^", VERMILLION, "outlier frame"),
        (place, "v", GREEN, "outlier by a place"),
    ):
        if marked.any():
            axes.plot(
                table.frames[marked],
                shown[marked],
                linestyle="none",
                marker=sign,
                markersize=6 if few else 4,
                color=color,
                zorder=4,
                label=label,
            )


def _draw_cutoff(axes: Axes, table: ErrorTable) -> None:
    level = cutoff_rmse(table)
    if not axes.get_ylim()[0] < level < axes.get_ylim()[1]:
        return
    label = f"cut-off (score {table.cutoff:.3g})"
    axes.axhline(level, color="black", linewidth=1.2, linestyle=(0, (6, 3)), label=label)
