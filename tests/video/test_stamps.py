"""Which timestamps are those of a constant rate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.video.film_header import Pace, has_stamps, pace_of


@given(
    rate=st.sampled_from([5.0, 12.5, 15.0, 24000 / 1001, 25.0, 30000 / 1001, 60.0]),
    n=st.integers(60, 300),
    start=st.floats(-100, 10**5),
    holes=st.lists(st.tuples(st.integers(1, 50), st.integers(1, 9)), max_size=2),
)
def test_holes_are_counted_whatever_the_stamps_are_rounded_to(rate, n, start, holes):
    gone = {first + i for first, length in holes for i in range(length)}
    stamps = [start + i / rate for i in range(n) if i not in gone]
    for resolution_s in (0.001, 1 / 90000):
        rounded = [round(stamp / resolution_s) * resolution_s for stamp in stamps]
        pace = pace_of(rounded[::-1], resolution_s)
        assert pace.missing == len(gone)
        assert pace.gives_numbers
        assert pace.step_s == pytest.approx(1 / rate, rel=0.01)


@pytest.mark.parametrize(
    "stamps",
    [
        [],
        [1.0],
        [0.0, 0.04],
        [0.0, 0.04, 0.08, 0.5, 0.54, 2.0],
        np.cumsum(np.random.default_rng(0).uniform(0.02, 0.06, 100)).tolist(),
    ],
)
def test_a_variable_rate_gives_no_numbers(stamps):
    assert pace_of(stamps) == Pace(None)


def test_a_film_that_is_mostly_missing_gives_no_numbers():
    stamps = [i / 25 for i in range(10)] + [100 + i / 25 for i in range(10)]
    pace = pace_of(stamps)
    assert not pace.gives_numbers
    assert pace.missing == 2490


def test_formats():
    assert has_stamps("matroska,webm")
    assert has_stamps("mpegts")
    assert not has_stamps("avi")
    assert not has_stamps("gif")
