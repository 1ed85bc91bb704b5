"""Data that several test modules of this folder use."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from bgsub.robustpca.gram import gram_matrix
from bgsub.robustpca.spaces import FeatureSpace, RowSpace, column_median


def contaminated(
    n: int, p: int, k: int = 3, *, share: float = 0.3, seed: int = 0
) -> NDArray[np.float64]:
    """Rows near a k-dimensional subspace away from the origin, a share of them replaced."""
    rng = np.random.default_rng(seed)
    X = 5.0 + rng.normal(size=(n, k)) @ rng.normal(size=(k, p)) + 0.1 * rng.normal(size=(n, p))
    count = round(share * n)
    X[:count] += 3.0 * rng.normal(size=(count, p))
    return X


def frames(n: int, p: int, *, seed: int = 0) -> NDArray[np.uint8]:
    """8-bit rows that look like a flickering scene with a visitor in the last fifth."""
    rng = np.random.default_rng(seed)
    X = 120 + 20 * rng.normal(size=p) + 8 * rng.normal(size=(n, 2)) @ rng.normal(size=(2, p))
    X += 2 * rng.normal(size=(n, p))
    X[-(n // 5) :, : p // 3] = 250
    return np.clip(X, 0, 255).astype(np.uint8)


class Columns:
    """A `ColumnReader` that records the widest block it was asked for."""

    def __init__(self, X: NDArray[Any]) -> None:
        self._X = X
        self.widest = 0

    @property
    def shape(self) -> tuple[int, int]:
        return self._X.shape[0], self._X.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._X.dtype

    def columns(self, start: int, stop: int) -> NDArray[Any]:
        self.widest = max(self.widest, stop - start)
        return np.ascontiguousarray(self._X[:, start:stop])


def both_spaces(X: NDArray[Any]) -> tuple[RowSpace, FeatureSpace]:
    """The two ways through the same matrix."""
    return RowSpace(gram_matrix(X).values, X.shape[1]), FeatureSpace(X, column_median(X))


def lower_median(X):
    """The lower median of every column, by sorting."""
    return np.sort(X, axis=0)[(len(X) - 1) // 2]


def subspace_angle(first, second):
    """Largest principal angle between the spans of some rows, in radians."""
    spans = (np.atleast_2d(np.asarray(rows, dtype=float)).T for rows in (first, second))
    return scipy.linalg.subspace_angles(*spans).max(initial=0.0)
