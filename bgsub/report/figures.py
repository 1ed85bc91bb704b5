"""Share colours, marks and the way to a file among the figures."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, Literal

import matplotlib as mpl
import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

PlotFormat = Literal["png", "svg"]

# Okabe and Ito's colours, which people with any colour vision tell apart. Their yellow is too
# light for a line on white.
BLUE, VERMILLION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK, GREY = "#E69F00", "#56B4E9", "#000000", "#767676"
COLORS = (VERMILLION, BLUE, GREEN, PURPLE, ORANGE, SKY, BLACK)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p")

METHOD_COLORS = {
    "trpca": VERMILLION,
    "pca": BLACK,
    "orpca": BLUE,
    "outlier-pursuit": GREEN,
    "hrpca": ORANGE,
    "pcp": PURPLE,
    "robust-subspace": SKY,
    "online": GREY,
}
METHOD_MARKERS = dict(zip(METHOD_COLORS, _MARKERS, strict=True))

_DPI = 100


def render(
    draw: Callable[[Figure], None],
    size: tuple[float, float],
    plot_format: PlotFormat = "png",
    *,
    letters: int = 10,
) -> bytes:
    """Draw a figure, and give the file's bytes; needs no display.

    Parameters
    ----------
    draw : callable
        Draws on the figure that it is given.
    size : tuple of float
        Width and height in inches, of 100 pixels each.
    letters : int
        Their size in points, where `draw` does not say another.
    """
    with mpl.rc_context():
        # The user's own style might not leave a figure readable.
        mpl.style.use("default")
        mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "bgsub", "font.size": letters})
        metadata: dict[str, Any] = {"Date": None} if plot_format == "svg" else {"Software": "bgsub"}
        figure = Figure(figsize=size, dpi=_DPI, layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure)
        file = io.BytesIO()
        figure.savefig(file, format=plot_format, dpi=_DPI, metadata=metadata)
    return file.getvalue()


def tidy(axes: Axes) -> None:
    """Leave the lines that a reader needs."""
    axes.grid(axis="y", color="#d9d9d9", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
