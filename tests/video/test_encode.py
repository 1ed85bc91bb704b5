"""Rates and timestamps."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.video.encode import DEFAULT_RATE, FrameClock, keyframe_interval, sane_rate, time_base

RATES = [Fraction(1, 10), Fraction(25), Fraction(24000, 1001), Fraction(2997, 100), Fraction(240)]


@pytest.mark.parametrize("rate", RATES)
def test_frames_fall_on_whole_units(rate):
    unit = time_base(sane_rate(rate))
    assert sane_rate(rate) == rate
    assert (1 / rate / unit).denominator == 1
    assert unit <= Fraction(1, 10_000)


@pytest.mark.parametrize("rate", [None, Fraction(0), Fraction(-25), Fraction(10**9)])
def test_rates_that_make_no_sense(rate):
    assert sane_rate(rate) == DEFAULT_RATE


def test_keyframes():
    assert keyframe_interval(Fraction(25)) == 50
    assert keyframe_interval(Fraction(30000, 1001)) == 60
    assert keyframe_interval(Fraction(1)) == 10
    assert keyframe_interval(Fraction(240)) == 120


def seconds(clock, times):
    return [clock.tick(t) * clock.time_base for t in times]


def test_uniform_times_are_exact_for_hours():
    rate = Fraction(30000, 1001)
    clock = FrameClock(rate)
    assert seconds(clock, (round(i / rate, 3) for i in range(50_000)))[-1] == 49_999 / rate


def test_a_gap_stays_a_gap():
    clock = FrameClock(Fraction(25))
    expected = [Fraction(i, 25) for i in (0, 1, 3, 4)]
    assert seconds(clock, [1.0, 1.04, 1.12, 1.16]) == expected


def test_times_that_do_not_advance():
    clock = FrameClock(Fraction(25))
    stamps = seconds(clock, [None, 0.0, 0.0, math.nan, -3.0, None])
    assert stamps == [Fraction(i, 25) for i in range(6)]


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
