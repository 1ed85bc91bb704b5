"""objects.csv and tracks.csv."""

import io
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.errors import InputError
from bgsub.tracking.tables import (
    OBJECT_COLUMNS,
    ObjectsWriter,
    read_objects,
    read_tracks,
    write_tracks,
)
from bgsub.tracking.tracker import Observation
from bgsub.tracking.tracks import Track

SEEN = Observation(481, 19.2, 3, (10, 20, 30.25, 40), 25.5, 41.33, 900, 7.25, "brighter")
TRACK = Track(
    *(3, 481, 520, 19.2, 20.76, 1.56),
    *(80.5, 77.25, 50.0, 62.5, 900.0),
    *("left", "inside", 0.0, 40),
)


def text_of(*seen, regions=False):
    file = io.StringIO()
    writer = ObjectsWriter(file, regions=regions)
    for each in seen:
        writer.add(each, "arena 1" if regions else "")
    return file.getvalue()


def test_a_row_per_object():
    assert text_of(SEEN) == (
        "frame,time_s,track,x,y,width,height,cx,cy,area,score,sign\n"
        "481,19.2,3,10,20,30.25,40,25.5,41.33,900,7.25,brighter\n"
    )
    assert text_of(SEEN, regions=True).endswith("brighter,arena 1\n")


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "objects.csv"
    path.write_text(text_of(SEEN, SEEN))
    assert list(read_objects(path)) == [SEEN, SEEN]
    path.write_text(text_of())
    assert list(read_objects(path)) == []


def test_a_score_that_is_not_known_is_empty(tmp_path):
    path = tmp_path / "objects.csv"
    unknown = Observation(1, 0.0, 1, (1, 2, 3, 4), 2, 4, 9, math.nan, "")
    path.write_text(text_of(unknown))
    (again,) = read_objects(path)
    assert math.isnan(again.score)
    assert path.read_text().endswith(",9,,\n")


def test_tracks_are_read_as_written(tmp_path):
    path = tmp_path / "tracks.csv"
    with path.open("w") as file:
        write_tracks(file, [TRACK])
    assert list(read_tracks(path)) == [TRACK]


@given(st.text(max_size=60))
def test_anything_else_is_an_input_error(text):
    from pathlib import Path
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = Path(folder) / "objects.csv"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=r"objects\.csv"):
            list(read_objects(path))


@pytest.mark.parametrize("row", ["1,2", "a,1,1,1,1,1,1,1,1,1,1,x", ",,,,,,,,,,,"])
def test_a_broken_row_is_named(row, tmp_path):
    path = tmp_path / "objects.csv"
    path.write_text(",".join(OBJECT_COLUMNS) + "\n" + row + "\n")
    with pytest.raises(InputError, match="line 2"):
        list(read_objects(path))
