"""Convert the rows of a matrix a block at a time, never all of them at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_ROW_BLOCK_ELEMENTS = 1 << 20


def row_blocks(n: int, p: int) -> Iterator[slice]:
    """Cut n rows of p entries into slices that are converted at once."""
    step = max(1, _ROW_BLOCK_ELEMENTS // max(p, 1))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def centred_blocks(X: NDArray[Any], center: NDArray[Any]) -> Iterator[tuple[slice, Floats]]:
    """X − 1mᵀ in float64, a fresh block of rows at a time, with the rows that it holds."""
    for rows in row_blocks(*X.shape):
        yield rows, np.subtract(X[rows], center, dtype=np.float64)
