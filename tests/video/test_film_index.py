"""Frames that are sought are those of a pass from the beginning."""

from __future__ import annotations

from fractions import Fraction

import av
import numpy as np
import pytest

from bgsub.video.film_index import FilmIndex, frames_at, index_film
from bgsub.video.source import open_source
from tests.conftest import make_scene

N = 130


def encode(path, codec="libx264", *, options=None, stamps=None):
    """Encode N frames, with so many B-frames and key frames as options say."""
    frames = make_scene(N, 48, 64)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=25, options=options or {})
        stream.height, stream.width = frames.shape[1:3]
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        stream.codec_context.time_base = base = Fraction(1, 25 if stamps is None else 1000)
        for number, image in enumerate(frames):
            picture = av.VideoFrame.from_ndarray(image, format="rgb24")
            picture.time_base = base
            picture.pts = number if stamps is None else int(stamps[number])
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))
    return path


VARIABLE = np.cumsum(np.random.default_rng(3).integers(20, 400, N))

FILMS = {
    "B-frames": ("a.mp4", "libx264", {"g": "20", "bf": "3"}, None),
    "open GOPs": ("a.mkv", "libx264", {"g": "20", "bf": "3", "x264-params": "open-gop=1"}, None),
    "open GOPs, stream": (
        "a.ts",
        "libx264",
        {"g": "20", "bf": "2", "x264-params": "open-gop=1"},
        None,
    ),
    "variable rate": ("a.mkv", "libx264", {"g": "30", "bf": "2"}, VARIABLE),
    "intra refresh": ("a.mkv", "libx264", {"g": "25", "x264-params": "intra-refresh=1"}, None),
    "MPEG-4": ("a.mp4", "mpeg4", {"g": "12", "bf": "2"}, None),
    "MPEG-2 stream": ("a.ts", "mpeg2video", {"g": "15", "bf": "2"}, None),
    "H.265": ("a.mp4", "libx265", {"x265-params": "keyint=20:log-level=none"}, None),
    "every frame": ("a.mkv", "mjpeg", {}, None),
    "one key frame": ("a.mp4", "libx264", {"g": "1000"}, None),
}


@pytest.fixture(params=FILMS)
def film(request, tmp_path):
    name, codec, options, stamps = FILMS[request.param]
    if codec not in av.codecs_available:
        pytest.skip(f"this PyAV has no {codec}")
    return encode(tmp_path / name, codec, options=options, stamps=stamps)


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


def test_single_frames_are_those_of_a_pass_from_the_beginning(film):
    source = open_source(film)
    index = index_film(source)
    whole = list(source)
    wanted = [1, 2, 19, 20, 21, 22, 70, 71, 119, N]
    found = list(frames_at(source, index, wanted))
    assert [frame.number for frame in found] == wanted
    for frame in found:
        np.testing.assert_array_equal(frame.data, whole[frame.number - 1].data)
        assert frame.time_s == whole[frame.number - 1].time_s


def test_an_end_that_is_left_open_says_nothing_of_a_film_that_is_cut_off(film):
    source = open_source(film, start=110)
    source.enter(index_film(source).entry(110))
    assert [frame.number for frame in source] == list(range(110, N + 1))
    assert not any("cut off" in warning for warning in source.warnings)


@pytest.mark.parametrize(
    ("name", "codec", "reason"),
    [
        ("a.avi", "mpeg4", "avi has no time stamps"),
        ("a.mkv", "libvpx", "not to be seen"),
        ("a.h264", "libx264", "h264 has no time stamps"),
    ],
)
def test_films_whose_frames_cannot_be_sought_say_why(name, codec, reason, tmp_path):
    if codec not in av.codecs_available:
        pytest.skip(f"this PyAV has no {codec}")
    found = index_film(open_source(encode(tmp_path / name, codec)))
    assert isinstance(found, str)
    assert reason in found


def test_a_gap_in_the_time_stamps_is_no_film_to_seek_in(tmp_path):
    stamps = 40 * np.arange(N)
    stamps[70:] += 400
    path = encode(tmp_path / "a.mkv", options={"g": "20"}, stamps=stamps)
    assert index_film(open_source(path)) == "time stamps leave out frames"


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
