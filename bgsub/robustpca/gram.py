"""Compute the exact Gram matrix of a matrix of frames, one block of pixels at a time.

For 8-bit frames every product is an integer, so a float32 matrix product over a block of pixels is
exact as long as no partial sum leaves the integers that float32 can hold. By the Cauchy-Schwarz
inequality every partial sum of ⟨x_i, x_j⟩ is at most max_i ‖x_i‖²: partial sums of squares only
grow and rounding is monotone, so a computed ‖x_i‖² stays below 2²⁴ exactly if the true one does. A
block in which one reaches 2²⁴ is cut into halves until none does, which takes half the time of a
product in float64. Blocks are summed in float64, where integers below 2⁵³ are exact, so the result
depends on neither block size nor order. K is summed by tiles, on and above its diagonal: each has
the same bits on whatever thread it is summed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations_with_replacement, pairwise
from threading import Lock
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from bgsub.robustpca.spaces import Floats, Rows, column_median, slices
from bgsub.runtime.threads import ThreadPool

FLOAT32_EXACT = float(1 << 24)

TILE_ROWS = 2048  # most rows of the tiles that K is summed by: a product in float32 takes 16 MiB
_BLOCK_ELEMENTS = 1 << 21
_MIN_COLUMNS, _MAX_COLUMNS = 256, 4096
# Tiles that two threads can share out, but not so small that their products become slower.
_MIN_TILE_ROWS, _TILES_ACROSS = 256, 4
_MIN_STRIP = 64  # columns that are worth another thread's time


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
    """A NumPy array seen as a `ColumnReader`, without copying it."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array
        self.shape: tuple[int, int] = (array.shape[0], array.shape[1])
        self.dtype: np.dtype[Any] = array.dtype

    def columns(self, start: int, stop: int) -> NDArray[Any]:
        """View of the columns start to stop (exclusive)."""
        return self._array[:, start:stop]


def as_columns(X: NDArray[Any] | ColumnReader) -> ColumnReader:
    """Return what reads a matrix by columns."""
    return ArrayColumns(X) if isinstance(X, np.ndarray) else X


@dataclass(frozen=True)
class Gram:
    """K = X₀X₀ᵀ with X₀ = X − 1m₀ᵀ, and what belongs to it."""

    values: Floats  # K, shape (n, n)
    offset: NDArray[Any]  # m₀, shape (p,), the median of every column: for bytes the lower one
    n_features: int
    cut_blocks: int = 0  # blocks of bytes that were cut, as float32 would not have been exact
    blocks: int = 0
    share: Floats | None = None  # what the columns add to K that `gram_matrix` was to sum apart
    copies: Rows | None = None  # of `find_copies`; None also where nobody looked


