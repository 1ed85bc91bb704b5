"""What the header of a video file says of itself, and whether what is found falls short of it."""

import math
from fractions import Fraction

import pytest

from bgsub.video import pyav
from bgsub.video.film_header import FilmHeader, Reach, read_header
from tests.video.damaged_films import film


def read(tmp_path, codec, container, suffix, n=40, **options):
    path = tmp_path / f"film.{suffix}"
    path.write_bytes(film(codec, container, n, **options))
    with pyav.open_input(path) as opened:
        return read_header(opened, opened.streams.video[0], path)


@pytest.mark.parametrize(
    ("codec", "container", "suffix"),
    [("libx264", "mp4", "mp4"), ("mpeg4", "avi", "avi"), ("libx264", "matroska", "mkv")],
)
def test_rate_length_and_count_of_a_sound_film(tmp_path, codec, container, suffix):
    header = read(tmp_path, codec, container, suffix)
    assert header.rate == 25
    assert header.frames == pytest.approx(40, abs=1)
    assert header.duration_s == pytest.approx(1.6, abs=0.05)
    assert header.size == (tmp_path / f"film.{suffix}").stat().st_size
    assert not header.ends_early
    assert not header.intra_only


def test_an_mp4_lists_its_frames(tmp_path):
    listed = read(tmp_path, "libx264", "mp4", "mp4")
    assert listed.lists_frames
    assert listed.announced == 40
    assert listed.table == []
    assert not read(tmp_path, "mpeg4", "avi", "avi").lists_frames


def test_codecs_whose_pictures_stand_alone(tmp_path):
    assert read(tmp_path, "mjpeg", "avi", "avi").intra_only
    assert not read(tmp_path, "mpeg4", "avi", "avi").intra_only


def header(form="matroska,webm", **facts):
    plain = {"codec": "h264", "rate": Fraction(25), "duration_s": 10.0}
    return FilmHeader(**{"format": form} | plain | facts)


@pytest.mark.parametrize(
    ("form", "announced", "packets", "empty", "short"),
    [
        ("mov,mp4", 100, 100, 0, False),
        ("mov,mp4", 100, 99, 0, True),
        ("mov,mp4", 100, 98, 2, False),  # packets without data are counted too
        ("avi", 100, 99, 0, True),
        ("flv", 100, 99, 0, False),  # headers of other kinds are off by a little
        ("flv", 100, 98, 0, True),
        ("flv", 1000, 990, 0, False),
    ],
)
def test_fewer_packets_than_announced(form, announced, packets, empty, short):
    found = header(form, announced=announced, duration_s=None)
    assert found.falls_short(packets, empty, Reach()) == short


def test_a_table_says_how_many_packets_there_are_whatever_the_header_says():
    found = header("avi", announced=50, table=[(0, 0.0)] * 30)
    assert not found.falls_short(30, 0, Reach())
    assert found.falls_short(29, 0, Reach())


@pytest.mark.parametrize(("form", "short"), [("matroska,webm", True), ("mpegts", False)])
def test_only_formats_that_announce_a_length_fall_short_of_it(form, short):
    assert header(form).falls_short(200, 0, Reach(0.0, 7.96, 8.0)) == short
    assert not header(form).falls_short(250, 0, Reach(0.0, 9.96, 10.0))


def test_the_length_of_all_streams_is_believed_within_a_tenth():
    whole = header(duration_is_exact=False)
    assert not whole.falls_short(230, 0, Reach(0.0, 9.16, 9.2))
    assert whole.falls_short(220, 0, Reach(0.0, 8.86, 8.9))
    assert header().falls_short(230, 0, Reach(0.0, 9.16, 9.2))


def test_data_that_end_before_the_file_says_fall_short():
    found = header("mpegts", last_data=5000)
    assert found.falls_short(100, 0, Reach(place=4000))
    assert not found.falls_short(100, 0, Reach(place=5000))
    assert not found.falls_short(100, 0, Reach(place=None))


def test_an_ogg_counts_its_times_and_an_asf_begins_at_0():
    assert header("ogg").loses_count(Reach(0.0, 9.0, 9.04))
    assert header("asf").loses_count(Reach(3.0, 9.0, 9.04))
    assert not header("asf").loses_count(Reach(0.0, 9.0, 9.04))
    assert not header().loses_count(Reach(3.0, 9.0, 9.04))
    assert not header("asf", rate=None).begins_late(Reach(3.0))


@pytest.mark.parametrize(("position", "lacks"), [(90, True), (100, False), (None, False)])
def test_a_file_of_equal_pictures_ends_with_a_whole_one(position, lacks):
    assert header("yuv4mpegpipe", size=100).lacks_its_end(position) == lacks
    assert not header("avi", size=100).lacks_its_end(position)


def test_the_step_between_frames_is_known_where_stamps_are_to_be_trusted():
    assert header().step_s == pytest.approx(0.04)
    assert header(rate=None).step_s is None
    assert math.isinf(Reach().first_s)
