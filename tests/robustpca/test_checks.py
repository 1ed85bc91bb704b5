from __future__ import annotations

import numpy as np
import pytest

from bgsub.robustpca.checks import (
    check_matrix,
)

from .helpers import Columns


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_entries_that_are_no_finite_number(dtype, value):
    X = np.zeros((5, 4), dtype=dtype)
    X[3, 1] = value
    shown = "NaN" if np.isnan(value) else value
    with pytest.raises(ValueError, match=rf"X\[3, 1\] is {shown}: every entry must be a finite"):
        check_matrix(X)


def test_entries_whose_squares_would_overflow():
    with pytest.raises(ValueError, match=r"X\[0, 0\] is 1e\+160: .* magnitude below 1e\+70"):
        check_matrix(np.full((2, 2), 1e160))


@pytest.mark.parametrize("X", [np.zeros(3), np.zeros((0, 4)), np.zeros((4, 0)), 5.0])
def test_what_is_no_matrix(X):
    with pytest.raises(ValueError, match="a matrix with at least one row and one column is needed"):
        check_matrix(X)


@pytest.mark.parametrize("X", [np.array([["a"]]), np.array([[True]])])
def test_what_is_no_number(X):
    with pytest.raises(ValueError, match="real numbers are needed"):
        check_matrix(X)


def test_number_of_columns():
    with pytest.raises(ValueError, match="X has 3 columns, but the fit has 4"):
        check_matrix(np.zeros((2, 3)), 4)


def test_types_that_are_kept_and_that_are_not():
    for dtype in (np.uint8, np.float32, np.float64):
        X = np.ones((2, 2), dtype=dtype)
        assert check_matrix(X) is X
    assert check_matrix([[1, 2]]).dtype == np.float64
    reader = Columns(np.ones((2, 2)))
    assert check_matrix(reader) is reader


def test_the_entry_that_is_wrong_is_named_in_any_block_of_rows():
    X = np.zeros((5, 1 << 19), dtype=np.float32)
    X[4, 7] = -np.inf
    with pytest.raises(ValueError, match=r"X\[4, 7\] is -inf"):
        check_matrix(X)
