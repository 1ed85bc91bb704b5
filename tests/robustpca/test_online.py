"""TRPCA of a sliding window."""

from __future__ import annotations

import pickle
import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bgsub.errors import RankWarning
from bgsub.paper.curves import tre
from bgsub.robustpca.gram import gram_matrix
from bgsub.robustpca.online import OnlineTRPCA, SlidingGram
from bgsub.robustpca.trpca import TRPCA

from .helpers import Columns, contaminated, frames, subspace_angle


def test_one_window_is_trpca():
    X = frames(30, 400)
    plain, online = TRPCA(2, random_state=3).fit(X), OnlineTRPCA(2, random_state=3).fit(X)
    for name in ("center_", "components_", "support_", "errors_", "outlier_scores_", "scores_"):
        np.testing.assert_array_equal(getattr(online, name), getattr(plain, name))
    assert online.n_seen_ == 30
    again = OnlineTRPCA(2, random_state=3).fit(Columns(X))
    np.testing.assert_array_equal(again.components_, online.components_)


@pytest.mark.parametrize("kind", [np.uint8, np.float64])
def test_only_the_window_counts(kind):
    X = frames(60, 300).astype(kind)
    other = 255 - X
    X[:20] = other[:20]
    online = OnlineTRPCA(2, window=40, refresh=7, random_state=0).fit(X)
    plain = TRPCA(2, random_state=0).fit(X[-40:])
    assert online.objective_ <= plain.objective_ * 1.03
    assert subspace_angle(online.components_, plain.components_) < 0.1
    np.testing.assert_allclose(online.center_, plain.center_, atol=1.0)
    assert online.support_.shape == online.errors_.shape == (60,)
    assert online.scores_.shape == (60, 2)


def test_rows_may_come_in_any_pieces():
    X = frames(50, 200)
    whole = OnlineTRPCA(2, window=20, refresh=5, random_state=0).partial_fit(X)
    parts = OnlineTRPCA(2, window=20, refresh=5, random_state=0)
    errors = [parts.partial_fit(X[i : i + 5]).errors_ for i in range(0, 50, 5)]
    np.testing.assert_array_equal(parts.components_, whole.components_)
    np.testing.assert_array_equal(np.concatenate(errors), whole.errors_)
    assert parts.n_seen_ == whole.n_seen_ == 50


def test_a_visitor_is_an_outlier_when_it_comes():
    X = frames(60, 300)
    visitor = X[-12:].copy()
    online = OnlineTRPCA(2, window=40, refresh=4, random_state=0).fit(X[:48])
    online.partial_fit(visitor)
    assert not online.support_.any()
    assert (online.outlier_scores_ > 8).all()


def test_a_jump_is_followed_when_it_fills_half_of_the_window():
    rng = np.random.default_rng(0)
    first, second = (np.linalg.qr(rng.normal(size=(30, 2)))[0].T for _ in range(2))
    online = OnlineTRPCA(2, window=40, refresh=5, random_state=0)
    online.fit(rng.normal(size=(40, 2)) @ first + 0.01 * rng.normal(size=(40, 30)))
    T = rng.normal(size=(40, 2)) @ second + 0.01 * rng.normal(size=(40, 30))
    assert subspace_angle(online.components_, first) < 0.05
    online.partial_fit(T[:15])
    assert subspace_angle(online.components_, first) < 0.05
    online.partial_fit(T[15:25])
    assert subspace_angle(online.components_, second) < 0.05
    assert tre(online.center_, online.components_, T) < 1e-3


@pytest.mark.parametrize("seed", range(5, 7))
def test_the_last_fit_is_a_start(seed):
    # In these data one minimum is the lowest by far: else the last bits decide where a start ends.
    X = contaminated(120, 50, seed=seed)
    cold = OnlineTRPCA(3, window=60, refresh=6, n_fresh=10, random_state=0).fit(X)
    warm = OnlineTRPCA(3, window=60, refresh=6, n_fresh=0, random_state=0).fit(X)
    assert warm.objectives_.size == 1
    assert cold.objectives_.size == 11
    assert warm.objective_ == pytest.approx(cold.objective_, rel=1e-9)
    assert warm.n_iter_ <= 10


def test_fit_forgets():
    X = frames(40, 100)
    fresh = OnlineTRPCA(2, window=30, random_state=0).fit(X)
    used = OnlineTRPCA(2, window=30, random_state=0).partial_fit(255 - X).fit(X)
    np.testing.assert_array_equal(used.components_, fresh.components_)
    again = pickle.loads(pickle.dumps(used))
    np.testing.assert_array_equal(again.partial_fit(X).components_, used.partial_fit(X).components_)


def test_fewer_rows_than_components_are_a_beginning():
    X = frames(20, 100)
    with pytest.warns(RankWarning):
        online = OnlineTRPCA(4, refresh=2, random_state=0).partial_fit(X[:2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        online.partial_fit(X[2:])
    assert online.components_.shape == (4, 100)
    assert online.scores_.shape == (18, 4)


def test_parameters_are_checked():
    X = frames(20, 50)
    for name, value in (("window", 1), ("refresh", 0), ("n_fresh", -1), ("window", 2.5)):
        with pytest.raises(ValueError, match=f"{name}={value}: an integer of at least"):
            OnlineTRPCA(1, **{name: value}).fit(X)
    online = OnlineTRPCA(1, random_state=0).fit(X)
    with pytest.raises(ValueError, match="X is float64, but the rows of the window are uint8"):
        online.partial_fit(X.astype(float))
    with pytest.raises(ValueError, match="expecting 50 features"):
        online.partial_fit(X[:, 1:])
    OnlineTRPCA(1, random_state=0).fit(X.astype(float)).partial_fit(X)


@pytest.mark.parametrize("outage", [9.97e36, -3e5])
@pytest.mark.filterwarnings("ignore::bgsub.errors.RankWarning")
def test_after_an_outage_it_is_a_fit_anew(outage):
    """Rows of a fill value, or far away, fill most of the window; then the rows come back."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 50)) * 3 + rng.normal(size=(300, 50))
    rows[120:180] = outage if outage > 1e30 else rows[120:180] + outage
    fit = OnlineTRPCA(3, window=80, refresh=10, random_state=0)
    for stop in range(20, 261, 20):
        fit.partial_fit(rows[stop - 20 : stop])
        if stop in {240, 260}:
            anew = TRPCA(3, random_state=0).fit(rows[stop - 80 : stop])
            np.testing.assert_array_equal(fit.support_, anew.support_[-20:])
            ours, theirs = (one.reconstruct(rows[stop - 20 : stop]) for one in (fit, anew))
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)


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
