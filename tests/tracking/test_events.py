"""Events of objects and of frames; events.json is read as it was written, and nothing else."""

import csv
import json

import pytest

from bgsub.errors import InputError
from bgsub.outliers.events import Event
from bgsub.tracking.events import (
    EVENT_COLUMNS,
    EventCollector,
    SceneEvent,
    read_events,
    with_frame_events,
    write_events,
)
from bgsub.tracking.tracker import Observation


def seen(frame, track=1, *, area=100.0, box=(10, 20, 30, 40), merged=False):
    return Observation(frame, frame / 10, track, box, 25, 40, area, 5.0, "darker", merged)


def collect(frames, gap=1.0):
    collector = EventCollector(gap)
    for frame in frames:
        collector.add(frame)
    return collector.finish()


def test_frames_with_objects_are_an_event():
    frames = [[], [seen(2)], [seen(3), seen(3, 2, box=(90, 0, 5, 5))], [seen(4)], []]
    (event,) = collect(frames)
    assert (event.kind, event.first_frame, event.last_frame) == ("object", 2, 4)
    assert (event.peak_frame, event.area) == (3, 200)
    assert event.tracks == (1, 2)
    assert event.box == (10, 0, 85, 60)
    assert event.to_dict()["box"] == [10, 0, 85, 60]


def test_a_gap_longer_than_a_second_parts_them():
    assert len(collect([[seen(1)], [seen(11)]])) == 1
    assert len(collect([[seen(1)], [seen(12)]])) == 2
    assert [event.number for event in collect([[seen(1)], [seen(12)]])] == [1, 2]


def test_frames_that_follow_each_other_are_one_event_without_any_gap():
    assert len(collect([[seen(1)], [seen(2)], [seen(3)]], gap=0)) == 1
    assert len(collect([[seen(1)], [seen(2)], [seen(4)]], gap=0)) == 2


def test_objects_that_have_merged_count_their_region_once():
    (event,) = collect([[seen(1, merged=True), seen(1, 2, merged=True), seen(1, 3, area=7)]])
    assert event.area == 107


def test_no_object_is_no_event():
    assert collect([[], []]) == []


def frame_event(first, last):
    return Event(1, first, last, first / 10, last / 10, first + 1, first / 10, 50.0, last - first)


def test_frame_events_join_what_they_overlap():
    objects = collect([[seen(10)], [seen(30)]])
    events = with_frame_events(objects, [frame_event(9, 31), frame_event(50, 60)])
    assert [(e.kind, e.first_frame, e.last_frame) for e in events] == [
        ("both", 9, 31),
        ("frame", 50, 60),
    ]
    assert [event.number for event in events] == [1, 2]
    assert events[0].tracks == (1,)
    assert events[0].peak_frame == 10
    assert events[1].box is None


def test_nothing_to_join_leaves_them_as_they_are():
    objects = collect([[seen(10)], [seen(30)]])
    assert with_frame_events(objects, []) == objects


EVENTS = [
    SceneEvent(1, "object", 3, 9, 0.1, 0.3, 5, 0.2, 120.5, (1, 4), (2.0, 3.0, 40.5, 20.0)),
    SceneEvent(2, "frame", 20, 20, 0.7, 0.7, 20, 0.7),
]


def test_what_is_written_is_read(tmp_path):
    write_events(EVENTS, tmp_path)
    assert read_events(tmp_path / "events.json") == EVENTS


def test_the_table_has_a_row_an_event_and_no_box_where_nothing_was_seen(tmp_path):
    write_events(EVENTS, tmp_path)
    with (tmp_path / "events.csv").open(encoding="utf-8", newline="") as file:
        header, first, second = csv.reader(file)
    assert tuple(header) == EVENT_COLUMNS
    assert first[-5:] == ["1 4", "2", "3", "40.5", "20"]
    assert second[-6:] == ["0", "", "", "", "", ""]


def test_times_and_areas_are_exact_in_long_films_and_large_pictures(tmp_path):
    event = SceneEvent(
        *(1, "object", 2160002, 2160009, 86400.08, 86400.36, 2160005, 86400.2),
        *(8294400.0, (1,), (3839.25, 0.0, 10240.5, 20.0)),
    )
    write_events([event], tmp_path)
    with (tmp_path / "events.csv").open(encoding="utf-8", newline="") as file:
        _, row = csv.reader(file)
    assert row[4:6] == ["86400.08", "86400.36"]
    assert row[7] == "8294400"
    assert row[9:] == ["3839.25", "0", "10240.5", "20"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kind", "guess"),
        ("box", [1, 2, 3]),
        ("tracks", 5),
        ("first_frame", "early"),
        ("area", None),
        ("last_frame", 0),
        ("start_s", "1e400"),
        ("end_s", "nan"),
        ("box", [1, 2, 3, "inf"]),
    ],
)
def test_a_wrong_value_is_refused_by_name_of_the_file(tmp_path, name, value):
    write_events(EVENTS, tmp_path)
    path = tmp_path / "events.json"
    plain = json.loads(path.read_text(encoding="utf-8"))
    plain["events"][0][name] = value
    path.write_text(json.dumps(plain), encoding="utf-8")
    with pytest.raises(InputError, match=r"events\.json: is no events\.json of bgsub"):
        read_events(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"events\.json: cannot be read"):
        read_events(tmp_path / "events.json")
