"""What the packets of a film tell of its frames."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from bgsub.video.film_header import open_video
from bgsub.video.film_index import FilmIndex, index_packets
from bgsub.video.selection import Selection
from bgsub.video.source import open_source
from tests.video.stamped_films import FILMS, N, encode, stamped_film


def index_of(path, until=None, step_s=0.04):
    with open_video(path) as (container, stream):
        return index_packets(container, stream, resolution_s=0.001, step_s=step_s, until=until)


def index(stamps, *, keys=(0,), begins=(0,), is_partial=False):
    """An index of packets with these stamps in thousandths of a second, in the file's order."""
    in_file = np.array(stamps)
    order = np.argsort(in_file, kind="stable")
    marks = [np.isin(np.arange(in_file.size), places) for places in (keys, begins)]
    return FilmIndex(
        in_file[order], Fraction(1, 1000), np.argsort(order, kind="stable"), *marks, is_partial
    )


@pytest.fixture(params=FILMS)
def film(request, tmp_path):
    return stamped_film(tmp_path, request.param)


def test_it_lists_times_and_key_frames(film):
    found = index_of(film)
    frames = list(open_source(film))
    assert found.times.tolist() == [frame.time_s for frame in frames]
    assert found.keys[0] == 0
    assert found.begins_anew[0]
    assert not (found.begins_anew & ~found.is_key).any()
    assert sorted(found.ranks.tolist()) == list(range(N))


def test_reading_ends_behind_what_is_selected(tmp_path):
    path = encode(tmp_path / "a.mkv", options={"g": "10"})
    assert index_of(path, Selection.parse(end=3).picker()).is_partial
    assert len(index_of(path, Selection.parse(end=3).picker()).stamps) == 68
    assert not index_of(path, Selection.parse(end=100).picker()).is_partial


def test_decoding_begins_two_key_frames_before_a_frame():
    found = index([0, 80, 40, 120, 200, 160, 240, 320, 280], keys=(0, 3, 6))
    assert [found.entry(number) for number in range(1, 7)] == [None] * 6
    assert found.entry(7) == (4, 0.12, 0.0, 3, 7)


def test_packets_are_needed_from_a_beginning_up_to_a_wanted_one():
    found = index([0, 80, 40, 120, 200, 160, 240, 320, 280], begins=(0, 3, 6))
    wanted = np.zeros(9, dtype=bool)
    wanted[[4, 6]] = True  # of the frames, not of the packets
    assert np.flatnonzero(found.needed(wanted)).tolist() == [3, 4, 5, 6]


def test_all_packets_are_needed_where_something_is_shown_before_a_beginning():
    found = index([0, 80, 40, 160, 120, 200], begins=(0, 3))
    assert found.needed(np.arange(6) == 5).all()


def test_a_gap_in_the_time_stamps_is_no_film_to_seek_in(tmp_path):
    stamps = 40 * np.arange(N)
    stamps[70:] += 400
    path = encode(tmp_path / "a.mkv", options={"g": "20"}, stamps=stamps)
    assert index_of(path) == "time stamps leave out frames"
