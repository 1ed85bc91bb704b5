"""Draw figures as files: the errors of frames, and the spectrum by which a rank was chosen."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import matplotlib as mpl
import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, get_font
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter
from numpy.typing import NDArray

from bgsub.errors import plural
from bgsub.outliers.errors_table import PLACE, ErrorTable
from bgsub.outliers.events import Event, outlier_frames
from bgsub.robustpca.rank import LEAST_GAIN, RankChoice

PlotFormat = Literal["png", "svg"]

# Okabe and Ito's colours, which people with any colour vision tell apart. Their yellow is too
# light for a line on white.
BLUE, VERMILLION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK, GREY = "#E69F00", "#56B4E9", "#000000", "#767676"
_DARK, _LINE, _BORDER, _BORDER_WORDS = "#595959", "#404040", "#8a5fbf", "#5b3a8c"

_DPI = 100
_PLAIN = "{x:g}"  # ticks without powers of ten
_TITLE_LETTERS = 60  # of a name; longer ones lose their middle
_LOG_SPREAD = 6.0  # times the median: a higher error would flatten all else on a linear axis
_MAX_MARKED_FRAMES = 150  # up to which each frame has a mark
_TIME_STEPS = (
    *(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0),
    *(60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0),
)
_LABEL_DISTANCE = 0.016  # of the width of the axes
_WORDS_SIZE = (0.18, 0.17)  # of the words about a lasting change, as shares of the axes
_MOST_LINES = 40  # of borders by length alone
_TICK = 0.04  # of the height of the axes: borders by length alone, where there are more


def render(
    draw: Callable[[Figure], None],
    size: tuple[float, float],
    plot_format: PlotFormat = "png",
    *,
    letters: int = 10,
) -> bytes:
    """Return the file of a figure of so many inches, of 100 pixels each; needs no display."""
    with mpl.rc_context():
        # The user's own style might not leave a figure readable.
        mpl.style.use("default")
        mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "bgsub", "font.size": letters})
        metadata: dict[str, Any] = {"Date": None} if plot_format == "svg" else {"Software": "bgsub"}
        figure = Figure(figsize=size, dpi=_DPI, layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure)
        # Otherwise Matplotlib draws all of it once more, only to lay it out.
        if (layout := figure.get_layout_engine()) is not None:
            layout.execute(figure)
        figure.set_layout_engine(None)  # "none" leaves a place for one, and all is drawn twice
        file = io.BytesIO()
        figure.savefig(file, format=plot_format, dpi=_DPI, metadata=metadata)
    return file.getvalue()


def tidy(axes: Axes) -> None:
    """Leave the lines that a reader needs."""
    axes.grid(axis="y", color="#d9d9d9", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def shown(name: str) -> str:
    """Return a name without its middle where it is long, and with boxes for unknown letters."""
    if len(name) > _TITLE_LETTERS:
        name = f"{name[: _TITLE_LETTERS - 15]}…{name[-14:]}"
    # Matplotlib would warn of every letter that its font does not have.
    known = get_font(findfont("DejaVu Sans")).get_charmap()
    return "".join(letter if ord(letter) in known else "\N{WHITE SQUARE}" for letter in name)


@dataclass(frozen=True)
class Film:
    """A film in segments: its frames and outliers, and borders with reasons besides length."""

    frames: int
    outliers: int
    borders: Mapping[int, str]


def render_errors(
    table: ErrorTable,
    events: list[Event],
    *,
    title: str,
    plot_format: PlotFormat = "png",
    film: Film | None = None,
) -> bytes:
    """Draw the error of every frame, above its two scores, over frame number and time."""

    def draw(figure: Figure) -> None:
        panels = list(figure.subplots(2, 1, sharex=True, height_ratios=(3, 2)))
        axes, lowest = panels
        _draw_errors(axes, table, events)
        _draw_scores(lowest, table)
        # In one line the words are longer than this panel is high, and reach into the other.
        axes.set_ylabel("RMS error per pixel\n(grey levels)")
        figure.align_ylabels()
        lowest.set_xlabel("frame")
        lowest.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True, min_n_ticks=1))
        lowest.xaxis.set_major_formatter("{x:.0f}")
        for one in panels:
            tidy(one)
        _add_times(axes, table)
        _add_title(axes, title, table, film, len(events))
        if film is not None:
            _draw_borders(panels, film.borders)
        columns, size = (7, 10) if film is None else (8, 9)
        entries = [zip(*one.get_legend_handles_labels(), strict=True) for one in panels]
        handles, labels = zip(*chain.from_iterable(entries), strict=True)
        style: dict[str, Any] = {"ncols": columns, "frameon": False, "fontsize": size}
        figure.legend(handles, labels, loc="outside lower right", **style)

    return render(draw, (12.0, 5.0), plot_format, letters=11)


def draw_errors(axes: Axes, table: ErrorTable, events: list[Event], *, title: str) -> None:
    """Draw the error of every frame, its outliers and the events on axes of somebody's own."""
    _draw_errors(axes, table, events)
    axes.set_xlabel("frame")
    _add_title(axes, title, table, None, len(events))
    axes.legend(loc="best", fontsize=9)


