"""What all estimators share: validation, the choice of road, maps between pixels and scores."""

from __future__ import annotations

import math
import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import RankWarning
from bgsub.robustpca.gram import (
    ArrayColumns,
    ColumnReader,
    Gram,
    block_columns,
    gram_matrix,
)
from bgsub.robustpca.median import column_median
from bgsub.robustpca.spaces import (
    FeatureSpace,
    Fit,
    Floats,
    RowSpace,
    Space,
    centred_blocks,
    row_blocks,
)

# Fourth powers of the entries, summed, must stay finite. As float64 it is comparable to float32.
_LARGEST = np.float64(1e70)


class AffineEstimator:
    """A centre and orthonormal components, fitted to the rows of a matrix.

    Subclasses implement `_fit_space`; this class turns its `Fit` into the fitted attributes

    - ``center_`` (p,) and ``components_`` (k, p), float64, orthonormal rows in order of variance;
    - ``support_`` (n,) bool, ``errors_`` (n,) the reconstruction errors r_i;
    - ``center_weights_`` (n,) and ``component_weights_`` (n, k): m = m₀ + X₀ᵀw and U = X₀ᵀB, only
      where the fit ran among the rows.
    """

    n_components: int

    center_: Floats
    components_: Floats
    support_: NDArray[np.bool_]
    errors_: Floats
    center_weights_: Floats
    component_weights_: Floats
    scores_: Floats
    n_iter_: int

    def _fit_space(self, space: Space) -> list[Fit]:
        """Fit in a space; the first fit is the result, others are formed beside it."""
        raise NotImplementedError

    def fit(self, X: NDArray[Any] | ColumnReader, y: object = None) -> Self:  # noqa: ARG002 - convention
        """Fit centre and components.

        Parameters
        ----------
        X : ndarray of shape (n, p) or ColumnReader
            float64, float32 or uint8, one observation a row. uint8 is never copied as a whole.
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a matrix that is not two-dimensional, empty, NaN or infinite, and for parameters out
            of range; names the value and the rule.

        Notes
        -----
        n²p operations for the Gram matrix and O(n²k) per iteration where n ≤ p, O(npk) per
        iteration otherwise. Memory beside X: 8n² bytes and a few blocks, or O(nk + pk).
        """
        X = check_matrix(X)
        n, p = X.shape
        self._check(n)
        reader = ArrayColumns(X) if isinstance(X, np.ndarray) else X
        if n > p:
            rows = X if isinstance(X, np.ndarray) else check_matrix(reader.columns(0, p))
            offset = column_median(rows)
            fits = self._fit_space(FeatureSpace(rows, offset))
            formed = [(offset + fit.weights, fit.basis) for fit in fits]
        else:
            gram = gram_matrix(reader)
            fits = self._fit_space(RowSpace(gram.values, p))
            formed = form_pixels(reader, gram.offset, fits)
            self.center_weights_, self.component_weights_ = fits[0].weights, alive(fits[0].basis)
        self._set_fit(fits[0])
        self._set_pixels([(m, orthonormal_rows(U)) for m, U in formed])
        return self

    def fit_gram(self, gram: Gram) -> Self:
        """Fit from a Gram matrix alone: everything but ``center_`` and ``components_``.

        Parameters
        ----------
        gram : Gram
            Of the rows, see `gram_matrix`.

        Returns
        -------
        self

        Notes
        -----
        O(n²k) operations per iteration, whatever the number of pixels.
        """
        self._check(gram.n_samples)
        fits = self._fit_space(RowSpace(gram.values, gram.n_features))
        self._set_fit(fits[0])
        self.center_weights_, self.component_weights_ = fits[0].weights, alive(fits[0].basis)
        return self

    def _check(self, n_samples: int) -> None:  # noqa: ARG002 - for subclasses
        check_components(self.n_components)

    def _set_fit(self, fit: Fit) -> None:
        if fit.rank < self.n_components:
            message = (
                f"the fitted rows have rank {fit.rank}, lower than "
                f"n_components={self.n_components}: {fit.rank} components are returned"
            )
            warnings.warn(message, RankWarning, stacklevel=3)
        self.support_ = fit.support
        self.errors_ = fit.residuals
        self.scores_ = fit.scores[:, np.any(fit.basis != 0.0, axis=0)]

    def _set_pixels(self, formed: list[tuple[Floats, Floats]]) -> None:
        self.center_, self.components_ = formed[0]

    def transform(self, X: NDArray[Any]) -> Floats:
        """Scores Y = (X − 1mᵀ)U, shape (n, k); O(npk) operations."""
        X = check_matrix(X, self.center_.size)
        parts = [block @ self.components_.T for _, block in centred_blocks(X, self.center_)]
        return np.concatenate(parts)

    def inverse_transform(self, scores: Floats) -> Floats:
        """m + UY: the reconstruction that belongs to scores of shape (n, k), shape (n, p)."""
        return np.asarray(self.center_ + scores @ self.components_)

    def reconstruct(self, X: NDArray[Any]) -> Floats:
        """m + UUᵀ(x − m) for every row, shape (n, p), float64; O(npk) operations."""
        return self.inverse_transform(self.transform(X))

    def reconstruction_error(self, X: NDArray[Any]) -> Floats:
        """r_i = ‖(UUᵀ − I)(x_i − m)‖², shape (n,); O(npk) operations, a block of rows at a time."""
        return residuals(check_matrix(X, self.center_.size), self.center_, self.components_)


