"""Regions and lines."""

import json

import numpy as np
import pytest

from bgsub.errors import InputError, UsageError
from bgsub.tracking.regions import Line, Region, RegionCounter, check_inside, read_regions
from bgsub.tracking.tracker import Observation

SQUARE = [[10, 10], [50, 10], [50, 50], [10, 50]]


@pytest.fixture
def regions(tmp_path):
    path = tmp_path / "regions.json"
    path.write_text(json.dumps({"arena": SQUARE}))
    return read_regions(path)


def seen(frame, x, y, track=1):
    return Observation(frame, frame / 10, track, (x - 2, y - 2, 4, 4), x, y, 16, 5.0, "")


def table(counter, tmp_path):
    path = tmp_path / "regions.csv"
    counter.write(path)
    return [row.split(",") for row in path.read_text().splitlines()]


def test_entries_exits_and_dwell(regions, tmp_path):
    counter = RegionCounter(regions, [])
    names = [counter.add([seen(t, 2 * t, 30)])[0] for t in range(1, 40)]
    assert names[4] == "arena"
    assert names[0] == names[-1] == ""
    assert table(counter, tmp_path)[1] == ["arena", "region", "1", "1", "2.00", "1"]


def test_who_vanishes_within_has_left(regions, tmp_path):
    counter = RegionCounter(regions, [], max_gap_s=1)
    counter.add([seen(1, 30, 30)])
    counter.add([seen(2, 30, 30)])
    counter.add([seen(30, 100, 100, track=2)])
    assert table(counter, tmp_path)[1][2:4] == ["1", "1"]


def test_a_line_counts_each_direction(tmp_path):
    line = Line("gate", (60, 0), (60, 100))
    counter = RegionCounter([], [line])
    for t, x in enumerate([50, 55, 65, 70, 55, 50, 65]):
        counter.add([seen(t, x, 30)])
    kind, first, second = table(counter, tmp_path)[1][1:4]
    assert kind == "line"
    assert {first, second} == {"2", "1"}


def test_past_the_end_of_a_line_is_no_crossing():
    assert Line("", (60, 0), (60, 20)).crossing((50, 30), (70, 30)) == 0
    assert Line("", (60, 0), (60, 20)).crossing((50, 10), (70, 10)) != 0


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"a": 1}', '{"a": [[1, 2], [3, 4]]}', '{"a": [[1, 2], [3], [4, 5]]}',
             '{"a": [[1, 2], [3, 2], [3, 5]], "a": [[1, 2], [3, 2], [3, 5]]}',
             '{"": [[1, 2], [3, 2], [3, 5]]}',
             '{"a": [[1, 2], [3, NaN], [4, 5]]}', '{"a": [[1, 2], [3, true], [4, 5]]}', "[" * 9999]
)  # fmt: skip
def test_anything_else_is_an_input_error(text, tmp_path):
    path = tmp_path / "regions.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"regions\.json"):
        read_regions(path)


@pytest.mark.parametrize(
    ("points", "wrong"),
    [
        ([[400, 10], [500, 10], [500, 90]], "lies outside of a.mp4, whose pictures are 320×240"),
        ([[10, -50], [90, -50], [90, -1]], "lies outside"),
        ([[0.1, 0.1], [0.9, 0.1], [0.9, 0.9]], "is smaller than a pixel"),
    ],
)
def test_a_place_in_which_nothing_can_be_is_refused(points, wrong):
    region = Region("gate", np.array(points, np.float32))
    with pytest.raises(UsageError, match=f"region 'gate' {wrong}.*pixels of the input"):
        check_inside("a.mp4", (320, 240), [region])


def test_a_place_that_reaches_into_the_picture_is_none_of_these():
    region = Region("gate", np.array([[-50, -50], [1, -50], [1, 300], [-50, 300]], np.float32))
    check_inside("a.mp4", (320, 240), [region], [Line("upright", (100, -50), (100, 900))])
    with pytest.raises(UsageError, match="line 'far' lies outside"):
        check_inside("a.mp4", (320, 240), [region], [Line("far", (400, 0), (400, 90))])
