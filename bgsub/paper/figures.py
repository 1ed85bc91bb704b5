"""Draw and tabulate comparisons and experiments."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from bgsub.outliers.events import runs_of
from bgsub.paper.options import PAPER_KS, PAPER_NAMES, PAPER_TIMES, Comparison, MethodRow
from bgsub.report import plots
from bgsub.report.plots import GREY, PlotFormat, render, shown, tidy
from bgsub.robustpca.spaces import Floats

COLORS = (
    *(plots.VERMILLION, plots.BLUE, plots.GREEN, plots.PURPLE, plots.ORANGE, plots.SKY),
    plots.BLACK,
)
_LOOKS = {
    "trpca": (plots.VERMILLION, "o"),
    "pca": (plots.BLACK, "s"),
    "orpca": (plots.BLUE, "^"),
    "outlier-pursuit": (plots.GREEN, "D"),
    "hrpca": (plots.ORANGE, "v"),
    "pcp": (plots.PURPLE, "P"),
    "robust-subspace": (plots.SKY, "X"),
    "online": (GREY, "p"),
}

_WIDTH, _PANEL_HEIGHT = 11.0, 1.7
_STYLES = ("solid", (0, (5, 1.5)), (0, (1.5, 1)), "dashdot")
# An axis from 0 would flatten what is told apart where the errors span more than this factor.
_LOG_SPREAD = 8.0
# Least grey levels that the darkest foreground stands for: noise alone must not look like one.
_LEAST_SPAN = 40.0
_PICTURE_WIDTH, _LABEL_WIDTH = 2.0, 1.3
_HALF: Any = (0, (4, 2))  # lines of fits that take t = ⌈n/2⌉
_OTHER: Any = (0, (6, 1.5, 1, 1.5))  # and of other variants
_TRE_FLOOR = 1e-5  # what is less is drawn there
# Curves with the same mark lie on top of each other where methods agree: each is shifted a little.
_SHIFT = 0.0016
_LEGEND_TITLE = "solid: told the true t\ndashed: t = ⌈n/2⌉\ndotted: takes no t\n"
Point = Mapping[str, Any]  # a row of synthetic.csv or digits.csv
_METHODS_IN_ROW, _SHEET_WIDTH = 4, 1.6
_BAR_HEIGHT, _TITLE_HEIGHT = 0.42, 0.5
TIMES_COLUMNS = (  # header of times.csv. ``paper_2014_seconds`` are the paper's figures, not ours.
    *("column", "method", "k", "t", "seconds", "paper_2014_seconds", "iterations", "converged"),
    *("objective", "auc", "average_precision", "true_outliers_flagged", "note", "reason"),
)
_NOTES = {
    "trpca": "ten starts; the paper's seconds are of one",
    "hrpca": "rows are removed until k + 1 are left",
    "outlier-pursuit": "the paper's LLD",
    "robust-subspace": "the paper's RPCA, of De la Torre and Black",
}
_ROUNDING = 1e-9  # tre that is 0 but for rounding


def render_errors(comparison: Comparison, *, plot_format: PlotFormat = "png") -> bytes:
    """Draw the error of every frame, a panel a method; known true outliers are shaded."""
    names = comparison.names

    def draw(figure: Figure) -> None:
        panels = figure.subplots(len(names), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for axes, name in zip(panels, names, strict=True):
            tidy(axes)
            axes.set_title(name, loc="left", fontsize=11, fontweight="bold")
            rows = [row for row in comparison.rows if row.name == name]
            for row in rows:
                if row.errors is not None:
                    rmse = np.sqrt(row.errors / comparison.pixels)
                    axes.plot(comparison.numbers, rmse, **_line(comparison, row.k))
            if failed := [row for row in rows if row.errors is None]:
                which = "k = " + ", ".join(str(row.k) for row in failed)
                text = _plain(f"{which}: {failed[0].reason}", 110)
                axes.text(
                    0.5, 0.9, text, transform=axes.transAxes, ha="center", va="top", color=GREY
                )
        _scale(panels[0], comparison)
        spans = [] if comparison.labels is None else runs_of(comparison.labels == 1)
        for axes, (first, stop) in itertools.product(panels, spans):
            left, right = comparison.numbers[first] - 0.5, comparison.numbers[stop - 1] + 0.5
            axes.axvspan(left, right, color="#e6e6e6", linewidth=0, zorder=0)
        panels[-1].set_xlabel("frame")
        ticks = ticker.MaxNLocator(nbins=12, integer=True, min_n_ticks=1)
        panels[-1].xaxis.set_major_locator(ticks)
        panels[0].set_xlim(comparison.numbers[0] - 0.5, comparison.numbers[-1] + 0.5)
        figure.supylabel("RMS error per pixel (grey levels)", fontsize=11)
        what = "" if comparison.labels is None else " (true outliers shaded)"
        title = f"{shown(_plain(comparison.name))}: reconstruction error by method{what}"
        figure.suptitle(title, fontsize=12, fontweight="bold")
        for k in comparison.ks:
            panels[0].plot([], [], label=f"k = {k}", **_line(comparison, k))
        ncols = min(len(comparison.ks), 10)
        handles = panels[0].lines[-len(comparison.ks) :]
        figure.legend(handles=handles, loc="outside lower right", ncols=ncols, frameon=False)

    return render(draw, (_WIDTH, _PANEL_HEIGHT * len(names) + 1.3), plot_format)


def _plain(text: str, most: int | None = None) -> str:
    """Return a text that Matplotlib takes for no formula, and at most so long."""
    text = text.replace("$", "")
    return text if most is None or len(text) <= most else f"{text[: most - 1]}…"


def _line(comparison: Comparison, k: int) -> dict[str, Any]:
    index = comparison.ks.index(k)
    return {
        "color": COLORS[index % len(COLORS)],
        "linestyle": _STYLES[index // len(COLORS) % len(_STYLES)],
        "linewidth": 1.0,
    }


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
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))


def render_decomposition(comparison: Comparison, *, plot_format: PlotFormat = "png") -> bytes:
    """Draw frame, background and |foreground| of the chosen frames, a row a method."""
    methods, frames = comparison.names, len(comparison.chosen)
    height, width = comparison.pictures[0].shape
    highest = [
        float(np.quantile(np.abs(picture - own), 0.999))
        for backgrounds in comparison.backgrounds.values()
        for picture, own in zip(comparison.pictures, backgrounds, strict=True)
    ]
    top = max([_LEAST_SPAN, *highest])  # grey levels that are black in the foreground

    def draw(figure: Figure) -> None:
        panels = figure.subplots(len(methods), 3 * frames, squeeze=False)
        for row, method in zip(panels, methods, strict=True):
            row[0].set_ylabel(method, fontsize=11, fontweight="bold")
            for axes in row:
                axes.set_xticks([])
                axes.set_yticks([])
            backgrounds = comparison.backgrounds.get(method)
            for index, picture in enumerate(comparison.pictures):
                frame, left, right = row[3 * index : 3 * index + 3]
                frame.imshow(picture, cmap="gray", vmin=0, vmax=255)
                if backgrounds is None:
                    for axes in (left, right):
                        axes.imshow(np.ones(picture.shape), cmap="gray", vmin=0, vmax=1)
                        _say_no_result(axes)
                    continue
                left.imshow(backgrounds[index], cmap="gray", vmin=0, vmax=255)
                foreground = np.abs(picture - backgrounds[index])
                right.imshow(foreground, cmap="gray_r", vmin=0, vmax=top)
        for index, number in enumerate(comparison.chosen):
            for offset, what in enumerate((f"frame {number}", "background", "foreground")):
                panels[0, 3 * index + offset].set_title(what, fontsize=11)
        title = f"{shown(_plain(comparison.name))}, k = {max(comparison.ks)}"
        note = f"foreground: |frame − background|, white 0, black {top:.0f} grey levels and more"
        figure.suptitle(f"{title}\n{note}", fontsize=11)

    each = _PICTURE_WIDTH * height / width
    size = (_LABEL_WIDTH + 3 * frames * _PICTURE_WIDTH, 1.0 + len(methods) * (each + 0.15))
    return render(draw, (max(size[0], 6.0), size[1]), plot_format)


def _say_no_result(axes: Axes) -> None:
    axes.text(0.5, 0.5, "no result", transform=axes.transAxes, ha="center", va="center")


def render_tre(
    panels: Mapping[str, Sequence[Point]],
    title: str,
    *,
    columns: int = 2,
    plot_format: PlotFormat = "png",
) -> bytes:
    """Draw tre, with deviations, over the share of outliers, a panel a title, a curve a variant."""
    rows = -(-len(panels) // columns)

    def draw(figure: Figure) -> None:
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
        for axes, (name, points) in zip(grid, panels.items(), strict=False):
            axes.set_title(name, loc="left", fontsize=11, fontweight="bold")
            _draw_curves(axes, points)
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        for axes in grid[max(len(panels) - columns, 0) : len(panels)]:
            axes.set_xlabel("share of outliers λ")
            axes.tick_params(labelbottom=True)
        figure.supylabel("tre (mean ± standard deviation)", fontsize=11)
        figure.suptitle(title, fontsize=12, fontweight="bold")
        handles, labels = grid[0].get_legend_handles_labels()
        place: dict[str, Any] = {"loc": "outside right center", "alignment": "left"}
        figure.legend(handles, labels, frameon=False, handlelength=4, title=_LEGEND_TITLE, **place)

    return render(draw, (4.2 * columns + 2.6, 3.6 * rows + 0.6), plot_format)


def _draw_curves(axes: Axes, panel: Sequence[Point]) -> None:
    tidy(axes)
    axes.set_yscale("log")
    names = list(dict.fromkeys(point["variant"] for point in panel))
    highest = 10 * _TRE_FLOOR
    for index, name in enumerate(names):
        points = [point for point in panel if point["variant"] == name]
        means = np.array([point["tre_mean"] for point in points])
        spread = np.array([point["tre_std"] for point in points])
        shown, low, high = np.maximum([means, means - spread, means + spread], _TRE_FLOOR)
        highest = max(highest, float(high.max()))
        axes.errorbar(
            [point["share"] + _SHIFT * (index - (len(names) - 1) / 2) for point in points],
            shown,
            yerr=[shown - low, high - shown],
            label=name,
            **{**_style(points[0]), "markersize": 6, "capsize": 2, "elinewidth": 0.9},
        )
    axes.set_ylim(_TRE_FLOOR / 1.6, max(highest * 1.5, axes.get_ylim()[1]))
    axes.yaxis.set_major_locator(ticker.LogLocator(numticks=12))
    axes.yaxis.set_minor_formatter(ticker.NullFormatter())
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(_power))
    axes.xaxis.set_major_formatter(ticker.PercentFormatter(1.0, decimals=0))


def _power(value: float, _: int | None) -> str:
    sign = r"\leq " if np.isclose(value, _TRE_FLOOR) else ""
    return f"${sign}10^{{{round(np.log10(value))}}}$"


def _style(point: Point) -> dict[str, Any]:
    """Choose colour and mark by the method, line and filling by the t that it is given."""
    line: Any = {"true": "solid", "half": _HALF, "": (0, (1, 1.5))}[point["t"]]
    if "reweighted" in point["variant"] or "T = n" in point["variant"]:
        line = _OTHER
    return _look(point["method"], line, hollow=point["t"] != "true")


def _look(method: str, line: Any, *, hollow: bool) -> dict[str, Any]:
    color, marker = _LOOKS[method]
    look = {"color": color, "markerfacecolor": "white" if hollow else color, "marker": marker}
    return {**look, "linestyle": line, "linewidth": 1.6}


def render_sheet(
    comparison: Comparison, scaling: Literal["own", "common"], *, plot_format: PlotFormat = "png"
) -> bytes:
    """Draw the chosen frames one below the other, each with its decompositions, four in a row.

    ``own`` spreads every picture over its values, with a bar that says which; ``common`` shows all
    on one scale. The foreground is x − x_b with its sign.
    """
    height, width = comparison.pictures[0].shape
    names = comparison.names
    each = _SHEET_WIDTH * height / width + _TITLE_HEIGHT + (_BAR_HEIGHT if scaling == "own" else 0)
    rows = 1 + -(-len(names) // _METHODS_IN_ROW)
    limits = _limits(comparison) if scaling == "common" else None

    def draw(figure: Figure) -> None:
        shape = (len(comparison.chosen) * rows, 2 * _METHODS_IN_ROW)
        grid = figure.subplots(*shape, squeeze=False).reshape(-1, rows, shape[1])
        for axes in figure.axes:
            axes.set_axis_off()
        for index, (own, *others) in enumerate(grid):
            picture = comparison.pictures[index]
            image = _draw(own[0], picture, f"frame {comparison.chosen[index]}", limits)
            places = np.reshape(others, (-1, 2))
            for name, (left, right) in zip(comparison.names, places, strict=False):
                backgrounds = comparison.backgrounds.get(name)
                left.set_title(name, fontsize=9, loc="left", fontweight="bold")
                if backgrounds is None:
                    _say_no_result(left)
                    continue
                _draw(left, backgrounds[index], name, limits)
                _draw(right, picture - backgrounds[index], "foreground", limits)
        k = max(comparison.ks)
        said = "one scale for all" if limits else "each picture on its own scale, below it"
        name = _plain(comparison.name)
        figure.suptitle(f"{name}, k = {k}: background and foreground x − x_b; {said}", fontsize=12)
        if limits:
            bar = figure.colorbar(image, ax=figure.axes, shrink=0.5, location="right")
            bar.set_label("grey levels")

    columns = 2 * _METHODS_IN_ROW
    size = (columns * _SHEET_WIDTH * 1.08 + 0.8, len(comparison.chosen) * rows * each + 0.7)
    return render(draw, size, plot_format)


def _draw(axes: Axes, picture: Floats, title: str, limits: tuple[float, float] | None) -> AxesImage:
    low, high = limits or (float(picture.min()), float(picture.max()))
    high = max(high, low + 1e-6)
    image = axes.imshow(picture, cmap="gray", vmin=low, vmax=high)
    weight: Any = "normal" if title == "foreground" else "bold"
    axes.set_title(title, fontsize=9, loc="left", fontweight=weight)
    if limits is None:
        bar, ramp = axes.inset_axes((0.0, -0.13, 1.0, 0.07)), np.linspace(0, 1, 64)[None]
        bar.imshow(ramp, cmap="gray", aspect="auto", extent=(low, high, 0, 1))
        bar.set_yticks([])
        digits = 0 if high - low > 10.0 else 1
        bar.set_xticks([low, high], [f"{low:.{digits}f}", f"{high:.{digits}f}"], fontsize=7)
        bar.tick_params(length=0, pad=1)
    return image


def _limits(comparison: Comparison) -> tuple[float, float]:
    """Return the lowest and the highest value of all pictures."""
    shown = [*comparison.pictures]
    for backgrounds in comparison.backgrounds.values():
        shown += backgrounds
        shown += map(np.subtract, comparison.pictures, backgrounds)
    return min(float(p.min()) for p in shown), max(float(p.max()) for p in shown)


def render_times(comparison: Comparison, *, plot_format: PlotFormat = "png") -> bytes:
    """Draw the seconds of every method over k, and the paper's beside them."""

    def draw(figure: Figure) -> None:
        ours, theirs = figure.subplots(1, 2, sharey=True)
        for axes in (ours, theirs):
            tidy(axes)
            axes.set_yscale("log")
            axes.set_xlabel("k")
        about = f"{comparison.numbers.size} frames of {comparison.pixels} pixels"
        title = f"bgsub, this machine\n{_plain(comparison.name, 30)}: {about}"
        ours.set_title(title, fontsize=10)
        for name in comparison.names:
            rows = [row for row in comparison.rows if row.name == name]
            seconds = {row.k: row.seconds for row in rows if row.seconds is not None}
            if seconds:
                _draw_line(ours, rows[0].method, rows[0].variant, seconds, label=name)
        ours.set_xticks(sorted(comparison.ks))
        theirs.set_title(
            "the paper's own figures (2014)\nother hardware, 633 frames of 20480 pixels",
            fontsize=10,
            color=GREY,
        )
        for name, seconds in PAPER_TIMES.items():
            if name in comparison.names:
                method = next(row.method for row in comparison.rows if row.name == name)
                _draw_line(theirs, method, name.removeprefix(method), seconds, hollow=True)
        theirs.set_xticks(list(PAPER_KS))
        ours.set_ylabel("seconds of a fit")
        ours.yaxis.set_major_locator(ticker.LogLocator(numticks=12))
        ours.yaxis.set_minor_formatter(ticker.NullFormatter())
        ours.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,g}"))
        figure.suptitle("Run time of a fit", fontsize=12, fontweight="bold")
        handles, labels = ours.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)

    return render(draw, (10.0, 6.0), plot_format)


