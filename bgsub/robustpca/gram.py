"""Compute the exact Gram matrix of a matrix of frames, one block of pixels at a time.

For 8-bit frames every product is an integer, so a float32 matrix product over a block of pixels is
exact as long as no partial sum leaves the integers that float32 can hold. By the Cauchy-Schwarz
inequality every partial sum of ⟨x_i, x_j⟩ is at most max_i ‖x_i‖²: partial sums of squares only
grow and rounding is monotone, so a computed ‖x_i‖² stays below 2²⁴ exactly if the true one does. A
block in which one reaches 2²⁴ is cut into halves until none does, which takes half the time and a
third of the memory of a product in float64. Blocks are summed in float64, where integers below 2⁵³
are exact, so the result depends on neither block size nor order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from bgsub.robustpca.gram_tiles import TILE_ROWS, add_products, mirror
from bgsub.robustpca.median import column_median

FLOAT32_EXACT = float(1 << 24)

_BLOCK_ELEMENTS = 1 << 21
_MIN_COLUMNS, _MAX_COLUMNS = 256, 4096


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
    cut_blocks : int
        Blocks of an integer matrix that were cut, as float32 would not have been exact.
    blocks : int
        All blocks.
    share : ndarray of shape (n, n), float64, or None
        What the columns that `gram_matrix` was told to sum apart add to K.
    """

    values: NDArray[np.float64]
    offset: NDArray[Any]
    n_features: int
    cut_blocks: int
    blocks: int
    share: NDArray[np.float64] | None = None

    @property
    def n_samples(self) -> int:
        """n, the number of rows of X."""
        return int(self.values.shape[0])


