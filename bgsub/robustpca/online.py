"""Fit TRPCA to the last rows of a stream, anew as rows come.

Rows that leave the window take their row and column of its Gram matrix K with them and those that
come bring theirs, so no number is ever taken off another one: nothing adds up, however long the
stream is. K is centred on the median of the rows that are there. When that moves by d, the inner
products follow from a_i = ⟨x_i − m₀, d⟩ alone:

    ⟨x_i − m₀ − d, x_j − m₀ − d⟩ = K_ij − a_i − a_j + ⟨d, d⟩.

For 8-bit rows all of it is done in integers, and the result is that of `gram_matrix` to the bit.
For others digits are lost where d is large against the rows, as after an outage that was filled
with one value: the products of such rows are computed anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from bgsub.robustpca.base import form_pixels, orthonormal_rows
from bgsub.robustpca.conventions import rows_of
from bgsub.robustpca.gram import ColumnReader, Gram, block_columns, exact_pieces
from bgsub.robustpca.spaces import Floats, RowSpace, Space, centred_blocks, column_median, slices
from bgsub.robustpca.trpca import TRPCA

_PER_ROW = ("support_", "errors_", "scores_", "outlier_scores_")
# Squared lengths may shrink by this factor when the offset moves: a fraction 1e-12 of them is lost.
_MOST_SHRINKING = 1e4


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineTRPCA(TRPCA):
    """TRPCA of a sliding window of rows, for streams whose subspace changes.

    Keeps the last rows and their Gram matrix. A renewed fit starts from the last
    one besides some random starts, and the best of them is kept: the last one saves iterations
    where little has changed, the random ones find a subspace that is new. As in `TRPCA`, what is in
    less than half of the window has no part in the fit: a change is followed when it fills half.

    Parameters
    ----------
    n_components : int
        k, at least 1.
    window : int
        Rows that are fitted.
    refresh : int
        The fit is renewed after so many rows, and at the end of every call of `partial_fit`.
    n_fresh : int
        Random starts of a renewed fit, at least 0.
    support_fraction, n_init, tol, max_iter, reweight, random_state, reweight_cutoff,
    threads
        As for `TRPCA`; n_init are the starts of the first fit.

    Attributes
    ----------
    support_, errors_, outlier_scores_, scores_ : ndarray of m rows
        Of the rows of the last call, each as the fit saw it that took it in. All others are as in
        `TRPCA`, of the last fit; the last start is the warm one where there was a fit.
    n_seen_ : int
        Rows since `fit`, or since the first `partial_fit`.

    Notes
    -----
    A row costs O(window · p) operations, and a renewed fit O(window · p · k), where a fit anew
    takes O(window² · p) for its Gram matrix alone. Memory: window · p entries of the type of the
    rows (uint8 stays uint8) and 8 · window² bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from bgsub.robustpca.online import OnlineTRPCA
    >>> rng = np.random.default_rng(0)
    >>> first, second = rng.normal(size=(2, 2, 40))
    >>> fit = OnlineTRPCA(2, window=50, random_state=0)
    >>> fit = fit.partial_fit(rng.normal(size=(50, 2)) @ first)
    >>> bool(fit.reconstruction_error(second).max() > 1)
    True
    >>> fit = fit.partial_fit(rng.normal(size=(40, 2)) @ second)
    >>> bool(fit.reconstruction_error(second).max() > 1e-9)
    False
    """

    window: int = 500
    refresh: int = 50
    n_fresh: int = 2
    solver: Literal["gram", "reference"] = field(default="gram", init=False)

    def fit(self, X: NDArray[Any] | ColumnReader, y: object = None) -> Self:  # noqa: ARG002 - convention
        """Forget all rows, and take in those of X as a stream that begins with a whole window.

        See `TRPCA.fit`; with at most `window` rows the result is the same.
        """
        rows = rows_of(self._training_matrix(X))
        self._begin(rows)
        return self._stream(rows, self.window)

    def partial_fit(self, X: NDArray[Any], y: object = None) -> Self:  # noqa: ARG002 - convention
        """Take in rows (m, p), in order of time, in place of the oldest, and renew the fit.

        ValueError as for `fit`; and for rows with another number of features, or of a type that the
        window, which has that of the first rows, cannot hold.
        """
        self._check(self.window)
        if not self.__sklearn_is_fitted__():
            rows = self._training_matrix(X)
            self._begin(rows)
        else:
            rows = self._matrix(X)
            if not np.can_cast(rows.dtype, self._rows.dtype):
                message = f"X is {rows.dtype}, but the rows of the window are {self._rows.dtype}"
                raise ValueError(message)
        return self._stream(rows, self.refresh)

    def _begin(self, rows: NDArray[Any]) -> None:
        kind = np.uint8 if rows.dtype == np.uint8 else np.float64
        self._rows = SlidingGram(self.window, rows.shape[1], kind)
        self._is_first, self.n_seen_ = True, 0

    def _stream(self, rows: NDArray[Any], first: int) -> Self:
        """Take in some rows, `first` of them to begin with, and keep what is said of each."""
        step = min(self.refresh, self.window)
        edges = [0, *range(min(first, self.window), len(rows), step), len(rows)]
        parts = [self._take(rows[start:stop]) for start, stop in pairwise(edges)]
        for name, values in zip(_PER_ROW, zip(*parts, strict=True), strict=True):
            setattr(self, name, stacked(values))
        return self

    def _take(self, rows: NDArray[Any]) -> list[NDArray[Any]]:
        """Take in rows and renew the fit; what it says of these rows."""
        self._rows.add(rows)
        self.n_seen_ += len(rows)
        gram = self._rows.gram()
        self._offset = gram.offset
        with self._pool() as pool:
            fits = self._fit_space(RowSpace(gram.values, gram.n_features, pool))
            formed = form_pixels(self._rows, gram.offset, fits, pool)
        self._set_fit(fits[0])
        self._set_pixels([(m, orthonormal_rows(U)) for m, U in formed])
        self._is_first = False
        return [getattr(self, name)[-len(rows) :] for name in _PER_ROW]

    def _starts(self, space: Space) -> list[Floats]:
        if self._is_first:
            return super()._starts(space)
        rng = np.random.default_rng(self.random_state)
        fresh = [space.draw_scores(self.n_components, rng) for _ in range(self.n_fresh)]
        # X₀U of the window for the components of the last fit, shape (n, k).
        components = self.components_[: self.n_components]
        last = np.zeros((self._rows.shape[0], self.n_components))
        for part, block in centred_blocks(self._rows, self._offset):
            last[part, : len(components)] = block @ components.T
        return [*fresh, last]


def stacked(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Join what fits say of their rows; where a fit found fewer components, with zeros."""
    if parts[0].ndim == 1:
        return np.concatenate(parts)
    width = max(part.shape[1] for part in parts)
    return np.concatenate([np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in parts])


