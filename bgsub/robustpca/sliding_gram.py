"""Keep the exact Gram matrix of the last rows of a stream while rows come and go.

Rows that leave take their row and column of K with them and those that come bring theirs, so no
number is ever taken off another one: nothing adds up, however long the stream is. The matrix is
centred on the median of the rows that are there. When that moves by d, the inner products follow
from a_i = ⟨x_i − m₀, d⟩ alone: ⟨x_i − m₀ − d, x_j − m₀ − d⟩ = K_ij − a_i − a_j + ⟨d, d⟩. For 8-bit
rows all of it is done in integers, and the result is that of `gram_matrix` to the bit. For others
digits are lost where d is large against the rows, as after an outage that was filled with one
value: the products of such rows are computed anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgsub.robustpca.gram import Gram, block_columns, exact_pieces
from bgsub.robustpca.median import column_median

Floats = NDArray[np.float64]


# Squared lengths may shrink by this factor when the offset moves: a fraction 1e-12 of them is lost.
_MOST_SHRINKING = 1e4


class SlidingGram:
    """The last rows of a stream, read by columns, oldest first, and their Gram matrix.

    Parameters
    ----------
    capacity : int
        Rows that are kept.
    n_features : int
        p.
    dtype : dtype
        uint8 (exact), or float64.

    Notes
    -----
    Memory: capacity · p entries and 8 · capacity² bytes.
    """

    def __init__(self, capacity: int, n_features: int, dtype: Any = np.uint8) -> None:
        self._rows = np.empty((capacity, n_features), dtype=dtype)
        self._K = np.zeros((capacity, capacity))
        self._offset: NDArray[Any] = np.zeros(n_features, dtype=dtype)
        self._next = 0
        self._count = 0

    @property
    def shape(self) -> tuple[int, int]:
        """Rows that are there, and p."""
        return self._count, self._rows.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the entries."""
        dtype: np.dtype[Any] = self._rows.dtype
        return dtype

    @property
    def _order(self) -> NDArray[np.int64]:
        """Places of the rows in order of time."""
        capacity = len(self._rows)
        return (self._next - self._count + np.arange(self._count)) % capacity

    def columns(self, start: int, stop: int) -> NDArray[Any]:
        """Copy the columns start to stop (exclusive) of the rows, oldest first."""
        return np.asarray(self._rows[self._order, start:stop])

    def __getitem__(self, part: slice) -> NDArray[Any]:
        """Copy a part of the rows, oldest first."""
        return np.asarray(self._rows[self._order[part]])

    def add(self, rows: NDArray[Any]) -> None:
        """Take in rows, in order of time, in place of the oldest.

        Parameters
        ----------
        rows : ndarray of shape (m, p)

        Notes
        -----
        O(m · capacity · p) operations.
        """
        capacity = len(self._rows)
        rows = rows[-capacity:]
        if not self._count and len(rows):
            self._offset = column_median(rows)
        new = (self._next + np.arange(len(rows))) % capacity
        self._rows[new] = rows
        self._next = (self._next + len(rows)) % capacity
        self._count = min(self._count + len(rows), capacity)
        products = self._products(new)
        self._K[new, : self._count] = products
        self._K[: self._count, new] = products.T

    def _products(self, new: NDArray[np.int64]) -> Floats:
        """Inner products of some rows with all that are there, less the offset."""
        offset = self._offset
        n, p = self.shape
        products = np.zeros((len(new), n))
        step = block_columns(n)
        for start in range(0, p, step):
            part = slice(start, min(start + step, p))
            block = self._rows[:n, part]
            if self.dtype == np.uint8:
                centred = block.astype(np.float32)
                centred -= offset[part].astype(np.float32)
                # OpenBLAS with AVX-512 may compute with what lies beside a small matrix, and leave
                # it out: products of bytes were once said to be invalid, which they cannot be.
                with np.errstate(invalid="ignore"):
                    for piece in exact_pieces(centred):
                        products += piece[new] @ piece.T
            else:
                values = block - offset[part]
                products += values[new] @ values.T
        return products

    def gram(self) -> Gram:
        """Give the Gram matrix of the rows that are there, oldest first.

        Returns
        -------
        Gram
            That of `gram_matrix` for the same rows; for floating-point rows up to rounding.

        Notes
        -----
        O(capacity · p) operations for the median, where `gram_matrix` takes capacity times as many.
        """
        p = self.shape[1]
        self._centre_on(self._median())
        order = self._order
        offset = np.array(self._offset)
        return Gram(self._K[np.ix_(order, order)], offset, p, 0, 0)

    def _median(self) -> NDArray[Any]:
        n, p = self.shape
        step = block_columns(n)
        starts = range(0, p, step)
        return np.concatenate([column_median(self._rows[:n, s : s + step]) for s in starts])

    def _centre_on(self, median: NDArray[Any]) -> None:
        """Move the offset, and with it all inner products."""
        n = self._count
        moved = np.flatnonzero(median != self._offset)
        along, length = np.zeros(n), 0.0
        step = block_columns(n)
        for start in range(0, moved.size, step):
            some = moved[start : start + step]
            before = self._offset[some].astype(np.float64)
            shift = median[some] - before
            along += (self._rows[:n, some] - before) @ shift
            length += float(shift @ shift)
        before_lengths = np.maximum(self._K.diagonal()[:n], length)
        self._K[:n, :n] += length - along - along[:, None]
        self._offset = median
        if self.dtype != np.uint8 and length > 0.0:
            lengths = self._K.diagonal()[:n]
            usual = np.maximum(lengths, np.median(lengths))
            lost = np.flatnonzero(before_lengths > _MOST_SHRINKING * usual)
            self._K[lost, :n] = self._products(lost)
            self._K[:n, lost] = self._K[lost, :n].T
