"""errors.png: the error of every frame, the cut-off, and the events above it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from bgsub.background.errors_table import ErrorTable
from bgsub.background.outliers import Event
from bgsub.errors import OutputError

PlotFormat = Literal["png", "svg"]

# Okabe and Ito's colours, which people with any colour vision tell apart.
_BLUE, _VERMILLION, _YELLOW, _GREEN = "#0072B2", "#D55E00", "#E69F00", "#00624A"
_GREY = "#595959"

_SIZE_INCHES, _DPI = (12.0, 5.0), 100

# A highest error this many times the median would flatten everything else on a linear axis.
_LOG_SPREAD = 6.0
_MAX_MARKED_FRAMES = 150
_LABEL_DISTANCE = 0.016  # of the width of the axes
_TITLE_LETTERS = 60
_WORDS_SIZE = (0.18, 0.17)  # of the words about a lasting change, as shares of the axes
_TIME_STEPS = (
    *(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0),
    *(60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0),
)


def plot_errors(
    table: ErrorTable,
    events: list[Event],
    path: Path,
    *,
    title: str,
    plot_format: PlotFormat = "png",
) -> None:
    """Draw the error of every frame over frame number and time.

    The error is shown as its root mean square per pixel, in grey levels, on a logarithmic axis
    where the spread asks for it. Needs no display.

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

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    with mpl.rc_context(), warnings.catch_warnings():
        # The user's own style might not leave the plot readable.
        mpl.style.use("default")
        mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "bgsub", "font.size": 11})
        # A title in a script that the font does not have is drawn as boxes.
        warnings.filterwarnings("ignore", message="Glyph|.*missing from font")
        figure = _draw(table, events, title)
        metadata = {"Date": None} if plot_format == "svg" else {"Software": "bgsub"}
        try:
            figure.savefig(path, format=plot_format, dpi=_DPI, metadata=metadata)
        except OSError as error:
            reason = error.strerror or str(error)
            message = f"{path}: cannot be written ({reason}); check space and permissions"
            raise OutputError(message) from error


def cutoff_rmse(table: ErrorTable) -> float:
    """Root mean square error per pixel that corresponds to the cut-off, in grey levels.

    The score of a fitted frame is that of its error as if it had been left out, so no single error
    corresponds to the cut-off exactly; found from the frames just below and above it, else from a
    straight line through all. NaN if all scores are equal and none is the cut-off.
    """
    order = np.argsort(table.scores, kind="stable")
    scores, rmse, marked = table.scores[order], table.rmse[order], table.outliers[order]
    first = int(np.searchsorted(scores, table.cutoff, side="right"))
    if scores[0] == scores[-1]:
        return float("nan")
    if 0 < first < scores.size:
        level = float(np.interp(table.cutoff, scores, rmse))
    else:
        slope, intercept = np.polyfit(scores, rmse, 1)
        level = float(max(slope, 0.0) * table.cutoff + intercept)
    # The line must lie where a reader expects it of the marks, if any line can.
    below = float(rmse[~marked].max(initial=0.0))
    above = float(rmse[marked].min(initial=np.inf))
    return min(max(level, below), above) if below <= above else level


