"""Share among methods with outlying entries how pixels are read, by blocks of columns.

They are no left multiplications of X, so the Gram matrix alone does not do. 8-bit and float32
matrices are handled in float32, float64 ones in float64. Neither copies X as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from bgsub.robustpca.base import AffineEstimator, orthonormal_rows
from bgsub.robustpca.checks import check_components, check_iteration, check_matrix
from bgsub.robustpca.gram import ArrayColumns, ColumnReader, Gram
from bgsub.robustpca.reweight import location_and_scale, predictive_errors, robust_scores
from bgsub.robustpca.spaces import Fit, Floats

Progress = Callable[[int, float], None]
"""Called with the iterations done and the residual."""

_BLOCK_ELEMENTS = 1 << 19


def column_blocks(n: int, p: int) -> Iterator[slice]:
    """Cut p columns of n entries into slices that stay in the cache."""
    step = int(min(max(_BLOCK_ELEMENTS // max(n, 1), 64), 4096))
    return (slice(start, min(start + step, p)) for start in range(0, p, step))


class PixelMethod(AffineEstimator):
    """Base of the methods for which single entries are outliers.

    Subclasses implement `_fit_pixels`. All rows count as fitted: ``support_`` is True everywhere.
    """

    tol: float
    max_iter: int

    converged_: bool
    outlier_scores_: Floats
    error_location_: float
    error_scale_: float

    def _fit_pixels(self, reader: ColumnReader, dtype: type[Any]) -> tuple[Floats, Floats]:
        """Centre (p,) and at most k components (c, p), linearly independent."""
        raise NotImplementedError

    def _check(self, n_samples: int) -> None:  # noqa: ARG002 - same for any number
        check_components(self.n_components)
        check_iteration(self.tol, self.max_iter)

    def fit(self, X: NDArray[Any] | ColumnReader, y: object = None) -> Self:  # noqa: ARG002 - convention
        """Fit centre and components.

        Parameters
        ----------
        X : ndarray of shape (n, p) or ColumnReader
            float64, float32 or uint8, one observation a row; not changed, not copied as a whole.
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As `AffineEstimator.fit`.
        """
        self._check(check_matrix(X).shape[0])
        X = self._training_matrix(X)
        reader = ArrayColumns(X) if isinstance(X, np.ndarray) else X
        dtype = np.float64 if reader.dtype == np.float64 else np.float32
        center, components = self._fit_pixels(reader, dtype)
        components = orthonormal_rows(components.astype(np.float64).T)
        fit = _pixel_fit(reader, center.astype(np.float64), components, self.n_components)
        self._set_fit(fit)
        self._set_pixels([(center.astype(np.float64), components)])
        errors = predictive_errors(fit)
        self.outlier_scores_ = robust_scores(errors)
        self.error_location_, self.error_scale_ = location_and_scale(errors)
        return self

    def fit_gram(self, gram: Gram) -> NoReturn:  # noqa: ARG002 - there is no such way
        """Raise TypeError: this method needs the pixels."""
        message = f"{type(self).__name__} needs the pixels: use fit"
        raise TypeError(message)


def _pixel_fit(reader: ColumnReader, center: Floats, components: Floats, n_components: int) -> Fit:
    """Scores and residuals of every row, in one pass over the columns; O(npk) operations."""
    n, p = reader.shape
    scores = np.zeros((n, n_components))
    squares = np.zeros(n)
    for part in column_blocks(n, p):
        rows = np.subtract(reader.columns(part.start, part.stop), center[part], dtype=np.float64)
        squares += np.einsum("ij,ij->i", rows, rows)
        scores[:, : len(components)] += rows @ components[:, part].T
    residuals = np.maximum(squares - np.einsum("nk,nk->n", scores, scores), 0.0)
    basis = np.zeros((p, n_components))
    basis[:, : len(components)] = components.T
    return Fit(center, basis, scores, residuals, np.ones(n, dtype=bool))
