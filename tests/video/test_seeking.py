"""Stretches and single frames of a film are those of a pass from its beginning."""

from fractions import Fraction

import av
import numpy as np
import pytest

from bgsub.video.seek import can_seek, frames_between, index_film
from bgsub.video.source import open_source
from tests.video.beeps import RATE, film_with_a_beep
from tests.video.stamped_films import encode


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    return film_with_a_beep(tmp_path_factory.mktemp("film") / "film.mp4")


def test_frames_of_a_stretch_are_those_of_the_film(film):
    source = open_source(film)
    assert can_seek(source)
    all_frames = list(source)
    stretch = list(frames_between(source, 5.0, 7.0))
    assert [round(frame.time_s * RATE) for frame in stretch] == list(range(125, 176))
    for frame in stretch:
        same = all_frames[round(frame.time_s * RATE)]
        np.testing.assert_array_equal(frame.data, same.data)


def test_uneven_times_are_kept(tmp_path):
    path = tmp_path / "uneven.mkv"
    stamps = np.cumsum([40, 40, 80, 40, 200, 40, 40, 120] * 10)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("ffv1", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.codec_context.time_base = Fraction(1, 1000)
        for number, stamp in enumerate(stamps.tolist()):
            frame = av.VideoFrame.from_ndarray(np.full((72, 64), 2 * number, np.uint8), "yuv420p")
            frame.pts, frame.time_base = stamp, Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    source = open_source(path)
    times = [frame.time_s for frame in source]
    stretch = list(frames_between(source, times[20], times[40]))
    assert [frame.time_s for frame in stretch] == pytest.approx(times[20:41], abs=0.002)
    assert [int(frame.data[0]) for frame in stretch] == [
        int(frame.data[0]) for frame in list(source)[20:41]
    ]


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
