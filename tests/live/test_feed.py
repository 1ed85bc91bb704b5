"""A stream that is kept open: what may be opened, what is kept of it, and what is tried again."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from bgsub.live.decoding import Seen, StreamPacket
from bgsub.live.feed import Feed, LiveSource, Lost, PacketRing, read_source

from .conftest import blocked_in, children_of, transport, walk


def test_passwords_are_not_said():
    source = read_source("rtsp://me:secret@camera:554/stream")
    assert source.name == "rtsp://camera:554/stream"
    assert "secret" in source.address
    assert source.options == {"rtsp_flags": "prefer_tcp"}


def test_what_a_stream_names_cannot_be_a_file_of_this_machine():
    for url in ("http://a/list.m3u8", "rtsp://a/b", "tcp://a:1", "udp://@:5"):
        assert "file" not in read_source(url).protocols.split(",")


def test_frames_for_which_there_is_no_time_are_left_out_and_counted(serve):
    server = serve([transport(walk(40, [])), 30.0])
    with Feed(read_source(server.url)) as feed:
        deadline = time.monotonic() + 60
        while feed.dropped < 25 and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.3)
        items = list(iter(lambda: feed.get(0), None))
    times = [item.time_s for item in items if isinstance(item, Seen)]
    assert len(times) == 5
    assert feed.dropped >= 25
    assert times == sorted(times)


@pytest.mark.parametrize(("kind", "tries"), [("url", 2), ("file", 1)])
def test_only_what_may_come_back_is_tried_again(tmp_path, kind, tries):
    gone = tmp_path / "gone.ts"
    source = read_source("tcp://127.0.0.1:1") if kind == "url" else LiveSource(str(gone), kind)
    with Feed(source, pauses_s=(0.01, 0.02)) as feed:
        lost = [feed.get(60.0) for _ in range(tries)]
    assert [type(item) for item in lost] == [Lost] * tries
    assert [item.retry_s for item in lost] == ([0.01, 0.02] if tries == 2 else [None])
    assert all("efused" in item.reason or "o such file" in item.reason for item in lost)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_ctrl_c_does_not_reach_a_process_that_begins(serve):
    with Feed(read_source(serve([60.0]).url)):
        deadline = time.monotonic() + 60
        while not (children := children_of()) and time.monotonic() < deadline:
            time.sleep(0.001)
        assert {"SIGINT", "SIGTERM"} <= blocked_in(children[-1])


def packet(i, group=10, size=100):
    return StreamPacket(b"x" * size, i * 40, i * 40, 40, i % group == 0, i / 25)


def test_the_ring_begins_with_a_key_frame_and_holds_enough():
    ring = PacketRing(1.0, base_s=5.0)
    for i in range(200):
        ring.add(packet(i))
        kept = ring.since(0)
        assert kept[0][1].is_key
        assert kept[0][1].time_s <= max(5.0, 5.0 + i / 25 - 1.0)
        assert len(kept) <= 25 + 10 + 1
    assert ring.begin(5.0 + 7.9) == 190
    assert ring.begin(0.0) == ring.since(0)[0][0]
    assert [serial for serial, _ in ring.since(195)] == [195, 196, 197, 198, 199]
    assert PacketRing(1.0).begin(0.0) == 0


def test_the_ring_waits_for_what_is_being_written():
    ring = PacketRing(1.0)
    ring.hold(0)
    for i in range(200):
        ring.add(packet(i))
    assert len(ring.since(0)) == 200
    ring.hold(120)
    ring.add(packet(200))
    assert ring.since(0)[0][0] == 120


def test_the_ring_takes_so_much_memory_and_no_more(monkeypatch):
    monkeypatch.setattr("bgsub.live.feed._MOST_BYTES", 5000)
    ring = PacketRing(1000.0)
    for i in range(300):
        ring.add(packet(i, group=1000 if i > 100 else 10))
        assert sum(len(each.data) for _, each in ring.since(0)) <= 5000
