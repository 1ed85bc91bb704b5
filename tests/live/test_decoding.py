"""Decoding a stream: packets and frames, time stamps, sound, pace, and the process that does it."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
import time
from fractions import Fraction
from functools import partial

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.live import decoding
from bgsub.live.decoding import (
    End,
    Header,
    Note,
    Pace,
    RawEncoder,
    Seen,
    Skipped,
    Sound,
    StampMender,
    StreamPacket,
)
from bgsub.runtime.processes import receive, send
from bgsub.video import pyav
from bgsub.video.frames import Layout

from .conftest import SIZE, messages_of, packets, transport, walk, with_sound


@pytest.fixture
def film(tmp_path):
    path = tmp_path / "film.ts"
    path.write_bytes(transport(walk(60, [])))
    return path


def test_all_packets_and_pictures_come_after_the_header(film):
    header, *others = messages_of(film, drops=True)
    assert isinstance(header, Header)
    assert (header.codec, header.size) == ("h264", SIZE)
    pictures = [each for each in others if isinstance(each, Seen)]
    assert [each.time_s for each in pictures] == pytest.approx([i / 25 for i in range(60)])
    assert len([each for each in others if isinstance(each, StreamPacket)]) == 60
    few = [each for each in messages_of(film, every=0.2) if isinstance(each, Seen)]
    assert len(few) == 12


@pytest.mark.parametrize("drops", [True, False])
def test_what_there_is_no_time_to_decode_goes_to_clips_all_the_same(film, monkeypatch, drops):
    decode = pyav.decode

    def decode_slowly(packet):
        time.sleep(0.06)
        return decode(packet)

    monkeypatch.setattr(pyav, "decode", decode_slowly)
    monkeypatch.setattr(decoding, "_MOST_LATE_S", 0.2)
    monkeypatch.setattr(decoding, "_WAITED_S", 9.0)  # a machine that is busy
    others = messages_of(film, drops=drops)
    skipped = sum(isinstance(each, Skipped) for each in others)
    pictures = [each.time_s for each in others if isinstance(each, Seen)]
    kept = [each.data for each in others if isinstance(each, StreamPacket)]
    assert kept == packets(film)
    assert len(pictures) + skipped == 60
    assert (skipped > 10) == drops
    assert pictures[-1] > 1.5  # it goes on after what was skipped


stamps = st.one_of(st.none(), st.integers(-(2**40), 2**40))


@given(st.lists(st.tuples(stamps, stamps, st.floats(0, 100)), max_size=30))
def test_mended_stamps_increase_and_nothing_is_shown_before_it_is_decoded(packets):
    mender = StampMender(Fraction(1, 1000), 40)
    now, last = 0.0, -1
    for pts, dts, passed in packets:
        now += passed
        shown, decoded, _ = mender.mend(pts, dts, now)
        assert decoded > last
        assert shown >= decoded
        assert (decoded - max(last, 0)) / 1000 <= 5.0 + passed + 0.001
        last = decoded


def test_sound_stamps_stay_as_they_are():
    mender = StampMender(Fraction(1, 90000), 3600)
    given_stamps = [(9000, 0), (16200, 3600), (12600, 7200), (14400, 10800)]
    found = [mender.mend(pts, dts, i / 25) for i, (pts, dts) in enumerate(given_stamps)]
    assert [each[:2] for each in found] == [(pts, dts) for pts, dts in given_stamps[:3]] + [
        (14400, 10800)
    ]
    # A stream that pauses for a minute goes on a minute later.
    assert mender.mend(None, 10800 + 60 * 90000, 61.0)[2] is None
    assert mender.mend(None, 10800 + 120 * 90000, 61.1)[2] == pytest.approx(60.0)


def skipped(packets, pace=None):
    """Of packets (asked, came, stamp, is_key), the numbers of those for which there is no time."""
    pace = pace or Pace()
    return [i for i, (*times, key) in enumerate(packets) if pace.skips(*times, is_key=key)]


def test_who_waits_for_packets_is_never_late():
    # In bursts of ten seconds every ten seconds, as playlists come.
    burst = [
        (10 * i + j / 1000 - 9 * (j == 0), 10 * i + j / 1000, 10 * i + j / 25, False)
        for i in range(5)
        for j in range(250)
    ]
    assert skipped(burst) == []
    slow = [(i / 25 - 0.03, i / 25, i / 50, True) for i in range(1000)]
    assert skipped(slow) == []


def test_a_film_that_is_read_faster_than_it_plays_is_never_late():
    assert skipped([(i / 50, i / 50, i / 25, False) for i in range(1000)]) == []


def test_what_is_late_is_skipped_up_to_a_key_frame_at_which_it_is_not():
    # Decoding takes twice as long as the stream: late by two seconds after four.
    decoded = [(i / 12.5, i / 12.5, i / 25, i % 25 == 0) for i in range(52)]
    late_s, begin_s = decoded[-1][1], decoded[-1][2]
    # What is not decoded is read at once, and caught up with after two seconds of the stream.
    quick = [(now := late_s + i / 1000, now, begin_s + i / 25, i % 25 == 0) for i in range(1, 101)]
    found = skipped([*decoded, *quick])
    assert found == list(range(51, 101))


def test_a_stream_of_key_frames_alone_is_caught_up_with_at_once():
    decoded = [(i / 12.5, i / 12.5, i / 25, True) for i in range(52)]
    late_s, begin_s = decoded[-1][1], decoded[-1][2]
    quick = [(now := late_s + i / 1000, now, begin_s + i / 25, True) for i in range(1, 101)]
    assert skipped([*decoded, *quick]) == list(range(51, 99))


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


def test_a_stream_without_sound_has_none(film):
    with av.open(str(film)) as container:
        assert Sound.of(container) is None


@pytest.mark.parametrize("size", [(96, 72), (100, 76)])
def test_encoded_pictures_are_those_that_came(size):
    pictures = walk(30, [], size=size)
    pictures = [np.ascontiguousarray(each[:, : each.shape[1] - 1]) for each in pictures]  # odd
    frames = [av.VideoFrame.from_ndarray(each, format="rgb24") for each in pictures]
    base = Fraction(1, 1000)
    for i, frame in enumerate(frames):
        frame.pts, frame.time_base = 40 * i, base
    encoder = RawEncoder(frames[0], Fraction(25), base)
    with av.open(io.BytesIO(encoder.sample(frames[0])), "r", format="nut") as sample:
        decoder = av.CodecContext.create("h264", "r")
        decoder.extradata = sample.streams.video[0].codec_context.extradata
    packets = [packet for frame in frames for packet in encoder.encode(frame)]
    assert packets[0].is_key
    assert [packet.pts for packet in packets] == [40 * i for i in range(30)]
    assert [packet.time_s for packet in packets] == pytest.approx([i / 25 for i in range(30)])
    shown = [frame for packet in packets for frame in decoder.decode(av.Packet(packet.data))]
    shown += decoder.decode(None)
    assert len(shown) == 30
    for picture, frame in zip(pictures, shown, strict=True):
        assert (frame.width, frame.height) == (size[0] - 2, size[1] // 2 * 2)
        off = frame.to_ndarray(format="rgb24").mean() - picture[:, : size[0] - 2].mean()
        assert abs(off) < 3


MESSAGES = [
    Header("h264", (64, 48), Layout("yuv420", 48, 64), Fraction(1, 90_000), b"nut", "mp4"),
    StreamPacket(b"\0\1", 3, 2, 1, True, 0.25),
    Seen(0.5, bytes(range(256))),
    Note("stamps were mended"),
    End("the stream broke off", is_final=True),
]


def test_messages_come_in_their_order():
    pipe = io.BytesIO()
    for message in MESSAGES:
        send(pipe, message)
    pipe.seek(0)
    assert [receive(pipe) for _ in MESSAGES] == MESSAGES
    assert receive(pipe) is None


@pytest.mark.parametrize("left", [1, 7, 8, 20])
def test_a_pipe_that_ends_amid_a_message_has_ended(left):
    pipe = io.BytesIO()
    send(pipe, MESSAGES[2])
    assert receive(io.BytesIO(pipe.getvalue()[:left])) is None


def start(settings):
    """Run the process."""
    settings = {
        "format": None,
        "options": {},
        "scale": None,
        "every": 0.0,
        "sound": True,
        "drops": False,
        "parent": os.getpid(),
        **settings,
    }
    code = "from bgsub.live.decoding import main; main()"
    command = [sys.executable, "-c", code, json.dumps(settings)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def sent_by(path, **more):
    """Run the process on a file, and read what it sends."""
    settings = {"address": f"file:{path}", "protocols": "file"}
    with start(settings | more) as process:
        found = list(iter(partial(receive, process.stdout), None))
        assert process.wait(60) == 0
    assert isinstance(found[-1], End)
    return found


def test_a_stream_is_sent_from_its_header_to_its_end(tmp_path):
    (tmp_path / "film.ts").write_bytes(transport(walk(20, [])))
    header, *others, end = sent_by(tmp_path / "film.ts")
    assert isinstance(header, Header)
    assert sum(isinstance(each, Seen) for each in others) == 20
    assert end == End("")


@pytest.mark.parametrize(
    ("more", "reason", "is_final"),
    [
        ({}, "its data are damaged", False),
        ({"address": "srt://127.0.0.1:1", "protocols": "srt"}, "ffmpeg -i srt://", True),
        ({"address": "file:/none.ts"}, "o such file", False),
    ],
)
def test_what_cannot_be_read_is_the_last_message(tmp_path, more, reason, is_final):
    (tmp_path / "film.ts").write_bytes(b"no film" * 100)
    (end,) = sent_by(tmp_path / "film.ts", **more)
    assert reason in end.reason
    assert end.is_final == is_final


@pytest.mark.skipif(os.name == "nt", reason="has no parents")
def test_it_ends_though_its_parent_had_ended_before_it_looked():
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with start({"address": address, "protocols": "tcp", "parent": gone.pid}) as process:
            try:
                assert process.wait(60) == 0
            finally:
                process.kill()
