"""Tables of objects, written as their frames come."""

import csv
from dataclasses import replace

import pytest

from bgsub.outliers.events import Event
from bgsub.tracking.events import EventFilter, read_events
from bgsub.tracking.recorder import ObjectOptions, ObjectTables
from bgsub.tracking.regions import Line
from bgsub.tracking.tables import read_objects, read_tracks
from bgsub.tracking.tracker import Observation

AREA = (0, 0, 320, 240)


def seen(frame, track, x):
    return Observation(frame, (frame - 1) / 25, track, (x, 50, 20, 20), x + 10, 60, 300, 4.0, "any")


@pytest.fixture
def tables(tmp_path):
    return ObjectTables(tmp_path, AREA, ObjectOptions(lines=(Line("gate", (100, 0), (100, 240)),)))


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_object_of_every_frame_is_a_row(tables, tmp_path):
    for frame in range(1, 31):
        tables.add([seen(frame, 1, 4.0 * frame), seen(frame, 2, 300 - 4.0 * frame)])
    assert tables.finish().observations == 60
    written = list(read_objects(tmp_path / "objects.csv"))
    assert [(each.frame, each.track) for each in written[:3]] == [(1, 1), (1, 2), (2, 1)]
    assert {each.track: each.frames for each in read_tracks(tmp_path / "tracks.csv")} == {
        1: 30,
        2: 30,
    }


def test_tracks_that_are_over_are_summed_up_before_the_end_and_sorted(tables, tmp_path):
    for frame in range(1, 11):
        tables.add([seen(frame, 2, 4.0 * frame)])
    tables.add([seen(400, 1, 10)])  # far longer than an object may be hidden
    tracks, events, _ = tables.finish()
    assert [track.track for track in tracks] == [1, 2]
    assert [(event.first_frame, event.last_frame) for event in events] == [(1, 10), (400, 400)]


def test_events_of_the_table_are_those_of_the_run_where_objects_have_merged(tables, tmp_path):
    for frame in range(1, 41):
        pair = [seen(frame, 1, 80 + 2.0 * frame), seen(frame, 2, 240 - 2.0 * frame)]
        pair[0] = replace(pair[0], area=310)
        if frame >= 36:
            pair = [replace(each, area=560, merged=True) for each in pair]
        tables.add(pair)
    (event,) = tables.finish().events
    assert (event.peak_frame, event.area) == (1, 610)
    again = EventFilter().events(read_objects(tmp_path / "objects.csv"))
    assert again == [event]


def test_events_of_whole_frames_are_listed_with_those_of_objects(tables, tmp_path):
    tables.add([seen(10, 1, 10)])
    flash = Event(
        number=1,
        first_frame=9,
        last_frame=12,
        start_s=0.32,
        end_s=0.44,
        peak_frame=11,
        peak_time_s=0.4,
        peak_score=30.0,
        n_frames=4,
    )
    (event,) = tables.finish([flash]).events
    assert (event.kind, event.first_frame, event.last_frame) == ("both", 9, 12)
    assert read_events(tmp_path / "events.json") == [event]


def test_who_crosses_a_line_is_counted(tables, tmp_path):
    for frame in range(1, 41):
        tables.add([seen(frame, 1, 4.0 * frame)])
    tables.finish()
    (row,) = rows_of(tmp_path / "regions.csv")
    assert "gate" in row.values()
    assert "1" in row.values()


def test_without_lines_and_regions_there_is_no_table_of_them(tmp_path):
    ObjectTables(tmp_path, AREA).finish()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["events.csv", "events.json", "objects.csv", "tracks.csv"]
    assert rows_of(tmp_path / "objects.csv") == []


def test_a_table_that_is_left_unfinished_is_closed(tables):
    tables.add([seen(1, 1, 5)])
    tables.close()
    with pytest.raises(ValueError, match="closed file"):
        tables.add([seen(2, 1, 9)])
