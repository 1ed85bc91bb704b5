"""Draw run times by method and number of components, with those of the paper marked as theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from bgsub.comparison.result import Comparison
from bgsub.experiments.paper_times import PAPER_KS, PaperColumn
from bgsub.report.figures import (
    GREY,
    METHOD_COLORS,
    METHOD_MARKERS,
    PlotFormat,
    render,
    tidy,
)

_SIZE = (10.0, 6.0)
_HALF: Any = (0, (4, 2))
_OTHER: Any = (0, (6, 1.5, 1, 1.5))


def render_times(
    comparison: Comparison, paper: Mapping[str, PaperColumn], *, plot_format: PlotFormat = "png"
) -> bytes:
    """Draw the seconds of every method over k on a logarithmic axis, and the paper's beside them.

    Lines are solid for t = |T|, dashed for ⌈n/2⌉ and dash-dotted for what is neither.
    """

    def draw(figure: Figure) -> None:
        ours, theirs = figure.subplots(1, 2, sharey=True)
        for axes in (ours, theirs):
            tidy(axes)
            axes.set_yscale("log")
            axes.set_xlabel("k")
        _draw_ours(ours, comparison)
        theirs.set_title(
            "the paper's own figures (2014)\nother hardware, 633 frames of 20480 pixels",
            fontsize=10,
            color=GREY,
        )
        for name, column in paper.items():
            if name in comparison.names:
                method = next(row.method for row in comparison.rows if row.name == name)
                k, seconds = list(column.seconds), list(column.seconds.values())
                _draw_line(theirs, method, name.removeprefix(method), k, seconds, hollow=True)
        theirs.set_xticks(list(PAPER_KS))
        ours.set_ylabel("seconds of a fit")
        ours.yaxis.set_major_locator(LogLocator(numticks=12))
        ours.yaxis.set_minor_formatter(NullFormatter())
        ours.yaxis.set_major_formatter(FuncFormatter(_seconds))
        figure.suptitle("Run time of a fit", fontsize=12, fontweight="bold")
        handles, labels = ours.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)

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
    for name in comparison.names:
        rows = [row for row in comparison.rows if row.name == name and row.seconds is not None]
        if rows:
            k, seconds = [row.k for row in rows], [row.seconds or 0.0 for row in rows]
            _draw_line(axes, rows[0].method, rows[0].variant, k, seconds, label=name)
    axes.set_xticks(sorted(comparison.ks))


def _draw_line(
    axes: Axes,
    method: str,
    variant: str,
    k: Sequence[int],
    seconds: Sequence[float],
    *,
    hollow: bool = False,
    label: str = "",
) -> None:
    color = METHOD_COLORS[method]
    axes.plot(
        k,
        seconds,
        label=label,
        color=color,
        linestyle={"": "solid", "(.5)": _HALF}.get(variant, _OTHER),
        linewidth=1.6,
        marker=METHOD_MARKERS[method],
        markersize=7,
        markerfacecolor="white" if hollow else color,
    )
