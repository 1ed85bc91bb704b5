from __future__ import annotations

import tracemalloc

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgsub.robustpca.gram import (
    FLOAT32_EXACT,
    ArrayColumns,
    ColumnReader,
    block_columns,
    exact_pieces,
    gram_matrix,
)
from bgsub.robustpca.spaces import column_median, median, quantile

from .helpers import Columns, frames, lower_median

bytes_ = st.integers(0, 255)


def integer_gram(X):
    centred = X.astype(np.int64) - lower_median(X).astype(np.int64)
    return centred @ centred.T


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(np.uint8, hnp.array_shapes(min_dims=2, max_dims=2, max_side=12), elements=bytes_))
def test_gram_of_bytes_is_exact(X):
    np.testing.assert_array_equal(gram_matrix(X).values, integer_gram(X))


@pytest.mark.parametrize("fill", ["stripes", "noise"])
def test_gram_is_exact_where_float32_is_not(fill):
    n = 21
    p = 2 * block_columns(n)
    rng = np.random.default_rng(1)
    if fill == "stripes":
        X = np.where(rng.random((n, p)) < 0.5, 0, 255).astype(np.uint8)
    else:
        X = rng.integers(0, 256, (n, p)).astype(np.uint8)
        X[rng.random(n) < 0.4] //= 64
    gram = gram_matrix(X)
    assert gram.cut_blocks == gram.blocks == 2
    np.testing.assert_array_equal(gram.values, integer_gram(X))
    first = X[:, : p // 2].astype(np.float32)
    centred = first - lower_median(first)
    rounded = centred @ centred.T
    exact = centred.astype(np.int64) @ centred.astype(np.int64).T
    assert (rounded != exact).any(), "the data need no cut"


@pytest.mark.parametrize(("squares", "is_exact"), [(4095, True), (4096, False)])
def test_blocks_are_cut_from_two_to_the_twenty_fourth_on(squares, is_exact):
    block = np.full((2, squares), 64, dtype=np.float32)
    pieces = exact_pieces(block)
    assert (len(pieces) == 1) is is_exact
    assert sum(int((piece @ piece.T)[0, 1]) for piece in pieces) == squares * 4096
    assert FLOAT32_EXACT == 2**24


def test_a_block_with_one_bright_stretch_is_cut_where_it_must_be():
    block = np.ones((3, 4096), dtype=np.float32)
    block[1, :1024] = 255
    pieces = exact_pieces(block)
    assert [piece.shape[1] for piece in pieces] == [256] * 4 + [1024, 2048]
    np.testing.assert_array_equal(np.hstack(pieces), block)


def test_cutting_takes_no_product_in_float64():
    """A cut block once took 8n² bytes more than the memory plan of a run knows of."""
    n = 600
    X = np.where(np.arange(n) % 2, 0, 255).astype(np.uint8)[:, None].repeat(6000, axis=1)
    tracemalloc.start()
    gram = gram_matrix(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert gram.cut_blocks == gram.blocks > 1
    block = 4 * n * block_columns(n)
    assert peak < 8 * n**2 + 4 * n**2 + 2.5 * block


def test_one_cut_block_among_others():
    step = block_columns(20)
    X = np.random.default_rng(0).integers(100, 140, (20, 3 * step)).astype(np.uint8)
    X[:, step : 2 * step] = np.where(np.arange(20) % 2, 0, 255)[:, None]
    gram = gram_matrix(X)
    assert (gram.cut_blocks, gram.blocks) == (1, 3)
    np.testing.assert_array_equal(gram.values, integer_gram(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gram_of_floats(dtype):
    X = np.random.default_rng(0).normal(loc=1e4, size=(30, 9000)).astype(dtype)
    gram = gram_matrix(X)
    np.testing.assert_allclose(gram.offset, np.median(X, axis=0))
    centred = X.astype(np.float64) - gram.offset
    np.testing.assert_allclose(gram.values, centred @ centred.T, rtol=1e-11, atol=1e-9)
    np.testing.assert_array_equal(gram.values, gram.values.T)


def test_reader_is_asked_for_blocks_only():
    X = frames(24, 20000)
    reader = Columns(X)
    assert isinstance(reader, ColumnReader)
    assert isinstance(ArrayColumns(X), ColumnReader)
    gram = gram_matrix(reader)
    assert reader.widest == block_columns(24) < 20000
    expected = gram_matrix(X)
    np.testing.assert_array_equal(gram.values, expected.values)
    np.testing.assert_array_equal(gram.offset, expected.offset)
    assert (len(gram.values), gram.n_features) == X.shape


def test_progress_is_told():
    seen = []
    gram_matrix(frames(5, 20000), progress=lambda done, total: seen.append((done, total)))
    step = block_columns(5)
    assert seen == [*((done, 20000) for done in range(step, 20000, step)), (20000, 20000)]


@pytest.mark.parametrize("threads", [0, 2, 3, 50])
def test_threads_change_nothing(threads):
    X = frames(17, 20001)
    seen = []
    expected = gram_matrix(X)
    gram = gram_matrix(X, threads=threads, progress=lambda done, _: seen.append(done))
    np.testing.assert_array_equal(gram.values, expected.values)
    np.testing.assert_array_equal(gram.offset, expected.offset)
    assert (gram.blocks, gram.cut_blocks) == (expected.blocks, expected.cut_blocks)
    assert seen == sorted(seen)
    assert seen[-1] == 20001


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_stretches_of_columns_are_summed_apart(threads, dtype):
    X = frames(17, 20001).astype(dtype)
    stretches = [slice(0, 5000), slice(9000, 9001), slice(20000, 20001)]
    gram = gram_matrix(X, threads=threads, apart=stretches)
    expected = gram_matrix(X)
    np.testing.assert_array_equal(gram.values, expected.values)
    np.testing.assert_array_equal(gram.offset, expected.offset)
    alone = gram_matrix(np.concatenate([X[:, part] for part in stretches], axis=1))
    np.testing.assert_array_equal(gram.share, alone.values)
    assert expected.share is None


@pytest.mark.parametrize("threads", [1, 3])
def test_what_a_reader_raises_is_raised(threads):
    class Broken(Columns):
        def columns(self, start, stop):
            if start > 0:
                message = "the disk is gone"
                raise OSError(message)
            return super().columns(start, stop)

    with pytest.raises(OSError, match="the disk is gone"):
        gram_matrix(Broken(frames(5, 40000)), threads=threads)


def test_not_finite_entries_of_a_reader_are_refused():
    X = np.zeros((4, 10000))
    X[1, 9999] = np.inf
    with pytest.raises(ValueError, match=r"columns [0-9]+ to 9999 of X hold"):
        gram_matrix(Columns(X))


def test_bytes_are_never_copied_as_a_whole_into_floats():
    X = np.random.default_rng(0).integers(0, 90, (100, 60000), dtype=np.uint8)
    tracemalloc.start()
    gram_matrix(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 * X.nbytes


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


NUMBERS = st.sampled_from([np.uint8, np.int64, np.float32, np.float64])


def numbers(dtype, most_dims):
    ordinary = {"elements": bytes_} if dtype == np.uint8 else {"elements": st.integers(-99, 99)}
    return hnp.arrays(dtype, hnp.array_shapes(max_dims=most_dims, max_side=9), **ordinary)


@settings(max_examples=30, deadline=None)
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
