"""The stamps of packets: they increase, and jumps of the source are mended."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.live.decoding import StampMender

stamps = st.one_of(st.none(), st.integers(-(2**40), 2**40))


@given(st.lists(st.tuples(stamps, stamps, st.floats(0, 100)), max_size=30))
def test_mended_stamps_increase_and_nothing_is_shown_before_it_is_decoded(packets):
    mender = StampMender(Fraction(1, 1000), 40)
    now, last = 0.0, -1
    for pts, dts, passed in packets:
        now += passed
        shown, decoded, _ = mender.mend(pts, dts, now)
        assert decoded > last
        assert shown >= decoded
        assert (decoded - max(last, 0)) / 1000 <= 5.0 + passed + 0.001
        last = decoded


def test_sound_stamps_stay_as_they_are():
    mender = StampMender(Fraction(1, 90000), 3600)
    given_stamps = [(9000, 0), (16200, 3600), (12600, 7200), (14400, 10800)]
    found = [mender.mend(pts, dts, i / 25) for i, (pts, dts) in enumerate(given_stamps)]
    assert [each[:2] for each in found] == [(pts, dts) for pts, dts in given_stamps[:3]] + [
        (14400, 10800)
    ]
    # A stream that pauses for a minute goes on a minute later.
    assert mender.mend(None, 10800 + 60 * 90000, 61.0)[2] is None
    assert mender.mend(None, 10800 + 120 * 90000, 61.1)[2] == pytest.approx(60.0)
