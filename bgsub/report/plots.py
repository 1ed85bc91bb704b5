"""Lay out the axes of the plot of errors: scale, ticks and the place of the cut-off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, get_font
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from bgsub.errors import cannot_write, plural
from bgsub.outliers.errors_table import PLACE, ErrorTable
from bgsub.outliers.events import Event, outlier_frames
from bgsub.report.figures import BLUE, GREEN, VERMILLION, PlotFormat, render, tidy

GREY = "#595959"

# A highest error this many times the median would flatten everything else on a linear axis.
_LOG_SPREAD = 6.0

_TIME_STEPS = (
    *(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0),
    *(60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0),
)


def cutoff_rmse(table: ErrorTable) -> float:
    """Root mean square error per pixel that corresponds to the cut-off, in grey levels.

    The score of a fitted frame is that of its error as if it had been left out, so no single error
    corresponds to the cut-off exactly; found from the frames just below and above it, else from a
    straight line through the lowest and the highest. NaN if all scores are equal.
    """
    order = np.argsort(table.scores, kind="stable")
    scores, rmse, marked = table.scores[order], table.rmse[order], table.outliers[order]
    first = int(np.searchsorted(scores, table.cutoff, side="right"))
    if scores[0] == scores[-1]:
        return float("nan")
    if 0 < first < scores.size:
        level = float(np.interp(table.cutoff, scores, rmse))
    else:
        slope = max((rmse[-1] - rmse[0]) / (scores[-1] - scores[0]), 0.0)
        level = float(rmse[0] + slope * (table.cutoff - scores[0]))
    # The line must lie where a reader expects it of the marks, if any line can.
    below = float(rmse[~marked].max(initial=0.0))
    above = float(rmse[marked].min(initial=np.inf))
    return min(max(level, below), above) if below <= above else level


def set_error_axis(axes: Axes, table: ErrorTable) -> None:
    """Scale and label the axis of errors; logarithmic where a linear one would flatten them."""
    rmse = table.rmse
    median, highest = float(np.median(rmse)), float(rmse.max())
    line = cutoff_rmse(table)
    top = max(highest, line if np.isfinite(line) and line < 3 * highest else 0.0)
    axes.set_ylabel("RMS error per pixel (grey levels)")
    if median <= 0 or highest < _LOG_SPREAD * median:
        axes.set_ylim(0.0, 1.15 * top if top > 0 else 1.0)
        return
    # One frame without any error must not stretch the axis by ten decades.
    bottom = max(float(rmse.min()), median / 10)
    axes.set_yscale("log")
    axes.set_ylim(bottom / 1.3, top * (top / bottom) ** 0.12)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    decades = np.log10(top / bottom)
    axes.yaxis.set_minor_formatter(
        FuncFormatter(_minor_label) if decades < 2.5 else NullFormatter()
    )


def _minor_label(value: float, _: int | None) -> str:
    """Label 2 and 5 between the powers of ten."""
    leading = f"{value:.0e}"[0]
    return f"{value:g}" if leading in "25" else ""


def add_times(axes: Axes, table: ErrorTable) -> None:
    """Mark round times on a second axis, where the timestamps say, evenly spaced or not."""
    times = np.maximum.accumulate(table.times)
    span = times[-1] - times[0]
    if span <= 0:
        return
    step = next((s for s in _TIME_STEPS if span <= 9 * s), 3600 * np.ceil(span / (9 * 3600)))
    ticks = step * np.arange(np.ceil(times[0] / step), np.floor(times[-1] / step) + 1)
    over = axes.twiny()
    over.set_xlim(axes.get_xlim())
    over.set_xticks(np.interp(ticks, times, table.frames), [_clock(t, step) for t in ticks])
    over.set_xlabel("time", fontsize=10)
    over.tick_params(labelsize=10, colors=GREY)
    over.xaxis.label.set_color(GREY)
    for side in ("right", "left"):
        over.spines[side].set_visible(False)
    over.spines["top"].set_color(GREY)


def _clock(seconds: float, step: float) -> str:
    """Write a time as short as the step between its neighbours allows.

    Examples
    --------
    >>> _clock(75, 15), _clock(3.2, 0.1), _clock(7200, 600)
    ('1:15', '0:03.2', '2:00:00')
    """
    decimals = 0 if step >= 1 else int(np.ceil(-np.log10(step)))
    minutes, rest = divmod(round(seconds, decimals), 60)
    hours, minutes = divmod(int(minutes), 60)
    tail = f"{rest:0{3 + decimals if decimals else 2}.{decimals}f}"
    return f"{hours}:{minutes:02d}:{tail}" if hours else f"{minutes}:{tail}"


_LABEL_DISTANCE = 0.016  # of the width of the axes


_TITLE_LETTERS = 60
_MOST_LINES = 40
_TICK = 0.04  # of the height of the axes: borders by length alone, where there are more
_EVENT, _BORDER, _BORDER_WORDS = "#E69F00", "#8a5fbf", "#5b3a8c"


_WORDS_SIZE = (0.18, 0.17)  # of the words about a lasting change, as shares of the axes


def draw_events(axes: Axes, events: list[Event]) -> None:
    """Shade the events; where numbers would overlap, the higher peak keeps its own."""
    first, last = axes.get_xlim()
    labelled: list[float] = []
    for event in sorted(events, key=lambda e: -e.peak_score):
        left, right = event.first_frame - 0.5, event.last_frame + 0.5
        label = "event (numbered)" if not labelled else None
        # A hairline keeps an event visible that is narrower than a pixel.
        axes.axvspan(left, right, color=_EVENT, alpha=0.35, linewidth=0.8, label=label)
        x = ((left + right) / 2 - first) / (last - first)
        room = _LABEL_DISTANCE * (0.4 + 0.6 * len(str(event.number)))
        if any(abs(x - other) < room for other in labelled):
            continue
        labelled.append(x)
        axes.text(
            min(max(x, 0.008), 0.992),
            0.985,
            str(event.number),
            transform=axes.transAxes,
            ha="center",
            va="top",
            fontsize=10,
            fontweight="bold",
            zorder=5,
        )


def draw_scene_change(axes: Axes, table: ErrorTable) -> None:
    """Hatch what follows a lasting change of the scene, and say from which frame on."""
    change = table.scene_change
    if change is None:
        return
    left, right = change.first_frame - 0.5, axes.get_xlim()[1]
    axes.axvspan(left, right, facecolor="#eeeeee", edgecolor="#bdbdbd", hatch="//", linewidth=0.0)
    axes.axvline(left, color=GREY, linewidth=1.0)
    low, high = axes.get_xlim()
    middle = ((left + right) / 2 - low) / (high - low)
    x = min(middle, 1.0 - _WORDS_SIZE[0] / 2)
    axes.text(
        x,
        _free_height(axes, table, x),
        f"from {change.first_frame} to the end\nthe scene stays different",
        transform=axes.transAxes,
        ha="center",
        va="center",
        bbox={"facecolor": "white", "edgecolor": "#bdbdbd", "boxstyle": "round,pad=0.3"},
        zorder=6,
    )


def _free_height(axes: Axes, table: ErrorTable, x: float) -> float:
    """Find the height at which words hide the fewest frames, as a share of the axes."""
    points = axes.transData.transform(np.column_stack([table.frames, table.rmse]))
    inside = axes.transAxes.inverted().transform(points)
    near = inside[np.abs(inside[:, 0] - x) < _WORDS_SIZE[0] / 2, 1]
    heights = [0.3, 0.5, 0.7, 0.1]
    hidden = [int((np.abs(near - height) < _WORDS_SIZE[1] / 2).sum()) for height in heights]
    return heights[int(np.argmin(hidden))]


def draw_borders(panels: list[Axes], borders: Mapping[int, str]) -> None:
    """Draw where segments begin, with the reason where it is another than the length.

    Where there are many, lines would hide the curves: those without a reason are ticks.
    """
    first, last = panels[0].get_xlim()
    before = -1.0
    are_many = len(borders) > _MOST_LINES
    for number, (frame, reason) in enumerate(borders.items()):
        for axes in panels:
            label = "segment begins" if axes is panels[0] and not number else None
            height = _TICK if are_many and not reason else 1.0
            look: dict[str, Any] = {"color": _BORDER, "linewidth": 1.0, "linestyle": (0, (2, 2))}
            axes.axvline(frame - 0.5, ymax=height, label=label, **look)
        x = (frame - first) / (last - first)
        if reason and x - before > _LABEL_DISTANCE:
            panels[0].text(
                x - 0.002,
                0.03,
                reason,
                transform=panels[0].transAxes,
                rotation=90,
                ha="right",
                va="bottom",
                fontsize=8,
                color=_BORDER_WORDS,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0},
                parse_math=False,
                zorder=6,
            )
            before = x


def add_title(axes: Axes, title: str, frames: int, outliers: int, events: int) -> None:
    """Say above the axes what the frames are of, and how many are outliers."""
    if len(title) > _TITLE_LETTERS:
        title = f"{title[: _TITLE_LETTERS - 15]}…{title[-14:]}"
    verb = "are outliers" if outliers > 1 else "is an outlier"
    what = f"{outliers or 'none'} of {frames} frames {verb}"
    if events:
        what += f", {plural(events, 'event')}"
    # Matplotlib would warn of every letter that its font does not have.
    known = get_font(findfont("DejaVu Sans")).get_charmap()
    title = "".join(letter if ord(letter) in known else "\N{WHITE SQUARE}" for letter in title)
    style: dict[str, Any] = {"fontsize": 12, "fontweight": "bold", "parse_math": False}
    axes.set_title(f"{title}: {what}", loc="left", pad=10, **style)


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
    """Draw the error of every frame, its outliers and the events on axes of somebody's own."""
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
    """Return the numbers of frames and of outliers among them."""
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
