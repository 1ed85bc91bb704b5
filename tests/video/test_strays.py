"""Timestamps that are damaged are found by their order, and replaced where their place is known."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.video.strays import longest_rise, mend, without_leaps
from bgsub.video.survey import PacketNote, PictureNote, Survey

STEP = 0.04


def film(stamps, *, lost=()):
    """A survey of packets, each with its picture but for the lost ones."""
    survey = Survey()
    for index, stamp in enumerate(stamps):
        survey.packets.append(PacketNote(stamp, stamp, None, 100, False, False))
        if index not in lost:
            survey.pictures.append(PictureNote(index, index + 1, stamp, False, False))
    return survey


def stamps_of(survey):
    return [picture.stamp_s for picture in survey.pictures]


def regular(n=30):
    return [round(STEP * i, 9) for i in range(n)]


@pytest.mark.parametrize("wrong", [900.0, 0.0, 0.26, -3.0])
def test_a_stray_takes_the_place_that_waits_for_it(wrong):
    stamps = regular()
    stamps[12] = wrong
    survey = film(stamps)
    mended = mend(survey)
    assert mended.pictures == [12]
    assert mended.is_sure
    assert stamps_of(survey) == pytest.approx(regular())
    assert survey.packets[12].stamp_s == pytest.approx(12 * STEP)


def test_strays_without_room_are_unsure():
    """Three pictures with old stamps, and four more missing behind them."""
    stamps = [*regular(25), 0.16, 0.20, 0.24, 1.28, 1.32]
    survey = film(stamps)
    mended = mend(survey)
    assert mended.pictures == [25, 26, 27]
    assert not mended.is_sure
    assert stamps_of(survey)[24:] == pytest.approx([0.96, 1.0, 1.04, 1.08, 1.28, 1.32])


def test_pictures_that_come_late_keep_their_stamps():
    stamps = regular()
    stamps[2], stamps[3] = stamps[3], stamps[2]
    survey = film(stamps)
    assert mend(survey).pictures == []
    assert stamps_of(survey) == stamps


def test_a_clock_that_begins_anew_is_none_that_is_damaged():
    stamps = [*regular(), *regular()]
    survey = film(stamps)
    assert mend(survey).pictures == []
    assert stamps_of(survey) == stamps


def test_beyond_the_end_of_the_film_there_are_no_frames():
    survey = film([*regular(), 393.5])
    assert mend(film([*regular(), 393.5])).pictures == []
    mended = mend(survey, latest_s=12.0)
    assert mended.pictures == [30]
    assert not mended.is_sure
    assert stamps_of(survey)[-1] == pytest.approx(1.2)


@pytest.mark.parametrize("wrong", [0.0, 900.0])
def test_a_lost_packet_does_not_stand_where_another_is(wrong):
    stamps = regular()
    stamps[21] = wrong
    survey = film(stamps, lost=[21])
    mend(survey)
    assert survey.packets[21].stamp_s == pytest.approx(21 * STEP)


def test_the_first_is_a_stray():
    stamps = regular()
    stamps[0] = 5.0
    survey = film(stamps)
    assert not mend(survey).is_sure
    assert stamps_of(survey) == pytest.approx(regular())


@given(st.lists(st.floats(-1e6, 1e6), max_size=40))
def test_the_rise_is_one_and_as_long_as_any(values):
    stamps = np.array(values, dtype=np.float64)
    kept = longest_rise(stamps)
    assert np.all(np.diff(kept) > 0)
    assert np.all(np.diff(stamps[kept]) >= 0)
    lengths = []
    for place, value in enumerate(values):
        before = [lengths[i] for i in range(place) if values[i] <= value]
        lengths.append(1 + max(before, default=0))
    assert kept.size == max(lengths, default=0)


@given(st.permutations(range(4)), st.integers(20, 40), st.sampled_from([math.pi * 1e3, -50.0]))
def test_one_that_is_alone_is_left_out_and_no_other(order, place, wrong):
    stamps = [0.04 * (i - i % 4 + order[i % 4]) for i in range(60)]
    assert without_leaps(stamps) == stamps
    changed = [*stamps[:place], wrong, *stamps[place:]]
    assert without_leaps(changed) == stamps


def test_nothing_is_mended_where_order_and_stamps_have_nothing_in_common():
    stamps = list(np.random.default_rng(0).permutation(regular(60)))
    survey = film(stamps)
    assert mend(survey).pictures == []
    assert mend(film([])).pictures == []
