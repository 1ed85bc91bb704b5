"""Rows of frames in which an object was a speck that nothing was known of."""

import math

import pytest

from bgsub.tracking.detections import Detection
from bgsub.tracking.hindsight import Hindsight
from bgsub.tracking.steadiness import LONGEST, Earlier, Recognized
from bgsub.tracking.tracker import Observation
from bgsub.tracking.view import View

WHOLE = View((200, 100), (0, 0, 200, 100), (200, 100))


def row(frame, x, track=1, merged=False):
    box = (x, 20.0, 4.0, 4.0)
    return Observation(
        frame, frame / 25, track, box, x + 2.0, 22.0, 16.0, 1.4, "darker", merged=merged
    )


def speck(x, area=16.0):
    return Detection((x, 20, 4, 4), x + 2.0, 22.0, area, 1.2)


def known(x, ago):
    """Something that has come to x by a pixel a frame."""
    return Recognized(x + 2.0, 22.0, tuple(Earlier(n, speck(x - n)) for n in range(ago, 0, -1)))


def passed(frames, view=WHOLE, most_area=None, max_gap_s=1.0):
    """Objects of frames that are each (objects, recognized), in the order in which they come."""
    hindsight, given = Hindsight(view, most_area, max_gap_s), []
    for number, (_, recognized) in enumerate(frames, start=1):
        hindsight.begin(number, number / 25, recognized)
    for objects, _ in frames:
        given += hindsight.decide(list(objects))
    return given + list(hindsight.finish())


def test_an_object_gets_the_frames_before_it_was_known():
    given = passed([([], [])] * 5 + [([row(6, 30)], [known(30, 3)]), ([row(7, 31)], [])])
    assert [len(objects) for objects in given] == [0, 0, 1, 1, 1, 1, 1]
    assert [objects[0].frame for objects in given[2:]] == [3, 4, 5, 6, 7]
    assert [objects[0].cx for objects in given[2:]] == [29, 30, 31, 32, 33]
    early = given[2][0]
    assert (early.track, early.area, early.score, early.sign) == (1, 16, 1.2, "")
    assert early.time_s == pytest.approx(3 / 25)


def test_a_frame_that_shows_it_keeps_its_row_and_others_theirs():
    frames = [([row(1, 27), row(1, 90, 2)], []), ([], []), ([row(3, 30)], [known(30, 2)])]
    first, second, _ = passed(frames)
    assert [(each.track, each.sign) for each in first] == [(1, "darker"), (2, "darker")]
    assert [(each.track, each.sign) for each in second] == [(1, "")]


def test_rows_are_in_order_of_their_tracks():
    frames = [([row(1, 90, 2)], []), ([row(2, 30), row(2, 90, 2)], [known(30, 1)])]
    assert [each.track for each in passed(frames)[0]] == [1, 2]


@pytest.mark.parametrize(
    "now", [[], [row(2, 60)], [row(2, 30, merged=True)]], ids=["no row", "elsewhere", "merged"]
)
def test_without_a_row_of_its_own_there_is_no_track_to_give_them_to(now):
    assert passed([([], []), (now, [known(30, 1)])])[0] == []


def test_nothing_reaches_back_before_the_first_frame():
    given = passed([([row(1, 30)], [known(30, 5)])])
    assert [len(objects) for objects in given] == [1]


def test_places_are_those_of_the_input():
    view = View((640, 480), (100, 50, 400, 200), (200, 100))
    seen = view.place(row(2, 30))
    (early,), _ = passed([([], []), ([seen], [known(30, 1)])], view)
    assert early.box == (100 + 2 * 29, 50 + 2 * 20, 8, 8)
    assert early.area == 64


def test_the_largest_area_holds_for_them_too():
    frames = [([], []), ([row(2, 30)], [known(30, 1)])]
    assert passed(frames, most_area=16)[0]
    assert not passed(frames, most_area=15)[0]


def test_nothing_reaches_back_over_a_longer_gap_than_an_object_may_be_missed():
    thing = Recognized(32.0, 22.0, tuple(Earlier(n, speck(30 - n)) for n in (9, 8, 4, 2, 1)))
    frames = [([], [])] * 9 + [([row(10, 30)], [thing])]
    for frames_missed, first in ((4, 1), (3, 6), (1, 8), (0.9, 10)):
        given = passed(frames, max_gap_s=frames_missed / 25 + 1e-9)
        assert min(each.frame for objects in given for each in objects) == first
    seen = [([], [])] * 3 + [([row(4, 24)], [])] + [([], [])] * 5 + [([row(10, 30)], [thing])]
    given = passed(seen, max_gap_s=3 / 25 + 1e-9)
    assert min(each.frame for objects in given for each in objects) == 1  # it was seen between


def test_frames_wait_only_for_as_long_as_something_can_reach_back():
    hindsight, given = Hindsight(WHOLE), []
    for number in range(1, LONGEST + 21):
        hindsight.begin(number, number / 25)
        given += hindsight.decide([row(number, 30)])
    assert [objects[0].frame for objects in given] == list(range(1, 21))
    assert not math.isnan(given[0][0].score)
