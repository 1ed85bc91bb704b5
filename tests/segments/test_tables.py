"""Tables of segments, joined."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from bgsub.errors import InputError
from bgsub.segments.join import join_errors, join_objects
from bgsub.tracking.recorder import ObjectOptions, ObjectTables
from bgsub.tracking.regions import Region
from bgsub.tracking.tables import read_objects, read_tracks
from bgsub.tracking.tracker import Observation

AREA = (0, 0, 320, 240)


def seen(frame, track, x, y=50.0, size=20.0):
    area = 0.7 * size * size
    return Observation(
        frame,
        (frame - 1) / 25,
        track,
        (x, y, size, size),
        x + size / 2,
        y + size / 2,
        area,
        3.0,
        "any",
    )


def write(folder, frames):
    folder.mkdir()
    tables = ObjectTables(folder, AREA)
    for frame in frames:
        tables.add(frame)
    tables.finish()
    return folder / "objects.csv"


def joined(tmp_path, *parts, end_s=0.0, **options):
    paths = [write(tmp_path / str(number), part) for number, part in enumerate(parts)]
    (tmp_path / "all").mkdir()
    return join_objects(
        paths, tmp_path / "all", AREA, ObjectOptions(**options), frame_events=[], end_s=end_s
    )


def test_an_object_that_walks_over_a_border_is_one(tmp_path):
    first = [[seen(n, 1, 4.0 * n)] for n in range(1, 31)]
    second = [[seen(n, 1, 4.0 * n)] for n in range(32, 60)]
    found = joined(tmp_path, first, second)
    (track,) = found.tracks
    assert (track.first_frame, track.last_frame, track.frames) == (1, 59, 58)
    assert track.displacement_px == pytest.approx(4.0 * 58)
    (event,) = found.events
    assert (event.first_frame, event.last_frame, event.tracks) == (1, 59, (1,))
    assert {each.track for each in read_objects(tmp_path / "all" / "objects.csv")} == {1}
    assert next(iter(read_tracks(tmp_path / "all" / "tracks.csv"))).frames == 58


def test_tracks_are_as_of_one_run_where_none_crosses_a_border(tmp_path):
    first = [[seen(n, 1, 4.0 * n), seen(n, 2, 300 - 4.0 * n, 150, 22)] for n in range(1, 31)]
    second = [[seen(n, 1, 200.0)] for n in range(100, 130)]
    found = joined(tmp_path, first, second)
    again = joined_as_one(tmp_path, [*first, *[[seen(n, 3, 200.0)] for n in range(100, 130)]])
    for name in ("objects.csv", "tracks.csv", "events.csv", "events.json"):
        assert (tmp_path / "all" / name).read_text() == (again / name).read_text()
    assert len(found.tracks) == 3


def joined_as_one(tmp_path, frames):
    return write(tmp_path / "one", frames).parent


@pytest.mark.parametrize(
    "other",
    [
        {"x": 200.0},  # elsewhere
        {"size": 60.0},  # of another size
        {"frame": 80},  # too late
    ],
)
def test_another_object_gets_a_number_of_its_own(tmp_path, other):
    first = [[seen(n, 1, 100.0)] for n in range(1, 31)]
    place = {"frame": 32, "x": 100.0, "size": 20.0} | other
    second = [[seen(place["frame"] + n, 1, place["x"], 50.0, place["size"])] for n in range(10)]
    found = joined(tmp_path, first, second)
    assert [track.track for track in found.tracks] == [1, 2]


def test_two_that_pass_each_other_keep_their_ways(tmp_path):
    first = [[seen(n, 1, 4.0 * n), seen(n, 2, 200 - 4.0 * n)] for n in range(1, 26)]
    second = [[seen(n, 2, 4.0 * n), seen(n, 1, 200 - 4.0 * n)] for n in range(26, 50)]
    found = joined(tmp_path, first, second)
    ways = {track.track: track.displacement_px for track in found.tracks}
    assert ways == {1: pytest.approx(192.0), 2: pytest.approx(192.0)}


def test_who_left_a_region_has_left_it_where_the_film_goes_on(tmp_path):
    square = np.array([[0, 0], [160, 0], [160, 240], [0, 240]], np.float32)
    part = [[seen(n, 1, 4.0 * n)] for n in range(1, 31)]
    joined(tmp_path, part, [], regions=(Region("left", square),), end_s=60.0)
    with (tmp_path / "all" / "regions.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["entries"], row["exits"]) == ("1", "1")


def test_a_table_may_have_no_rows(tmp_path):
    found = joined(tmp_path, [], [[seen(n, 1, 100.0)] for n in range(40, 50)], [])
    assert len(found.tracks) == 1
    assert found.observations == 10


def test_rows_of_errors_follow_each_other_under_one_header(tmp_path):
    for name, text in (("a", "h,i\n1,2\n"), ("b", "h,i\n3,4\n5,6\n"), ("c", "h\n7\n")):
        (tmp_path / name).write_text(text)
    join_errors([tmp_path / "a", tmp_path / "b"], tmp_path / "all")
    assert (tmp_path / "all").read_text() == "h,i\n1,2\n3,4\n5,6\n"
    with pytest.raises(InputError, match="other columns"):
        join_errors([tmp_path / "a", tmp_path / "c"], tmp_path / "all")
