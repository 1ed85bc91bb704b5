"""Draw spectrum.png: how strong a scene's components are, and the rule that chooses the rank."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, get_font
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from bgsub.errors import cannot_write
from bgsub.report.figures import BLUE, GREY, VERMILLION, PlotFormat, render, tidy
from bgsub.robustpca.rank import RankChoice

_SIZE = (9.0, 4.0)
_TITLE_LETTERS = 60


def plot_spectrum(
    choice: RankChoice,
    used: int,
    path: Path,
    *,
    title: str,
    plot_format: PlotFormat = "png",
    parts: Sequence[RankChoice] = (),
) -> None:
    """Draw the spectrum of the inliers, and the sum that the rank maximises, over the rank.

    Needs no display.

    Parameters
    ----------
    used : int
        The k of the fit, which is that of the choice unless another was asked for.
    path : Path
        Is replaced if it exists.
    title : str
        What the frames are of.
    plot_format : {"png", "svg"}
        A PNG file has 900 × 400 pixels.
    parts : sequence of RankChoice
        Of the segments of a film, whose curves are drawn as the area that they fill.
    """
    data = render(lambda figure: _draw(figure, choice, used, title, parts), _SIZE, plot_format)
    try:
        path.write_bytes(data)
    except OSError as error:
        raise cannot_write(path, error) from error


def _draw(
    figure: Figure, choice: RankChoice, used: int, title: str, parts: Sequence[RankChoice]
) -> None:
    left, right = figure.subplots(1, 2)
    _fill(left, 1, [part.spectrum for part in parts])
    _fill(right, 1, [_charged(part) for part in parts])
    components = np.arange(1, choice.spectrum.size + 1)
    _draw_curve(left, components, choice.spectrum, choice, used)
    left.set_xlabel("component")
    left.set_ylabel("standard deviation per pixel, grey levels")
    left.set_title("Spectrum of the inliers", fontsize=10)
    _draw_rule(right, choice, used)
    name = title if len(title) <= _TITLE_LETTERS else title[: _TITLE_LETTERS - 1] + "…"
    words = f"{name}: rank {choice.rank} chosen"
    if used != choice.rank:
        words += f", {used} used"
    # Matplotlib would warn of every letter that its font does not have.
    known = get_font(findfont("DejaVu Sans")).get_charmap()
    words = "".join(letter if ord(letter) in known else "\N{WHITE SQUARE}" for letter in words)
    figure.suptitle(words, fontsize=11, parse_math=False)


def _draw_rule(axes: Axes, choice: RankChoice, used: int) -> None:
    """Draw the sum whose highest point is the rank, and what is gained without the charge."""
    gains = 100.0 * np.concatenate([[0.0], np.cumsum(choice.gains)])
    ranks = np.arange(gains.size)
    if choice.gains.size:
        axes.plot(
            ranks, gains, color=GREY, linewidth=1.0, linestyle=":", label="without the charge"
        )
    _draw_curve(axes, ranks[1:], _charged(choice), choice, used)
    axes.set_ylim(auto=True)
    axes.set_xlabel("components")
    axes.set_ylabel("less log error of held-out pixels, %")
    share = f"{100.0 * choice.least_gain:g} %"
    axes.set_title(f"Sum of gains less {share} a component: highest wins", fontsize=10)


def _charged(choice: RankChoice) -> NDArray[np.float64]:
    """Return the sum that the rank maximises, in per cent, for 1, 2, … components."""
    charge = choice.least_gain * np.arange(1, choice.gains.size + 1)
    return np.asarray(100.0 * (np.cumsum(choice.gains) - charge))


def _fill(axes: Axes, first: int, curves: Sequence[NDArray[np.float64]]) -> None:
    """Fill the area between the lowest and the highest of some curves, as far as all reach."""
    shortest = min((curve.size for curve in curves), default=0)
    if shortest:
        values = np.stack([curve[:shortest] for curve in curves])
        ranks = np.arange(first, first + shortest)
        lowest, highest = values.min(axis=0), values.max(axis=0)
        label = f"lowest to highest of {len(curves)} segments"
        axes.fill_between(ranks, lowest, highest, color=BLUE, alpha=0.2, linewidth=0, label=label)


def _draw_curve(
    axes: Axes, ranks: np.ndarray, values: np.ndarray, choice: RankChoice, used: int
) -> None:
    tidy(axes)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=11, integer=True, min_n_ticks=1))
    if values.size == 0:
        axes.text(0.5, 0.5, "too little to choose from", transform=axes.transAxes, ha="center")
        return
    axes.plot(ranks, values, color=BLUE, marker="o", markersize=4, linewidth=1.0)
    if values.min() > 0.0 and values.max() > 20.0 * values.min():
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        axes.set_ylim(bottom=0.0)
    axes.axvline(choice.rank, color=VERMILLION, linewidth=1.2, label=f"chosen: {choice.rank}")
    if used != choice.rank:
        axes.axvline(used, color=GREY, linewidth=1.2, linestyle="--", label=f"used: {used}")
    # The best place would be looked for among all corners of an area, which takes long.
    axes.legend(frameon=False, loc="center right" if axes.collections else "best")
