"""Thin out the errors of a long film for a plot: what stands out of every stretch is kept."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bgsub.outliers.errors_table import ErrorTable

MOST_ROWS = 6000
"""Rows up to which all are drawn."""

_STRETCHES = 1200
"""Stretches of more, each some of a pixel wide."""

_NAMES = ("frame", "time_s", "error", "rmse", "score", "outlier")


def read_overview(path: Path, rows: int, cutoff: float) -> ErrorTable:
    """Read an errors.csv, of a long film the rows that an envelope is drawn from.

    Parameters
    ----------
    path : Path
        As bgsub wrote it.
    rows : int
        How many there are.
    cutoff : float

    Returns
    -------
    ErrorTable
        Of every stretch of a long film the frames of the lowest and the highest error and of both
        highest scores. Memory does not grow with the number of rows.
    """
    size = 1 if rows <= MOST_ROWS else -(-rows // _STRETCHES)
    with path.open(encoding="ascii", newline="") as file:
        reader = csv.reader(file)
        header = next(reader)
        columns = [header.index(name) for name in (*_NAMES, *({"local"} & set(header)))]
        kept = np.concatenate([_outstanding(part) for part in _parts(reader, columns, size)])
    pixels = kept[:, 2] / np.maximum(kept[:, 3] ** 2, 1e-12)
    return ErrorTable(
        frames=kept[:, 0].astype(np.int64),
        times=kept[:, 1],
        errors=kept[:, 2],
        pixels=max(1, round(float(np.median(pixels)))),
        scores=kept[:, 4],
        cutoff=cutoff,
        local=kept[:, 6] if kept.shape[1] > 6 else None,
    )


def _parts(
    reader: Iterator[list[str]], columns: list[int], size: int
) -> Iterator[NDArray[np.float64]]:
    """Give the rows in stretches of so many."""
    while chunk := list(islice(reader, max(size, 1))):
        yield np.array([[float(row[column]) for column in columns] for row in chunk])


def _outstanding(part: NDArray[np.float64]) -> NDArray[np.float64]:
    chosen = {
        int(part[:, 3].argmin()),
        *(int(part[:, c].argmax()) for c in range(3, part.shape[1])),
    }
    return part[sorted(chosen)]
