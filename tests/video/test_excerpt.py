"""Stretches that are cut out of a film: their frames, and their sound in step."""

import av
import numpy as np
import pytest

from bgsub.errors import InputError
from bgsub.video.clip import Excerpt, add_sound, copy_excerpt, encode_excerpt
from bgsub.video.seek import frames_between
from bgsub.video.source import open_source
from tests.video.beeps import FLASH_S, RATE, film_with_a_beep
from tests.video.conftest import encode


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    return film_with_a_beep(tmp_path_factory.mktemp("film") / "film.mp4")


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


def test_an_encoded_excerpt_begins_with_the_frame_that_is_asked_for(film, tmp_path):
    source = open_source(film)
    out = tmp_path / "a.mp4"
    excerpt = encode_excerpt(frames_between(source, 5.0, 7.0), out, rate=source.rate)
    assert excerpt == Excerpt(5.0, 7.0, 51)
    found = levels(out)
    assert len(found) == 51
    assert found[0] == pytest.approx(20 + 125 // 2, abs=3)
    assert int(np.argmax(found)) == 25


@pytest.mark.parametrize("start", [5.0, 5.04, 5.08, 5.12])
def test_sound_begins_with_the_sample_of_the_first_frame(film, tmp_path, start):
    source = open_source(film)
    silent, out = tmp_path / "s.mp4", tmp_path / "a.mp4"
    begin = encode_excerpt(frames_between(source, start, 7.0), silent, rate=source.rate).begin_s
    assert begin == pytest.approx(start)
    add_sound(source, silent, out, begin)
    assert loudest_s(out) + begin == pytest.approx(
        loudest_s(film), abs=0.005
    )  # was up to 64 ms late


def test_copied_packets_begin_with_a_key_frame(film, tmp_path):
    source = open_source(film)
    out = tmp_path / "a.mp4"
    begin = copy_excerpt(source, out, 5.0, 7.0).begin_s
    assert begin <= 5.0
    found = levels(out)
    flash = int(np.argmax(found))
    assert flash / RATE + begin == pytest.approx(FLASH_S, abs=0.05)
    assert loudest_s(out) == pytest.approx(FLASH_S - begin, abs=0.1)


@pytest.mark.parametrize("end", [9.0, 60.0])
def test_an_excerpt_ends_with_the_film_at_the_latest(film, tmp_path, end):
    source = open_source(film)
    encoded = encode_excerpt(frames_between(source, 8.0, end), tmp_path / "a.mp4")
    copied = copy_excerpt(source, tmp_path / "b.mp4", 8.0, end)
    last = min(end, 9.96)
    assert (encoded.begin_s, encoded.end_s) == pytest.approx((8.0, last))
    assert last <= copied.end_s <= min(last + 0.2, 9.96) + 1e-6
    assert copied.end_s - copied.begin_s == pytest.approx(
        (len(levels(tmp_path / "b.mp4")) - 1) / 25
    )


def test_a_film_without_sound_gives_none(tmp_path, film):
    silent = tmp_path / "s.mp4"
    encode_excerpt(frames_between(open_source(film), 1.0, 2.0), silent)
    assert not add_sound(open_source(silent), silent, tmp_path / "a.mp4", 0.0)
    assert not (tmp_path / "a.mp4").exists()


def test_a_codec_that_the_container_cannot_hold_is_an_error_with_a_way_out(tmp_path):
    path = tmp_path / "a.mkv"
    encode(path, np.zeros((5, 48, 64, 3), np.uint8), "rawvideo")
    source = open_source(path)
    with pytest.raises(
        InputError, match=r"rawvideo cannot be copied into \.mp4; use --mode encode"
    ):
        copy_excerpt(source, tmp_path / "a.mp4", 0.0, 1.0)
