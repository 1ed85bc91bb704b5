"""Stretches of a film: frames, times and sound."""

from fractions import Fraction

import av
import numpy as np
import pytest

from bgsub.video.excerpt import add_sound, copy_excerpt, encode_excerpt
from bgsub.video.seeking import can_seek, frames_at, frames_between, index_film
from bgsub.video.source import open_source
from tests.video.stamped_films import FILMS, N, encode, stamped_film

RATE, SOUND = 25, 16_000
FLASH_S = 6.0


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    """Ten seconds: a level for each frame, a flash at 6 s and a beep with it; B-frames."""
    path = tmp_path_factory.mktemp("film") / "film.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=RATE, options={"g": "40", "bf": "3"})
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        sound = container.add_stream("aac", rate=SOUND, layout="mono")
        for number in range(10 * RATE):
            picture = np.full((72, 64), 128, np.uint8)
            picture[:48] = 230 if number == FLASH_S * RATE else 20 + number // 2
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="yuv420p")))
        container.mux(stream.encode())
        times = np.arange(10 * SOUND) / SOUND
        beep = (np.abs(times - FLASH_S) < 0.05) * np.sin(2000 * times)
        for begin in range(0, len(times), 1024):
            part = beep[None, begin : begin + 1024].astype(np.float32)
            frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(part), "fltp", "mono")
            frame.sample_rate, frame.pts, frame.time_base = SOUND, begin, Fraction(1, SOUND)
            container.mux(sound.encode(frame))
        container.mux(sound.encode(None))
    return path


def levels(path):
    with av.open(str(path)) as container:
        return [float(frame.to_ndarray()[:40].mean()) for frame in container.decode(video=0)]


def loudest_s(path):
    with av.open(str(path)) as container:
        origin = container.streams.audio[0].start_time or 0
        parts = [(f.pts, f.to_ndarray()[0]) for f in container.decode(audio=0)]
        base = container.streams.audio[0].time_base
        rate = container.streams.audio[0].rate
    assert origin >= 0
    loud = np.concatenate([part for _, part in parts])
    energy = np.convolve(loud**2, np.ones(800), "same")
    return float(parts[0][0] * base) + int(energy.argmax()) / rate


def test_frames_of_a_stretch_are_those_of_the_film(film):
    source = open_source(film)
    assert can_seek(source)
    all_frames = list(source)
    stretch = list(frames_between(source, 5.0, 7.0))
    assert [round(frame.time_s * RATE) for frame in stretch] == list(range(125, 176))
    for frame in stretch:
        same = all_frames[round(frame.time_s * RATE)]
        np.testing.assert_array_equal(frame.data, same.data)


def test_an_encoded_excerpt_begins_with_the_frame_that_is_asked_for(film, tmp_path):
    source = open_source(film)
    out = tmp_path / "a.mp4"
    count, begin = encode_excerpt(frames_between(source, 5.0, 7.0), out, rate=source.rate)
    assert (count, begin) == (51, 5.0)
    found = levels(out)
    assert len(found) == 51
    assert found[0] == pytest.approx(20 + 125 // 2, abs=3)
    assert int(np.argmax(found)) == 25


def test_sound_stays_in_step(film, tmp_path):
    source = open_source(film)
    silent, out = tmp_path / "s.mp4", tmp_path / "a.mp4"
    _, begin = encode_excerpt(frames_between(source, 5.0, 7.0), silent, rate=source.rate)
    assert add_sound(source, silent, out, begin)
    assert loudest_s(out) == pytest.approx(FLASH_S - 5.0, abs=0.06)
    assert int(np.argmax(levels(out))) == 25


def test_copied_packets_begin_with_a_key_frame(film, tmp_path):
    source = open_source(film)
    out = tmp_path / "a.mp4"
    begin = copy_excerpt(source, out, 5.0, 7.0)
    assert begin <= 5.0
    found = levels(out)
    flash = int(np.argmax(found))
    assert flash / RATE + begin == pytest.approx(FLASH_S, abs=0.05)
    assert loudest_s(out) == pytest.approx(FLASH_S - begin, abs=0.1)


def test_a_film_without_sound_gives_none(tmp_path, film):
    silent = tmp_path / "s.mp4"
    encode_excerpt(frames_between(open_source(film), 1.0, 2.0), silent)
    assert not add_sound(open_source(silent), silent, tmp_path / "a.mp4", 0.0)
    assert not (tmp_path / "a.mp4").exists()


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


@pytest.mark.parametrize("name", FILMS)
def test_single_frames_are_those_of_a_pass_from_the_beginning(name, tmp_path):
    source = open_source(stamped_film(tmp_path, name))
    index = index_film(source)
    whole = list(source)
    wanted = [1, 2, 19, 20, 21, 22, 70, 71, 119, N]
    found = list(frames_at(source, index, wanted))
    assert [frame.number for frame in found] == wanted
    for frame in found:
        np.testing.assert_array_equal(frame.data, whole[frame.number - 1].data)
        assert frame.time_s == whole[frame.number - 1].time_s


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
