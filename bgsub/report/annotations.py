"""Annotate the plot of errors: events, a lasting change, borders of segments, and the title."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.font_manager import findfont, get_font

from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.events import Event
from bgsub.report.axes import GREY
from bgsub.wording import plural

_LABEL_DISTANCE = 0.016  # of the width of the axes


_TITLE_LETTERS = 60
_MOST_LINES = 40
_TICK = 0.04  # of the height of the axes: borders by length alone, where there are more
_EVENT, _BORDER, _BORDER_WORDS = "#E69F00", "#8a5fbf", "#5b3a8c"


_WORDS_SIZE = (0.18, 0.17)  # of the words about a lasting change, as shares of the axes


def draw_events(axes: Axes, events: list[Event]) -> None:
    """Shade the events; where numbers would overlap, the higher peak keeps its own."""
    first, last = axes.get_xlim()
    labelled: list[float] = []
    for event in sorted(events, key=lambda e: -e.peak_score):
        left, right = event.first_frame - 0.5, event.last_frame + 0.5
        label = "event (numbered)" if not labelled else None
        # A hairline keeps an event visible that is narrower than a pixel.
        axes.axvspan(left, right, color=_EVENT, alpha=0.35, linewidth=0.8, label=label)
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


def draw_scene_change(axes: Axes, table: ErrorTable) -> None:
    """Hatch what follows a lasting change of the scene, and say from which frame on."""
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


def draw_borders(panels: list[Axes], borders: Mapping[int, str]) -> None:
    """Draw where segments begin, with the reason where it is another than the length.

    Where there are many, lines would hide the curves: those without a reason are ticks.
    """
    first, last = panels[0].get_xlim()
    before = -1.0
    are_many = len(borders) > _MOST_LINES
    for number, (frame, reason) in enumerate(borders.items()):
        for axes in panels:
            label = "segment begins" if axes is panels[0] and not number else None
            height = _TICK if are_many and not reason else 1.0
            look: dict[str, Any] = {"color": _BORDER, "linewidth": 1.0, "linestyle": (0, (2, 2))}
            axes.axvline(frame - 0.5, ymax=height, label=label, **look)
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
                color=_BORDER_WORDS,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0},
                parse_math=False,
                zorder=6,
            )
            before = x


def add_title(axes: Axes, title: str, frames: int, outliers: int, events: int) -> None:
    """Say above the axes what the frames are of, and how many are outliers."""
    if len(title) > _TITLE_LETTERS:
        title = f"{title[: _TITLE_LETTERS - 15]}…{title[-14:]}"
    verb = "are outliers" if outliers > 1 else "is an outlier"
    what = f"{outliers or 'none'} of {frames} frames {verb}"
    if events:
        what += f", {plural(events, 'event')}"
    # Matplotlib would warn of every letter that its font does not have.
    known = get_font(findfont("DejaVu Sans")).get_charmap()
    title = "".join(letter if ord(letter) in known else "\N{WHITE SQUARE}" for letter in title)
    style: dict[str, Any] = {"fontsize": 12, "fontweight": "bold", "parse_math": False}
    axes.set_title(f"{title}: {what}", loc="left", pad=10, **style)
