"""Medians of the columns of a matrix, and what a median says of a normal variable."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

NORMAL_MAD = 0.6744897501960817
"""Median of the absolute value of a standard normal variable: it makes medians into σ."""


def column_median(block: NDArray[Any]) -> NDArray[Any]:
    """Compute the median of every column; for uint8 the lower one, bit by bit, with no sort."""
    if block.dtype != np.uint8:
        return np.asarray(np.median(block, axis=0), dtype=np.float64)
    # Columns cut out of long rows would be fetched from as many pages of memory each time.
    block = np.ascontiguousarray(block)
    rank = (block.shape[0] - 1) // 2
    found = np.zeros(block.shape[1], dtype=np.uint8)
    below = np.empty(block.shape, dtype=bool)
    for bit in range(7, -1, -1):
        np.less(block, found | np.uint8(1 << bit), out=below)
        # The bit is set when at most `rank` entries are smaller than the candidate.
        found |= (_count(below) <= rank).view(np.uint8) << np.uint8(bit)
    return found


def _count(flags: NDArray[np.bool_]) -> NDArray[np.integer[Any]]:
    """Count the true entries of every column; uint8 sums of up to 255 rows are what runs fast."""
    bytes_ = flags.view(np.uint8)
    if flags.shape[0] <= 255:
        return np.asarray(np.add.reduce(bytes_, axis=0, dtype=np.uint8))
    total = np.zeros(flags.shape[1], dtype=np.int64)
    for start in range(0, flags.shape[0], 255):
        total += np.add.reduce(bytes_[start : start + 255], axis=0, dtype=np.uint8)
    return total


def median(values: NDArray[Any], axis: int | None = None) -> NDArray[np.floating[Any]]:
    """Compute what `numpy.median` does without NaN, in a fraction of its time; NaN for nothing.

    NumPy asks for both middle values at once, which its quick selection does not know.
    """
    rows = values.reshape(-1) if axis is None else np.moveaxis(values, axis, -1)
    size = rows.shape[-1]
    dtype = values.dtype if np.issubdtype(values.dtype, np.floating) else np.float64
    if not size:
        return np.full(rows.shape[:-1], np.nan, dtype)
    ordered = np.partition(rows, size // 2)
    high = ordered[..., size // 2]
    low = high if size % 2 else ordered[..., : size // 2].max(axis=-1)
    return np.asarray(np.add(low, high, dtype=dtype) / 2)


def quantile(values: NDArray[np.floating[Any]], share: float) -> float:
    """Compute what `numpy.quantile` does for a vector without NaN, as quickly as `median`."""
    place = share * (values.size - 1)
    upper = min(int(place) + 1, values.size - 1)
    ordered = np.partition(values, upper)
    high = ordered[upper]
    low = ordered[:upper].max() if upper > int(place) else high
    part = place - int(place)
    step = high - low
    return float(low + step * part if part < 0.5 else high - step * (1 - part))
