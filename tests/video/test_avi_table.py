"""The table of packets at the end of an avi."""

import pytest

from bgsub.video import pyav
from bgsub.video.avi_table import avi_table, data_start
from tests.video.damaged_films import film


def table_of(path):
    with pyav.open_input(path) as container:
        return avi_table(container, container.streams.video[0], path)


def save(folder, container):
    path = folder / f"film.{container}"
    path.write_bytes(film("mpeg4", container))
    return path


def test_it_has_places_and_times_of_all_packets(tmp_path):
    path = save(tmp_path, "avi")
    places, times = zip(*table_of(path), strict=True)
    assert list(places) == sorted(places)
    assert times == pytest.approx([i / 25 for i in range(40)])
    assert data_start(path) == places[0]


def test_what_ffmpeg_makes_of_a_file_without_its_end_is_no_table(tmp_path):
    path = save(tmp_path, "avi")
    path.write_bytes(path.read_bytes()[:-100])
    assert table_of(path) == []


def test_other_formats_have_none(tmp_path):
    path = save(tmp_path, "matroska")
    assert table_of(path) == []
    assert data_start(path) is None
