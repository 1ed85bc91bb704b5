"""Events as a table for people."""

import pytest

from bgsub.report.tables import sightings_table
from bgsub.tracking.events import SceneEvent


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (1, "1"),
        (8, "1 2 3 4 5 6 7 8"),
        (9, "1 2 3 4 5 6 7 8 and 1 more"),
        (107, "1 2 3 4 5 6 7 8 and 99 more"),
    ],
)
def test_of_many_tracks_the_first_are_named(count, said):
    tracks = tuple(range(1, count + 1))
    event = SceneEvent(1, "object", 1, 220, 0.0, 8.8, 183, 7.3, 27070.0, tracks)
    header, row = sightings_table([event]).splitlines()
    assert row[header.index("tracks") :] == said


def test_no_event_is_no_table():
    assert sightings_table([]) == ""
