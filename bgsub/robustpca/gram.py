"""The exact Gram matrix of a matrix of frames, one block of pixels at a time.

For 8-bit frames every product is an integer, so a float32 matrix product over a block of pixels is
exact as long as no partial sum leaves the integers that float32 can hold. By the Cauchy-Schwarz
inequality every partial sum of ⟨x_i, x_j⟩ is at most max_i ‖x_i‖², and that maximum stands on the
diagonal of the product itself: partial sums of squares only grow and rounding is monotone, so the
computed diagonal stays below 2²⁴ exactly if the true one does. Hence the check costs nothing: a
block whose diagonal reaches 2²⁴ is multiplied again in float64. Blocks are summed in float64, where
integers below 2⁵³ are exact, so the result depends on neither block size nor order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

FLOAT32_EXACT = float(1 << 24)

_BLOCK_ELEMENTS = 1 << 21
_MIN_COLUMNS, _MAX_COLUMNS = 256, 8192


@runtime_checkable
class ColumnReader(Protocol):
    """A matrix that is read by blocks of columns, wherever it lives."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the entries."""

    def columns(self, start: int, stop: int) -> NDArray[Any]:
        """Entries of the columns start to stop (exclusive), shape (rows, stop - start)."""


class ArrayColumns:
    """A NumPy array seen as a `ColumnReader`, without copying it.

    Parameters
    ----------
    array : ndarray of shape (n, p)
    """

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self._array.shape[0], self._array.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the entries."""
        return self._array.dtype

    def columns(self, start: int, stop: int) -> NDArray[Any]:
        """View of the columns start to stop (exclusive)."""
        return self._array[:, start:stop]


@dataclass(frozen=True)
class Gram:
    """K = X₀X₀ᵀ with X₀ = X − 1m₀ᵀ, and what belongs to it.

    Attributes
    ----------
    values : ndarray of shape (n, n), float64
        The Gram matrix.
    offset : ndarray of shape (p,)
        m₀, the median of every column; of the dtype of X for integers (the lower median, hence an
        integer), float64 otherwise.
    n_features : int
        p.
    float64_blocks : int
        Blocks of an integer matrix for which float32 was not exact.
    blocks : int
        All blocks.
    """

    values: NDArray[np.float64]
    offset: NDArray[Any]
    n_features: int
    float64_blocks: int
    blocks: int

    @property
    def n_samples(self) -> int:
        """n, the number of rows of X."""
        return int(self.values.shape[0])


def block_columns(n_samples: int) -> int:
    """Columns per block such that a float32 block stays in the cache."""
    return int(min(max(_BLOCK_ELEMENTS // max(n_samples, 1), _MIN_COLUMNS), _MAX_COLUMNS))


def column_median(block: NDArray[Any]) -> NDArray[Any]:
    """Median of every column.

    For uint8 the lower median (a value that occurs in the column), found bit by bit: eight
    vectorised comparisons of the whole block instead of a sort per column.

    Parameters
    ----------
    block : ndarray of shape (n, b), uint8 or floating

    Returns
    -------
    ndarray of shape (b,)
        uint8 for uint8, float64 otherwise.
    """
    if block.dtype != np.uint8:
        return np.asarray(np.median(block, axis=0), dtype=np.float64)
    rank = (block.shape[0] - 1) // 2
    median = np.zeros(block.shape[1], dtype=np.uint8)
    below = np.empty(block.shape, dtype=bool)
    for bit in (128, 64, 32, 16, 8, 4, 2, 1):
        candidate = median | np.uint8(bit)
        np.less(block, candidate, out=below)
        # The bit is set when at most `rank` entries are smaller than the candidate.
        median = np.where(_count(below) <= rank, candidate, median)
    return median


def _count(flags: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count the true entries of every column; uint8 sums of up to 255 rows are what runs fast."""
    total = np.zeros(flags.shape[1], dtype=np.int64)
    bytes_ = flags.view(np.uint8)
    for start in range(0, flags.shape[0], 255):
        total += np.add.reduce(bytes_[start : start + 255], axis=0, dtype=np.uint8)
    return total


def integer_product(centred: NDArray[np.float32]) -> tuple[NDArray[Any], bool]:
    """A·Aᵀ of a block of integers held in float32, exactly.

    Parameters
    ----------
    centred : ndarray of shape (n, b), float32
        Integers of magnitude below 2²⁴.

    Returns
    -------
    product : ndarray of shape (n, n), float32 or float64
    exact_in_float32 : bool
        False if the float64 road had to be taken.
    """
    product = centred @ centred.T
    if product.diagonal().max(initial=0.0) < FLOAT32_EXACT:
        return product, True
    wide = centred.astype(np.float64)
    return wide @ wide.T, False


def gram_matrix(
    X: NDArray[Any] | ColumnReader,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Gram:
    """Gram matrix of the median-centred rows of X.

    Parameters
    ----------
    X : ndarray of shape (n, p) or ColumnReader
        uint8 (exact result) or float32/float64 (products in float64). Never copied as a whole.
    progress : callable, optional
        Called with the columns done and p after each block.

    Returns
    -------
    Gram

    Raises
    ------
    ValueError
        For NaN or infinite entries; names the columns.

    Notes
    -----
    n²p multiplications (half of them by symmetry) in one pass; memory 8n² bytes for the result, 4n²
    for a block's product and about 4·2²¹ bytes for the block.
    """
    reader = X if not isinstance(X, np.ndarray) else ArrayColumns(X)
    n, p = reader.shape
    is_integer = reader.dtype == np.uint8
    values = np.zeros((n, n), dtype=np.float64)
    offset = np.empty(p, dtype=np.uint8 if is_integer else np.float64)
    step = block_columns(n)
    blocks = float64_blocks = 0
    for start in range(0, p, step):
        stop = min(start + step, p)
        block = reader.columns(start, stop)
        offset[start:stop] = column_median(block)
        if is_integer:
            centred = np.subtract(block, offset[start:stop], dtype=np.float32)
            product, exact = integer_product(centred)
            float64_blocks += not exact
        else:
            wide = np.subtract(block, offset[start:stop], dtype=np.float64)
            product = wide @ wide.T
            if not np.isfinite(product.diagonal()).all():
                message = (
                    f"columns {start} to {stop - 1} of X hold entries that are no finite numbers"
                )
                raise ValueError(message)
        values += product
        blocks += 1
        if progress is not None:
            progress(stop, p)
    return Gram(values, offset, p, float64_blocks, blocks)
