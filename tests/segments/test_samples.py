"""What the fit of each segment sees of it, and of its neighbours."""

from __future__ import annotations

import numpy as np
import pytest

from bgsub.segments.moments import Film
from bgsub.segments.plan import LEAST_FITTED, Bound, share_sample
from bgsub.video.source import open_source


@pytest.fixture
def film():
    return Film(open_source(np.zeros((3000, 2, 2), np.uint8)))


def numbers_of(places):
    return [place.number for place in places]


def test_fitted_frames_are_shared_by_length(film, options):
    bounds = [Bound(1, "beginning"), Bound(2001, "after 2000 frames"), Bound(2901, "after")]
    shares = share_sample(film, bounds, options())
    assert [share.fit_frames for share in shares] == [1333, 600, LEAST_FITTED]


def test_most_of_a_sample_is_of_the_neighbours_and_spread_over_them(film, options):
    bounds = [Bound(1 + 1000 * i, "") for i in range(3)]
    first, second, third = share_sample(film, bounds, options())
    before, after = numbers_of(second.before), numbers_of(second.after)
    assert len(before) == len(after) == 200
    assert (before[0], before[-1]) == (3, 998)
    assert (after[0], after[-1]) == (2003, 2998)
    assert first.before == third.after == ()
    assert len(first.after) == len(third.before) == 400


def test_the_neighbours_of_a_short_segment_leave_it_its_share(film, options):
    bounds = [Bound(1, ""), Bound(1001, ""), Bound(1101, "")]
    share = share_sample(film, bounds, options())[1]
    assert len(share.before) == len(share.after) == 75


def test_nothing_is_borrowed_from_another_state(film, options):
    bounds = [Bound(1, "", 1), Bound(1001, "", 2), Bound(2001, "", 2)]
    first, second, third = share_sample(film, bounds, options())
    assert first.before == first.after == second.before == ()
    assert len(second.after) == len(third.before) == 400


def test_a_number_that_is_given_is_that_of_each_segment(film, options):
    bounds = [Bound(1, ""), Bound(1501, "")]
    for share in share_sample(film, bounds, options(fit_frames=100)):
        assert share.fit_frames == 100
        assert len(share.before) + len(share.after) == 60


def test_with_all_frames_of_a_segment_no_others_are_fitted(film, options):
    bounds = [Bound(1, ""), Bound(1501, "")]
    for share in share_sample(film, bounds, options(fit_frames="all")):
        assert share.before == share.after == ()
