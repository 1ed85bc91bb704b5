"""events.json is read as it was written, and nothing else is taken for it."""

import csv
import json

import pytest

from bgsub.errors import InputError
from bgsub.tracking.events import EVENT_COLUMNS, SceneEvent, read_events, write_events

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