def block_columns(n_samples: int) -> int:
    """Columns per block such that a float32 block stays in the cache."""
    return int(min(max(_BLOCK_ELEMENTS // max(n_samples, 1), _MIN_COLUMNS), _MAX_COLUMNS))


def exact_pieces(centred: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    """Cut a block of integers into columns whose A·Aᵀ float32 holds exactly.

    Parameters
    ----------
    centred : ndarray of shape (n, b), float32
        Integers of magnitude up to 2¹².

    Returns
    -------
    list of ndarray of shape (n, c), float32
        Views, the block itself where nothing is to be cut.
    """
    columns = centred.shape[1]
    squares = np.einsum("ij,ij->i", centred, centred)
    if columns < 2 or squares.max(initial=0.0) < FLOAT32_EXACT:
        return [centred]
    half = columns // 2
    return exact_pieces(centred[:, :half]) + exact_pieces(centred[:, half:])


def gram_matrix(
    X: NDArray[Any] | ColumnReader,
    *,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
    apart: Sequence[slice] = (),
) -> Gram:
    """Gram matrix of the median-centred rows of X.

    Parameters
    ----------
    X : ndarray of shape (n, p) or ColumnReader
        uint8 (exact result) or float32/float64 (products in float64). Never copied as a whole.
    threads : int
        Blocks that are worked on side by side, for uint8 only; useful where the matrix library has
        been told to stay on one thread. Sums of integers are exact in any order, so the result does
        not depend on it.
    progress : callable, optional
        Called with the columns done and p after each block.
    apart : sequence of slice, optional
        Stretches of columns, in order, whose share of K is wanted too: at no cost, where a pass of
        its own would take its share of the time.

    Returns
    -------
    Gram

    Raises
    ------
    ValueError
        For NaN or infinite entries.

    Notes
    -----
    n²p multiplications (half of them by symmetry) in one pass; memory per thread: 8n² bytes for the
    sum (and as much for a share), 4n² for a block's product and about 4·2²¹ bytes for the block.
    Of more than `TILE_ROWS` frames 8n² bytes in all, as their sum is made by tiles.
    """
    reader = X if not isinstance(X, np.ndarray) else ArrayColumns(X)
    task = _GramTask(reader, progress, apart)
    if task.is_integer and reader.shape[0] > TILE_ROWS and not apart:
        return task.tiled(max(1, threads))
    parts = [task.blocks[first :: max(1, threads)] for first in range(max(1, threads))]
    parts = [part for part in parts if part]
    if len(parts) == 1 or not task.is_integer:
        return task.gram([task.sum_blocks(task.blocks)])
    with ThreadPoolExecutor(len(parts), thread_name_prefix="bgsub-gram") as pool:
        try:
            sums = [future.result() for future in [pool.submit(task.sum_blocks, b) for b in parts]]
        except BaseException:
            task.stop.set()
            raise
    return task.gram(sums)


class _Block(NamedTuple):
    """Columns that are multiplied at once, and whether they are to be summed apart."""

    columns: slice
    apart: bool


class _Sums(NamedTuple):
    """Sums over some blocks: of all of them, of those apart, and how many were cut."""

    whole: NDArray[np.float64]
    apart: NDArray[np.float64] | None
    cut_blocks: int


def _cut(n: int, p: int, apart: Sequence[slice]) -> list[_Block]:
    """Cut p columns into blocks that lie inside or outside of the stretches."""
    step = block_columns(n)
    edges = [0, *(edge for part in apart for edge in (part.start, part.stop)), p]
    blocks = []
    for index, (first, last) in enumerate(pairwise(edges)):
        columns = (slice(start, min(start + step, last)) for start in range(first, last, step))
        blocks += [_Block(part, index % 2 == 1) for part in columns]
    return blocks


class _GramTask:
    """The blocks of one matrix, the offset that they fill in, and how far the work is."""

    def __init__(
        self,
        reader: ColumnReader,
        progress: Callable[[int, int], None] | None,
        apart: Sequence[slice],
    ) -> None:
        n, p = reader.shape
        self.is_integer = reader.dtype == np.uint8
        self.blocks = _cut(n, p, apart)
        self.offset = np.empty(p, dtype=np.uint8 if self.is_integer else np.float64)
        self.stop = threading.Event()
        self._reader, self._progress, self._has_share = reader, progress, bool(apart)
        self._lock, self._done = threading.Lock(), 0

    def sum_blocks(self, blocks: list[_Block]) -> _Sums:
        """Add up the products of some blocks."""
        n = self._reader.shape[0]
        values = np.zeros((n, n), dtype=np.float64)
        share = np.zeros((n, n), dtype=np.float64) if self._has_share else None
        cut_blocks = 0
        for part, is_apart in blocks:
            if self.stop.is_set():
                break
            pieces = self._centred(part)
            total = share if share is not None and is_apart else values
            for piece in pieces:
                total += piece @ piece.T
            cut_blocks += len(pieces) > 1
            self._tell(part.stop - part.start)
        return _Sums(values, share, cut_blocks)

    def tiled(self, threads: int) -> Gram:
        """Sum up the products of all blocks by tiles, which threads share out."""
        n, p = self._reader.shape
        K = np.zeros((n, n), dtype=np.float64)
        cut_blocks = 0
        with ThreadPoolExecutor(threads, thread_name_prefix="bgsub-gram") as pool:
            for part, _ in self.blocks:
                pieces = self._centred(part)
                add_products(K, pieces, pool, TILE_ROWS)
                cut_blocks += len(pieces) > 1
                self._tell(part.stop - part.start)
        mirror(K, TILE_ROWS)
        return Gram(K, self.offset, p, cut_blocks, len(self.blocks))

    def gram(self, sums: list[_Sums]) -> Gram:
        """Put together what the threads have summed."""
        values, share, _ = sums[0]
        for more in sums[1:]:
            values += more.whole
            if share is not None and more.apart is not None:
                share += more.apart
        if share is not None:
            values += share
        count = sum(each.cut_blocks for each in sums)
        return Gram(values, self.offset, self._reader.shape[1], count, len(self.blocks), share)

    def _centred(self, part: slice) -> list[NDArray[Any]]:
        """Read a block less its median, in pieces whose products are to be added up."""
        block = self._reader.columns(part.start, part.stop)
        if self.is_integer:
            median = column_median(block)
            self.offset[part] = median
            centred = block.astype(np.float32)
            centred -= median.astype(np.float32)
            return exact_pieces(centred)
        if not np.isfinite(block).all():
            columns = f"columns {part.start} to {part.stop - 1}"
            message = f"{columns} of X hold entries that are no finite numbers"
            raise ValueError(message)
        self.offset[part] = column_median(block)
        return [np.subtract(block, self.offset[part], dtype=np.float64)]

    def _tell(self, columns: int) -> None:
        with self._lock:
            self._done += columns
            if self._progress is not None:
                self._progress(self._done, self._reader.shape[1])
