"""Times of frames, on what timestamps files in the wild have."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.video.clock import Clock

RATE = Fraction(25)


def times(stamps):
    clock = Clock(RATE)
    return [clock.read(None if stamp is None else stamp / 100) for stamp in stamps]


@pytest.mark.parametrize(
    ("stamps", "expected"),
    [
        ([0, 4, 8], [0, 0.04, 0.08]),
        ([500, 504, 600], [0, 0.04, 1.0]),
        ([None, None, None], [0, 0.04, 0.08]),
        ([100, 104, 104, 108], [0, 0.04, 0.06, 0.08]),
        ([1000, 1004, 0, 4], [0, 0.04, 0.08, 0.12]),
        ([0, None, 8], [0, 0.04, 0.08]),
        ([None, 70, None, 78], [0, 0.04, 0.08, 0.12]),
        ([0, 4, 10**9, 10**9 + 4], [0, 0.04, 0.08, 0.12]),  # four months: rubbish
    ],
)
def test_times(stamps, expected):
    assert times(stamps) == pytest.approx(expected)


@given(st.lists(st.none() | st.integers(-(10**6), 10**6), max_size=30))
def test_times_always_increase(stamps):
    result = times(stamps)
    assert result == sorted(set(result))
    assert not result or result[0] == 0


def test_no_rate():
    clock = Clock(None)
    assert [clock.read(None) for _ in range(3)] == pytest.approx([0, 0.04, 0.08])
    assert clock.end_s == pytest.approx(0.12)
