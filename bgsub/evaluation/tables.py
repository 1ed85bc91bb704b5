"""Write the measures of masks as text, CSV, JSON or Markdown."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from bgsub.evaluation.confusion import MEASURES, Counts
from bgsub.evaluation.result import Evaluation, SequenceScore
from bgsub.evaluation.score_curve import ScoreCurve
from bgsub.report.tables import align, csv_text, markdown_text
from bgsub.wording import plural

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
    """Give threshold, average precision and at most `_CURVE_POINTS` points of the curve."""
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
    """Give a row for each sequence; of several, also their total and the mean."""
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
    """Give the measures, then the counts that they are made of."""
    measures = {name: _rounded(value) for name, value in counts.measures().items()}
    return {**measures, **dict(zip(_COUNTS, counts, strict=True))}


def _cells(evaluation: Evaluation) -> list[list[str]]:
    """Give header and rows as people read them."""
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
    """Say in one line what was compared with what."""
    n = len(one.frames)
    first = one.frames[0]
    text = f"{one.name}: {plural(n, 'frame')} scored, matched {one.matching.rule}"
    if str(first.frame) not in first.truth:
        text += f"; frame {first.frame} with {first.truth}"
    return text
