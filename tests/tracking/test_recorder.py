"""From masks to tables."""

import csv
import json
from contextlib import closing
from types import SimpleNamespace

import numpy as np

from bgsub.outliers.events import Event
from bgsub.tracking.recorder import ObjectOptions, ObjectRecorder, Recorded, View, describe
from bgsub.tracking.regions import Line, Region
from bgsub.tracking.tables import read_objects, read_tracks

from .conftest import RATE, SIZE, draw

WHOLE = View(SIZE, (0, 0, *SIZE), SIZE)


def record(folder, frames, view=WHOLE, events=(), **options):
    watched = ObjectOptions(**options)
    with closing(ObjectRecorder(folder, view, rate=RATE, options=watched)) as recorder:
        for number, places in enumerate(frames, start=1):
            mask, picture = draw(places, view.mask_size)
            found = recorder.detect(mask, picture=picture)
            recorder.add(number, (number - 1) / RATE, found, picture)
        return recorder.finish(events)


def walk(steps, start=10):
    return [[(start + 2 * t, 40, 8, 20, 200)] for t in range(steps)]


def test_tables_agree_with_what_is_returned(tmp_path):
    found = record(tmp_path, [[], *walk(50), *([[]] * 60), *walk(20)])
    assert [each.frames for each in read_tracks(tmp_path / "tracks.csv")] == [50, 20]
    rows = list(read_objects(tmp_path / "objects.csv"))
    assert len(rows) == found.observations == 70
    assert [track.track for track in found.tracks] == [1, 2]
    assert [track.frames for track in found.tracks] == [50, 20]
    events = json.loads((tmp_path / "events.json").read_text())["events"]
    assert [(each["first_frame"], each["last_frame"]) for each in events] == [(2, 51), (112, 131)]
    table = list(csv.DictReader((tmp_path / "events.csv").read_text().splitlines()))
    assert [each["tracks"] for each in table] == ["1", "2"]
    assert table[0]["kind"] == "object"


def test_pixels_are_those_of_the_input(tmp_path):
    view = View((640, 480), (100, 50, 320, 240), SIZE)
    record(tmp_path, walk(10), view)
    first = next(read_objects(tmp_path / "objects.csv"))
    assert first.box == (100 + 2 * 10, 50 + 2 * 40, 16, 40)
    assert (first.cx, first.cy) == (100 + 2 * 14, 50 + 2 * 50)
    assert first.area == 4 * 160


def test_areas_are_limited_in_pixels_of_the_input(tmp_path):
    view = View((640, 480), (0, 0, 640, 480), SIZE)
    area = 16 * 160
    assert record(tmp_path, walk(10), view, min_area=area + 16).observations == 0
    assert record(tmp_path, walk(10), view, min_area=area).observations == 10
    assert record(tmp_path, walk(10), view, max_area=area - 16).observations == 0


def test_nothing_found_gives_headers_alone(tmp_path):
    found = record(tmp_path, [[]] * 5)
    assert found == Recorded()
    assert describe(found) == "no object was found"
    for name in ("objects.csv", "tracks.csv", "events.csv"):
        assert len((tmp_path / name).read_text().splitlines()) == 1


def test_frame_events_are_listed_too(tmp_path):
    frame = Event(1, 100, 110, 4.0, 4.4, 105, 4.2, 50.0, 11)
    found = record(tmp_path, walk(20), events=[frame])
    assert [event.kind for event in found.events] == ["object", "frame"]
    assert describe(found).startswith("1 object in 2 events")


def test_regions_and_lines_have_a_table(tmp_path):
    square = np.array([[0, 0], [60, 0], [60, 119], [0, 119]], np.float32)
    arena, gate = Region("left", square), Line("gate", (60, 0), (60, 119))
    record(tmp_path, walk(50), regions=(arena,), lines=(gate,))
    rows = list(csv.DictReader((tmp_path / "regions.csv").read_text().splitlines()))
    assert [row["region"] for row in rows] == ["left", "gate"]
    assert (rows[0]["entries"], rows[0]["exits"]) == ("1", "1")
    objects = list(csv.DictReader((tmp_path / "objects.csv").read_text().splitlines()))
    assert {row["region"] for row in objects} == {"left", ""}


def test_tracks_that_are_over_are_not_kept_open(tmp_path):
    visits = [frame for _ in range(8) for frame in [*walk(10), *([[]] * 60)]]
    found = record(tmp_path, visits)
    assert len(found.tracks) == len(found.events) == 8


def test_the_last_to_leave_a_region_has_left_it_where_the_film_goes_on(tmp_path):
    everywhere = Region("arena", np.array([[0, 0], [160, 0], [160, 120], [0, 120]], np.float32))
    for rest, exits in ((60, "1"), (5, "0")):
        record(tmp_path, [*walk(50), *([[]] * rest)], regions=(everywhere,))
        (row,) = csv.DictReader((tmp_path / "regions.csv").read_text().splitlines())
        assert (row["entries"], row["exits"]) == ("1", exits)


def test_a_time_in_which_many_come_and_go_is_not_left_as_one_event():
    track = SimpleNamespace(duration_s=2.0)
    few, many = (Recorded((track,) * n, (object(),)) for n in (2, 8))
    assert describe(few) == "2 objects in 1 event, in sight for up to 2.0 s"
    assert describe(many).endswith("for up to 2.0 s; `bgsub events --by track` lists each of them")
