"""Put the paper's Table 1 beside the same table on any footage."""

from __future__ import annotations

import itertools
from typing import Any

from bgsub.comparison.result import Comparison, MethodRow
from bgsub.experiments.paper_times import PAPER_TIMES

TIMES_COLUMNS = (
    *("column", "method", "k", "t", "seconds", "paper_2014_seconds", "iterations", "converged"),
    *("objective", "auc", "average_precision", "true_outliers_flagged", "note", "reason"),
)
"""Header of times.csv. ``paper_2014_seconds`` are the paper's figures, not ours."""

_NOTES = {
    "trpca": "ten starts; the paper's seconds are of one",
    "hrpca": "rows are removed until k + 1 are left",
    "outlier-pursuit": "the paper's LLD",
    "robust-subspace": "the paper's RPCA, of De la Torre and Black",
}


def time_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """Make the rows of times.csv: our seconds and the paper's.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    list of dict
        The paper's cells are None where its table has no figure.
    """
    return [
        {
            **row.cells(),
            "column": _column(row),
            "paper_2014_seconds": _paper(row).get(row.k),
            "note": _NOTES.get(row.method, ""),
        }
        for row in comparison.rows
    ]


def table_one(comparison: Comparison) -> tuple[list[str], list[dict[str, Any]]]:
    """Arrange the seconds as the paper's Table 1: a row for every k, ours and theirs.

    Returns
    -------
    header : list of str
        ``k``, ``seconds of``, the paper's nine columns in its order, and what else was fitted;
        ``lld(.5)`` beside ``lld``.
    rows : list of dict
        Empty cells are None.
    """
    theirs = [column.name for column in PAPER_TIMES.values()]
    others = [_column(row) for row in comparison.rows if _column(row) not in theirs]
    # Where no truth is given, LLD runs with half of the frames alone: a column the paper has not.
    besides = [[name, f"{name}(.5)"] if f"{name}(.5)" in others else [name] for name in theirs]
    columns = list(dict.fromkeys([*itertools.chain(*besides), *others]))
    rows: list[dict[str, Any]] = []
    for k in comparison.ks:
        here = [row for row in comparison.rows if row.k == k]
        ours: dict[str, Any] = dict.fromkeys(columns)
        ours |= {_column(row): _rounded(row.seconds) for row in here}
        paper = dict.fromkeys(columns) | {
            column.name: column.seconds.get(k) for column in PAPER_TIMES.values()
        }
        rows += [{"k": k, "seconds of": "bgsub", **ours}, {"k": k, "seconds of": "paper", **paper}]
    return ["k", "seconds of", *columns], rows


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else float(f"{seconds:.2g}")


def _column(row: MethodRow) -> str:
    """Name a row's column as the paper does, or as bgsub does where the paper has none."""
    if row.name in PAPER_TIMES:
        return PAPER_TIMES[row.name].name
    plain = PAPER_TIMES.get(row.method)
    return f"{plain.name}{row.variant}" if plain else row.name


def _paper(row: MethodRow) -> dict[int, float]:
    column = PAPER_TIMES.get(row.name)
    return column.seconds if column else {}
