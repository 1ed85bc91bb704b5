"""Sound of a stream is taken along as it is where clips can hold it, with the pictures' stamps."""

import io
from fractions import Fraction

import av
import numpy as np
import pytest

from bgsub.live.decoding import Sound
from tests.live.conftest import walk, with_sound


def opened(sound, container="mpegts", hertz=16000):
    film = with_sound(walk(40, []), [], sound, container, hertz)
    return av.open(io.BytesIO(film))


def taken(container, *, shift_s=Fraction(0), near_s=None):
    """The sound, and its packets, the pictures being where the sound is unless they are given."""
    sound = Sound.of(container)
    found = []
    for packet in container.demux(sound.stream):
        if packet.pts is None:
            continue
        near = float(packet.pts * sound.base + shift_s) if near_s is None else near_s
        found.append((packet.pts, sound.take(packet, shift_s, near)))
    return sound, found


def test_aac_of_a_transport_stream_loses_its_headers_and_is_ready_then():
    with opened("aac") as container:
        assert Sound.of(container).codec == "aac"
        sound, found = taken(container)
        assert sound.is_ready
        assert len(found) > 10
        assert all(each.is_sound and not each.data.startswith(b"\xff\xf1") for _, each in found)


def test_stamps_are_moved_with_those_of_the_pictures():
    with opened("ac3", hertz=48000) as container:
        sound, found = taken(container, shift_s=Fraction(3))
        assert sound.codec == "ac3"
        for stamp, packet in found:
            assert packet.pts == packet.dts == stamp + round(3 / sound.base)


def test_sound_of_another_time_is_left_out():
    with opened("ac3", hertz=48000) as container:
        _, found = taken(container, near_s=1000.0)
        assert [packet for _, packet in found] == [None] * len(found)


def test_what_no_clip_holds_becomes_plain_samples():
    with opened("pcm_mulaw", "nut", 8000) as container:
        sound, found = taken(container)
        assert sound.codec == "pcm_s16le"
        values = np.frombuffer(b"".join(packet.data for _, packet in found), "<i2")
        assert values.size == pytest.approx(40 / 25 * 8000, rel=0.1)


def test_a_stream_without_sound_has_none(tmp_path):
    path = tmp_path / "silent.mp4"
    with av.open(str(path), "w") as target:
        stream = target.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        target.mux(stream.encode(av.VideoFrame(64, 48, "yuv420p")))
        target.mux(stream.encode())
    with av.open(str(path)) as container:
        assert Sound.of(container) is None
