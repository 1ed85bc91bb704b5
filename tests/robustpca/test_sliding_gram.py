"""The Gram matrix of a window of rows is that of the rows computed anew."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bgsub.robustpca.gram import gram_matrix
from bgsub.robustpca.sliding_gram import SlidingGram

from .helpers import contaminated, frames


def streamed(rows, capacity, cuts, looks):
    """Take rows in by pieces, looking at the Gram matrix after some of them."""
    window = SlidingGram(capacity, rows.shape[1], rows.dtype)
    edges = [0, *sorted(cuts), len(rows)]
    for start, stop in pairwise(edges):
        if stop > start:
            window.add(rows[start:stop])
        if looks and start < stop:
            window.gram()
    return window


@given(
    arrays(np.uint8, st.tuples(st.integers(1, 14), st.integers(1, 9))),
    st.integers(1, 6),
    st.sets(st.integers(0, 14)),
    st.booleans(),
)
def test_it_is_that_of_the_last_rows_to_the_bit(rows, capacity, cuts, looks):
    window = streamed(rows, capacity, {min(c, len(rows)) for c in cuts}, looks)
    last = rows[-capacity:]
    found, anew = window.gram(), gram_matrix(last)
    np.testing.assert_array_equal(found.values, anew.values)
    np.testing.assert_array_equal(found.offset, anew.offset)
    np.testing.assert_array_equal(window[:], last)
    np.testing.assert_array_equal(window.columns(0, rows.shape[1]), last)
    assert window.shape == last.shape


def test_it_is_exact_where_float32_would_not_be_in_one_piece():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (60, 9000)).astype(np.uint8) * 255
    window = streamed(rows, 40, {7, 30, 41, 59}, looks=True)
    np.testing.assert_array_equal(window.gram().values, gram_matrix(rows[-40:]).values)


def test_footage_that_grows_brighter_stays_exact():
    rows = np.clip(frames(90, 500) // 2 + np.arange(90)[:, None], 0, 255).astype(np.uint8)
    window = SlidingGram(25, 500)
    for row in rows:
        window.add(row[None])
        window.gram()
    np.testing.assert_array_equal(window.gram().values, gram_matrix(rows[-25:]).values)


def test_floats_agree_to_rounding():
    rows = contaminated(80, 30) + np.linspace(0, 50, 80)[:, None]
    window = streamed(rows, 20, set(range(0, 80, 3)), looks=True)
    anew = gram_matrix(rows[-20:])
    np.testing.assert_allclose(window.gram().values, anew.values, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("outage", [9.97e36, 1e8, 3e5])
def test_floats_agree_after_the_median_has_been_far_away(outage):
    rows = contaminated(120, 30) + 20.0
    rows[30:60] += outage
    window = SlidingGram(40, 30, np.float64)
    for stop in range(10, 121, 10):
        window.add(rows[stop - 10 : stop])
        found = window.gram().values
        anew = gram_matrix(rows[max(stop - 40, 0) : stop]).values
        sizes = np.sqrt(np.outer(anew.diagonal(), anew.diagonal())) + 1e-6
        assert (np.abs(found - anew) / sizes).max() < 1e-9


def test_what_was_given_may_be_changed():
    window = SlidingGram(4, 3)
    window.add(np.ones((4, 3), np.uint8))
    gram = window.gram()
    gram.values[:] = 7
    window[:][:] = 7
    assert window.gram().values.max() == 0
    assert window[0:2].tolist() == [[1, 1, 1]] * 2
    with pytest.raises(ValueError, match="broadcast"):
        window.add(np.ones((1, 2), np.uint8))