def _draw_errors(axes: Axes, table: ErrorTable, events: list[Event]) -> None:
    """Draw the panel that both plots have: events and errors."""
    axes.set_xlim(table.frames[0] - 0.5, table.frames[-1] + 0.5)
    _set_error_axis(axes, table.rmse)
    _draw_events(axes, events)
    _draw_scene_change(axes, table)
    _draw_frames(axes, table)


def _set_error_axis(axes: Axes, rmse: NDArray[np.float64]) -> None:
    """Scale and label the axis of errors; logarithmic where a linear one would flatten them."""
    median, top = float(np.median(rmse)), float(rmse.max())
    axes.set_ylabel("RMS error per pixel (grey levels)")
    if median <= 0 or top < _LOG_SPREAD * median:
        axes.set_ylim(0.0, 1.15 * top if top > 0 else 1.0)
        return
    # One frame without any error must not stretch the axis by ten decades.
    bottom = max(float(rmse.min()), median / 10)
    axes.set_yscale("log")
    axes.set_ylim(bottom / 1.3, top * (top / bottom) ** 0.12)
    axes.yaxis.set_major_formatter(_PLAIN)
    # Of 2 to 9 between the powers of ten, 2 and 5 have a label.
    minor = FuncFormatter(lambda value, _: f"{value:g}" if f"{value:.0e}"[0] in "25" else "")
    axes.yaxis.set_minor_formatter(minor if np.log10(top / bottom) < 2.5 else NullFormatter())


def _draw_scores(axes: Axes, table: ErrorTable) -> None:
    """Draw the scores that make a frame an outlier, and their cut-off, from 1 on."""
    axes.set_yscale("log")
    axes.set_ylim(1.0, 2.0 * max(float(table.highest.max()), table.cutoff, 2.0))
    for values, color, label in (
        (table.local, GREEN, "score: a place"),
        (table.scores, BLUE, "score: the whole"),
    ):
        if values is not None:
            shown = np.maximum(values, 1.0)
            axes.plot(table.frames, shown, color=color, linewidth=1.0, label=label)
    look: dict[str, Any] = {"color": "black", "linewidth": 1.2, "linestyle": (0, (6, 3))}
    axes.axhline(table.cutoff, label=f"cut-off {table.cutoff:.3g}", **look)
    axes.set_ylabel("score")
    axes.yaxis.set_major_formatter(_PLAIN)


