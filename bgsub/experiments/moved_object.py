"""Divide the paper's second recording: what is fitted to all of it, and what to its first part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bgsub.comparison.result import COLUMNS, CompareOptions, Comparison
from bgsub.experiments.options import MovedObjectOptions

MOVED_COLUMNS = ("frames", *COLUMNS)
"""Header of compare.csv."""


def of_whole(options: MovedObjectOptions) -> CompareOptions:
    """Give the options of the comparison on all frames: TRPCA alone, and no pictures asked for."""
    return replace(options, methods=("trpca",), frames=(), pcp_lambda=MovedObjectOptions.pcp_lambda)


def of_part(options: MovedObjectOptions) -> CompareOptions:
    """Give the options of the comparison on the frames up to the end of the part."""
    source = replace(options.run.source, end=options.part)
    return replace(options, run=replace(options.run, source=source))


def row_cells(frames: str, comparison: Comparison) -> list[dict[str, Any]]:
    """Make the rows of compare.csv, the method with its variant."""
    return [{"frames": frames, **row.cells(), "method": row.name} for row in comparison.rows]
