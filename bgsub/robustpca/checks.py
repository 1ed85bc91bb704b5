"""Check parameters and matrices; every error names the value and the rule."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bgsub.robustpca.gram import ColumnReader
from bgsub.robustpca.linalg import row_blocks

# Fourth powers of the entries, summed, must stay finite. As float64 it is comparable to float32.
_LARGEST = np.float64(1e70)


def check_components(n_components: int) -> None:
    """Raise ValueError unless n_components is an integer of at least 1."""
    if isinstance(n_components, bool) or not isinstance(n_components, (int, np.integer)):
        message = f"n_components={n_components!r}: an integer is needed"
        raise ValueError(message)  # noqa: TRY004 - one kind for every parameter out of range
    if n_components < 1:
        message = f"n_components={n_components}: at least 1 is needed"
        raise ValueError(message)


def check_integer(name: str, value: Any, least: int) -> None:
    """Raise ValueError unless a parameter is an integer of at least so much."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        message = f"{name}={value!r}: an integer of at least {least} is needed"
        raise ValueError(message)


def check_number(name: str, value: Any, least: float, *, strictly: bool = False) -> None:
    """Raise ValueError unless a parameter is a number of at least, or strictly above, so much."""
    if not _is_number(value) or not (value > least if strictly else value >= least):
        rule = f"above {least:g}" if strictly else f"of at least {least:g}"
        message = f"{name}={value!r}: a number {rule} is needed"
        raise ValueError(message)


def support_size(n_samples: int, support_fraction: float | None) -> int:
    """t, checked against ⌈n/2⌉ ≤ t ≤ n; None is ⌈n/2⌉."""
    least = (n_samples + 1) // 2
    if support_fraction is None:
        return least
    if not _is_number(support_fraction) or not 0.5 <= support_fraction <= 1.0:
        message = (
            f"support_fraction={support_fraction!r}: t must be at least ⌈n/2⌉ = {least} and at "
            f"most n = {n_samples}, so a fraction from 0.5 to 1 is needed"
        )
        raise ValueError(message)
    # Without the slack 0.55 · 200 would be rounded up to 111.
    return max(least, math.ceil(support_fraction * n_samples - 1e-9))


def check_iteration(tol: float, max_iter: int) -> None:
    """Raise ValueError unless the parameters of an iteration are in range."""
    check_number("tol", tol, 0.0)
    check_integer("max_iter", max_iter, 1)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def check_matrix(X: Any, n_features: int | None = None) -> Any:
    """Return X as a matrix of a supported type, or raise ValueError naming what is wrong."""
    if isinstance(X, ColumnReader) and not isinstance(X, np.ndarray):
        return X
    if hasattr(X, "toarray"):
        message = "X is a sparse matrix, which centring would fill: give X.toarray()"
        raise TypeError(message)
    X = np.asarray(X)
    if X.ndim != 2 or X.size == 0:
        message = f"X has shape {X.shape}: a matrix with at least one row and one column is needed"
        if X.ndim == 1:
            message += ". Reshape your data: one row is X.reshape(1, -1)"
        elif X.ndim == 2 and X.shape[1] == 0:
            message += f"; 0 feature(s) (shape={X.shape}) while a minimum of 1 is required."
        raise ValueError(message)
    if n_features is not None and X.shape[1] != n_features:
        message = f"X has {X.shape[1]} columns, but the fit has {n_features}"
        raise ValueError(message)
    if X.dtype == np.uint8:
        return X
    if np.issubdtype(X.dtype, np.complexfloating):
        message = f"Complex data not supported: X has entries of type {X.dtype}"
        raise ValueError(message)
    if X.dtype == np.object_:
        X = X.astype(np.float64)
    if not np.issubdtype(X.dtype, np.number):
        message = f"X has entries of type {X.dtype}: real numbers are needed"
        raise ValueError(message)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    _check_entries(X)
    return X


def _check_entries(X: Any) -> None:
    for rows in row_blocks(*X.shape):
        allowed = np.abs(X[rows]) < _LARGEST
        if not allowed.all():
            row, column = np.argwhere(~allowed)[0]
            value = str(X[rows][row, column]).replace("nan", "NaN")
            message = (
                f"X[{rows.start + row}, {column}] is {value}: "
                f"every entry must be a finite number, of magnitude below {_LARGEST:g}"
            )
            raise ValueError(message)
