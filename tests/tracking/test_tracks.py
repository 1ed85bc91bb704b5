"""Sums of tracks."""

import math

import pytest

from bgsub.tracking.tables import TrackRecorder, side_of
from bgsub.tracking.tracker import Observation

SIZE = (0, 0, 160, 120)


def seen(frame, x, y, *, rate=25.0, side=10.0, area=80.0):
    box = (x - side / 2, y - side / 2, side, side)
    return Observation(frame, (frame - 1) / rate, 1, box, x, y, area, 3.0, "darker")


def record(places, **options):
    all_seen = [seen(frame, *place, **options) for frame, place in enumerate(places, start=1)]
    recorder = TrackRecorder(all_seen[0], SIZE)
    for each in all_seen[1:]:
        recorder.add(each)
    return recorder.summary()


def test_a_straight_way():
    track = record([(5 + 2 * t, 60) for t in range(76)])
    assert (track.first_frame, track.last_frame, track.frames) == (1, 76, 76)
    assert track.duration_s == pytest.approx(3)
    assert track.displacement_px == pytest.approx(150)
    assert track.path_px == pytest.approx(150)
    assert track.median_speed == pytest.approx(50, rel=0.02)
    assert track.peak_speed == pytest.approx(50, rel=0.02)
    assert (track.entered, track.left) == ("left", "right")
    assert track.rest_s == 0
    assert track.median_area == 80


def test_a_way_there_and_back():
    track = record([(20 + 2 * min(t, 100 - t), 60) for t in range(101)])
    assert track.displacement_px == pytest.approx(0)
    assert track.path_px == pytest.approx(200, abs=5)
    assert (track.entered, track.left) == ("inside", "inside")


def test_trembling_is_no_way():
    track = record([(60 + 0.4 * math.sin(3 * t), 60 + 0.4 * math.cos(2 * t)) for t in range(500)])
    assert track.path_px == 0
    assert track.rest_s == pytest.approx(track.duration_s)


def test_the_time_at_rest():
    places = [(20 + 2 * min(t, 40), 60) for t in range(40 + 250)]
    assert record(places).rest_s == pytest.approx(10, abs=0.3)


def test_long_tracks_take_no_more_memory_and_keep_their_median():
    track = record([(20 + (3 * t) % 100, 60) for t in range(8_000)], area=50.0)
    assert track.frames == 8_000
    assert track.median_area == 50


@pytest.mark.parametrize(
    ("box", "side"),
    [
        ((0, 50, 9, 9), "left"),
        ((151, 50, 9, 9), "right"),
        ((50, 1, 9, 9), "top"),
        ((50, 111, 9, 9), "bottom"),
        ((50, 50, 9, 9), "inside"),
    ],
)
def test_the_side_of_the_picture(box, side):
    assert side_of(box, SIZE) == side


def test_the_sides_are_those_of_the_part_that_is_looked_at():
    part = (100, 50, 60, 40)
    assert side_of((100, 60, 9, 9), part) == "left"
    assert side_of((151, 60, 9, 9), part) == "right"
    assert side_of((120, 81, 9, 9), part) == "bottom"
    assert side_of((120, 65, 9, 9), part) == "inside"