def _draw_line(
    axes: Axes,
    method: str,
    variant: str,
    seconds: Mapping[int, float],
    *,
    hollow: bool = False,
    label: str = "",
) -> None:
    look = _look(method, {"": "solid", "(.5)": _HALF}.get(variant, _OTHER), hollow=hollow)
    axes.plot(list(seconds), list(seconds.values()), label=label, markersize=7, **look)


def time_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """Make the rows of times.csv; the paper's cells are None where its table has no figure."""
    return [
        {
            **row.cells(),
            "column": _column(row),
            "paper_2014_seconds": PAPER_TIMES.get(row.name, {}).get(row.k),
            "note": _NOTES.get(row.method, ""),
        }
        for row in comparison.rows
    ]


def table_one(comparison: Comparison) -> tuple[list[str], list[dict[str, Any]]]:
    """Arrange the seconds as in the paper's Table 1: header, and rows for every k."""
    theirs = {PAPER_NAMES.get(name, name): seconds for name, seconds in PAPER_TIMES.items()}
    others = [_column(row) for row in comparison.rows if _column(row) not in theirs]
    # Where no truth is given, LLD runs with half of the frames alone: a column the paper has not.
    besides = [[name, f"{name}(.5)"] if f"{name}(.5)" in others else [name] for name in theirs]
    columns = list(dict.fromkeys([*itertools.chain(*besides), *others]))
    rows: list[dict[str, Any]] = []
    for k in comparison.ks:
        here = [row for row in comparison.rows if row.k == k]
        ours = {_column(row): row.seconds and float(f"{row.seconds:.2g}") for row in here}
        paper = {name: seconds.get(k) for name, seconds in theirs.items()}
        for whose, seconds in (("bgsub", ours), ("paper", paper)):
            rows.append({"k": k, "seconds of": whose, **dict.fromkeys(columns), **seconds})
    return ["k", "seconds of", *columns], rows


def _column(row: MethodRow) -> str:
    """Name a row's column as the paper does, or as bgsub does where the paper has none."""
    return f"{PAPER_NAMES.get(row.method, row.method)}{row.variant}"


def tre_table(
    points: Sequence[Point], panel: Sequence[str]
) -> tuple[list[str], list[dict[str, Any]]]:
    """Put the mean tre of each variant in a panel, that of these columns, into a row."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    shares = {point["share"]: f"λ = {point['share']:g}" for point in points}
    for point in points:
        cells = {name: point[name] for name in (*panel, "variant")}
        row = rows.setdefault(tuple(cells.values()), cells | dict.fromkeys(shares.values()))
        small = point["tre_mean"] < _ROUNDING
        row[shares[point["share"]]] = 0.0 if small else float(f"{point['tre_mean']:.1e}")
    return [*panel, "variant", *shares.values()], list(rows.values())
