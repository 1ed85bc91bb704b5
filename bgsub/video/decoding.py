"""Decode a video from its beginning, quickly, up to the first sign of damage."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass

from av.container import InputContainer
from av.error import FFmpegError, InvalidDataError
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from bgsub.video import pyav
from bgsub.video.film_header import Reach
from bgsub.video.stamps import CODECS_WITH_HIDDEN_PACKETS

# A packet below this size repeats the picture before (a "not coded" one of MPEG-4, for example);
# but in AV1 a few bytes show a picture that was sent before.
_LEAST_PACKET = 8
_SHORT_CODECS = {"libdav1d", "libaom-av1", "av1"}

# Decoders that on several threads of slices keep to themselves what is wrong with one.
_QUIET_SLICES = {"mpeg1video", "mpeg2video"}

# A frame that comes later than so many steps leaves a gap.
GAP_STEPS = 1.5


@dataclass(frozen=True)
class Oddity:
    """Something that an undamaged film of constant rate does not have.

    Attributes
    ----------
    reason : str
    is_gap : bool
        Whether it is no more than a gap of timestamps, which films of variable rate have too.
    is_guess : bool
        Whether a film that is not damaged may have it.
    """

    reason: str
    is_gap: bool = False
    is_guess: bool = False


def is_picture(codec: str, size: int) -> bool:
    """Say whether a packet of so many bytes holds a picture, and does not only repeat one."""
    return size >= _LEAST_PACKET or (size > 0 and codec in _SHORT_CODECS)


def is_flush(packet: Packet[VideoStream]) -> bool:
    """Say whether a packet is the one behind the last, which empties the decoder."""
    return packet.size == 0 and packet.dts is None


class Decoder:
    """Decodes a stream once, from its beginning to its end, without any concealment of damage.

    What comes behind the first `Oddity` that is no gap is not to be used: with several threads it
    depends on their number. `bgsub.video.survey` finds out what it is.

    Parameters
    ----------
    container, stream
        Just opened.
    threads : int
        Threads for FFmpeg.
    step_s : float or None
        Seconds from one frame to the next, to look for gaps; may be changed on the way.
    by_decoding_order : bool
        Whether the timestamps are those of decoding alone.
    places : mapping of int to int
        Rank of each packet by its place in the file, where the file has a table of them.
    is_sound : callable, optional
        Whether the data of a packet are undamaged, where the codec lets that be computed.
    passed : int
        Packets, each one frame, that are before those that are decoded.

    Attributes
    ----------
    packets, empty_packets : int
        Packets with and without data that were read so far.
    reach : Reach
        How far these go.
    """

    def __init__(
        self,
        container: InputContainer,
        stream: VideoStream,
        threads: int,
        *,
        step_s: float | None = None,
        by_decoding_order: bool = False,
        places: Mapping[int, int] | None = None,
        is_sound: Callable[[bytes], bool] | None = None,
        passed: int = 0,
    ) -> None:
        self._container = container
        self._stream = stream
        prepare(stream, threads=threads, strict=True)
        self.step_s = step_s
        self._by_decoding_order = by_decoding_order
        self._places = places or {}
        self._is_sound = is_sound
        self.packets, self.empty_packets = passed, 0
        self.reach = Reach()
        self._latest_packet = self._latest_frame = -1
        self._last_stamp: int | None = None
        self._behind_s = 0.0
        self._stamps_since: set[int | None] = set()
        self._rank = -1
        self._last_s: float | None = None
        self._passed_s: float | None = None
        self._frames = self._pictures = passed
        self._waiting: int | None = None

    def __iter__(self) -> Generator[VideoFrame | Oddity, None, None]:
        """Give frames in the order of presentation, and what is odd before the frame it affects."""
        try:
            for packet in pyav.demux(self._container, self._stream):
                if not is_flush(packet):
                    if packet.size == 0:
                        self.empty_packets += 1
                        continue  # repeats a frame; a decoder would take it for the end
                    reason = self.look_at(packet)
                    if reason:
                        yield Oddity(reason)
                for frame in pyav.decode(packet):
                    if frame.is_corrupt:
                        yield Oddity("its data are damaged")
                    elif self._comes_late(frame):
                        yield Oddity("frames are missing before it", is_gap=True)
                    yield frame
                    self._frames += 1
                if self._falls_behind(packet):
                    yield Oddity("a packet gave no frame", is_guess=True)
        except FFmpegError as error:
            yield Oddity(error_reason(error))
        is_late = self._latest_frame < self._latest_packet
        if is_late or self._lacks_last_frame() or self._lacks_frames():
            yield Oddity("the last packets gave no frame", is_guess=True)

    def look_at(self, packet: Packet[VideoStream]) -> str:
        """Count a packet; say what is wrong with it."""
        self.packets += 1
        codec = self._stream.codec_context.name
        self._pictures += is_picture(codec, packet.size) and not packet.is_discard
        self.reach.place = None if packet.pos is None else packet.pos + packet.size
        self._last_stamp = None if packet.is_discard else packet.pts
        self._stamps_since.clear()
        if packet.pts is not None:
            if not packet.is_discard:
                self._latest_packet = max(self._latest_packet, packet.pts)
            last_s = pyav.seconds(packet.pts, packet.time_base) or 0.0
            length_s = pyav.seconds(packet.duration, packet.time_base) or 0.0
            self.reach.first_s = min(self.reach.first_s, last_s)
            self.reach.last_s = max(self.reach.last_s, last_s)
            self._behind_s = self.reach.last_s - last_s
            self.reach.end_s = max(self.reach.end_s, last_s + length_s)
        if packet.is_corrupt:
            return "its data are incomplete"
        if packet.pos is not None:
            expected = self._rank + 1
            self._rank = self._places.get(packet.pos, expected)
            if self._rank != expected:
                return "packets are missing before it"
        if self._is_sound is not None and not self._is_sound(bytes(packet)):
            return "its checksum is wrong"
        return ""

    def _falls_behind(self, packet: Packet[VideoStream]) -> bool:
        """Say whether a decoder has kept more packets than before, where no timestamps tell why."""
        waiting = self.packets - self._frames
        if self._frames == 0 or self.step_s is not None or is_flush(packet):
            return False
        before, self._waiting = self._waiting, max(waiting, self._waiting or 0)
        return before is not None and waiting > before

    def _lacks_frames(self) -> bool:
        """Say whether frames are fewer than packets, where no timestamps tell which came last."""
        if self.step_s is not None or self._stream.codec_context.name in CODECS_WITH_HIDDEN_PACKETS:
            return False
        return 0 < self._frames < self._pictures

    def _lacks_last_frame(self) -> bool:
        """Say whether the last packet, far behind its place, gave no frame; FFmpeg may not tell."""
        if self.step_s is None or self._last_stamp is None:
            return False
        steps = self._stream.codec_context.has_b_frames + 1.5
        return self._behind_s > steps * self.step_s and self._last_stamp not in self._stamps_since

    def _comes_late(self, frame: VideoFrame) -> bool:
        time_s = stamp_of(frame, by_decoding_order=self._by_decoding_order)
        self._stamps_since.add(frame.pts)
        if frame.pts is not None:
            self._latest_frame = max(self._latest_frame, frame.pts)
        before, self._last_s = self._last_s, time_s
        self._passed_s = None if before is None or time_s is None else time_s - before
        return self.follows_gap

    @property
    def follows_gap(self) -> bool:
        """Say whether the latest frame comes later than the one before it should be followed."""
        if self.step_s is None or self._passed_s is None:
            return False
        return self._passed_s > GAP_STEPS * self.step_s


def prepare(stream: VideoStream, *, threads: int, strict: bool) -> None:
    """Set how a stream that was just opened is decoded.

    Without `strict`, a decoder may hide an error by showing what is left of the picture.
    """
    kind = "FRAME" if stream.codec_context.name in _QUIET_SLICES else "AUTO"
    stream.thread_type = "NONE" if threads == 1 else kind
    stream.codec_context.thread_count = threads
    if strict:
        stream.codec_context.options = {"err_detect": "explode+crccheck+bitstream+buffer"}


def stamp_of(frame: VideoFrame, *, by_decoding_order: bool = False) -> float | None:
    """Give a frame's timestamp in seconds.

    `by_decoding_order` trusts only decoding timestamps, for containers that have no others (avi).
    """
    stamp = frame.dts if by_decoding_order or frame.pts is None else frame.pts
    return pyav.seconds(stamp, frame.time_base)


def error_reason(error: FFmpegError) -> str:
    """Say in a few words why something could not be decoded."""
    if isinstance(error, InvalidDataError):
        return "its data are damaged"
    return (error.strerror or str(error)).lower()


def seek(container: InputContainer, stream: VideoStream, stamp_s: float) -> None:
    """Go to a key frame that is not behind a time stamp in seconds, the last one but for a few.

    Some containers are sought by the time at which a frame is decoded, which may be before the
    stamp where the frame is shown behind it; then it goes further back.
    """
    fraction = pyav.fraction(stream.time_base)
    if fraction is None:
        return
    base, start = float(fraction), stream.start_time or 0
    target, back = round(stamp_s / base), 0
    while True:
        container.seek(max(target - back, min(start, target)), stream=stream)
        packets = (packet for packet in pyav.demux(container, stream) if packet.pts is not None)
        first = next(packets, None)
        is_late = first is not None and first.pts is not None and first.pts > target
        if not is_late or target - back <= start:
            break
        back = 2 * back + round(0.5 / base)
    container.seek(max(target - back, min(start, target)), stream=stream)