def find_copies(K: Floats, rounding: float) -> Rows | None:
    """Return labels of the rows, shape (n,), equal for copies of one; None where none is frozen.

    A codec freezes a picture, noise and all: most rows differ from the one before by less than
    their `rounding` does (squared), none by six times that, until there is a jump. What strays from
    its middle by a fifth of the way to the nearest other such picture, or by 24 times the rounding
    (two grey levels), moves slowly instead; without another picture, by the rounding.
    """
    n, squares = len(K), K.diagonal()
    steps = squares[1:] + squares[:-1] - 2.0 * K.diagonal(1)
    jumps = np.flatnonzero(steps >= 6.0 * rounding) + 1
    quiet = [
        (start, stop)
        for start, stop in pairwise([0, *jumps.tolist(), n])
        if stop - start > 1 and np.median(steps[start : stop - 1]) < rounding
    ]
    middles = np.array([(start + stop) // 2 for start, stop in quiet], np.intp)
    labels, is_copy = np.arange(n), np.zeros(n, np.bool_)
    for (start, stop), middle in zip(quiet, middles, strict=True):
        away = squares + squares[middle] - 2.0 * K[middle]
        others = away[middles[away[middles] >= 6.0 * rounding]]
        near = min(others.min() / 5.0, 24.0 * rounding) if others.size else 0.0
        near = max(near, rounding)
        if away[start:stop].max() < near:
            same = (away < near) & ~is_copy
            labels[same], is_copy = start, is_copy | same
    return labels if is_copy.any() else None


def block_columns(n_samples: int) -> int:
    """Columns per block such that a float32 block stays in the cache."""
    return int(min(max(_BLOCK_ELEMENTS // max(n_samples, 1), _MIN_COLUMNS), _MAX_COLUMNS))


def exact_pieces(centred: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    """Cut a block of integers (n, b) of magnitude up to 2¹² into views whose A·Aᵀ is exact."""
    columns = centred.shape[1]
    squares = np.einsum("ij,ij->i", centred, centred)
    if columns < 2 or squares.max(initial=0.0) < FLOAT32_EXACT:
        return [centred]
    half = columns // 2
    return exact_pieces(centred[:, :half]) + exact_pieces(centred[:, half:])


def gram_matrix(
    X: NDArray[Any] | ColumnReader,
    *,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    apart: Sequence[slice] = (),
) -> Gram:
    """Compute the Gram matrix of the median-centred rows of X, which is never copied as a whole.

    Exact for uint8, products in float64 for others, added in one order: the result does not depend
    on the threads (None is as many as a matrix product would take). `progress` is called with the
    columns done and p after each block; the share of K of the stretches of columns `apart`, in
    order, is summed too, at no cost. ValueError for NaN or infinite entries.

    n²p/2 multiplications. Memory: 8n² bytes (twice that with a share), and for every thread about
    5·2²¹ for a block, and a tile's product.
    """
    reader = as_columns(X)
    n, p = reader.shape
    sums = [np.zeros((n, n)) for _ in range(2 if apart else 1)]  # outside and inside of `apart`
    offset = np.empty(p, np.uint8 if reader.dtype == np.uint8 else np.float64)
    # The upper triangle in tiles, the last ones smaller.
    rows = min(max(-(-n // _TILES_ACROSS), _MIN_TILE_ROWS), TILE_ROWS)
    tiles = list(combinations_with_replacement(slices(n, rows), 2))
    step, cut_blocks = block_columns(n), 0
    edges = [0, *(edge for part in apart for edge in (part.start, part.stop)), p]
    blocks = [
        (slice(start, min(start + step, last)), index % 2 == 1)
        for index, (first, last) in enumerate(pairwise(edges))
        for start in range(first, last, step)
    ]
    lock = Lock()
    with ThreadPool(None if threads is None else max(1, threads)) as pool:
        # Threads take whole blocks where sums are exact in any order, and else share tiles.
        together, within = (pool.threads, ThreadPool(1)) if reader.dtype == np.uint8 else (1, pool)

        def add(block: tuple[slice, bool]) -> bool:
            part, is_apart = block
            values = reader.columns(part.start, part.stop)
            pieces = _centred(values, offset[part], part.start, within)
            for piece in pieces:
                within.map(partial(_add_product, sums[is_apart], piece, lock), tiles)
            return len(pieces) > 1

        for first in range(0, len(blocks), together):
            some = blocks[first : first + together]
            cut_blocks += sum(pool.map(add, some))
            for part, _ in some:
                if progress is not None:
                    progress(part.stop, p)
    for total in sums:
        for upper, left in tiles:
            if upper != left:
                total[left, upper] = total[upper, left].T
    share = sums[1] if apart else None
    if share is not None:
        sums[0] += share
    return Gram(sums[0], offset, p, cut_blocks, len(blocks), share)


def _add_product(K: Floats, piece: NDArray[Any], lock: Lock, tile: tuple[slice, slice]) -> None:
    upper, left = tile
    product = piece[upper] @ piece[left].T
    with lock:
        K[upper, left] += product


def _centred(
    block: NDArray[Any], offset: NDArray[Any], first: int, pool: ThreadPool
) -> list[NDArray[Any]]:
    """Fill in the medians of a block's columns; return the block less these, in exact pieces."""
    is_integer = block.dtype == np.uint8
    width = block.shape[1]
    count = max(1, min(pool.threads, width // _MIN_STRIP))
    edges = [width * place // count for place in range(count + 1)]
    strips = [slice(*each) for each in pairwise(edges)]

    def find(strip: slice) -> None:
        if not is_integer and not np.isfinite(block[:, strip]).all():
            columns = f"columns {first + strip.start} to {first + strip.stop - 1}"
            raise ValueError(f"{columns} of X hold entries that are no finite numbers")
        offset[strip] = column_median(block[:, strip])

    pool.map(find, strips)
    # Not before: what medians take for a while is as large.
    centred = np.empty(block.shape, np.float32 if is_integer else np.float64)

    def centre(strip: slice) -> NDArray[Any]:
        out = centred[:, strip]
        out[...] = block[:, strip]
        out -= offset[strip].astype(out.dtype)
        return np.einsum("ij,ij->i", out, out) if is_integer else np.zeros(1)

    # In float32 too a sum of squares that reaches 2²⁴ does so in whatever parts it is added up.
    if np.max(sum(pool.map(centre, strips)), initial=0.0) >= FLOAT32_EXACT:
        return exact_pieces(centred)
    return [centred]
