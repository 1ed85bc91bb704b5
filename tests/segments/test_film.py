"""Frames of a film that are looked at, lent or sought."""

from __future__ import annotations

import numpy as np
import pytest

from bgsub.segments.changes import Film
from bgsub.video.seek import frames_at
from bgsub.video.source import open_source
from tests.video.stamped_films import N, encode


@pytest.fixture
def film(tmp_path):
    def make(name="a.mp4", **options):
        return Film(open_source(encode(tmp_path / name, options=options)))

    return make


def test_a_sample_is_near_behind_key_frames(film):
    sample = film(g="50", bf="2").samples(1, N, 20)
    assert len({place.number for place in sample}) == 20
    start_s = sample[0].stamp_s
    behind = [round(25 * (place.stamp_s - (place.key_s or start_s))) for place in sample]
    assert sample[0].number == 1
    assert max(behind) <= 12
    assert len({place.key_s for place in sample}) >= 3


def test_a_sample_of_few_key_frames_is_of_all_frames(film):
    numbers = [place.number for place in film(g="1000").samples(11, 110, 50)]
    assert numbers == list(range(12, 111, 2))


def test_a_sample_is_no_larger_than_what_there_is(film):
    assert len(film(g="50").samples(60, 69, 50)) == 10


def test_the_frames_of_a_sample_are_those_of_a_pass(film, tmp_path):
    made = film(g="25", bf="3")
    frames = {frame.number: frame for frame in made.source}
    sample = made.samples(30, 120, 24)
    found = list(frames_at(made.source, sample))
    assert [frame.number for frame in found] == [place.number for place in sample]
    for frame, place in zip(found, sample, strict=True):
        np.testing.assert_array_equal(frame.data, frames[frame.number].data)
        assert frame.time_s == place.time_s == frames[frame.number].time_s


def test_a_stream_that_is_refreshed_bit_by_bit_is_decoded_from_further_back(film):
    made = film("a.mkv", g="25", **{"x264-params": "intra-refresh=1"})
    frames = {frame.number: frame for frame in made.source}
    for frame in frames_at(made.source, made.samples(60, 130, 10)):
        np.testing.assert_array_equal(frame.data, frames[frame.number].data)


def test_of_a_film_without_time_stamps_frames_are_found_in_a_pass(film, tmp_path):
    made = Film(open_source(encode(tmp_path / "a.avi", "mpeg4")))
    assert made.from_the_start
    sample = made.samples(30, 120, 10)
    assert all(place.stamp_s is None for place in sample)
    assert [frame.number for frame in frames_at(made.source, sample)] == [
        place.number for place in sample
    ]
