"""Find the order, the times and the damage of the frames in a video file, without their pixels."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from fractions import Fraction

from av.container import InputContainer
from av.error import FFmpegError, InvalidDataError
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from bgsub.video import pyav

#: A step back in time by more than this is a new beginning of the clock, not a jittered timestamp.
_RESTART_S = 1.0

#: Codecs with packets that only serve other packets.
_HIDDEN_PICTURES = {"vp8", "vp9", "av1", "libdav1d", "libvpx", "libvpx-vp9"}


@dataclass(frozen=True)
class Damage:
    """Something in the file that could not be decoded.

    Attributes
    ----------
    reason : str
    is_frame : bool
        Whether a frame is missing here; otherwise only the file is known to be damaged.
    stamp : int or None
        The missing frame's presentation timestamp.
    """

    reason: str
    is_frame: bool
    stamp: int | None = None


class Decoder:
    """Decodes a stream once, from its beginning to its end or to where the file breaks off.

    Parameters
    ----------
    container, stream
        Just opened.
    threads : int
        Threads for FFmpeg. On one thread, what is damaged is concealed as well as can be and
        marked. On several, which frames are marked and which are lost would depend on their
        number: there every error is reported, and what comes behind the first is not to be used.

    Attributes
    ----------
    packets : int
        Packets read so far.
    position : int or None
        Where in the file the last of them ends, None if the container does not say.
    end_s : float
        When the latest of them ends, in seconds on the stream's own clock.
    is_damaged : bool
        Whether one of them was incomplete, or the reading ended in an error.
    """

    def __init__(self, container: InputContainer, stream: VideoStream, threads: int) -> None:
        self._container = container
        self._stream = stream
        self._alone = threads == 1
        stream.thread_type = "NONE" if self._alone else "AUTO"
        stream.codec_context.thread_count = threads
        if not self._alone:
            stream.codec_context.options = {"err_detect": "explode"}
        self.packets = 0
        self.position: int | None = None
        self.end_s = 0.0
        self.is_damaged = False
        # Each packet is one frame, known by its timestamp, except where packets hold pictures that
        # are never shown or timestamps that are not those of presentation.
        self._counts_frames = (
            container.format.name != "avi" and stream.codec_context.name not in _HIDDEN_PICTURES
        )
        self._expected: dict[int, str] = {}
        self._given_up: set[int] = set()
        self._has_errors = False
        self._latest_packet = self._latest_frame = -1

    def __iter__(self) -> Generator[VideoFrame | Damage, None, None]:
        """Give frames in the order of presentation, with each damage where its frame is missing."""
        for event in self._events():
            if not isinstance(event, Damage) and event.pts is not None:
                if event.pts in self._given_up:
                    continue  # behind damage frames may come out of order, after their place
                self._has_errors |= event.is_corrupt
                self._expected.pop(event.pts, None)
                yield from self._missing(before=event.pts)
                self._latest_frame = max(self._latest_frame, event.pts)
            yield event
        yield from self._missing(before=None)
        if not self._alone and self._latest_frame < self._latest_packet:
            yield Damage("the last packets gave no frame", is_frame=False)

    def _missing(self, before: int | None) -> Iterator[Damage]:
        """Give the frames that should have come by now; without any error they are no loss."""
        for stamp in sorted(self._expected):
            if before is not None and stamp >= before:
                return
            reason = self._expected.pop(stamp)
            if reason or self._has_errors:
                self._given_up.add(stamp)
                reason = reason or "it depends on a damaged frame"
                yield Damage(reason, is_frame=True, stamp=stamp)

    def _events(self) -> Iterator[VideoFrame | Damage]:
        """Give frames, and damages whose place is not known, as they come out of the decoder."""
        packets = self._container.demux(self._stream)
        while True:
            try:
                packet = next(packets, None)
            except FFmpegError as error:
                self.is_damaged = True
                yield Damage(_reason(error), is_frame=False)
                return
            if packet is None:
                return
            is_flush = packet.size == 0 and packet.dts is None
            if packet.size == 0 and not is_flush:
                continue  # an empty packet repeats a frame; a decoder would take it for the end
            if not is_flush:
                self._count(packet)
            if packet.is_corrupt:
                self.is_damaged = True
                yield Damage("its data are incomplete", is_frame=False)
            try:
                yield from packet.decode()
            except FFmpegError as error:
                self._has_errors = True
                if self._alone and packet.pts is not None:
                    self._expected[packet.pts] = _reason(error)
                else:
                    yield Damage(_reason(error), is_frame=not is_flush)

    def _count(self, packet: Packet[VideoStream]) -> None:
        self.packets += 1
        self.position = None if packet.pos is None else packet.pos + packet.size
        if packet.pts is None:
            return
        if not packet.is_discard:
            self._latest_packet = max(self._latest_packet, packet.pts)
            if self._counts_frames and self._alone:
                self._expected[packet.pts] = ""
        end = pyav.seconds(packet.pts + (packet.duration or 0), packet.time_base)
        self.end_s = max(self.end_s, end or 0.0)


class Clock:
    """Gives each frame its time in seconds: 0 at the first, and always increasing.

    Parameters
    ----------
    rate : Fraction or None
        Frames a second where there are no timestamps.
    by_decoding_order : bool
        Trust only decoding timestamps, for containers that have no others (avi).
    """

    def __init__(self, rate: Fraction | None, *, by_decoding_order: bool = False) -> None:
        self._step = float(1 / rate) if rate else 0.04
        self._by_decoding_order = by_decoding_order
        self._origin: float | None = None
        self._last: float | None = None

    @property
    def end_s(self) -> float:
        """When the frame read last ends."""
        return 0.0 if self._last is None else self._last + self._step

    def read(self, event: VideoFrame | Damage) -> float:
        """Give the time of the next frame, or of the place where one is missing."""
        stamp = None if isinstance(event, Damage) else self._stamp(event)
        if stamp is None:
            time_s = self.end_s
        else:
            if self._origin is None:
                self._origin = stamp - self.end_s
            time_s = stamp - self._origin
            if self._last is not None and time_s <= self._last:
                if self._last - time_s > _RESTART_S:
                    self._origin = stamp - self.end_s
                    time_s = self.end_s
                else:
                    time_s = self._last + self._step / 2
        self._last = time_s
        return time_s

    def _stamp(self, frame: VideoFrame) -> float | None:
        stamp = frame.dts if self._by_decoding_order or frame.pts is None else frame.pts
        return pyav.seconds(stamp, frame.time_base)


def _reason(error: FFmpegError) -> str:
    if isinstance(error, InvalidDataError):
        return "its data are damaged"
    return (error.strerror or str(error)).lower()