class SlidingGram:
    """The last rows of a stream, uint8 (exact) or float64, oldest first, and their Gram matrix."""

    def __init__(self, capacity: int, n_features: int, dtype: Any = np.uint8) -> None:
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self._rows = np.empty((capacity, n_features), dtype=dtype)
        self._K = np.zeros((capacity, capacity))
        self._offset: NDArray[Any] = np.zeros(n_features, dtype=dtype)
        self._next = self._count = 0

    @property
    def shape(self) -> tuple[int, int]:
        """Rows that are there, and p."""
        return self._count, self._rows.shape[1]

    @property
    def _order(self) -> NDArray[np.int64]:
        """Places of the rows in order of time."""
        return (self._next - self._count + np.arange(self._count)) % len(self._rows)

    def columns(self, start: int, stop: int) -> NDArray[Any]:
        """Copy the columns start to stop (exclusive) of the rows, oldest first."""
        return np.asarray(self._rows[self._order, start:stop])

    def __getitem__(self, part: slice) -> NDArray[Any]:
        """Copy a part of the rows, oldest first."""
        return np.asarray(self._rows[self._order[part]])

    def add(self, rows: NDArray[Any]) -> None:
        """Take in rows (m, p), in order of time, in place of the oldest; O(m · capacity · p)."""
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
        for part in slices(p, block_columns(n)):
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
        """Return the Gram matrix of the rows, that of `gram_matrix`, up to rounding for floats."""
        n, p = self.shape
        parts = slices(p, block_columns(n))
        self._centre_on(np.concatenate([column_median(self._rows[:n, part]) for part in parts]))
        order = self._order
        return Gram(self._K[np.ix_(order, order)], np.array(self._offset), p)

    def _centre_on(self, median: NDArray[Any]) -> None:
        """Move the offset, and with it all inner products."""
        n = self._count
        moved = np.flatnonzero(median != self._offset)
        along, length = np.zeros(n), 0.0
        for part in slices(moved.size, block_columns(n)):
            some = moved[part]
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
