"""Write the measures of masks as text and figures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from bgsub.errors import plural
from bgsub.evaluation.evaluate import Evaluation, SequenceScore
from bgsub.evaluation.measures import MEASURES, Counts, ScoreCurve, Verdict, mean
from bgsub.report import plots
from bgsub.report.plots import PlotFormat
from bgsub.report.tables import SCHEMA_VERSION, align, csv_text, markdown_text

_RATIOS = {*MEASURES, "average_precision"}
_TITLES = {"average_precision": "AP", "f_measure": "F", "iou": "IoU", "pwc": "PWC %"}
_TITLES |= {name: name.upper() for name in ("fpr", "fnr", "tp", "fp", "fn", "tn")}
_CURVE_POINTS = 256  # of a precision-recall curve in JSON, at most
Row = dict[str, Any]

# In OpenCV's order, by codes of `Verdict`; wrong are Okabe and Ito's vermillion and sky blue, which
# people with any colour vision tell apart, also by their lightness.
PALETTE = np.full((6, 3), 96, np.uint8)
PALETTE[Verdict.TN], PALETTE[Verdict.TP] = 0, 255
PALETTE[Verdict.FP], PALETTE[Verdict.FN] = (0, 94, 213), (233, 180, 86)

_LEGEND = (
    ("true positive", Verdict.TP),
    ("false positive", Verdict.FP),
    ("false negative", Verdict.FN),
    ("not scored", Verdict.UNSCORED),
)
_PANEL_WIDTH, _LINE, _GAP = 480, 26, 6
_FONT = cv2.FONT_HERSHEY_SIMPLEX
_COLORS = (
    *(plots.BLUE, plots.VERMILLION, plots.GREEN, plots.PURPLE, plots.ORANGE, plots.SKY),
    plots.BLACK,
)
_STYLES = ("solid", "dashed", "dotted", "dashdot")
Picture = NDArray[np.uint8]


def list_evaluation(form: str, evaluation: Evaluation) -> str:
    """Return an evaluation as "table", "csv", "json" or "markdown"; of several also their mean."""
    if form == "json":  # null is an undefined measure
        frames = sum(len(one.frames) for one in evaluation.sequences)
        total = {"frames": frames, **_values(evaluation.total)}
        listing = {
            "schema_version": SCHEMA_VERSION,
            "sequences": [
                {
                    "name": one.name,
                    "masks": one.pair.masks,
                    "truth": one.pair.truth,
                    "offset": one.matching.offset,
                    "matched": one.matching.rule,
                    "frames": len(one.frames),
                    **_values(one.counts),
                    "notes": one.notes,
                    **_curve(one.curve, one.threshold),
                }
                for one in evaluation.sequences
            ],
            "total": total | _curve(evaluation.curve, evaluation.threshold),
            "mean": {name: _rounded(value) for name, value in evaluation.means.items()},
        }
        return json.dumps(listing, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    rows = _rows(evaluation)
    if form == "csv":
        return csv_text(list(rows[0]), (row.values() for row in rows))
    lines = [[_TITLES.get(name, name) for name in rows[0]]]
    lines += [[_cell(*item) for item in row.items()] for row in rows]
    right = [False, *[True] * (len(lines[0]) - 1)]
    return align(lines, right) if form == "table" else markdown_text(lines, right)


def frames_csv(evaluation: Evaluation) -> str:
    """Return CSV: a line a frame."""
    rows: list[Row] = [
        {"sequence": one.name, "frame": frame.frame, "truth": frame.truth, **_values(frame.counts)}
        for one in evaluation.sequences
        for frame in one.frames
    ]
    return csv_text(list(rows[0]), (row.values() for row in rows))


def summary(one: SequenceScore) -> str:
    """Return in one line what was compared with what."""
    first = one.frames[0]
    text = f"{one.name}: {plural(len(one.frames), 'frame')} scored, matched {one.matching.rule}"
    if str(first.frame) not in first.truth:
        text += f"; frame {first.frame} with {first.truth}"
    return text


def _curve(curve: ScoreCurve | None, threshold: float | None) -> dict[str, Any]:
    """Return threshold, average precision and at most `_CURVE_POINTS` points of a curve."""
    if curve is None:
        return {}
    levels, precision, recall = curve.precision_recall()
    step = max(1, -(-levels.size // _CURVE_POINTS))
    points = zip(*(each[::step].tolist() for each in (levels, precision, recall)), strict=True)
    return {
        "threshold": threshold,
        "best_threshold": curve.best_threshold(),
        "average_precision": _rounded(curve.average_precision),
        "curve": [
            {"threshold": level, "precision": round(p, 6), "recall": round(r, 6)}
            for level, p, r in points
        ],
    }


def _rows(evaluation: Evaluation) -> list[Row]:
    """Return a row for each sequence; of several, also their total and the mean."""
    sequences = evaluation.sequences
    rows = [_row(s.name, len(s.frames), s.counts, s.threshold, s.curve) for s in sequences]
    if len(rows) > 1:
        frames, curve = sum(row["frames"] for row in rows), evaluation.curve
        total = _row("total", frames, evaluation.total, evaluation.threshold, curve)
        means: Row = {name: _rounded(value) for name, value in evaluation.means.items()}
        if curve is not None:
            curves = [one.curve for one in sequences if one.curve is not None]
            means["average_precision"] = mean(each.average_precision for each in curves)
        rows += [total, dict.fromkeys(total) | means | {"sequence": "mean"}]
    return rows


def _row(
    name: str, frames: int, counts: Counts, threshold: float | None, curve: ScoreCurve | None
) -> Row:
    row: Row = {"sequence": name, "frames": frames}
    if curve is not None:
        row |= {"threshold": threshold, "average_precision": _rounded(curve.average_precision)}
    return row | _values(counts)


def _values(counts: Counts) -> Row:
    """Return the measures, then the counts that they are made of."""
    return {name: _rounded(value) for name, value in counts.measures().items()} | counts._asdict()


def _cell(name: str, value: str | float | None) -> str:
    if value is None:
        return "–" if name in _RATIOS else ""
    if name in _RATIOS:
        return f"{value:.4f}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _rounded(value: float | None) -> float | None:
    # Counts are exact and stand beside it; more digits would only be noise to a reader.
    return None if value is None else round(value, 8)


def draw_verdicts(verdicts: Picture, frame: Picture | None, counts: Counts, title: str) -> Picture:
    """Draw which pixels of a mask are wrong, beside the frame if it is known, with ASCII."""
    panels = [PALETTE[verdicts]]
    if frame is not None and frame.shape[:2] == verdicts.shape:
        panels.insert(0, frame)
    factor = max(1, -(-_PANEL_WIDTH // verdicts.shape[1]))
    large = [np.repeat(np.repeat(panel, factor, axis=0), factor, axis=1) for panel in panels]
    gap = np.full((large[0].shape[0], _GAP, 3), 255, np.uint8)
    body = large[0] if len(large) == 1 else np.hstack([large[0], gap, large[1]])
    width = body.shape[1]
    head, legend = np.full((2, _LINE, width, 3), 255, np.uint8)
    wrong = f"{counts.fp} false positives   {counts.fn} false negatives"
    _write(head, f"{title}   F {_number(counts.f_measure)}   {wrong}", 8, width - 16)
    step = (width - 8) // len(_LEGEND)
    for place, (text, verdict) in enumerate(_LEGEND):
        x = 8 + place * step
        cv2.rectangle(legend, (x, 7), (x + 12, 19), PALETTE[verdict].tolist(), cv2.FILLED)
        cv2.rectangle(legend, (x, 7), (x + 12, 19), (0, 0, 0), 1)
        _write(legend, text, x + 18, step - 28)
    return np.vstack([head, body, legend])


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _write(line: Picture, text: str, x: int, room: int) -> None:
    """Write a text in letters with which it is no wider than there is room."""
    (needed, _), _ = cv2.getTextSize(text, _FONT, 0.5, 1)
    scale = min(0.5, 0.5 * room / max(needed, 1))
    cv2.putText(line, text, (x, 18), _FONT, scale, (0, 0, 0), 1, cv2.LINE_AA)


def render_curves(
    sequences: Sequence[SequenceScore], total: ScoreCurve | None, plot_format: PlotFormat = "png"
) -> bytes:
    """Draw precision against recall, the best thresholds marked; 800 × 700 pixels of PNG."""
    named = [(one.name, one.curve) for one in sequences if one.curve is not None]
    if total is not None and len(named) > 1:
        named.append(("all, one threshold", total))

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        # Lines along which F does not change; on the diagonal words are seldom in a curve's way.
        words: dict[str, Any] = {"ha": "right", "va": "top", "fontsize": 8, "color": "#767676"}
        for level in (0.5, 0.6, 0.7, 0.8, 0.9):
            recall = np.linspace(0.01, 1, 200)
            recall = recall[recall > level / (2 - level)]
            precision = level * recall / (2 * recall - level)
            axes.plot(recall, precision, color="#d0d0d0", linewidth=0.8, zorder=1)
            axes.annotate(f"F {level:g}", (level, level), **words)
        for place, (name, curve) in enumerate(named):
            color = _COLORS[place % len(_COLORS)]
            _draw_curve(axes, curve, name, color, _STYLES[place // len(_COLORS) % len(_STYLES)])
        axes.set(xlim=(0, 1.01), ylim=(0, 1.01), xlabel="recall", ylabel="precision")
        axes.set_title("dots: the threshold of the highest F", loc="left", fontsize=11)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        figure.legend(loc="outside lower left", frameon=False, ncols=1, fontsize=10)

    return plots.render(draw, (8.0, 7.0), plot_format, letters=11)


def _draw_curve(axes: Axes, curve: ScoreCurve, name: str, color: str, style: str) -> None:
    _, precision, recall = curve.precision_recall()
    label = "".join(letter if letter.isascii() else "?" for letter in name).replace("$", r"\$")
    if not recall.size:
        axes.plot([], [], color=color, linestyle=style, label=f"{label}: no foreground")
        return
    best = curve.best_threshold()
    counts = curve.counts(best)
    label += f": F {_number(counts.f_measure)} at {best}, AP {_number(curve.average_precision)}"
    axes.plot(recall, precision, color=color, linestyle=style, linewidth=1.6, label=label)
    at = np.array([counts.measures()[name] for name in ("recall", "precision")], dtype=float)
    axes.plot(at[:1], at[1:], "o", color=color, markersize=7, zorder=4)
