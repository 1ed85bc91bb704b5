"""Tracks over the background: every one begins where its object does, and long ones are thinned."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np

from bgsub.page.pages import draw_tracks, region_boxes, time_color
from bgsub.tracking.tracker import Observation


def walk(track, frames, *, first=1):
    return [
        Observation(
            frame=first + i,
            time_s=(first + i - 1) / 25,
            track=track,
            box=(i, 2 * i, 4, 4),
            cx=i + 2.0,
            cy=2.0 * i + 2,
            area=16,
            score=3.0,
            sign="brighter",
        )
        for i in range(frames)
    ]


def result_of(*walks, frames=20_000):
    seen = [each for walk in walks for each in walk]
    times = np.arange(frames) / 25
    return SimpleNamespace(objects=seen, times=times, region=(10, 20, 160, 120))


def points_of(track):
    return [point for _, points in track.pieces for point in points.split()]


class TestDrawTracks:
    def test_a_short_track_has_all_its_points_and_its_pieces_meet(self):
        (drawn,) = draw_tracks(result_of(walk(7, 30, first=5)))
        assert (drawn.number, drawn.frame, drawn.start) == (7, 5, (2.0, 2.0))
        assert drawn.label == "Track 7: frames 5 to 34"
        ends = [points.split() for _, points in drawn.pieces]
        assert all(left[-1] == right[0] for left, right in pairwise(ends))
        assert len(set(points_of(drawn))) == 30

    def test_a_single_place_is_drawn(self):
        (drawn,) = draw_tracks(result_of(walk(1, 1)))
        assert points_of(drawn) == ["2.0,2.0"]

    def test_tracks_come_by_number_and_the_longest_ones_where_they_are_many(self):
        walks = [walk(number, 2 + number % 5) for number in range(400, 0, -1)]
        drawn = draw_tracks(result_of(*walks))
        numbers = [track.number for track in drawn]
        assert numbers == sorted(numbers)
        assert len(numbers) == 300
        assert all(number in numbers for number in range(4, 401, 5))

    def test_a_long_track_is_thinned_and_keeps_its_ends(self):
        (drawn,) = draw_tracks(result_of(walk(1, 15_000)))
        points = points_of(drawn)
        assert len(points) < 9_020
        assert (points[0], points[-1]) == ("2.0,2.0", "15001.0,30000.0")

    def test_colours_follow_the_time(self):
        early, late = walk(1, 3), walk(2, 3, first=19_990)
        first, second = draw_tracks(result_of(early, late))
        assert first.pieces[0][0] == time_color(0.04 * 1 / 799.96)
        assert second.pieces[0][0] not in {time_color(0), first.pieces[0][0]}

    def test_nothing_is_drawn_of_nothing(self):
        assert draw_tracks(result_of()) == []


def test_times_beyond_the_film_have_the_colours_of_its_ends():
    assert time_color(-1) == time_color(0)
    assert time_color(2) == time_color(1)


def test_regions_lie_in_pixels_of_the_input():
    result = result_of(walk(1, 1))
    region = {"x": 8, "y": 6, "width": 4, "height": 3, "kind": "object"}
    manifest = {"frame_size": [80, 60], "mask_regions": [region]}
    (found,) = region_boxes(manifest, result)
    assert found["box"] == [26.0, 32.0, 8.0, 6.0]
    assert (found["number"], found["kind"]) == (1, "object")
    assert region_boxes({}, result) == []
