"""Medians of columns, bit by bit."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgsub.robustpca.median import NORMAL_MAD, column_median, level_median, median, quantile

from .helpers import lower_median

bytes_ = st.integers(0, 255)


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(np.uint8, hnp.array_shapes(min_dims=2, max_dims=2, max_side=12), elements=bytes_))
def test_median_of_bytes_is_the_lower_one(X):
    found = column_median(X)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, lower_median(X))


@pytest.mark.parametrize("n", [1, 2, 255, 256, 511, 600])
def test_median_counts_beyond_a_byte(n):
    X = np.random.default_rng(n).integers(0, 256, (n, 40)).astype(np.uint8)
    X[:, 0], X[:, 1] = 0, 255
    np.testing.assert_array_equal(column_median(X), lower_median(X))


def test_median_of_floats_is_the_usual_one():
    X = np.random.default_rng(0).normal(size=(8, 5)).astype(np.float32)
    assert column_median(X).dtype == np.float64
    np.testing.assert_allclose(column_median(X), np.median(X, axis=0))


def test_the_median_of_a_normal_variable_is_its_sigma():
    sample = np.random.default_rng(0).normal(0, 3, 200_000)
    assert np.median(np.abs(sample)) / NORMAL_MAD == pytest.approx(3, rel=0.01)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 31, 32])
def test_median_of_grey_levels_is_the_usual_one(n):
    levels = np.random.default_rng(n).integers(0, 256, (n, 5, 7, 3), dtype=np.uint8)
    found = level_median(levels)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.median(levels, axis=0))


NUMBERS = st.sampled_from([np.uint8, np.int64, np.float32, np.float64])


def numbers(dtype, most_dims):
    ordinary = {"elements": bytes_} if dtype == np.uint8 else {"elements": st.integers(-99, 99)}
    return hnp.arrays(dtype, hnp.array_shapes(max_dims=most_dims, max_side=9), **ordinary)


@settings(max_examples=75, deadline=None)
@given(st.data())
def test_a_median_is_that_of_numpy(data):
    X = data.draw(NUMBERS.flatmap(lambda dtype: numbers(dtype, 3)))
    axis = data.draw(st.sampled_from([None, *range(-X.ndim, X.ndim)]))
    before = X.copy()
    found = median(X, axis)
    assert found.dtype == np.median(X, axis).dtype
    np.testing.assert_array_equal(found, np.median(X, axis))
    np.testing.assert_array_equal(X, before)


def test_of_nothing_there_is_no_median():
    assert np.isnan(median(np.empty(0)))
    assert np.isnan(median(np.empty((3, 0), np.float32), 1)).tolist() == [True] * 3


@settings(max_examples=75, deadline=None)
@given(
    hnp.arrays(
        st.sampled_from([np.float32, np.float64]),
        st.integers(1, 30),
        elements=st.floats(-100, 100, width=32),
    ),
    st.sampled_from([0.0, 0.03, 0.25, 0.5, 0.7, 0.97, 1.0]),
)
def test_a_quantile_is_that_of_numpy(values, share):
    # NumPy 2.0 finds the place among single values in single precision, so double tells.
    exact = float(np.quantile(values.astype(np.float64), share))
    single = float(np.finfo(np.float32).eps) * float(np.abs(values).max())
    found = quantile(values, share)
    assert abs(found - exact) <= (2 * single if values.dtype == np.float32 else 0)
