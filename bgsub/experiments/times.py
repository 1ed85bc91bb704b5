"""Run times by method and number of components, with those of the paper marked as theirs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from bgsub.comparison.result import Comparison
from bgsub.report.figures import (
    GREY,
    METHOD_COLORS,
    METHOD_MARKERS,
    PlotFormat,
    render,
    tidy,
)

_SIZE = (10.0, 5.5)
_ROOM = 0.42


class Range(Protocol):
    """Seconds from the quickest to the slowest."""

    @property
    def low(self) -> float:
        """Least."""

    @property
    def high(self) -> float:
        """Most."""


def render_times(
    comparison: Comparison, paper: Mapping[str, Range], *, plot_format: PlotFormat = "png"
) -> bytes:
    """Draw the seconds of every method over k, on a logarithmic axis.

    The paper's seconds are hollow bars beside, each from the quickest to the slowest k.
    """

    def draw(figure: Figure) -> None:
        ours, theirs = figure.subplots(1, 2, sharey=True, width_ratios=(3.0, 2.0))
        for axes in (ours, theirs):
            tidy(axes)
            axes.set_yscale("log")
        _draw_ours(ours, comparison)
        _draw_theirs(theirs, comparison.methods, paper)
        ours.set_ylabel("seconds of a fit")
        ours.yaxis.set_major_locator(LogLocator(numticks=12))
        ours.yaxis.set_minor_formatter(NullFormatter())
        ours.yaxis.set_major_formatter(FuncFormatter(_seconds))
        figure.suptitle("Run time of a fit", fontsize=12, fontweight="bold")
        handles, labels = ours.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=7, frameon=False)

    return render(draw, _SIZE, plot_format)


def _seconds(value: float, _: int | None) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def _draw_ours(axes: Axes, comparison: Comparison) -> None:
    n, p = comparison.numbers.size, comparison.pixels
    name = comparison.name.replace("$", "")
    axes.set_title(
        f"bgsub, this machine\n{name if len(name) < 30 else name[:29] + '…'}: {n} frames of "
        f"{p} pixels",
        fontsize=10,
    )
    for method in comparison.methods:
        rows = [row for row in comparison.rows if row.method == method and row.seconds is not None]
        axes.plot(
            [row.k for row in rows],
            [row.seconds or 0.0 for row in rows],
            label=method,
            color=METHOD_COLORS[method],
            marker=METHOD_MARKERS[method],
            linewidth=1.6,
            markersize=7,
        )
    axes.set_xticks(sorted(comparison.ks))
    axes.set_xlabel("k")


def _draw_theirs(axes: Axes, methods: list[str], paper: Mapping[str, Range]) -> None:
    axes.set_title(
        "the paper's own figures (2014)\nother hardware, 633 frames of 20480 pixels",
        fontsize=10,
        color=GREY,
    )
    known = [method for method in methods if method in paper]
    for place, method in enumerate(known):
        low, high = paper[method].low, paper[method].high
        axes.plot(
            [place, place],
            [low, high],
            color=METHOD_COLORS[method],
            marker=METHOD_MARKERS[method],
            markerfacecolor="white",
            linestyle=(0, (2, 1.5)),
            linewidth=1.6,
            markersize=7,
        )
        text = f"{low:,.0f}" if low == high else f"{low:,.0f} to\n{high:,.0f}"
        axes.annotate(
            text, (place, low), xytext=(0, -9), textcoords="offset points", ha="center", va="top"
        )
    axes.set_xticks(range(len(known)), known, fontsize=9)
    if known:
        axes.set_xlim(-1.0 + _ROOM, len(known) - _ROOM)
    else:
        axes.set_xticks([])
        axes.text(0.5, 0.5, "none is known to us", transform=axes.transAxes, ha="center")
