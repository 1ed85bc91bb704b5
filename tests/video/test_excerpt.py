"""Stretches of a film with their sound, and results joined packet by packet."""

from __future__ import annotations

from fractions import Fraction

import av
import numpy as np
import pytest

from bgsub.errors import InputError, OutputError
from bgsub.export.clips import Stretches
from bgsub.video.clip import (
    Excerpt,
    add_sound,
    copy_excerpt,
    encode_excerpt,
    join_pictures,
    join_videos,
)
from bgsub.video.frames import Layout
from bgsub.video.sink import open_sink
from bgsub.video.source import open_source
from tests.conftest import make_scene, read_video
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
    excerpt = encode_excerpt(Stretches(source).frames(5.0, 7.0), out, rate=source.rate)
    assert excerpt == Excerpt(5.0, 7.0, 51)
    found = levels(out)
    assert len(found) == 51
    assert found[0] == pytest.approx(20 + 125 // 2, abs=3)
    assert int(np.argmax(found)) == 25


@pytest.mark.parametrize("start", [5.0, 5.04, 5.08, 5.12])
def test_sound_begins_with_the_sample_of_the_first_frame(film, tmp_path, start):
    source = open_source(film)
    silent, out = tmp_path / "s.mp4", tmp_path / "a.mp4"
    begin = encode_excerpt(Stretches(source).frames(start, 7.0), silent, rate=source.rate).begin_s
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
    encoded = encode_excerpt(Stretches(source).frames(8.0, end), tmp_path / "a.mp4")
    copied = copy_excerpt(source, tmp_path / "b.mp4", 8.0, end)
    last = min(end, 9.96)
    assert (encoded.begin_s, encoded.end_s) == pytest.approx((8.0, last))
    assert last <= copied.end_s <= min(last + 0.2, 9.96) + 1e-6
    assert copied.end_s - copied.begin_s == pytest.approx(
        (len(levels(tmp_path / "b.mp4")) - 1) / 25
    )


def test_a_film_without_sound_gives_none(tmp_path, film):
    silent = tmp_path / "s.mp4"
    encode_excerpt(Stretches(open_source(film)).frames(1.0, 2.0), silent)
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


NTSC = Fraction(30000, 1001)


def write(path, frames, times, kind="mp4"):
    layout = Layout("bgr", *frames.shape[1:3])
    sink = open_sink(path, "mask", layout=layout, kind=kind, rate=NTSC)
    for frame, time_s in zip(frames, times, strict=True):
        sink.write(np.ascontiguousarray(frame[..., ::-1]), time_s)
    sink.close()
    return path


def packets(path):
    with av.open(str(path)) as container:
        return [
            (bytes(packet), packet.pts * packet.time_base)
            for packet in container.demux(video=0)
            if packet.size
        ]


@pytest.mark.parametrize("kind", ["mp4", "mkv"])
def test_packets_are_copied_and_times_are_those_of_one_film(kind, tmp_path):
    frames = make_scene(90)
    times = 7.0 + np.arange(90) / float(NTSC)
    times[60:] += 2.5
    parts = [
        (write(tmp_path / f"{a}.{kind}", frames[a:b], times[a:b], kind), float(times[a]))
        for a, b in ((0, 30), (30, 60), (60, 90))
    ]
    out = tmp_path / f"all.{kind}"
    assert join_videos(parts, out, title="mask", rate=NTSC) == 90
    one = packets(write(tmp_path / f"one.{kind}", frames, times, kind))
    ours = packets(out)
    assert [data for data, _ in ours] == [data for path, _ in parts for data, _ in packets(path)]
    np.testing.assert_allclose([float(t) for _, t in ours], [float(t) for _, t in one], atol=0.0011)
    separate = np.concatenate([read_video(path) for path, _ in parts])
    np.testing.assert_array_equal(read_video(out), separate)
    with av.open(str(out)) as container:
        assert container.metadata["title"] == "mask"


def test_parts_that_were_encoded_otherwise_are_refused(tmp_path):
    small, large = make_scene(12), make_scene(12, 40, 64)
    times = np.arange(12) / 25
    parts = [
        (write(tmp_path / "a.mp4", small, times), 0.0),
        (write(tmp_path / "b.mp4", large, times), 1.0),
    ]
    with pytest.raises(OutputError, match="encoded in another way"):
        join_videos(parts, tmp_path / "all.mp4", title="mask", rate=NTSC)


def test_pictures_are_numbered_through(tmp_path):
    for name, count in (("a", 3), ("b", 2)):
        (tmp_path / name).mkdir()
        for number in range(1, count + 1):
            (tmp_path / name / f"{number:06d}.png").write_text(f"{name}{number}")
    assert join_pictures([tmp_path / "a", tmp_path / "b"], tmp_path / "all") == 5
    texts = [path.read_text() for path in sorted((tmp_path / "all").iterdir())]
    assert texts == ["a1", "a2", "a3", "b1", "b2"]
