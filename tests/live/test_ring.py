"""The last packets of a stream: what is kept, and what is dropped."""

from __future__ import annotations

from bgsub.live.decoding import StreamPacket
from bgsub.live.feed import PacketRing


def packet(i, group=10, size=100):
    return StreamPacket(b"x" * size, i * 40, i * 40, 40, i % group == 0, i / 25)


def test_the_ring_begins_with_a_key_frame_and_holds_enough():
    ring = PacketRing(1.0)
    for i in range(200):
        ring.add(packet(i), 5.0)
        kept = ring.since(0, 0)
        assert kept[0][1].is_key
        assert kept[0][1].time_s <= max(5.0, 5.0 + i / 25 - 1.0)
        assert len(kept) <= 25 + 10 + 1
    assert ring.begin(5.0 + 7.9) == 190
    assert ring.begin(0.0) == ring.since(0, 0)[0][0]
    assert ring.since(195, 1) == []
    ring.clear()
    assert ring.begin(0.0) == ring.next_serial == 200


def test_the_ring_waits_for_what_is_being_written():
    ring = PacketRing(1.0)
    ring.hold(0)
    for i in range(200):
        ring.add(packet(i), 0.0)
    assert len(ring.since(0, 0)) == 200
    ring.hold(120)
    ring.add(packet(200), 0.0)
    assert ring.since(0, 0)[0][0] == 120


def test_the_ring_takes_so_much_memory_and_no_more(monkeypatch):
    monkeypatch.setattr("bgsub.live.feed._MOST_BYTES", 5000)
    ring = PacketRing(1000.0)
    for i in range(300):
        ring.add(packet(i, group=1000 if i > 100 else 10), 0.0)
        assert sum(len(each.data) for _, each in ring.since(0, 0)) <= 5000
