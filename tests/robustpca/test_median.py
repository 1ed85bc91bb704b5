"""Medians of columns, bit by bit."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgsub.robustpca.median import NORMAL_MAD, column_median, level_median

from .helpers import lower_median

bytes_ = st.integers(0, 255)


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(np.uint8, hnp.array_shapes(min_dims=2, max_dims=2, max_side=12), elements=bytes_))
def test_median_of_bytes_is_the_lower_one(X):
    median = column_median(X)
    assert median.dtype == np.uint8
    np.testing.assert_array_equal(median, lower_median(X))


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
    median = level_median(levels)
    assert median.dtype == np.float32
    np.testing.assert_array_equal(median, np.median(levels, axis=0))
