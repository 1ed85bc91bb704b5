"""Frames that are sought or decoded alone are those of a pass from the beginning."""

from __future__ import annotations

import av
import numpy as np
import pytest

from bgsub.export.clips import Stretches
from bgsub.video import pyav
from bgsub.video.film_index import FilmIndex, Place
from bgsub.video.seek import frames_at, glimpse, index_film
from bgsub.video.selection import Picker
from bgsub.video.source import open_source
from tests.conftest import make_scene
from tests.video.beeps import RATE, film_with_a_beep
from tests.video.stamped_films import FILMS, VARIABLE, N, encode, stamped_film


@pytest.fixture(params=FILMS, scope="module")
def sought(request, tmp_path_factory):
    """A film, all of its frames, and its index."""
    path = stamped_film(tmp_path_factory.mktemp("film"), request.param)
    source = open_source(path)
    whole, index = list(source), index_film(source)
    assert isinstance(index, FilmIndex), index
    return request.param, path, whole, index, source.warnings


def check(found, whole):
    for frame in found:
        same = whole[frame.number - 1]
        assert frame.time_s == same.time_s
        np.testing.assert_array_equal(frame.data, same.data)


def test_an_index_lists_times_and_key_frames(sought):
    _, _, whole, index, _ = sought
    assert index.times.tolist() == [frame.time_s for frame in whole]
    assert index.keys[0] == 0
    assert sorted(index.ranks.tolist()) == list(range(N))


def test_a_stretch_is_that_of_a_pass_from_the_beginning(sought):
    _, path, whole, index, warnings = sought
    for first, last in ((1, 30), (21, 40), (22, 60), (59, 61), (100, N)):
        stretch = open_source(path, start=first, end=last)
        entry = index.entry(first)
        if entry is not None:
            assert entry.number < first
            stretch.entry = entry
        for _ in range(2 if first == 22 else 1):
            found = list(stretch)
            assert [frame.number for frame in found] == list(range(first, last + 1))
            check(found, whole)
        assert (stretch.bad_frames, stretch.doubtful_frames) == ([], [])
        assert stretch.warnings == warnings


def test_frames_that_are_looked_up(sought):
    name, path, whole, index, _ = sought
    source = open_source(path)
    wanted = [1, 2, 19, 20, 21, 22, 70, 71, 119, N]
    found = list(frames_at(source, [index.place(number) for number in wanted]))
    assert [frame.number for frame in found] == wanted
    check(found, whole)
    if name == "intra refresh":  # from one key frame on other pictures come out, or none
        return
    places = [index.place(number, from_its_key=True) for number in (2, 22, 60, 61, 119)]
    assert all((place.key_s or 0.0) <= place.stamp_s for place in places)
    found = list(frames_at(source, places))
    assert len(found) == len(places)
    check(found, whole)


SELECTIONS = [
    {"every": "5"},
    {"every": "30"},
    {"every": "0.7s"},
    {"start": "61", "end": "70"},
    {"start": "2s", "every": "4", "end": "3.5s"},
    {"start": "120"},
]


@pytest.mark.parametrize("selection", SELECTIONS, ids=str)
def test_a_selection_is_that_of_all_frames(sought, selection):
    _, path, whole, _, warnings = sought
    source = open_source(path, threads=2, **selection)
    picker = Picker(source.options.selection)
    expected = [frame.number for frame in whole if picker.wants(frame.number, frame.time_s)]
    found = list(source)
    assert [frame.number for frame in found] == expected
    check(found, whole)
    assert (source.bad_frames, source.warnings) == ([], warnings)


@pytest.fixture
def decoded(monkeypatch):
    """How many pictures were made by decoders."""
    counts, original = [], pyav.decode
    monkeypatch.setattr(
        pyav, "decode", lambda packet: [counts.append(1) or f for f in original(packet)]
    )
    return counts


@pytest.mark.parametrize(
    ("codec", "name"),
    [("libx264", "a.mp4"), ("libx264", "a.ts"), ("mjpeg", "a.mkv"), ("ffv1", "a.mkv")],
)
def test_what_nobody_needs_is_not_decoded(codec, name, decoded, tmp_path):
    path = encode(tmp_path / name, codec, options={"g": "12"})
    for selection, most in (({"every": "30"}, 0.7), ({"start": "61", "end": "70"}, 0.4)):
        decoded.clear()
        list(open_source(path, **selection))
        assert len(decoded) < most * N


def test_a_selection_of_a_damaged_film_is_that_of_all_frames(tmp_path):
    path = encode(tmp_path / "a.mp4", options={"g": "12", "bf": "2"})
    data = bytearray(path.read_bytes())
    place = len(data) // 2
    data[place : place + 300] = bytes(300)
    path.write_bytes(data)
    whole = {frame.number: frame.data for frame in open_source(path)}
    source = open_source(path, every=5)
    for frame in source:
        np.testing.assert_array_equal(frame.data, whole[frame.number])
    assert source.bad_frames or source.doubtful_frames


