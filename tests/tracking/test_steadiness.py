"""Whether something has moved steadily, and where it was before that was known."""

import pytest

from bgsub.tracking.steadiness import LONGEST, Place, Way


def place(frame, x, area=16.0, strength=4.0, width=4):
    return Place(frame, x, 20.0, area, strength, int(x), 18, width, 4, 1.5)


def followed(speed, count, **kind):
    way = None
    for frame in range(1, count + 1):
        here = place(frame, 10 + speed * frame, **kind)
        way = way or Way(here)
        way.see(here)
    return way


@pytest.mark.parametrize(
    ("speed", "strength", "count"), [(1, 4.0, 15), (1, 2.0, 30), (0.2, 4.0, 60), (0.05, 4.0, 200)]
)
def test_the_slower_and_the_weaker_it_is_the_longer_it_takes(speed, strength, count):
    assert followed(speed, count, strength=strength).is_object == (speed > 0.1)
    assert not followed(speed, count // 3, strength=strength).is_object


def test_what_is_expected_goes_on_as_before():
    way = followed(2, 10)
    assert way.expected(13) == pytest.approx((10 + 2 * 13, 20))
    alone = Way(place(1, 5))
    assert alone.expected(4) == (5, 20)


@pytest.mark.parametrize(("area", "taken"), [(6, False), (7, True), (40, True), (200, True)])
def test_what_is_much_smaller_is_something_else(area, taken):
    assert followed(1, 8).see(place(9, 19, area)) == taken


def test_something_with_another_is_seen_and_counts_for_nothing():
    way = followed(1, 8)
    assert way.see(place(9, 19, 200))
    assert way.seen.frame == 9
    assert way.places[-1].frame == 8
    assert not way.see(place(10, 20, 16), is_free=False)


def test_it_says_where_it_was_in_frames_that_do_not_show_it():
    way = followed(1, 20)
    way.see(place(21, 31, width=0))  # the mask shows it
    way.see(place(22, 32))
    known = way.recognized()
    assert (known.x, known.y) == (32, 20)
    assert [each.ago for each in known.earlier] == list(range(21, 1, -1))
    assert known.earlier[0].region.box == (11, 18, 4, 4)
    assert known.earlier[0].region.score == 1.5


def test_it_looks_back_no_farther_than_frames_are_held():
    way = followed(0.5, LONGEST + 50)
    assert max(each.ago for each in way.recognized().earlier) < LONGEST
