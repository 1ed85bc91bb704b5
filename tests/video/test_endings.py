"""The end of a file tells whether it breaks off."""

import io

import av
import pytest

from bgsub.video.endings import ends_early, last_data
from bgsub.video.source import open_source
from tests.video.damaged_films import CONTAINERS, film, packet_places

FILMS = [
    *(("mpeg4", "nut"), ("zlib", "nut"), ("wmv2", "asf"), ("libvpx", "ogg"), ("mpeg4", "ismv")),
    *(("mpeg4", "mp4"), ("gif", "gif"), ("mpeg2video", "mpegts")),
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
    for size in range(len(data) // 3, len(data) - 13, 187):
        path.write_bytes(data[:size])
        assert ends_early(name, path) or (container == "mpegts" and size % 188 == 0)


@pytest.mark.parametrize("data", [b"", b"\0", b"OggS", b"N" * 11, bytes(100), b"\0\0\0\1moov" * 9])
@pytest.mark.parametrize("name", ["nut", "asf", "ogg", "mov,mp4,m4a,3gp,3g2,mj2", "gif", "mpegts"])
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
        *(("mpeg4", "ismv", 30, 2000), ("libvpx", "ogg", 20, 4000)),
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