def residuals(X: NDArray[Any], center: Floats, components: Floats) -> Floats:
    """r_i = ‖(UUᵀ − I)(x_i − m)‖², shape (n,), computed on the vectors themselves, by row block."""
    errors = []
    for _, block in centred_blocks(X, center):
        rest = block - (block @ components.T) @ components
        errors.append(np.einsum("ij,ij->i", rest, rest))
    return np.concatenate(errors)


def check_components(n_components: int) -> None:
    """Raise ValueError unless n_components is an integer of at least 1."""
    if isinstance(n_components, bool) or not isinstance(n_components, (int, np.integer)):
        message = f"n_components={n_components!r}: an integer is needed"
        raise ValueError(message)  # noqa: TRY004 - one kind for every parameter out of range
    if n_components < 1:
        message = f"n_components={n_components}: at least 1 is needed"
        raise ValueError(message)


def support_size(n_samples: int, support_fraction: float | None) -> int:
    """t, checked against ⌈n/2⌉ ≤ t ≤ n; None is ⌈n/2⌉."""
    least = (n_samples + 1) // 2
    if support_fraction is None:
        return least
    if not 0.5 <= support_fraction <= 1.0:
        message = (
            f"support_fraction={support_fraction}: t must be at least ⌈n/2⌉ = {least} and at most "
            f"n = {n_samples}, so a fraction from 0.5 to 1 is needed"
        )
        raise ValueError(message)
    # Without the slack 0.55 · 200 would be rounded up to 111.
    return max(least, math.ceil(support_fraction * n_samples - 1e-9))


def check_iteration(tol: float, max_iter: int) -> None:
    """Raise ValueError unless the parameters of an iteration are in range."""
    if not tol >= 0.0:
        message = f"tol={tol}: at least 0 is needed"
        raise ValueError(message)
    if max_iter < 1:
        message = f"max_iter={max_iter}: at least 1 iteration is needed"
        raise ValueError(message)


def check_matrix(X: Any, n_features: int | None = None) -> Any:
    """Return X as a matrix of a supported type, or raise ValueError naming what is wrong."""
    if isinstance(X, ColumnReader) and not isinstance(X, np.ndarray):
        return X
    X = np.asarray(X)
    if X.ndim != 2 or X.size == 0:
        message = f"X has shape {X.shape}: a matrix with at least one row and one column is needed"
        raise ValueError(message)
    if n_features is not None and X.shape[1] != n_features:
        message = f"X has {X.shape[1]} columns, but the fit has {n_features}"
        raise ValueError(message)
    if X.dtype == np.uint8:
        return X
    if not np.issubdtype(X.dtype, np.number) or np.issubdtype(X.dtype, np.complexfloating):
        message = f"X has entries of type {X.dtype}: real numbers are needed"
        raise ValueError(message)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    for rows in row_blocks(*X.shape):
        allowed = np.abs(X[rows]) < _LARGEST
        if not allowed.all():
            row, column = np.argwhere(~allowed)[0]
            message = (
                f"X[{rows.start + row}, {column}] is {X[rows][row, column]}: "
                f"every entry must be a finite number, of magnitude below {_LARGEST:g}"
            )
            raise ValueError(message)
    return X


def alive(basis: Floats) -> Floats:
    """The columns of a basis that exist."""
    return basis[:, np.any(basis != 0.0, axis=0)]


def orthonormal_rows(U: Floats) -> Floats:
    """Uᵀ without absent components and the last rounding errors of orthonormality, shape (k, p)."""
    U = alive(U)
    if U.shape[1] == 0:
        return np.zeros((0, U.shape[0]))
    import scipy.linalg

    lower = np.linalg.cholesky(U.T @ U)
    return np.ascontiguousarray(scipy.linalg.solve_triangular(lower, U.T, lower=True))


def form_pixels(
    reader: ColumnReader, offset: NDArray[Any], fits: list[Fit]
) -> list[tuple[Floats, Floats]]:
    """m = m₀ + X₀ᵀw and U = X₀ᵀB of every fit, in one pass over the blocks of X.

    Returns
    -------
    list of (ndarray of shape (p,), ndarray of shape (p, k))
    """
    n, p = reader.shape
    stacked = np.concatenate([np.column_stack([f.weights, f.basis]) for f in fits], axis=1).T
    result = np.empty((stacked.shape[0], p))
    # Narrower than for the Gram matrix: these blocks are float64, and no sum goes over columns.
    step = max(block_columns(n) // 4, 1)
    for start in range(0, p, step):
        stop = min(start + step, p)
        part = offset[start:stop]
        centred = np.subtract(reader.columns(start, stop), part, dtype=np.float64)
        result[:, start:stop] = stacked @ centred
    formed = []
    first = 0
    for fit in fits:
        width = 1 + fit.basis.shape[1]
        formed.append((offset + result[first], result[first + 1 : first + width].T))
        first += width
    return formed
