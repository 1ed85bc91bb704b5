"""Rates and timestamps."""

from __future__ import annotations

import itertools
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from bgsub.video.sink import FrameClock

RATES = [Fraction(1, 10), Fraction(25), Fraction(24000, 1001), Fraction(2997, 100), Fraction(240)]


def seconds(clock, times):
    return [clock.tick(t) * clock.time_base for t in times]


def test_uniform_times_are_exact_for_hours():
    rate = Fraction(30000, 1001)
    clock = FrameClock(rate)
    assert seconds(clock, (round(i / rate, 3) for i in range(50_000)))[-1] == 49_999 / rate


@given(
    st.lists(st.floats(0.001, 20), max_size=40),
    st.sampled_from([*RATES, None]),
    st.sampled_from(["mp4", "mkv"]),
)
def test_other_times_are_kept(steps, rate, kind):
    clock = FrameClock(rate, kind)
    times = [3.0]
    for step in steps:
        times.append(times[-1] + step)
    stamps = seconds(clock, times)
    assert all(b > a for a, b in itertools.pairwise(stamps))
    tolerance = max(0.001, 0.1 / float(clock.rate)) + 0.0002
    # A frame that snapped forwards pushes those right behind it by no more than the tolerance.
    for stamp, t in zip(stamps, times, strict=True):
        assert abs(float(stamp) - (t - 3.0)) <= tolerance + 0.001 * len(times)


@given(st.lists(st.one_of(st.none(), st.floats())), st.sampled_from(["mp4", "mkv"]))
def test_timestamps_always_increase(times, kind):
    clock = FrameClock(None, kind)
    stamps = [clock.tick(t) for t in times]
    assert all(b > a for a, b in itertools.pairwise(stamps))
