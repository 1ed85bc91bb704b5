"""Write the measures of masks as text, CSV, JSON or Markdown."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import cv2
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from bgsub.errors import plural
from bgsub.evaluation.evaluate import Evaluation, SequenceScore
from bgsub.evaluation.measures import MEASURES, Counts, ScoreCurve, Verdict
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
from bgsub.report.tables import align, csv_text, markdown_text

SCHEMA_VERSION = 1
"""Of the JSON listing."""

_COUNTS = ("tp", "fp", "fn", "tn")
_TITLES = {
    "sequence": "sequence",
    "frames": "frames",
    "threshold": "threshold",
    "average_precision": "AP",
    "precision": "precision",
    "recall": "recall",
    "f_measure": "F",
    "iou": "IoU",
    "specificity": "specificity",
    "fpr": "FPR",
    "fnr": "FNR",
    "pwc": "PWC %",
    "tp": "TP",
    "fp": "FP",
    "fn": "FN",
    "tn": "TN",
}
_UNDEFINED = "–"
_CURVE_POINTS = 256

Row = dict[str, str | int | float | None]


def list_evaluation(form: str, evaluation: Evaluation) -> str:
    """Write an evaluation as "table", "csv", "json" or "markdown"."""
    forms: dict[str, Callable[[Evaluation], str]] = {
        "table": as_table,
        "csv": as_csv,
        "json": as_json,
        "markdown": as_markdown,
    }
    return forms[form](evaluation)


def as_table(evaluation: Evaluation) -> str:
    """Write columns for people; a dash is an undefined measure."""
    lines = _cells(evaluation)
    return align(lines, _right_but_first(lines))


def as_markdown(evaluation: Evaluation) -> str:
    """Write a table in Markdown."""
    lines = _cells(evaluation)
    return markdown_text(lines, _right_but_first(lines))


def as_csv(evaluation: Evaluation) -> str:
    """Write CSV: a line a sequence; then, of several, their total and the mean."""
    return _csv(_rows(evaluation))


def frames_csv(evaluation: Evaluation) -> str:
    """Write CSV: a line a frame."""
    rows: list[Row] = [
        {"sequence": one.name, "frame": frame.frame, "truth": frame.truth, **_values(frame.counts)}
        for one in evaluation.sequences
        for frame in one.frames
    ]
    return _csv(rows)


def as_json(evaluation: Evaluation) -> str:
    """Write one JSON object with all counts and measures; null is an undefined measure."""
    total: dict[str, Any] = {"frames": _n_frames(evaluation), **_values(evaluation.total)}
    if evaluation.curve is not None:
        total |= _curve(evaluation.curve, evaluation.threshold)
    listing = {
        "schema_version": SCHEMA_VERSION,
        "sequences": [_sequence(one, evaluation) for one in evaluation.sequences],
        "total": total,
        "mean": {name: _rounded(value) for name, value in evaluation.means.values.items()},
    }
    return json.dumps(listing, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def _sequence(one: SequenceScore, evaluation: Evaluation) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "name": one.name,
        "masks": one.pair.masks,
        "truth": one.pair.truth,
        "offset": one.matching.offset,
        "matched": one.matching.rule,
        "frames": len(one.frames),
        **_values(one.counts),
        "notes": one.notes,
    }
    if evaluation.curve is not None and one.curve is not None:
        facts |= _curve(one.curve, one.threshold)
    return facts


def _curve(curve: ScoreCurve, threshold: float | None) -> dict[str, Any]:
    """Return threshold, average precision and at most `_CURVE_POINTS` points of the curve."""
    levels, precision, recall = curve.precision_recall()
    step = max(1, -(-levels.size // _CURVE_POINTS))
    points = [
        {"threshold": level, "precision": round(p, 6), "recall": round(r, 6)}
        for level, p, r in zip(
            levels[::step].tolist(),
            precision[::step].tolist(),
            recall[::step].tolist(),
            strict=True,
        )
    ]
    return {
        "threshold": threshold,
        "best_threshold": curve.best_threshold(),
        "average_precision": _rounded(curve.average_precision),
        "curve": points,
    }


def _rows(evaluation: Evaluation) -> list[Row]:
    """Return a row for each sequence; of several, also their total and the mean."""
    with_curve = evaluation.curve is not None
    rows = [
        _row(one.name, len(one.frames), one.counts, one.threshold, one.curve, with_curve=with_curve)
        for one in evaluation.sequences
    ]
    if len(rows) > 1:
        total = _row(
            "total",
            _n_frames(evaluation),
            evaluation.total,
            evaluation.threshold,
            evaluation.curve,
            with_curve=with_curve,
        )
        mean: Row = dict.fromkeys(total)
        mean |= {name: _rounded(value) for name, value in evaluation.means.values.items()}
        if with_curve:
            found = [one.curve.average_precision for one in evaluation.sequences if one.curve]
            defined = [value for value in found if value is not None]
            mean["average_precision"] = sum(defined) / len(defined) if defined else None
        rows += [total, mean | {"sequence": "mean"}]
    return rows


def _row(
    name: str,
    frames: int,
    counts: Counts,
    threshold: float | None,
    curve: ScoreCurve | None,
    *,
    with_curve: bool,
) -> Row:
    row: Row = {"sequence": name, "frames": frames}
    if with_curve and curve is not None:
        row |= {"threshold": threshold, "average_precision": _rounded(curve.average_precision)}
    return row | _values(counts)


def _values(counts: Counts) -> Row:
    """Return the measures, then the counts that they are made of."""
    measures = {name: _rounded(value) for name, value in counts.measures().items()}
    return {**measures, **dict(zip(_COUNTS, counts, strict=True))}


def _cells(evaluation: Evaluation) -> list[list[str]]:
    """Return header and rows as people read them."""
    rows = _rows(evaluation)
    return [
        [_TITLES[name] for name in rows[0]],
        *([_cell(*item) for item in row.items()] for row in rows),
    ]


def _cell(name: str, value: str | float | None) -> str:
    if value is None:
        return _UNDEFINED if name in MEASURES or name == "average_precision" else ""
    if isinstance(value, str):
        return value
    if name in MEASURES or name == "average_precision":
        return f"{value:.4f}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _csv(rows: Sequence[Row]) -> str:
    names = list(rows[0])
    return csv_text(names, ([row[name] for name in names] for row in rows))


def _right_but_first(lines: Sequence[Sequence[str]]) -> list[bool]:
    """Align everything but the names to the right."""
    return [column > 0 for column in range(len(lines[0]))]


def _rounded(value: float | None) -> float | None:
    # Counts are exact and stand beside it; more digits would only be noise to a reader.
    return None if value is None else round(value, 8)


def _n_frames(evaluation: Evaluation) -> int:
    return sum(len(one.frames) for one in evaluation.sequences)


def summary(one: SequenceScore) -> str:
    """Return in one line what was compared with what."""
    n = len(one.frames)
    first = one.frames[0]
    text = f"{one.name}: {plural(n, 'frame')} scored, matched {one.matching.rule}"
    if str(first.frame) not in first.truth:
        text += f"; frame {first.frame} with {first.truth}"
    return text


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
        Codes of `bgsub.evaluation.measures.Verdict`.
    frame : ndarray of uint8, shape (h, w, 3), optional
        What the mask is of, in OpenCV's order.
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
    """Return verdicts in their colours, shape (h, w, 3)."""
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
