"""objects.csv and tracks.csv."""

import io
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bgsub
from bgsub.errors import InputError
from bgsub.tracking.tables import (
    OBJECT_COLUMNS,
    ObjectsWriter,
    Track,
    read_objects,
    read_tracks,
    write_tracks,
)
from bgsub.tracking.tracker import Observation

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
    seen = [SEEN, replace(SEEN, frame=482)]
    path.write_text(text_of(*seen))
    assert list(read_objects(path)) == seen
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
    write_tracks(path, [TRACK])
    assert list(read_tracks(path)) == [TRACK]


@pytest.mark.parametrize("score", [7.25, math.nan])
def test_those_that_share_a_region_are_read_as_merged(tmp_path, score):
    def seen(track, x, area=900.0, sign="mixed"):
        return Observation(5, 0.2, track, (x, 20, 30, 40), x + 15, 40, area, score, sign)

    apart = seen(4, 200.0)
    frame = [seen(1, 10.0), replace(seen(2, 35.0), score=0.4), seen(3, 80.0, 700.0), apart]
    path = tmp_path / "objects.csv"
    path.write_text(text_of(*frame, replace(apart, frame=6)))
    assert [each.merged for each in read_objects(path)] == [True, True, False, False, False]


def test_times_of_tracks_are_those_of_their_objects(tmp_path):
    path = tmp_path / "tracks.csv"
    track = replace(TRACK, start_s=12.345678, end_s=86399.998333, rest_s=1.23456)
    write_tracks(path, [track])
    (again,) = read_tracks(path)
    assert (again.start_s, again.end_s) == (12.345678, 86399.99833)
    assert again.rest_s == 1.23456


@given(st.text(max_size=60))
def test_anything_else_is_an_input_error(text):
    from pathlib import Path
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = Path(folder) / "objects.csv"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=r"objects\.csv"):
            list(read_objects(path))


@pytest.mark.parametrize(
    "row", ["1,2", "a,1,1,1,1,1,1,1,1,1,1,x", ",,,,,,,,,,,", "1,1e999,1,1,1,1,1,1,1,1,,up"]
)
def test_a_broken_row_is_named(row, tmp_path):
    path = tmp_path / "objects.csv"
    path.write_text(",".join(OBJECT_COLUMNS) + "\n" + row + "\n")
    with pytest.raises(InputError, match="line 2"):
        list(read_objects(path))


@pytest.mark.parametrize("there", [[], ["objects.csv"]])
def test_a_folder_without_the_tables_says_what_writes_them(tmp_path, there):
    for name in there:
        (tmp_path / name).write_text("frame\n")
    with pytest.raises(InputError) as refused:
        bgsub.objects(tmp_path)
    missing = "tracks.csv" if there else "objects.csv"
    assert str(refused.value).startswith(f"{tmp_path}: holds no {missing}; bgsub run writes it")
    assert "bgsub objects" in str(refused.value)
