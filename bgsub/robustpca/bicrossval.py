"""Measure how well components predict pixels and rows not learnt from (Owen and Perry 2009).

The columns are cut into two halves and the rows into two folds. Principal components of one half of
the columns are learnt on one fold, the other half is regressed on their scores, and the other
fold's entries there are predicted from its scores in the half that is seen. All of it follows from
the Gram matrices of the two halves, whatever the number of columns.

A. B. Owen, P. O. Perry: "Bi-cross-validation of the SVD and the nonnegative matrix factorization",
Annals of Applied Statistics 3 (2009), 564-594.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgsub.robustpca.gram import ColumnReader
from bgsub.robustpca.spaces import Floats

Rows = NDArray[np.int64]

BANDS = 16
_STRETCHES = 16

# Squared errors below this share of those of the centre alone are rounding.
_NOISE = 1e-9


def half_bands(n_columns: int, half: int) -> list[slice]:
    """Give the bands of columns that belong to one half, in order."""
    edges = (np.arange(BANDS + 1) * n_columns // BANDS).tolist()
    return [slice(*edge) for edge in zip(edges[half:-1:2], edges[half + 1 :: 2], strict=True)]


class BandColumns:
    """Some rows of a matrix, and every other band of its columns: one half of the pixels.

    Parameters
    ----------
    reader : ColumnReader
    rows : ndarray of int
    half : {0, 1}
        Whether the half begins with the first band or the second.

    Notes
    -----
    Bands of many columns, as codecs give neighbouring pixels noise in common.
    """

    def __init__(self, reader: ColumnReader, rows: Rows, half: int) -> None:
        bands = half_bands(reader.shape[1], half)
        self._reader, self._rows = reader, rows
        self._stops = np.array([band.stop for band in bands])
        self._ends = np.cumsum([band.stop - band.start for band in bands])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the half."""
        return self._rows.size, int(self._ends[-1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the entries."""
        return self._reader.dtype

    def columns(self, start: int, stop: int) -> NDArray[Any]:
        """Entries of the half's columns start to stop (exclusive), copied."""
        parts = []
        begin = 0
        for last, end in zip(self._stops.tolist(), self._ends.tolist(), strict=True):
            low, high = max(start, begin), min(stop, end)
            if low < high:
                shift = last - end
                parts.append(self._reader.columns(low + shift, high + shift)[self._rows])
            begin = end
        return np.concatenate(parts, axis=1)


def held_out_errors(halves: tuple[Floats, Floats], inliers: Rows, most: int) -> Floats:
    """Squared errors of held-out pixels of held-out rows.

    Parameters
    ----------
    halves : tuple of two ndarrays of shape (n, n)
        Gram matrices of the two halves of the columns.
    inliers : ndarray of int
        The rows that take part, in order of time.
    most : int
        K.

    Returns
    -------
    ndarray of shape (2 · inliers, K + 1)
        Of every inlier in either half, from 0 to K components.
    """
    # Neighbouring frames share much of their noise, so a fold is made of stretches of time.
    stretches = min(_STRETCHES, inliers.size // 2)
    fold = np.arange(inliers.size) * stretches // inliers.size % 2
    parts = []
    for seen, hidden in (halves, halves[::-1]):
        for learnt in (0, 1):
            rows, others = inliers[fold == learnt], inliers[fold != learnt]
            parts.append(_predict(seen, hidden, rows, others, most))
    return np.maximum(np.concatenate(parts), 0.0)


def median_gains(errors: Floats) -> Floats:
    """Median over the rows of how far each component lets log(squared error) fall, shape (K,).

    Errors below the rounding of those of the centre alone count as that, so that components of
    rounding errors gain nothing.
    """
    least = _NOISE * float(errors[:, 0].mean()) or 1.0
    return np.asarray(-np.median(np.diff(np.log(np.maximum(errors, least)), axis=1), axis=0))


def _predict(seen: Floats, hidden: Floats, rows: Rows, others: Rows, most: int) -> Floats:
    """Errors of the hidden half of the other rows, from their scores in the half that is seen.

    With V and λ the eigenvectors and eigenvalues of the centred Gram matrix of the seen half, the
    scores of the other rows divided by those of the learnt ones' lengths are a = K_sₗ V/λ, and the
    regression of the hidden half on them predicts aVᵀX; the rest is products with its Gram matrix.
    """
    import scipy.linalg

    inside, across, _ = _relative(seen, rows, others)
    count = min(most, rows.size - 1)
    last = rows.size - 1
    values, V = scipy.linalg.eigh(inside, subset_by_index=(last - count + 1, last))
    values, V = values[::-1], V[:, ::-1]
    kept = values > _NOISE * max(float(values[0]), 0.0)
    V = V[:, kept]
    a = across @ V / values[kept]
    inside, across, squares = _relative(hidden, rows, others)
    linear = np.cumsum(a * (across @ V), axis=1)
    products = V.T @ inside @ V
    errors = np.repeat(squares[:, None], most + 1, axis=1)
    for k in range(1, V.shape[1] + 1):
        quadratic = np.einsum("nc,cd,nd->n", a[:, :k], products[:k, :k], a[:, :k], optimize=True)
        # Components that do not exist change nothing.
        errors[:, k:] = (squares - 2.0 * linear[:, k - 1] + quadratic)[:, None]
    return errors


def _relative(K: Floats, rows: Rows, others: Rows) -> tuple[Floats, Floats, Floats]:
    """Products among `rows`, of the others with them, squares of the others; rows' mean is 0."""
    inside, across = K[np.ix_(rows, rows)], K[np.ix_(others, rows)]
    means, centre = inside.mean(axis=0), float(inside.mean())
    across_means = across.mean(axis=1)
    return (
        inside - means - means[:, None] + centre,
        across - means - across_means[:, None] + centre,
        K[others, others] - 2.0 * across_means + centre,
    )


def centred_gram(K: Floats) -> Floats:
    """Gram matrix relative to the mean of the rows."""
    means = K.mean(axis=0)
    return np.asarray(K - means - means[:, None] + means.mean())
