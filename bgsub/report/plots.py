"""Draw errors.png: the error of every frame, its two scores, their cut-off, and the events."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, get_font
from matplotlib.ticker import FuncFormatter, MaxNLocator

from bgsub.errors import cannot_write
from bgsub.outliers.errors_table import PLACE, ErrorTable
from bgsub.outliers.events import Event, outlier_frames
from bgsub.report.axes import GREY, add_times, cutoff_rmse, set_error_axis

PlotFormat = Literal["png", "svg"]

# Okabe and Ito's colours, which people with any colour vision tell apart.
_BLUE, _VERMILLION, _ORANGE, _GREEN = "#0072B2", "#D55E00", "#E69F00", "#009E73"
_LINE = "#404040"

_SIZE_INCHES, _DPI = (12.0, 5.0), 100

_MAX_MARKED_FRAMES = 150
_LABEL_DISTANCE = 0.016  # of the width of the axes
_TITLE_LETTERS = 60
_WORDS_SIZE = (0.18, 0.17)  # of the words about a lasting change, as shares of the axes


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
    with mpl.rc_context():
        # The user's own style might not leave the plot readable.
        mpl.style.use("default")
        mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "bgsub", "font.size": 11})
        metadata = {"Date": None} if plot_format == "svg" else {"Software": "bgsub"}
        file = io.BytesIO()
        figure = _draw(table, events, title, film)
        figure.savefig(file, format=plot_format, dpi=_DPI, metadata=metadata)
    return file.getvalue()


def draw_errors(
    axes: Axes, table: ErrorTable, events: list[Event], *, title: str, legend: bool = True
) -> None:
    """Draw the error of every frame, its outliers and the events on axes of somebody's own.

    Parameters
    ----------
    axes : matplotlib Axes
    table : ErrorTable
    events : list of Event
    title : str
    legend : bool
    """
    axes.set_xlim(table.frames[0] - 0.5, table.frames[-1] + 0.5)
    set_error_axis(axes, table)
    _draw_events(axes, events)
    _draw_scene_change(axes, table)
    _draw_frames(axes, table)
    if table.local is None:
        _draw_cutoff(axes, table)
    axes.set_xlabel("frame")
    _add_title(axes, table, events, title)
    if legend:
        axes.legend(loc="best", fontsize=9)


def _draw(table: ErrorTable, events: list[Event], title: str, film: Film | None) -> Figure:
    figure = Figure(figsize=_SIZE_INCHES, dpi=_DPI, layout="constrained")
    FigureCanvasAgg(figure)
    if table.local is None:
        axes = lowest = figure.add_subplot()
    else:
        axes, lowest = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    axes.set_xlim(table.frames[0] - 0.5, table.frames[-1] + 0.5)
    set_error_axis(axes, table)
    _draw_events(axes, events)
    _draw_scene_change(axes, table)
    _draw_frames(axes, table)
    if table.local is None:
        _draw_cutoff(axes, table)
    else:
        _draw_scores(lowest, table)
    lowest.set_xlabel("frame")
    lowest.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True, min_n_ticks=1))
    lowest.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
    for one in {axes, lowest}:
        one.grid(axis="y", color="#d9d9d9", linewidth=0.7)
        one.set_axisbelow(True)
        for side in ("top", "right"):
            one.spines[side].set_visible(False)
    add_times(axes, table)
    _add_title(axes, table, events, title, film)
    if film is not None:
        _draw_borders([axes, *([] if lowest is axes else [lowest])], film.borders)
    handles, labels = axes.get_legend_handles_labels()
    if lowest is not axes:
        more, names = lowest.get_legend_handles_labels()
        handles, labels = handles + more, labels + names
    columns, size = (7, 10) if film is None else (8, 9)
    style: dict[str, Any] = {"ncols": columns, "frameon": False, "fontsize": size}
    figure.legend(handles, labels, loc="outside lower right", **style)
    return figure


def _draw_scores(axes: Axes, table: ErrorTable) -> None:
    """Both scores that make a frame an outlier, and their cut-off, from 1 on a logarithmic axis."""
    if table.local is None:
        return
    axes.set_yscale("log")
    highest = max(float(table.highest.max()), table.cutoff)
    axes.set_ylim(1.0, 2.0 * max(highest, 2.0))
    for values, color, label in (
        (table.local, _GREEN, "score: a place"),
        (table.scores, _BLUE, "score: the whole"),
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
        color=_LINE if table.local is not None else _BLUE,
        linewidth=1.0,
        zorder=3,  # above the frame of the axes, where an error may be 0
        marker="o" if few else None,
        markersize=4,
        label="frame",
    )
    flags, before = np.array(table.flags), outlier_frames(table)
    place = before & (flags == PLACE)
    for marked, sign, color, label in (
        (before & ~place, "^", _VERMILLION, "outlier frame"),
        (place, "v", _GREEN, "outlier by a place"),
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


def _draw_events(axes: Axes, events: list[Event]) -> None:
    """Shade the events; where numbers would overlap, the higher peak keeps its own."""
    first, last = axes.get_xlim()
    labelled: list[float] = []
    for event in sorted(events, key=lambda e: -e.peak_score):
        left, right = event.first_frame - 0.5, event.last_frame + 0.5
        label = "event (numbered)" if not labelled else None
        # A hairline keeps an event visible that is narrower than a pixel.
        axes.axvspan(left, right, color=_ORANGE, alpha=0.35, linewidth=0.8, label=label)
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


def _draw_scene_change(axes: Axes, table: ErrorTable) -> None:
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


def _draw_borders(panels: list[Axes], borders: Mapping[int, str]) -> None:
    """Draw where segments begin, with the reason where it is another than the length."""
    first, last = panels[0].get_xlim()
    before = -1.0
    for number, (frame, reason) in enumerate(borders.items()):
        for axes in panels:
            label = "segment begins" if axes is panels[0] and not number else None
            axes.axvline(
                frame - 0.5, color="#8a5fbf", linewidth=1.0, linestyle=(0, (2, 2)), label=label
            )
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
                color="#5b3a8c",
                parse_math=False,
                zorder=6,
            )
            before = x


def _add_title(
    axes: Axes, table: ErrorTable, events: list[Event], title: str, film: Film | None = None
) -> None:
    n, found = table.frames.size, int(outlier_frames(table).sum())
    if film is not None:
        n, found = film.frames, film.outliers
    if len(title) > _TITLE_LETTERS:
        title = f"{title[: _TITLE_LETTERS - 15]}…{title[-14:]}"
    verb = "are outliers" if found > 1 else "is an outlier"
    what = f"{found or 'none'} of {n} frames {verb}"
    if events:
        what += f", {len(events)} event{'s' if len(events) > 1 else ''}"
    # Matplotlib would warn of every letter that its font does not have.
    known = get_font(findfont("DejaVu Sans")).get_charmap()
    title = "".join(letter if ord(letter) in known else "\N{WHITE SQUARE}" for letter in title)
    style: dict[str, Any] = {"fontsize": 12, "fontweight": "bold", "parse_math": False}
    axes.set_title(f"{title}: {what}", loc="left", pad=10, **style)
