"""Frames that are spread over an input."""

import av
import numpy as np
import pytest

from bgsub.video.seek import glimpse
from bgsub.video.source import open_source


@pytest.fixture
def film(tmp_path):
    """900 frames whose grey level tells their place, a key frame every 30th."""
    path = tmp_path / "film.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=25, options={"g": "30", "crf": "10"})
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in range(900):
            picture = np.full((72, 64), 128, np.uint8)
            picture[:48] = 20 + number // 5
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="yuv420p")))
        container.mux(stream.encode())
    return path


def test_key_frames_are_sought(film):
    source = open_source(film)
    frames = glimpse(source, 25)
    assert len(frames) == 25
    times = [frame.time_s for frame in frames]
    assert times == sorted(times)
    assert times[-1] > 30
    levels = [(float(frame.luma.mean()) * 219 / 255 + 16 - 20) * 5 / 25 for frame in frames]
    assert np.abs(np.subtract(levels, times)).max() < 0.5


def test_a_film_with_few_key_frames_is_read_through(film):
    source = open_source(film, start=1, end=400)
    frames = glimpse(source, 40)
    assert len(frames) == 40
    numbers = [frame.number for frame in frames]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] > 350


def test_arrays_give_a_frame_of_every_stretch():
    frames = np.arange(200, dtype=np.uint8)[:, None, None] * np.ones((1, 8, 8), np.uint8)
    found = glimpse(open_source(frames), 20)
    assert [frame.data[0] // 10 for frame in found] == list(range(20))
