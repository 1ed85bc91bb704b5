"""Files that are no video, and the first frame of those that are."""

import av
import numpy as np
import pytest

from bgsub.errors import InputError
from bgsub.video.film_header import read_header
from bgsub.video.opening import first_frame, open_video
from bgsub.video.source import open_source
from tests.video.damaged_films import film, lose_first, packet_places


@pytest.mark.parametrize("share", [0.1, 0.6])
def test_a_file_without_its_index_is_an_error(make_video, scene, share):
    path = make_video("index.mp4", scene(30))
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(InputError, match=r"index.mp4: is not a video that can be read"):
        open_source(path)


def test_nothing_decodable(make_video, scene):
    path = make_video("noise.avi", scene(5), "mjpeg", "yuvj420p")
    data = bytearray(path.read_bytes())
    for position, size in packet_places(bytes(data)):
        data[position + 8 : position + size] = np.random.default_rng(0).bytes(size - 8)
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"noise.avi: no frame can be decoded \(its data are"):
        open_source(path)


def test_sound_alone(tmp_path):
    path = tmp_path / "sound.wav"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=8000)
        stream.layout = "mono"
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), "s16", "mono")
        frame.sample_rate = 8000
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    with pytest.raises(InputError, match=r"sound.wav: holds no video"):
        open_source(path)


def test_a_relative_name_that_looks_like_an_address(make_video, scene, monkeypatch):
    path = make_video("12:30.mp4", scene(3))
    monkeypatch.chdir(path.parent)
    assert len(list(open_source("12:30.mp4"))) == 3


@pytest.mark.parametrize(
    ("codec", "options", "expected"),
    [("ffv1", {"level": "3", "slicecrc": "1"}, True), ("ffv1", {"slicecrc": "0"}, False)],
)
def test_the_first_packet_tells_whether_pictures_have_checksums(
    make_video, scene, codec, options, expected
):
    path = make_video("a.mkv", scene(3), codec, options=options)
    assert header_of(path).has_checksums == expected


def test_the_header_notes_that_something_stands_before_the_first_packet(tmp_path):
    path = tmp_path / "a.avi"
    path.write_bytes(film("mjpeg", "avi"))
    found = header_of(path)
    assert not found.lacks_packets
    assert len(found.table) == 40
    path.write_bytes(lose_first(path.read_bytes(), np.random.default_rng(0)))
    found = header_of(path)
    assert found.lacks_packets
    assert found.table == []


def header_of(path):
    with open_video(path) as (container, stream):
        header = read_header(container, stream, path)
        first_frame(container, stream, path, header)
    return header
