"""Whether the first pictures of a file are lost, in every container whose beginning tells."""

import numpy as np
import pytest

from bgsub.errors import InputError
from bgsub.video.beginnings import lacks_its_beginning
from bgsub.video.source import open_source
from tests.video.damaged_films import CONTAINERS, DAMAGES, film, packet_places

FILMS = [
    *(("mjpeg", "avi"), ("libx264", "avi"), ("libx264", "matroska"), ("ffv1", "matroska")),
    *(("libvpx", "webm"), ("mpeg4", "nut"), ("rawvideo", "nut"), ("libvpx-vp9", "ivf")),
    *(("libx264", "mpegts"), ("mpeg2video", "mpegts"), ("libx264", "flv"), ("flv", "flv")),
    *(("libx265", "flv"), ("libsvtav1", "flv"), ("libvpx-vp9", "flv"), ("rv10", "rm")),
    ("libvpx", "ogg"),
]
NAMES = {"matroska": "matroska,webm", "webm": "matroska,webm"}


@pytest.mark.parametrize(("codec", "container"), FILMS)
def test_a_sound_film_lacks_nothing(codec, container, tmp_path):
    data = film(codec, container)
    if data is None:
        pytest.skip("this PyAV does not write it")
    path = tmp_path / "film"
    path.write_bytes(data)
    places = [place for place, _ in packet_places(data)]
    form = NAMES.get(container, container)
    assert not lacks_its_beginning(form, path, places[0], 256)
    assert lacks_its_beginning(form, path, places[1], 256)


@pytest.mark.parametrize(("codec", "container"), FILMS)
def test_numbers_are_unsure_where_the_first_picture_is_lost(codec, container, tmp_path):
    data = film(codec, container)
    if data is None:
        pytest.skip("this PyAV does not write it")
    path = tmp_path / f"film.{CONTAINERS[container]}"
    path.write_bytes(DAMAGES["lose_first"](data, np.random.default_rng(3)))
    try:
        source = open_source(path)
    except InputError:
        return  # which is a word, too
    frames = list(source)
    named = [*(frame.number for frame in frames), *(bad.number for bad in source.bad_frames)]
    assert len(named) == 40 or any("unsure" in text for text in source.warnings)


@pytest.mark.parametrize("header", ["47074849", "47024080", "47824010", "00410030"])
def test_noise_that_looks_like_a_transport_packet_is_none(header, tmp_path):
    """A reserved field, scrambled data, an error that the receiver noticed; no packet at all."""
    data = bytearray(film("mpeg1video", "mpegts"))
    places = [place for place, _ in packet_places(bytes(data))]
    path = tmp_path / "film.ts"
    data[places[0] : places[0] + 4] = bytes.fromhex(header)
    path.write_bytes(data)
    assert lacks_its_beginning("mpegts", path, places[1], 256)


def test_of_other_formats_nothing_is_known(tmp_path):
    path = tmp_path / "film"
    path.write_bytes(b"anything")
    assert not lacks_its_beginning("mxf", path, 500, 0)
    assert not lacks_its_beginning("avi", path, 1 << 40, 0)


def test_chunks_that_hold_no_pictures_may_come_first(tmp_path):
    def chunk(name, data):
        return name + len(data).to_bytes(4, "little") + data + bytes(len(data) % 2)

    head = b"RIFF....AVI LIST....movi" + chunk(b"JUNK", bytes(7)) + chunk(b"ix00", bytes(24))
    head += b"LIST....rec "
    path = tmp_path / "film.avi"
    path.write_bytes(head + chunk(b"00dc", bytes(100)))
    assert not lacks_its_beginning("avi", path, len(head) + 8, 0)
    path.write_bytes(head + chunk(b"\xaa" * 4, bytes(100)) + chunk(b"00dc", bytes(100)))
    assert lacks_its_beginning("avi", path, len(head) + 116, 0)
