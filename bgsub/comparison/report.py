"""Draw the figures of a comparison: the errors of the frames and the background by each method."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from bgsub.comparison.result import Comparison, MethodRow
from bgsub.report.figures import COLORS, GREY, PlotFormat, render, tidy

_WIDTH, _PANEL_HEIGHT = 11.0, 1.7
_STYLES = ("solid", (0, (5, 1.5)), (0, (1.5, 1)), "dashdot")
# An axis from 0 would flatten what is told apart where the errors span more than this factor.
_LOG_SPREAD = 8.0
# Least grey levels that the darkest foreground stands for: noise alone must not look like one.
_LEAST_SPAN = 40.0
_PICTURE_WIDTH, _LABEL_WIDTH = 2.0, 1.3


def render_errors(comparison: Comparison, *, plot_format: PlotFormat = "png") -> bytes:
    """Draw the error of every frame, a panel a method on one common axis of frames.

    Errors are root mean squares per pixel in grey levels. True outliers, where they are known, are
    shaded. A method without results has a panel that says why.
    """
    names = comparison.names

    def draw(figure: Figure) -> None:
        panels = figure.subplots(len(names), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for axes, name in zip(panels, names, strict=True):
            rows = [row for row in comparison.rows if row.name == name]
            _draw_panel(axes, comparison, name, rows)
        _scale(panels[0], comparison)
        for axes in panels:
            _shade_outliers(axes, comparison)
        panels[-1].set_xlabel("frame")
        panels[-1].xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True, min_n_ticks=1))
        panels[0].set_xlim(comparison.numbers[0] - 0.5, comparison.numbers[-1] + 0.5)
        figure.supylabel("RMS error per pixel (grey levels)", fontsize=11)
        what = "true outliers shaded" if comparison.labels is not None else ""
        title = f"{_name(comparison)}: reconstruction error by method"
        figure.suptitle(f"{title} ({what})" if what else title, fontsize=12, fontweight="bold")
        _legend(figure, panels[0], comparison)

    height = _PANEL_HEIGHT * len(names) + 1.3
    return render(draw, (_WIDTH, height), plot_format)


def _name(comparison: Comparison) -> str:
    name = comparison.name.replace("$", "")
    return name if len(name) <= 60 else f"{name[:45]}…{name[-14:]}"


def _line(comparison: Comparison, k: int) -> dict[str, Any]:
    index = comparison.ks.index(k)
    return {
        "color": COLORS[index % len(COLORS)],
        "linestyle": _STYLES[index // len(COLORS) % len(_STYLES)],
        "linewidth": 1.0,
    }


def _draw_panel(axes: Axes, comparison: Comparison, name: str, rows: list[MethodRow]) -> None:
    tidy(axes)
    axes.set_title(name, loc="left", fontsize=11, fontweight="bold")
    for row in rows:
        if row.errors is not None:
            rmse = np.sqrt(row.errors / comparison.pixels)
            axes.plot(comparison.numbers, rmse, **_line(comparison, row.k))
    failed = [row for row in rows if row.failed]
    if failed:
        which = "k = " + ", ".join(str(row.k) for row in failed)
        text = f"{which}: {failed[0].reason}".replace("$", "")
        text = text if len(text) <= 110 else f"{text[:109]}…"
        axes.text(0.5, 0.9, text, transform=axes.transAxes, ha="center", va="top", color=GREY)


def _scale(axes: Axes, comparison: Comparison) -> None:
    """Scale the common axis of errors, logarithmic where a linear one would flatten them."""
    errors = [row.errors for row in comparison.rows if row.errors is not None]
    rmse = np.sqrt(np.concatenate(errors) / comparison.pixels) if errors else np.ones(1)
    low, high = float(np.quantile(rmse, 0.02)), float(rmse.max())
    if low <= 0.0 or high < _LOG_SPREAD * low:
        axes.set_ylim(0.0, 1.08 * high if high > 0.0 else 1.0)
        return
    axes.set_yscale("log")
    axes.set_ylim(low / 1.3, high * 1.2)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _shade_outliers(axes: Axes, comparison: Comparison) -> None:
    if comparison.labels is None:
        return
    marked = (comparison.labels == 1).astype(np.int8)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], marked, [0]])))
    for first, stop in edges.reshape(-1, 2):
        left, right = comparison.numbers[first] - 0.5, comparison.numbers[stop - 1] + 0.5
        axes.axvspan(left, right, color="#e6e6e6", linewidth=0, zorder=0)


def _legend(figure: Figure, axes: Axes, comparison: Comparison) -> None:
    handles = [
        axes.plot([], [], label=f"k = {k}", **_line(comparison, k))[0] for k in comparison.ks
    ]
    figure.legend(
        handles=handles, loc="outside lower right", ncols=min(len(handles), 10), frameon=False
    )


def render_decomposition(comparison: Comparison, *, plot_format: PlotFormat = "png") -> bytes:
    """Draw frame, background and foreground of the chosen frames, a row a method.

    The foreground is |x − x_b|, dark where it is large, on one scale for all methods.
    """
    methods, frames = comparison.names, len(comparison.chosen)
    height, width = comparison.pictures[0].shape
    top = _span(comparison)

    def draw(figure: Figure) -> None:
        panels = figure.subplots(len(methods), 3 * frames, squeeze=False)
        for row, method in zip(panels, methods, strict=True):
            row[0].set_ylabel(method, fontsize=11, fontweight="bold")
            _draw_row(row, comparison, method, top)
        for index, number in enumerate(comparison.chosen):
            for offset, what in enumerate((f"frame {number}", "background", "foreground")):
                panels[0, 3 * index + offset].set_title(what, fontsize=11)
        title = f"{_name(comparison)}, k = {max(comparison.ks)}"
        note = f"foreground: |frame − background|, white 0, black {top:.0f} grey levels and more"
        figure.suptitle(f"{title}\n{note}", fontsize=11)

    each = _PICTURE_WIDTH * height / width
    size = (_LABEL_WIDTH + 3 * frames * _PICTURE_WIDTH, 1.0 + len(methods) * (each + 0.15))
    return render(draw, (max(size[0], 6.0), size[1]), plot_format)


def _draw_row(row: NDArray[np.object_], comparison: Comparison, method: str, top: float) -> None:
    backgrounds = comparison.backgrounds.get(method)
    for axes in row:
        axes.set_xticks([])
        axes.set_yticks([])
    for index, picture in enumerate(comparison.pictures):
        own = row[3 * index : 3 * index + 3]
        own[0].imshow(picture, cmap="gray", vmin=0, vmax=255)
        if backgrounds is None:
            for axes in own[1:]:
                axes.imshow(np.full(picture.shape, 1.0), cmap="gray", vmin=0, vmax=1)
                axes.text(0.5, 0.5, "no result", transform=axes.transAxes, ha="center", va="center")
            continue
        own[1].imshow(backgrounds[index], cmap="gray", vmin=0, vmax=255)
        difference = np.abs(picture - backgrounds[index])
        own[2].imshow(difference, cmap="gray_r", vmin=0, vmax=top)


def _span(comparison: Comparison) -> float:
    """Choose the grey levels that are black in the foreground."""
    highest = [
        float(np.quantile(np.abs(picture - own), 0.999))
        for backgrounds in comparison.backgrounds.values()
        for picture, own in zip(comparison.pictures, backgrounds, strict=True)
    ]
    return max([_LEAST_SPAN, *highest])
