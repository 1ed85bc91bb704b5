"""The end of a file tells whether it breaks off."""

import io

import av
import numpy as np
import pytest

from bgsub.video.endings import ends_early, last_data
from bgsub.video.source import open_source
from tests.video.damaged_films import CONTAINERS, film, packet_places

FILMS = [
    *(("mpeg4", "nut"), ("zlib", "nut"), ("wmv2", "asf"), ("libvpx", "ogg"), ("mpeg4", "ismv")),
    *(("mpeg4", "mp4"), ("gif", "gif"), ("mpeg2video", "mpegts"), ("flv", "flv")),
    *(("libx264", "flv"), ("mjpeg", "matroska"), ("libvpx", "webm")),
]


def form(data):
    with av.open(io.BytesIO(data)) as container:
        return container.format.name


@pytest.mark.parametrize(("codec", "container"), FILMS)
def test_a_file_that_is_cut_off_anywhere(codec, container, tmp_path):
    data = film(codec, container)
    name = form(data)
    path = tmp_path / f"film.{CONTAINERS[container]}"
    path.write_bytes(data)
    assert not ends_early(name, path)
    starts = {place for place, _ in packet_places(data)}
    for size in range(len(data) // 3, len(data) - 13, 187):
        path.write_bytes(data[:size])
        is_between = size % 188 == 0 if container == "mpegts" else size in starts
        assert ends_early(name, path) or is_between


@pytest.mark.parametrize("data", [b"", b"\0", b"OggS", b"N" * 11, bytes(100), b"\0\0\0\1moov" * 9])
@pytest.mark.parametrize(
    "name",
    ["nut", "asf", "ogg", "mov,mp4,m4a,3gp,3g2,mj2", "gif", "mpegts", "flv", "matroska,webm"],
)
def test_any_bytes(name, data, tmp_path):
    path = tmp_path / "film"
    path.write_bytes(data)
    assert ends_early(name, path) in {True, False}
    assert last_data(name, path) is None or 0 <= last_data(name, path) < len(data)


def test_formats_that_end_anyhow(tmp_path):
    path = tmp_path / "film"
    path.write_bytes(b"abc")
    assert not ends_early("avi", path)
    assert last_data("avi", path) is None


@pytest.mark.parametrize(("codec", "container"), [("libvpx", "ogg"), ("mpeg4", "ismv")])
def test_packets_must_reach_the_last_page_or_fragment(codec, container, tmp_path):
    data = film(codec, container)
    path = tmp_path / f"film.{CONTAINERS[container]}"
    path.write_bytes(data)
    last = last_data(form(data), path)
    assert data[last : last + 4] in {b"OggS", b"moof"}
    assert packet_places(data)[0][0] < last <= packet_places(data)[-1][0]


@pytest.mark.parametrize(
    ("codec", "container", "place", "size"),
    [
        *(("mpeg4", "nut", 25, 2000), ("mpeg4", "wtv", 32, 1600), ("wmv2", "asf", 25, 5000)),
        *(("mpeg4", "ismv", 30, 2000), ("libvpx", "ogg", 20, 4000), ("rv10", "rm", 25, 2000)),
    ],
)
def test_frames_that_are_missing_at_the_end_are_told(codec, container, place, size, tmp_path):
    data = bytearray(film(codec, container))
    path = tmp_path / f"film.{CONTAINERS[container]}"
    path.write_bytes(data)
    source = open_source(path)
    assert len(list(source)) == 40
    assert not [text for text in source.warnings if "cut off" in text]
    if container != "asf":
        assert source.input_frames in {40, None}
    start = packet_places(bytes(data))[place][0]
    end = min(len(data) - 400, start + size)
    data[start:end] = bytes(end - start)
    path.write_bytes(data)
    source = open_source(path)
    shown = [frame.number for frame in source]
    named = {*shown, *(bad.number for bad in source.bad_frames)}
    assert len(shown) < 40
    said = " ".join(source.warnings)
    assert "damaged" in said or "missing" in said or named == set(range(1, 41))


def test_the_beginning_of_an_asf_is_missing(tmp_path):
    data = bytearray(film("wmv2", "asf"))
    path = tmp_path / "film.wmv"
    first = packet_places(bytes(data))[0][0]
    data[first : first + 3000] = bytes(3000)
    path.write_bytes(data)
    source = open_source(path)
    assert 0 < len(list(source)) < 40
    assert any("numbers and times are unsure" in text for text in source.warnings)


@pytest.mark.parametrize(("codec", "container"), [("flv", "flv"), ("libx264", "flv")])
def test_packets_must_reach_the_last_tag_with_a_picture(codec, container, tmp_path):
    data = film(codec, container)
    path = tmp_path / "film.flv"
    path.write_bytes(data)
    places = packet_places(data)
    assert last_data("flv", path) == places[-1][0]
    path.write_bytes(data[:-200] + bytes(200))
    assert sum(places[-1]) > last_data("flv", path) > sum(places[-3])


def test_packets_must_reach_what_a_transport_stream_holds_last(tmp_path):
    data = film("libx264", "mpegts")
    path = tmp_path / "film.ts"
    path.write_bytes(data)
    place = packet_places(data)[-1][0]
    assert last_data("mpegts", path, 256) == place
    path.write_bytes(data[:-188] + b"\xaa" * 188)
    assert last_data("mpegts", path, 256) == len(data) - 188
    path.write_bytes(data[:-100])
    assert last_data("mpegts", path, 256) is None


def test_an_flv_whose_writer_leaves_out_lengths_is_not_cut_off(tmp_path):
    data = bytearray(film("flv", "flv"))
    place = 13
    while place < len(data):
        place += 11 + int.from_bytes(data[place + 1 : place + 4], "big") + 4
        data[place - 4 : place] = bytes(4)
    path = tmp_path / "film.flv"
    path.write_bytes(bytes(data))
    assert not ends_early("flv", path)


@pytest.mark.parametrize(
    ("codec", "container"),
    [
        *(("libx264", "mpegts"), ("mpeg2video", "mpegts"), ("mpeg4", "asf"), ("wmv2", "asf")),
        *(("libsvtav1", "flv"), ("flashsv2", "flv"), ("libsvtav1", "wtv"), ("mpeg4", "matroska")),
        *(("rv10", "rm"), ("rv20", "rm")),
    ],
)
def test_the_last_pictures_are_not_lost_in_silence(codec, container, tmp_path):
    """Whether the packets at the end are noise, or the file lacks them."""
    data = film(codec, container)
    if data is None:
        pytest.skip("this PyAV does not write it")
    path = tmp_path / f"film.{CONTAINERS[container]}"
    places = packet_places(data)
    end = sum(places[-1])
    for first in (places[-1][0], places[-2][0]):
        begin = max(first - 16, sum(places[-3]))
        noise = np.random.default_rng(first).bytes(end - begin)
        path.write_bytes(data[:begin] + noise + data[end:])
        source = open_source(path)
        frames = list(source)
        named = {*(frame.number for frame in frames), *(bad.number for bad in source.bad_frames)}
        assert named >= set(range(1, 41)) or source.warnings


def test_a_dv_of_which_a_frame_is_not_read(tmp_path):
    data = film("dvvideo", "dv", 6)
    length = len(data) // 6
    path = tmp_path / "film.dv"
    path.write_bytes(data[: 3 * length] + bytes(length) + data[4 * length :])
    source = open_source(path)
    assert [frame.number for frame in source] == [1, 2, 3, 5, 6]
    assert [bad.number for bad in source.bad_frames] == [4]


def test_a_matroska_whose_last_cluster_has_lost_its_name(tmp_path):
    data = bytearray(film("prores", "matroska"))
    path = tmp_path / "film.mkv"
    place = bytes(data).rfind(bytes.fromhex("1f43b675"))
    data[place : place + 4] = b"\x55\xaa\x77\x01"
    path.write_bytes(bytes(data))
    source = open_source(path)
    assert len(list(source)) < 40
    assert any("the file is cut off or damaged" in text for text in source.warnings)


@pytest.mark.parametrize("follower", ["1c53bb6b", "1254c367", "ec", "1941a469"])
def test_behind_the_last_cluster_of_a_matroska_something_else_may_follow(follower, tmp_path):
    data = film("mjpeg", "matroska")
    path = tmp_path / "film.mkv"
    path.write_bytes(data)
    end = last_data("matroska,webm", path)
    assert end is not None
    more = bytes.fromhex(follower) + bytes.fromhex("4400") + bytes(1024)
    path.write_bytes(data[: end + 96] + more)
    assert last_data("matroska,webm", path) == end
