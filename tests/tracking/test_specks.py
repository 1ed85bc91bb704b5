"""Which specks become objects: those that move steadily, and no others."""

import numpy as np
import pytest

from bgsub.local.specks import Speck
from bgsub.tracking.specks import SpeckFilter

SIZE = (60, 200)
STRONG, WEAK = 4.0, 2.0


def picture(*things):
    """A mask of squares, each (x, y, side)."""
    drawn = np.zeros(SIZE, np.uint8)
    for x, y, side in things:
        drawn[y : y + side, x : x + side] = 255
    return drawn


def square(x, y, side, strength):
    return Speck(x, y, np.ones((side, side), np.uint8), strength)


def shown(ways, count=60, strength=STRONG, masked=()):
    """Numbers of the frames that show each way; a way gives (x, y) or None for a frame, from 0.

    In frames of `masked` all of them are in the mask and no specks.
    """
    specks = SpeckFilter()
    frames = [[] for _ in ways]
    for number in range(count):
        places = [way(number) for way in ways]
        here = [(*place, 5) for place in places if place is not None]
        if number in masked:
            mask = specks.add(picture(*here), [])
        else:
            mask = specks.add(picture(), [square(*place, strength) for place in here])
        for own, place in zip(frames, places, strict=True):
            if place is not None and mask[place[1] + 2, place[0] + 2]:
                own.append(number)
    return frames


def walking(speed, y=20, x=5):
    return lambda number: (x + int(speed * number), y)


def test_what_moves_steadily_is_shown_after_a_dozen_frames_and_on():
    (seen,) = shown([walking(1)])
    assert seen == list(range(seen[0], 60))
    assert 8 <= seen[0] <= 15


def test_what_is_slow_takes_longer():
    (seen,) = shown([walking(0.15)], count=120)
    assert seen
    assert 24 <= seen[0] <= 60


@pytest.mark.parametrize(
    "way",
    [
        lambda number: (50, 20),
        lambda number: (50 + number % 2, 20),
        lambda number: (50 + int(3 * np.sin(number / 3)), 20),
        lambda number: (50 if number < 30 else 58, 20),
        lambda number: (5 + number, 20) if number % 2 else None,
        lambda number: (5 + number, 20) if number < 8 else None,
    ],
    ids=["still", "trembles", "swings", "jumps once", "in half of the frames", "short"],
)
def test_what_does_not_is_not(way):
    assert shown([way]) == [[]]


def test_who_was_an_object_once_is_one_while_it_rests():
    (seen,) = shown([lambda number: (5 + min(number, 20), 20)])
    assert seen[-1] == 59
    assert len(seen) == 60 - seen[0]


def test_who_was_gone_for_long_has_to_move_again():
    (seen,) = shown([lambda n: (5 + n, 20) if n < 30 else (35, 20) if n >= 60 else None], count=80)
    assert max(seen) == 29


def test_the_weaker_has_to_go_farther():
    (strong,), (weak,) = (shown([walking(0.5)], 80, strength) for strength in (STRONG, WEAK))
    assert strong[0] < weak[0]
    assert weak[-1] == 79
    assert shown([lambda n: (5 + min(n, 10), 20)], 80, WEAK) == [[]]


def test_frames_that_have_it_in_the_mask_count_too():
    masked = set(range(0, 60, 2))
    (seen,) = shown([walking(1)], 60, WEAK, masked=masked)
    assert set(range(30, 60)) <= set(seen)


def test_several_keep_apart_and_the_still_one_stays_out():
    ways = [walking(1, y=5), walking(2, y=20, x=20), lambda n: (100, 40)]
    one, two, still = shown(ways, count=60)
    assert len(one) > 40
    assert len(two) > 40
    assert not still


def test_specks_beside_an_object_are_its_own():
    specks = SpeckFilter()
    for number in range(60):
        person = picture((20 + number, 20, 20))
        mask = specks.add(person, [square(43 + number, 30, 4, STRONG)])
        np.testing.assert_array_equal(mask, person)


def test_without_specks_the_mask_itself_comes_back():
    specks = SpeckFilter()
    for number in range(60):
        mask = picture((5 + number, 20, 5))
        assert specks.add(mask, []) is mask


def test_two_that_meet_and_part_again_are_both_shown_after_it():
    one, two = walking(1), lambda number: (105 - number, 20)
    specks = SpeckFilter()
    shown_last = 0
    for number in range(90):
        left, right = sorted(way(number)[0] for way in (one, two))
        if right - left > 6:
            here = [square(x, 20, 5, STRONG) for x in (left, right)]
        else:
            here = [Speck(left, 20, np.ones((5, right - left + 5), np.uint8), STRONG)]
        mask = specks.add(picture(), here)
        if right - left > 6:
            shown_last = np.count_nonzero(mask)
            assert shown_last in ({0, 50} if number < 50 else {50})
    assert shown_last == 50


def test_who_was_hidden_by_something_large_is_looked_for_where_it_was():
    specks = SpeckFilter()
    for number in range(50):
        hidden = 30 <= number < 42
        large = picture((34, 2, 55)) if hidden else picture()
        mask = specks.add(large, [] if hidden else [square(5 + min(number, 30), 26, 5, STRONG)])
        assert number < 42 or np.count_nonzero(mask) == 25


def recognized(ways, count=60):
    """What is recognized, and in which frame, from 0."""
    specks, found = SpeckFilter(), []
    for number in range(count):
        here = [square(*way(number), 5, STRONG) for way in ways if way(number) is not None]
        specks.add(picture(), here)
        found += [(number, each) for each in specks.recognized]
    return found


def test_where_it_was_before_is_told_once():
    ((number, known),) = recognized([walking(1, x=5)])
    assert (known.x, known.y) == (5 + number + 2.5, 22.5)
    assert [number - each.ago for each in known.earlier] == list(range(number))
    for each in known.earlier:
        assert each.region.box == (5 + number - each.ago, 20, 5, 5)
        assert each.region.area == 25


def test_frames_in_which_the_mask_shows_it_are_not_told():
    specks, earlier = SpeckFilter(), ()
    for number in range(40):
        place = walking(1)(number)
        in_mask = number % 4 == 0
        shown_mask = picture((*place, 5)) if in_mask else picture()
        specks.add(shown_mask, [] if in_mask else [square(*place, 5, STRONG)])
        for known in specks.recognized:
            earlier = [number - each.ago for each in known.earlier]
    assert earlier
    assert all(number % 4 for number in earlier)
