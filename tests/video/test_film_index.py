"""What the packets of a film tell of its frames."""

from __future__ import annotations

import numpy as np
import pytest

from bgsub.video.film_index import index_packets, open_video
from bgsub.video.selection import Selection
from bgsub.video.source import open_source
from tests.video.stamped_films import FILMS, N, encode, stamped_film


def index_of(path, until=None, step_s=0.04):
    with open_video(path) as (container, stream):
        return index_packets(container, stream, resolution_s=0.001, step_s=step_s, until=until)


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


def test_a_gap_in_the_time_stamps_is_no_film_to_seek_in(tmp_path):
    stamps = 40 * np.arange(N)
    stamps[70:] += 400
    path = encode(tmp_path / "a.mkv", options={"g": "20"}, stamps=stamps)
    assert index_of(path) == "time stamps leave out frames"
