"""Draw the figures of the paper's experiments, in the paper's panels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, PercentFormatter

from bgsub.report.figures import METHOD_COLORS, METHOD_MARKERS, PlotFormat, render, tidy

_TRE_FLOOR = 1e-5
# Curves with the same mark lie on top of each other where methods agree: each is shifted a little.
_SHIFT = 0.0016
_LEGEND_TITLE = "solid: told the true t\ndashed: t = ⌈n/2⌉\ndotted: takes no t\n"
_TITLE: dict[str, Any] = {"loc": "left", "fontsize": 11, "fontweight": "bold"}


class TrePoint(Protocol):
    """What a curve of tre over the share of outliers is made of."""

    @property
    def share(self) -> float:
        """Share of outliers."""

    @property
    def variant(self) -> str:
        """Name of the curve."""

    @property
    def method(self) -> str:
        """Decides the colour."""

    @property
    def t(self) -> str:
        """``true``, ``half`` or empty; decides the line."""

    @property
    def tre_mean(self) -> float:
        """Height."""

    @property
    def tre_std(self) -> float:
        """Half of the error bar."""


@dataclass(frozen=True)
class Panel:
    """Curves that share axes.

    Attributes
    ----------
    title : str
    points : sequence of TrePoint
    """

    title: str
    points: Sequence[TrePoint]


def render_tre(
    panels: Sequence[Panel],
    title: str,
    *,
    columns: int = 2,
    floor: float = _TRE_FLOOR,
    plot_format: PlotFormat = "png",
) -> bytes:
    """Draw tre over the share of outliers, a curve a variant, on logarithmic axes.

    Error bars are one standard deviation. What lies below the floor, down to 0, is drawn on it.
    """
    rows = -(-len(panels) // columns)

    def draw(figure: Figure) -> None:
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
        for axes, panel in zip(grid, panels, strict=False):
            _draw_panel(axes, panel, floor)
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        for axes in grid[max(len(panels) - columns, 0) : len(panels)]:
            axes.set_xlabel("share of outliers λ")
            axes.tick_params(labelbottom=True)
        figure.supylabel("tre (mean ± standard deviation)", fontsize=11)
        figure.suptitle(title, fontsize=12, fontweight="bold")
        handles, labels = grid[0].get_legend_handles_labels()
        figure.legend(
            handles,
            labels,
            loc="outside right center",
            frameon=False,
            handlelength=4,
            title=_LEGEND_TITLE,
            alignment="left",
        )

    return render(draw, (4.2 * columns + 2.6, 3.6 * rows + 0.6), plot_format)


def _draw_panel(axes: Axes, panel: Panel, floor: float) -> None:
    tidy(axes)
    axes.set_title(panel.title, **_TITLE)
    axes.set_yscale("log")
    names = list(dict.fromkeys(point.variant for point in panel.points))
    highest = 10 * floor
    for index, name in enumerate(names):
        points = [point for point in panel.points if point.variant == name]
        means = np.array([point.tre_mean for point in points])
        spread = np.array([point.tre_std for point in points])
        shown, low = np.maximum(means, floor), np.maximum(means - spread, floor)
        high = np.maximum(means + spread, floor)
        highest = max(highest, float(high.max()))
        axes.errorbar(
            [point.share + _SHIFT * (index - (len(names) - 1) / 2) for point in points],
            shown,
            yerr=[shown - low, high - shown],
            label=name,
            **_style(points[0]),
        )
    axes.set_ylim(floor / 1.6, max(highest * 1.5, axes.get_ylim()[1]))
    axes.yaxis.set_major_locator(LogLocator(numticks=12))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _power(value, floor)))
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))


def _power(value: float, floor: float) -> str:
    sign = r"\leq " if np.isclose(value, floor) else ""
    return f"${sign}10^{{{round(np.log10(value))}}}$"


def _style(point: TrePoint) -> dict[str, Any]:
    """Choose colour and mark by the method, line and filling by the t that it is given."""
    color = METHOD_COLORS[point.method]
    line: Any = {"true": "solid", "half": (0, (4, 2)), "": (0, (1, 1.5))}[point.t]
    if "reweighted" in point.variant or "T = n" in point.variant:
        line = (0, (6, 1.5, 1, 1.5))
    hollow = point.t != "true"
    return {
        "color": color,
        "linestyle": line,
        "linewidth": 1.6,
        "marker": METHOD_MARKERS[point.method],
        "markersize": 6,
        "markerfacecolor": "white" if hollow else color,
        "capsize": 2,
        "elinewidth": 0.9,
    }
