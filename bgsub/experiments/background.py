"""Repeat the paper's Table 1 and its reconstruction errors on any footage."""

from __future__ import annotations

from typing import Any

from bgsub.comparison.result import Comparison
from bgsub.experiments.paper_times import PAPER_TIMES

BACKGROUND_COLUMNS = (
    *("method", "k", "seconds", "iterations", "converged", "objective"),
    *("paper_2014_seconds_low", "paper_2014_seconds_high", "paper_note", "reason"),
)
"""Header of times.csv. What begins with ``paper_2014`` are the paper's figures, not ours."""


def time_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """Make the rows of times.csv: our seconds and the paper's.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    list of dict
        The paper's cells are None where we know no figure.
    """
    rows = []
    for row in comparison.rows:
        theirs = PAPER_TIMES.get(row.method)
        rows.append(
            {
                "method": row.method,
                "k": row.k,
                "seconds": row.seconds,
                "iterations": row.iterations,
                "converged": row.converged,
                "objective": row.objective,
                "paper_2014_seconds_low": theirs.low if theirs else None,
                "paper_2014_seconds_high": theirs.high if theirs else None,
                "paper_note": theirs.note if theirs else "",
                "reason": row.reason,
            }
        )
    return rows
