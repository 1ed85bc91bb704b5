"""The order of frames and damages, and the clock, on what files in the wild have."""

from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace

import pytest
from av.error import InvalidDataError
from hypothesis import given
from hypothesis import strategies as st

from bgsub.video.decoding import Clock, Damage, Decoder

RATE = Fraction(25)


@dataclass
class Stamped:
    """As much of a decoded frame as a clock looks at."""

    pts: int | None
    dts: int | None = None
    time_base: Fraction | None = Fraction(1, 100)


def times(events, **settings):
    clock = Clock(RATE, **settings)
    return [clock.read(event) for event in events]


@pytest.mark.parametrize(
    ("stamps", "expected"),
    [
        ([0, 4, 8], [0, 0.04, 0.08]),
        ([500, 504, 600], [0, 0.04, 1.0]),
        ([None, None, None], [0, 0.04, 0.08]),
        ([100, 104, 104, 108], [0, 0.04, 0.06, 0.08]),
        ([1000, 1004, 0, 4], [0, 0.04, 0.08, 0.12]),
        ([0, None, 8], [0, 0.04, 0.08]),
    ],
)
def test_times(stamps, expected):
    assert times([Stamped(stamp) for stamp in stamps]) == pytest.approx(expected)


def test_a_missing_frame_has_its_place():
    gap = Damage("gone", is_frame=True)
    assert times([gap, Stamped(70), gap, Stamped(78)]) == pytest.approx([0, 0.04, 0.08, 0.12])


def test_decoding_order():
    events = [Stamped(1, 20), Stamped(40, 24), Stamped(3, 28), Stamped(2, None)]
    assert times(events, by_decoding_order=True) == pytest.approx([0, 0.04, 0.08, 0.12])


@given(st.lists(st.none() | st.integers(-(10**6), 10**6), max_size=30))
def test_times_always_increase(stamps):
    result = times([Stamped(stamp) for stamp in stamps])
    assert result == sorted(set(result))
    assert not result or result[0] == 0


def test_no_rate():
    clock = Clock(None)
    assert [clock.read(Stamped(None)) for _ in range(3)] == pytest.approx([0, 0.04, 0.08])
    assert clock.end_s == pytest.approx(0.12)


class Packet:
    """A packet that decodes to the given frames, or not at all."""

    def __init__(self, pts, frames, *, size=10, dts=0, is_corrupt=False):
        self.pts, self.dts, self.size = pts, dts, size
        self.frames, self.is_corrupt = frames, is_corrupt
        self.is_discard, self.duration, self.pos = False, 1, 100
        self.time_base = Fraction(1, 25)

    def decode(self):
        if self.frames is None:
            raise InvalidDataError(1, "bad")
        return [SimpleNamespace(pts=pts, is_corrupt=False) for pts in self.frames]


def decode(packets, threads=1):
    stream = SimpleNamespace(thread_type="", codec_context=SimpleNamespace(name="h264"))
    container = SimpleNamespace(
        demux=lambda _: iter(packets), format=SimpleNamespace(name="matroska,webm")
    )
    decoder = Decoder(container, stream, threads)
    events = [
        ("bad" if event.is_frame else event.reason, event.stamp)
        if isinstance(event, Damage)
        else event.pts
        for event in decoder
    ]
    return events, decoder


FLUSH = {"size": 0, "dts": None}


def test_a_reordered_frame_is_missing_where_it_would_have_been_seen():
    packets = [
        Packet(0, [0]),
        Packet(3, []),
        Packet(2, None),
        Packet(1, [1]),
        Packet(4, [3, 4]),
        Packet(None, [], **FLUSH),
    ]
    events, decoder = decode(packets)
    assert events == [0, 1, ("bad", 2), 3, 4]
    assert decoder.packets == 5
    assert decoder.end_s == pytest.approx(0.2)


def test_damage_at_the_end_and_without_a_timestamp():
    packets = [Packet(0, [0]), Packet(None, None), Packet(1, None), Packet(None, [], **FLUSH)]
    assert decode(packets)[0] == [0, ("bad", None), ("bad", 1)]


def test_empty_packets_do_not_end_the_stream():
    packets = [Packet(0, [0]), Packet(1, [99], size=0), Packet(2, [2]), Packet(None, [], **FLUSH)]
    assert decode(packets)[0] == [0, 2]


def test_frames_that_depend_on_a_lost_one_are_lost_too():
    packets = [
        Packet(0, [0]),
        Packet(3, None),
        Packet(1, []),
        Packet(2, []),
        Packet(4, []),
        Packet(5, [5]),
        Packet(6, []),
        Packet(None, [], **FLUSH),
    ]
    lost = [("bad", 1), ("bad", 2), ("bad", 3), ("bad", 4)]
    assert decode(packets)[0] == [0, *lost, 5, ("bad", 6)]


def test_a_frame_that_comes_too_late_is_not_given_twice():
    packets = [Packet(0, [0]), Packet(1, []), Packet(2, None), Packet(3, [3, 1]), Packet(4, [4])]
    events = decode([*packets, Packet(None, [], **FLUSH)])[0]
    assert events == [0, ("bad", 1), ("bad", 2), 3, 4]


def test_packets_without_a_frame_are_no_loss_in_a_whole_file():
    packets = [Packet(0, []), Packet(1, [1]), Packet(2, []), Packet(3, [3])]
    assert decode([*packets, Packet(None, [], **FLUSH)])[0] == [1, 3]


def test_frames_that_a_flush_on_several_threads_lost_are_noticed():
    packets = [Packet(0, [0]), Packet(1, []), Packet(None, [], **FLUSH)]
    assert decode(packets, threads=4)[0] == [0, ("the last packets gave no frame", None)]


def test_every_error_on_several_threads_is_reported_at_once():
    packets = [Packet(0, [0]), Packet(5, None), Packet(1, [1]), Packet(None, [], **FLUSH)]
    events, decoder = decode(packets, threads=4)
    assert events[:2] == [0, ("bad", None)]
    # Without this, a decoder may hide an error by showing what is left of the picture.
    assert decoder._stream.codec_context.options == {"err_detect": "explode"}


def test_incomplete_packets_are_remembered():
    events, decoder = decode([Packet(0, [0], is_corrupt=True), Packet(None, [], **FLUSH)])
    assert events == [("its data are incomplete", None), 0]
    assert decoder.is_damaged


def test_a_file_that_breaks_off_ends():
    def packets():
        yield Packet(0, [0])
        raise InvalidDataError(1, "bad")

    events, decoder = decode(packets())
    assert events == [0, ("its data are damaged", None)]
    assert decoder.is_damaged