def _draw(table: ErrorTable, events: list[Event], title: str) -> Figure:
    figure = Figure(figsize=_SIZE_INCHES, dpi=_DPI, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_xlim(table.frames[0] - 0.5, table.frames[-1] + 0.5)
    _set_error_axis(axes, table)
    _draw_events(axes, events)
    _draw_scene_change(axes, table)
    _draw_frames(axes, table)
    _draw_cutoff(axes, table)
    axes.set_xlabel("frame")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True, min_n_ticks=1))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
    axes.grid(axis="y", color="#d9d9d9", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    _add_times(axes, table)
    _add_title(axes, table, events, title)
    return figure


def _set_error_axis(axes: Axes, table: ErrorTable) -> None:
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


def _draw_frames(axes: Axes, table: ErrorTable) -> None:
    bottom = axes.get_ylim()[0]
    shown = np.maximum(table.rmse, bottom)
    few = table.frames.size <= _MAX_MARKED_FRAMES
    axes.plot(
        table.frames,
        shown,
        color=_BLUE,
        linewidth=1.0,
        marker="o" if few else None,
        markersize=4,
        label="frame",
    )
    marked = table.outliers
    if marked.any():
        axes.plot(
            table.frames[marked],
            shown[marked],
            linestyle="none",
            marker="^",
            markersize=6 if few else 4,
            color=_VERMILLION,
            label="outlier frame",
        )


def _draw_cutoff(axes: Axes, table: ErrorTable) -> None:
    level = cutoff_rmse(table)
    if not axes.get_ylim()[0] < level < axes.get_ylim()[1]:
        return
    label = f"cut-off (score {table.cutoff:.3g})"
    axes.axhline(level, color="black", linewidth=1.2, linestyle=(0, (6, 3)), label=label)


def _draw_events(axes: Axes, events: list[Event]) -> None:
    """Shade the events; where numbers would overlap, the higher peak keeps its own."""
    first, last = axes.get_xlim()
    labelled: list[float] = []
    for event in sorted(events, key=lambda e: -e.peak_score):
        left, right = event.first_frame - 0.5, event.last_frame + 0.5
        label = "event (numbered)" if not labelled else None
        # A hairline keeps an event visible that is narrower than a pixel.
        axes.axvspan(left, right, color=_YELLOW, alpha=0.35, linewidth=0.8, label=label)
        x = ((left + right) / 2 - first) / (last - first)
        room = _LABEL_DISTANCE * (0.4 + 0.6 * len(str(event.number)))
        if any(abs(x - other) < room for other in labelled):
            continue
        labelled.append(x)
        axes.text(
            x,
            0.985,
            str(event.number),
            transform=axes.transAxes,
            ha="center",
            va="top",
            fontsize=10,
            fontweight="bold",
            zorder=5,
        )


def _draw_scene_change(axes: Axes, table: ErrorTable) -> None:
    change = table.scene_change
    if change is None:
        return
    left, right = change.first_frame - 0.5, axes.get_xlim()[1]
    axes.axvspan(left, right, facecolor="#eeeeee", edgecolor="#bdbdbd", hatch="//", linewidth=0.0)
    axes.axvline(left, color=_GREY, linewidth=1.0)
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
    """Height at which words hide the fewest frames, as a share of the axes."""
    points = axes.transData.transform(np.column_stack([table.frames, table.rmse]))
    inside = axes.transAxes.inverted().transform(points)
    near = inside[np.abs(inside[:, 0] - x) < _WORDS_SIZE[0] / 2, 1]
    heights = [0.3, 0.5, 0.7, 0.1]
    hidden = [int((np.abs(near - height) < _WORDS_SIZE[1] / 2).sum()) for height in heights]
    return heights[int(np.argmin(hidden))]


def _add_times(axes: Axes, table: ErrorTable) -> None:
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
    over.tick_params(labelsize=10, colors=_GREY)
    over.xaxis.label.set_color(_GREY)
    for side in ("right", "left"):
        over.spines[side].set_visible(False)
    over.spines["top"].set_color(_GREY)


def _clock(seconds: float, step: float) -> str:
    """A time as short as the step between its neighbours allows.

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


def _add_title(axes: Axes, table: ErrorTable, events: list[Event], title: str) -> None:
    n, found = table.frames.size, int(table.outliers.sum())
    if len(title) > _TITLE_LETTERS:
        title = f"{title[: _TITLE_LETTERS - 15]}…{title[-14:]}"
    what = f"{found} of {n} frames are outliers" if found else f"none of {n} frames is an outlier"
    if events:
        what += f", {len(events)} event{'s' if len(events) > 1 else ''}"
    style: dict[str, Any] = {"fontsize": 12, "fontweight": "bold", "parse_math": False}
    axes.set_title(f"{title}: {what}", loc="left", pad=10, **style)
    handles, labels = axes.get_legend_handles_labels()
    axes.figure.legend(
        handles, labels, loc="outside lower right", ncols=4, frameon=False, fontsize=10
    )
