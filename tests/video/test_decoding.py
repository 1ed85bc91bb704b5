"""What is noticed while a film is decoded, on what files in the wild have."""

from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace

import pytest
from av.error import InvalidDataError

from bgsub.video.decoding import Decoder, Oddity, stamp_of


@dataclass
class Stamped:
    """As much of a decoded frame as a clock looks at."""

    pts: int | None
    dts: int | None = None
    time_base: Fraction | None = Fraction(1, 100)


def test_stamps():
    frame = Stamped(40, 24)
    assert stamp_of(frame) == pytest.approx(0.4)
    assert stamp_of(frame, by_decoding_order=True) == pytest.approx(0.24)
    assert stamp_of(Stamped(None, 24)) == pytest.approx(0.24)
    assert stamp_of(Stamped(None)) is None


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
        return [
            SimpleNamespace(pts=pts, is_corrupt=False, time_base=Fraction(1, 25))
            for pts in self.frames
        ]

    def __bytes__(self):
        return b"x" * self.size


def decode(packets, threads=1, **settings):
    codec = SimpleNamespace(name="h264", has_b_frames=2)
    stream = SimpleNamespace(thread_type="", codec_context=codec)
    container = SimpleNamespace(demux=lambda _: iter(packets))
    decoder = Decoder(container, stream, threads, **settings)
    events = [
        event.reason + (" (gap)" if event.is_gap else "")
        if isinstance(event, Oddity)
        else event.pts
        for event in decoder
    ]
    return events, decoder


FLUSH = {"size": 0, "dts": None}
END = Packet(None, [], **FLUSH)


def test_a_sound_film():
    packets = [Packet(0, [0]), Packet(3, []), Packet(1, [1]), Packet(2, [2]), Packet(None, [3])]
    events, decoder = decode([*packets, END], step_s=0.04)
    assert events == [0, 1, 2, 3]
    assert (decoder.packets, decoder.reach.end_s) == (5, pytest.approx(0.16))


def test_empty_packets_do_not_end_the_stream():
    packets = [Packet(0, [0]), Packet(1, [99], size=0), Packet(2, [2]), END]
    events, decoder = decode(packets)
    assert events == [0, 2]
    assert (decoder.packets, decoder.empty_packets) == (2, 1)


@pytest.mark.parametrize("threads", [1, 4])
def test_every_error_is_reported_at_once(threads):
    packets = [Packet(0, [0]), Packet(5, None), Packet(1, [1]), END]
    events, decoder = decode(packets, threads)
    assert events[:2] == [0, "its data are damaged"]
    # Without this, a decoder may hide an error by showing what is left of the picture.
    assert "explode" in decoder._stream.codec_context.options["err_detect"].split("+")


def test_frames_that_a_flush_lost_are_noticed():
    packets = [Packet(0, [0]), Packet(1, []), END]
    assert decode(packets, threads=4, step_s=0.04)[0] == [0, "the last packets gave no frame"]


def test_a_last_packet_of_a_wrong_time_that_gave_no_frame_is_noticed():
    """On several threads FFmpeg keeps to itself what was wrong with the very last one."""
    sound = [Packet(n, [n]) for n in range(9)]
    events, _ = decode([*sound, Packet(2, []), END], threads=4, step_s=0.04)
    assert events == [*range(9), "the last packets gave no frame"]
    reordered = [*(Packet(n, [n]) for n in range(7)), Packet(9, []), Packet(7, [7])]
    reordered.append(Packet(None, [9], **FLUSH))
    events, _ = decode(reordered, threads=4, step_s=0.04)
    assert events == [*range(8), "frames are missing before it (gap)", 9]


def test_incomplete_packets_are_noticed():
    assert decode([Packet(0, [0], is_corrupt=True), END])[0][0] == "its data are incomplete"


def test_a_packet_that_gives_nothing_is_noticed_where_no_timestamps_tell():
    packets = [Packet(0, []), Packet(1, [0]), Packet(2, [1]), Packet(3, []), Packet(4, [3]), END]
    assert decode(packets)[0][:3] == [0, 1, "a packet gave no frame"]


def test_gaps_are_noticed_where_they_are_looked_for():
    packets = [Packet(0, [0]), Packet(1, [1]), Packet(4, [4]), END]
    assert decode(packets)[0] == [0, 1, 4]
    assert decode(packets, step_s=0.04)[0] == [0, 1, "frames are missing before it (gap)", 4]
    assert decode(packets, step_s=0.2)[0] == [0, 1, 4]


def test_a_packet_that_the_table_has_and_the_file_has_not():
    packets = [Packet(0, [0]), Packet(1, [1]), END]
    packets[1].pos = 300
    places = {100: 0, 200: 1, 300: 2}
    assert decode(packets, places=places)[0] == [0, "packets are missing before it", 1]


def test_checksums_are_asked_for():
    events, _ = decode([Packet(0, [0]), END], is_sound=lambda data: data == b"y")
    assert events == ["its checksum is wrong", 0]


def test_a_file_that_breaks_off_ends():
    def packets():
        yield Packet(0, [0])
        raise InvalidDataError(1, "bad")

    assert decode(packets())[0] == [0, "its data are damaged"]