def test_an_end_that_is_left_open_says_nothing_of_a_film_that_is_cut_off(sought):
    _, path, _, index, _ = sought
    source = open_source(path, start=110)
    source.entry = index.entry(110)
    assert [frame.number for frame in source] == list(range(110, N + 1))
    assert not any("cut off" in warning for warning in source.warnings)


def test_damage_behind_an_entry_is_found_as_in_a_pass_from_the_beginning(tmp_path):
    path = encode(tmp_path / "a.mkv", options={"g": "20", "bf": "0"})
    index = index_film(open_source(path))
    data = bytearray(path.read_bytes())
    place = int(0.8 * len(data))
    data[place : place + 60] = bytes(60)
    path.write_bytes(data)
    whole = {frame.number: frame.data for frame in open_source(path)}
    stretch = open_source(path, start=80)
    stretch.entry = index.entry(80)
    found = list(stretch)
    assert [frame.number for frame in found] == [number for number in whole if number >= 80]
    for frame in found:
        np.testing.assert_array_equal(frame.data, whole[frame.number])


def test_a_place_that_is_no_key_frame_leads_to_a_pass_from_the_beginning(tmp_path):
    path = encode(tmp_path / "a.mkv", options={"g": "20"})
    stretch = open_source(path, start=90, end=99)
    entry = index_film(stretch).entry(90)
    stretch.entry = entry._replace(stamp_s=entry.stamp_s + 0.013)
    assert [frame.number for frame in stretch] == list(range(90, 100))


@pytest.mark.parametrize("kind", ["array", "avi"])
def test_frames_without_time_stamps(kind, tmp_path):
    source = open_source(make_scene(N) if kind == "array" else encode(tmp_path / "a.avi", "mpeg4"))
    whole = list(source)
    places = [Place(number, whole[number - 1].time_s) for number in (3, 4, 60, N)]
    found = list(frames_at(source, places))
    assert [frame.number for frame in found] == [3, 4, 60, N]
    check(found, whole)
    assert list(frames_at(source, [])) == []


def test_of_a_part_of_an_array_frames_have_the_numbers_of_all():
    frames = make_scene(60)
    source = open_source(frames, start=11, end=40)
    found = list(frames_at(source, [Place(11, 0.4), Place(40, 1.56)]))
    assert [frame.number for frame in found] == [11, 40]
    check(found, list(open_source(frames)))


def test_a_gap_in_the_time_stamps_is_no_film_to_seek_in(tmp_path):
    stamps = 40 * np.arange(N)
    stamps[70:] += 400
    path = encode(tmp_path / "a.mkv", options={"g": "20"}, stamps=stamps)
    assert index_film(open_source(path)) == "time stamps leave out frames"


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
    assert reason in index_film(open_source(encode(tmp_path / name, codec)))


def test_frames_between_two_times_are_those_of_the_film(tmp_path):
    source = open_source(film_with_a_beep(tmp_path / "film.mp4"))
    whole = list(source)
    stretch = list(Stretches(source).frames(5.0, 7.0))
    assert [round(frame.time_s * RATE) for frame in stretch] == list(range(125, 176))
    for frame in stretch:
        np.testing.assert_array_equal(frame.data, whole[round(frame.time_s * RATE)].data)


def test_uneven_times_are_kept(tmp_path):
    source = open_source(encode(tmp_path / "a.mkv", "ffv1", stamps=VARIABLE))
    whole = list(source)
    stretch = list(Stretches(source).frames(whole[20].time_s, whole[40].time_s))
    times = [frame.time_s for frame in whole[20:41]]
    assert [frame.time_s for frame in stretch] == pytest.approx(times, abs=0.002)
    for frame, same in zip(stretch, whole[20:41], strict=True):
        np.testing.assert_array_equal(frame.data, same.data)


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    """900 frames whose grey level tells their place, a key frame every 30th."""
    path = tmp_path_factory.mktemp("glimpses") / "film.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream(
            "libx264", rate=25, options={"g": "30", "preset": "ultrafast"}
        )
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in range(900):
            picture = np.full((72, 64), 128, np.uint8)
            picture[:48] = 20 + number // 5
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="yuv420p")))
        container.mux(stream.encode())
    return path


class TestGlimpses:
    def test_key_frames_are_sought(self, film):
        frames = glimpse(open_source(film), 25)
        assert len(frames) == 25
        times = [frame.time_s for frame in frames]
        assert times == sorted(times)
        assert times[-1] > 30
        levels = [(float(frame.luma.mean()) * 219 / 255 + 16 - 20) * 5 / 25 for frame in frames]
        assert np.abs(np.subtract(levels, times)).max() < 0.5

    def test_a_film_with_few_key_frames_is_read_through(self, film):
        frames = glimpse(open_source(film, start=1, end=400), 40)
        numbers = [frame.number for frame in frames]
        assert len(numbers) == 40
        assert numbers == sorted(set(numbers))
        assert numbers[-1] > 350

    def test_arrays_give_a_frame_of_every_stretch(self):
        frames = np.arange(200, dtype=np.uint8)[:, None, None] * np.ones((1, 8, 8), np.uint8)
        found = glimpse(open_source(frames), 20)
        assert [frame.data[0] // 10 for frame in found] == list(range(20))