def _draw_frames(axes: Axes, table: ErrorTable) -> None:
    shown = np.maximum(table.rmse, axes.get_ylim()[0])
    few = table.frames.size <= _MAX_MARKED_FRAMES
    # Above the frame of the axes, where an error may be 0.
    line: dict[str, Any] = {"color": _LINE, "linewidth": 1.0, "zorder": 3, "markersize": 4}
    axes.plot(table.frames, shown, marker="o" if few else None, label="frame", **line)
    outliers, place = outlier_frames(table), np.array(table.flags) == PLACE
    style: dict[str, Any] = {"linestyle": "none", "markersize": 6 if few else 4, "zorder": 4}
    for marked, sign, color, label in (
        (outliers & ~place, "^", VERMILLION, "outlier frame"),
        (outliers & place, "v", GREEN, "outlier by a place"),
    ):
        if marked.any():
            at = table.frames[marked], shown[marked]
            axes.plot(*at, marker=sign, color=color, label=label, **style)


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
    over.tick_params(labelsize=10, colors=_DARK)
    over.xaxis.label.set_color(_DARK)
    for side in ("right", "left"):
        over.spines[side].set_visible(False)
    over.spines["top"].set_color(_DARK)


def _clock(seconds: float, step: float) -> str:
    """Write a time as short as the step between its neighbours allows.

    >>> _clock(75, 15), _clock(3.2, 0.1), _clock(7200, 600)
    ('1:15', '0:03.2', '2:00:00')
    """
    decimals = 0 if step >= 1 else int(np.ceil(-np.log10(step)))
    minutes, rest = divmod(round(seconds, decimals), 60)
    hours, minutes = divmod(int(minutes), 60)
    tail = f"{rest:0{3 + decimals if decimals else 2}.{decimals}f}"
    return f"{hours}:{minutes:02d}:{tail}" if hours else f"{minutes}:{tail}"


def _draw_events(axes: Axes, events: list[Event]) -> None:
    """Shade the events; where numbers would overlap, the higher peak keeps its own."""
    first, last = axes.get_xlim()
    labelled: list[float] = []
    for event in sorted(events, key=lambda e: -e.peak_score):
        left, right = event.first_frame - 0.5, event.last_frame + 0.5
        label = "event (numbered)" if not labelled else None
        # A hairline keeps an event visible that is narrower than a pixel.
        axes.axvspan(left, right, color=ORANGE, alpha=0.35, linewidth=0.8, label=label)
        x = ((left + right) / 2 - first) / (last - first)
        room = _LABEL_DISTANCE * (0.4 + 0.6 * len(str(event.number)))
        if any(abs(x - other) < room for other in labelled):
            continue
        labelled.append(x)
        style: dict[str, Any] = {"ha": "center", "va": "top", "fontsize": 10, "fontweight": "bold"}
        at = min(max(x, 0.008), 0.992), 0.985
        axes.text(*at, str(event.number), transform=axes.transAxes, zorder=5, **style)


def _draw_scene_change(axes: Axes, table: ErrorTable) -> None:
    """Hatch what follows a lasting change of the scene; its words hide as few frames as can be."""
    change = table.scene_change
    if change is None:
        return
    low, high = axes.get_xlim()
    left = change.first_frame - 0.5
    axes.axvspan(left, high, facecolor="#eeeeee", edgecolor="#bdbdbd", hatch="//", linewidth=0.0)
    axes.axvline(left, color=_DARK, linewidth=1.0)
    x = min(((left + high) / 2 - low) / (high - low), 1.0 - _WORDS_SIZE[0] / 2)
    points = axes.transData.transform(np.column_stack([table.frames, table.rmse]))
    inside = axes.transAxes.inverted().transform(points)
    near = inside[np.abs(inside[:, 0] - x) < _WORDS_SIZE[0] / 2, 1]
    heights = (0.3, 0.5, 0.7, 0.1)
    y = min(heights, key=lambda height: int((np.abs(near - height) < _WORDS_SIZE[1] / 2).sum()))
    text = f"from {change.first_frame} to the end\nthe scene stays different"
    box = {"facecolor": "white", "edgecolor": "#bdbdbd", "boxstyle": "round,pad=0.3"}
    style: dict[str, Any] = {"ha": "center", "va": "center", "zorder": 6, "bbox": box}
    axes.text(x, y, text, transform=axes.transAxes, **style)


