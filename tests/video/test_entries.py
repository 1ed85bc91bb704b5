"""Frames from a key frame on are those of a pass from the beginning."""

from __future__ import annotations

import numpy as np
import pytest

from bgsub.video.film_index import FilmIndex
from bgsub.video.seek import index_film
from bgsub.video.source import open_source
from tests.video.stamped_films import FILMS, N, encode, stamped_film


@pytest.fixture(params=FILMS)
def film(request, tmp_path):
    return stamped_film(tmp_path, request.param)


def test_a_stretch_is_that_of_a_pass_from_the_beginning(film):
    source = open_source(film)
    index = index_film(source)
    assert isinstance(index, FilmIndex), index
    whole = list(source)
    assert [frame.time_s for frame in whole] == index.times.tolist()
    for first, last in ((1, 30), (21, 40), (22, 60), (59, 61), (100, N)):
        stretch = open_source(film, start=first, end=last)
        entry = index.entry(first)
        if entry is not None:
            assert entry.number < first
            stretch.enter(entry)
        for _ in range(2):
            found = list(stretch)
            assert [frame.number for frame in found] == list(range(first, last + 1))
            for ours, theirs in zip(found, whole[first - 1 : last], strict=True):
                assert ours.time_s == theirs.time_s
                np.testing.assert_array_equal(ours.data, theirs.data)
        assert stretch.bad_frames == []
        assert stretch.doubtful_frames == []
        assert stretch.warnings == source.warnings


def test_an_end_that_is_left_open_says_nothing_of_a_film_that_is_cut_off(film):
    source = open_source(film, start=110)
    source.enter(index_film(source).entry(110))
    assert [frame.number for frame in source] == list(range(110, N + 1))
    assert not any("cut off" in warning for warning in source.warnings)


def test_damage_behind_an_entry_is_found_as_in_a_pass_from_the_beginning(tmp_path):
    path = encode(tmp_path / "a.mkv", options={"g": "20", "bf": "0"})
    source = open_source(path)
    index = index_film(source)
    data = bytearray(path.read_bytes())
    place = int(0.8 * len(data))
    data[place : place + 60] = bytes(60)
    path.write_bytes(data)
    whole = list(open_source(path))
    stretch = open_source(path, start=80)
    stretch.enter(index.entry(80))
    found = list(stretch)
    assert [f.number for f in found] == [f.number for f in whole if f.number >= 80]
    for frame in found:
        same = next(other for other in whole if other.number == frame.number)
        np.testing.assert_array_equal(frame.data, same.data)


def test_a_place_that_is_no_key_frame_leads_to_a_pass_from_the_beginning(tmp_path):
    path = encode(tmp_path / "a.mkv", options={"g": "20"})
    stretch = open_source(path, start=90, end=99)
    entry = index_film(stretch).entry(90)
    stretch.enter(entry._replace(stamp_s=entry.stamp_s + 0.013))
    assert [frame.number for frame in stretch] == list(range(90, 100))
