"""Draw what is wrong in a mask, and precision against recall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from bgsub.evaluation.confusion import Counts, Verdict
from bgsub.evaluation.result import SequenceScore
from bgsub.evaluation.score_curve import ScoreCurve
from bgsub.report.figures import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    PlotFormat,
    render,
)

Picture = NDArray[np.uint8]

# Okabe and Ito's vermillion and sky blue, which people with any colour vision tell apart, also by
# their lightness; in OpenCV's order.
FALSE_POSITIVE, FALSE_NEGATIVE = (0, 94, 213), (233, 180, 86)
TRUE_POSITIVE, TRUE_NEGATIVE, UNSCORED = (255, 255, 255), (0, 0, 0), (96, 96, 96)

_LEGEND = (
    ("true positive", TRUE_POSITIVE),
    ("false positive", FALSE_POSITIVE),
    ("false negative", FALSE_NEGATIVE),
    ("not scored", UNSCORED),
)
_COLORS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)
_STYLES = ("solid", "dashed", "dotted", "dashdot")

_PANEL_WIDTH = 480
_LINE = 26
_FONT = cv2.FONT_HERSHEY_SIMPLEX
_GAP = 6


def draw_verdicts(verdicts: Picture, frame: Picture | None, counts: Counts, title: str) -> Picture:
    """Draw which pixels of a mask are wrong, beside the frame where it is known.

    Parameters
    ----------
    verdicts : ndarray of uint8, shape (h, w)
        Codes of `bgsub.evaluation.confusion.Verdict`.
    frame : ndarray of uint8, shape (h, w, 3), optional
        What the mask is of, in OpenCV's order.
    counts : Counts
    title : str
        ASCII.

    Returns
    -------
    ndarray of uint8, shape (H, W, 3)
        The frame on the left, on the right true positives white, false ones vermillion and false
        negatives sky blue, each pixel enlarged to a square where frames are small; below, a legend.
    """
    panels = [colored(verdicts)]
    if frame is not None and frame.shape[:2] == verdicts.shape:
        panels.insert(0, frame)
    factor = max(1, -(-_PANEL_WIDTH // verdicts.shape[1]))
    large = [np.repeat(np.repeat(panel, factor, axis=0), factor, axis=1) for panel in panels]
    gap = np.full((large[0].shape[0], _GAP, 3), 255, np.uint8)
    body = large[0] if len(large) == 1 else np.hstack([large[0], gap, large[1]])
    wrong = f"{counts.fp} false positives   {counts.fn} false negatives"
    text = f"{title}   F {_number(counts.f_measure)}   {wrong}"
    return np.vstack([_text_line(text, body.shape[1]), body, _legend(body.shape[1])])


def colored(verdicts: Picture) -> Picture:
    """Give each verdict its colour, shape (h, w, 3)."""
    palette = np.empty((6, 3), np.uint8)
    palette[Verdict.TN], palette[Verdict.TP] = TRUE_NEGATIVE, TRUE_POSITIVE
    palette[Verdict.FP], palette[Verdict.FN] = FALSE_POSITIVE, FALSE_NEGATIVE
    palette[Verdict.UNSCORED] = palette[Verdict.UNSCORED_MARKED] = UNSCORED
    return palette[verdicts]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _strip(width: int) -> Picture:
    return np.full((_LINE, width, 3), 255, np.uint8)


def _scale_for(text: str, width: int) -> float:
    """Choose the size of letters with which a text is not wider than the picture."""
    (needed, _), _ = cv2.getTextSize(text, _FONT, 0.5, 1)
    return min(0.5, 0.5 * (width - 16) / max(needed, 1))


def _text_line(text: str, width: int) -> Picture:
    line, scale = _strip(width), _scale_for(text, width)
    cv2.putText(line, text, (8, 18), _FONT, scale, (0, 0, 0), 1, cv2.LINE_AA)
    return line


def _legend(width: int) -> Picture:
    line = _strip(width)
    step = (width - 8) // len(_LEGEND)
    for place, (text, color) in enumerate(_LEGEND):
        x = 8 + place * step
        cv2.rectangle(line, (x, 7), (x + 12, 19), color, cv2.FILLED)
        cv2.rectangle(line, (x, 7), (x + 12, 19), (0, 0, 0), 1)
        scale = _scale_for(text, step - 12)
        cv2.putText(line, text, (x + 18, 18), _FONT, scale, (0, 0, 0), 1, cv2.LINE_AA)
    return line


def render_curves(
    sequences: Sequence[SequenceScore],
    total: ScoreCurve | None,
    *,
    plot_format: PlotFormat = "png",
) -> bytes:
    """Draw precision against recall of scores, each sequence's best threshold marked.

    Parameters
    ----------
    sequences : sequence of SequenceScore
        Evaluated with their scores; those without foreground cannot be drawn.
    total : ScoreCurve, optional
        Of all together, drawn where there are several.
    plot_format : {"png", "svg"}
        A PNG file has 800 × 700 pixels.
    """
    named = [(one.name, one.curve) for one in sequences if one.curve is not None]
    if total is not None and len(named) > 1:
        named.append(("all, one threshold", total))

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        _draw_levels(axes)
        for place, (name, curve) in enumerate(named):
            color = _COLORS[place % len(_COLORS)]
            _draw_curve(axes, curve, name, color, _STYLES[place // len(_COLORS) % len(_STYLES)])
        axes.set(xlim=(0, 1.01), ylim=(0, 1.01), xlabel="recall", ylabel="precision")
        axes.set_title("dots: the threshold of the highest F", loc="left", fontsize=11)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        figure.legend(loc="outside lower left", frameon=False, ncols=1, fontsize=10)

    return render(draw, (8.0, 7.0), plot_format, letters=11)


def _draw_curve(
    axes: Axes,
    curve: ScoreCurve,
    name: str,
    color: str,
    style: str,
) -> None:
    _, precision, recall = curve.precision_recall()
    label = "".join(letter if letter.isascii() else "?" for letter in name).replace("$", r"\$")
    if not recall.size:
        axes.plot([], [], color=color, linestyle=style, label=f"{label}: no foreground")
        return
    best = curve.best_threshold()
    counts = curve.counts(best)
    label += f": F {_number(counts.f_measure)} at {best}, AP {_number(curve.average_precision)}"
    axes.plot(recall, precision, color=color, linestyle=style, linewidth=1.6, label=label)
    place = np.array([counts.recall]), np.array([counts.precision])
    axes.plot(*place, "o", color=color, markersize=7, zorder=4)


def _draw_levels(axes: Axes) -> None:
    """Draw the lines along which F does not change."""
    recall = np.linspace(0.01, 1, 200)
    for level in (0.5, 0.6, 0.7, 0.8, 0.9):
        inside = recall > level / (2 - level)
        precision = level * recall[inside] / (2 * recall[inside] - level)
        axes.plot(recall[inside], precision, color="#d0d0d0", linewidth=0.8, zorder=1)
        # On the diagonal they are seldom in the way of a curve.
        label: dict[str, Any] = {"ha": "right", "va": "top", "fontsize": 8, "color": "#767676"}
        axes.annotate(f"F {level:g}", (level, level), **label)