def _draw_borders(panels: list[Axes], borders: Mapping[int, str]) -> None:
    """Draw where segments begin, with reasons; of many, those without one are ticks."""
    first, last = panels[0].get_xlim()
    before = -1.0
    look: dict[str, Any] = {"color": _BORDER, "linewidth": 1.0, "linestyle": (0, (2, 2))}
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0}
    style: dict[str, Any] = {"rotation": 90, "ha": "right", "va": "bottom", "fontsize": 8}
    style |= {"color": _BORDER_WORDS, "bbox": box, "parse_math": False, "zorder": 6}
    for number, (frame, reason) in enumerate(borders.items()):
        height = _TICK if len(borders) > _MOST_LINES and not reason else 1.0
        for axes in panels:
            label = "segment begins" if axes is panels[0] and not number else None
            axes.axvline(frame - 0.5, ymax=height, label=label, **look)
        x = (frame - first) / (last - first)
        if reason and x - before > _LABEL_DISTANCE:
            panels[0].text(x - 0.002, 0.03, reason, transform=panels[0].transAxes, **style)
            before = x


def _add_title(axes: Axes, title: str, table: ErrorTable, film: Film | None, events: int) -> None:
    """Write above the axes what the frames are of, and how many are outliers."""
    frames, outliers = table.frames.size, int(outlier_frames(table).sum())
    if film is not None:
        frames, outliers = film.frames, film.outliers
    verb = "are outliers" if outliers > 1 else "is an outlier"
    found = f", {plural(events, 'event')}" if events else ""
    text = f"{shown(title)}: {outliers or 'none'} of {frames} frames {verb}{found}"
    style: dict[str, Any] = {"fontsize": 12, "fontweight": "bold", "parse_math": False}
    axes.set_title(text, loc="left", pad=10, **style)


def render_spectrum(
    choice: RankChoice, used: int, *, title: str, plot_format: PlotFormat = "png"
) -> bytes:
    """Draw the inliers' spectrum and the sum that the rank maximises, and the k that is `used`."""

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        _draw_curve(left, choice.spectrum, choice.rank, used)
        left.set_xlabel("component")
        left.set_ylabel("standard deviation per pixel, grey levels")
        left.set_title("Spectrum of the inliers", fontsize=10)
        if choice.gains.size:
            gains = 100.0 * np.concatenate([[0.0], np.cumsum(choice.gains)])
            style: dict[str, Any] = {"color": GREY, "linewidth": 1.0, "linestyle": ":"}
            right.plot(np.arange(gains.size), gains, label="without the charge", **style)
        charge = LEAST_GAIN * np.arange(1, choice.gains.size + 1)
        charged = 100.0 * (np.cumsum(choice.gains) - charge)
        _draw_curve(right, charged, choice.rank, used)
        right.autoscale(axis="y")
        right.set_xlabel("components")
        right.set_ylabel("less log error of held-out pixels, %")
        share = f"{100.0 * LEAST_GAIN:g} %"
        right.set_title(f"Sum of gains less {share} a component: highest wins", fontsize=10)
        words = f"rank {choice.rank} chosen"
        words += f", {used} used" if used != choice.rank else ""
        figure.suptitle(f"{shown(title)}: {words}", fontsize=11, parse_math=False)

    return render(draw, (9.0, 4.0), plot_format)


def _draw_curve(axes: Axes, values: NDArray[np.float64], chosen: int, used: int) -> None:
    tidy(axes)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=11, integer=True, min_n_ticks=1))
    if values.size == 0:
        axes.text(0.5, 0.5, "too little to choose from", transform=axes.transAxes, ha="center")
        return
    ranks = np.arange(1, values.size + 1)
    axes.plot(ranks, values, color=BLUE, marker="o", markersize=4, linewidth=1.0)
    if values.min() > 0.0 and values.max() > 20.0 * values.min():
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(_PLAIN)
    else:
        axes.set_ylim(bottom=0.0)
    axes.axvline(chosen, color=VERMILLION, linewidth=1.2, label=f"chosen: {chosen}")
    if used != chosen:
        axes.axvline(used, color=GREY, linewidth=1.2, linestyle="--", label=f"used: {used}")
    axes.legend(frameon=False, loc="best")
