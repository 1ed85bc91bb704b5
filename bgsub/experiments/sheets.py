"""Draw backgrounds and foregrounds of chosen frames by every method, at two scalings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from numpy.typing import NDArray

from bgsub.comparison.result import Comparison
from bgsub.report.figures import PlotFormat, render

_Scaling = Literal["own", "common"]

_METHODS_IN_ROW = 4
_PICTURE_WIDTH = 1.6
_BAR_HEIGHT, _TITLE_HEIGHT = 0.42, 0.5

Floats = NDArray[np.float64]


def render_sheet(
    comparison: Comparison, scaling: _Scaling, *, plot_format: PlotFormat = "png"
) -> bytes:
    """Draw the chosen frames one below the other, each with its decompositions, four in a row.

    Parameters
    ----------
    comparison : Comparison
    scaling : str
        ``own`` spreads every picture from its darkest to its brightest value, with a bar below it
        that says which; ``common`` shows all pictures on one scale.

    Notes
    -----
    The foreground is x − x_b with its sign.
    """
    height, width = comparison.pictures[0].shape
    names = comparison.names
    each = (
        _PICTURE_WIDTH * height / width + _TITLE_HEIGHT + (_BAR_HEIGHT if scaling == "own" else 0)
    )
    rows = 1 + -(-len(names) // _METHODS_IN_ROW)
    limits = _limits(comparison) if scaling == "common" else None

    def draw(figure: Figure) -> None:
        shape = (len(comparison.chosen) * rows, 2 * _METHODS_IN_ROW)
        grid = figure.subplots(*shape, squeeze=False).reshape(-1, rows, shape[1])
        for index, part in enumerate(grid):
            image = _draw_frame(part, comparison, index, limits)
        k = max(comparison.ks)
        said = "one scale for all" if limits else "each picture on its own scale, below it"
        name = comparison.name.replace("$", "")
        figure.suptitle(f"{name}, k = {k}: background and foreground x − x_b; {said}", fontsize=12)
        if limits:
            bar = figure.colorbar(image, ax=figure.axes, shrink=0.5, location="right")
            bar.set_label("grey levels")

    columns = 2 * _METHODS_IN_ROW
    size = (columns * _PICTURE_WIDTH * 1.08 + 0.8, len(comparison.chosen) * rows * each + 0.7)
    return render(draw, size, plot_format)


def _draw_frame(
    grid: NDArray[np.object_],
    comparison: Comparison,
    index: int,
    limits: tuple[float, float] | None,
) -> AxesImage:
    """Draw one frame and what every method made of it."""
    for axes in grid.ravel():
        axes.set_axis_off()
    picture = comparison.pictures[index]
    drawn = _draw(grid[0, 0], picture, f"frame {comparison.chosen[index]}", limits)
    places = iter(grid[1:].reshape(-1, 2))
    for name, (left, right) in zip(comparison.names, places, strict=False):
        backgrounds = comparison.backgrounds.get(name)
        left.set_title(name, fontsize=9, loc="left", fontweight="bold")
        if backgrounds is None:
            left.text(0.5, 0.5, "no result", transform=left.transAxes, ha="center", va="center")
            continue
        _draw(left, backgrounds[index], name, limits)
        _draw(right, picture - backgrounds[index], "foreground", limits)
    return drawn


def _draw(axes: Axes, picture: Floats, title: str, limits: tuple[float, float] | None) -> AxesImage:
    low, high = limits or (float(picture.min()), float(picture.max()))
    high = max(high, low + 1e-6)
    image = axes.imshow(picture, cmap="gray", vmin=low, vmax=high)
    weight: Any = "normal" if title == "foreground" else "bold"
    axes.set_title(title, fontsize=9, loc="left", fontweight=weight)
    if limits is None:
        bar = axes.inset_axes((0.0, -0.13, 1.0, 0.07))
        bar.imshow(
            np.linspace(0, 1, 64)[None], cmap="gray", aspect="auto", extent=(low, high, 0, 1)
        )
        bar.set_yticks([])
        digits = 0 if high - low > 10.0 else 1
        bar.set_xticks([low, high], [f"{low:.{digits}f}", f"{high:.{digits}f}"], fontsize=7)
        bar.tick_params(length=0, pad=1)
    return image


def _limits(comparison: Comparison) -> tuple[float, float]:
    """Give the lowest and the highest value of all pictures."""
    pictures = list(_pictures(comparison))
    return min(float(p.min()) for p in pictures), max(float(p.max()) for p in pictures)


def _pictures(comparison: Comparison) -> Iterator[Floats]:
    yield from comparison.pictures
    for backgrounds in comparison.backgrounds.values():
        for picture, background in zip(comparison.pictures, backgrounds, strict=True):
            yield background
            yield picture - background
