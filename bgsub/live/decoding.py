"""Name the messages that pass between the processes that decode, watch and learn."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, BinaryIO

import av
from av.audio.resampler import AudioResampler
from av.audio.stream import AudioStream
from av.container import InputContainer, OutputContainer
from av.error import FFmpegError, ProtocolNotFoundError
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from bgsub.runtime.messages import send
from bgsub.segmenter.masks import MaskOptions
from bgsub.video import pyav
from bgsub.video.frames import Layout
from bgsub.video.geometry import Geometry
from bgsub.video.pyav import error_reason, prepare
from bgsub.wording import plural, was_or_were


@dataclass(frozen=True)
class Header:
    """What a stream is; comes first, and again when the stream changes.

    Attributes
    ----------
    codec : str
    size : (int, int)
        Width and height of its pictures, upright.
    layout : Layout
        Of the frames that are analysed.
    time_base : Fraction
        Seconds of a tick of its packets.
    sample : bytes
        Its first packet as a NUT file: what a muxer has to know of the stream, and of its sound.
    container : str
        ``mp4`` or ``mkv``, whichever can hold the packets.
    sound_base : Fraction or None
        Seconds of a tick of the packets of its sound; None where it has none.
    """

    codec: str
    size: tuple[int, int]
    layout: Layout
    time_base: Fraction
    sample: bytes
    container: str
    sound_base: Fraction | None = None


@dataclass(frozen=True)
class StreamPacket:
    """A packet of the stream; its stamps are mended and never go back.

    Attributes
    ----------
    data : bytes
    pts, dts, duration : int
        In ticks.
    is_key : bool
        Of sound, always false.
    time_s : float
        When it is shown, from the first packet of the connection on.
    is_sound : bool
    """

    data: bytes
    pts: int
    dts: int
    duration: int
    is_key: bool
    time_s: float
    is_sound: bool = False


@dataclass(frozen=True)
class LivePicture:
    """A frame to be analysed.

    Attributes
    ----------
    time_s : float
        From the first packet of the connection on.
    row : bytes
        In the layout of the header.
    """

    time_s: float
    row: bytes


@dataclass(frozen=True)
class Note:
    """Something that a person should know, such as stamps that were mended."""

    text: str


@dataclass(frozen=True)
class Skipped:
    """Pictures that were not decoded, as there was no time; their packets came."""

    count: int


@dataclass(frozen=True)
class End:
    """The last message.

    Attributes
    ----------
    reason : str
        Empty where the stream came to its end.
    is_final : bool
        Whether it would be the same with another try.
    """

    reason: str
    is_final: bool = False


Message = Header | StreamPacket | LivePicture | Note | Skipped | End


@dataclass(frozen=True)
class LearningSettings:
    """The first message: what a window is made of.

    Attributes
    ----------
    layout : Layout
    options : MaskOptions
    window_s : float
    threads : int
    gives_way : bool
        Whether others come first where processors are short.
    """

    layout: Layout
    options: MaskOptions
    window_s: float
    threads: int
    gives_way: bool


@dataclass(frozen=True)
class Kept:
    """A frame of the window, and whether a model is to be learned with it."""

    time_s: float
    row: bytes
    is_due: bool


@dataclass(frozen=True)
class NotLearned:
    """The answer where there is no model, and why."""

    reason: str


_LEAP_S = 5.0
"""Seconds by which stamps may run ahead of those before them, and of the clock on the wall."""


class StampMender:
    """Makes the stamps of a stream's packets increase, from 0 on.

    Parameters
    ----------
    time_base : Fraction
        Seconds of a tick.
    step : int
        Ticks from one picture to the next where stamps do not say.
    """

    def __init__(self, time_base: Fraction, step: int) -> None:
        self._base, self._step = time_base, max(step, 1)
        self._shift: int | None = None
        self._last: int | None = None
        self._seen_s = 0.0

    @property
    def shift_s(self) -> Fraction:
        """What is added to stamps at present, in seconds."""
        return (self._shift or 0) * self._base

    def mend(self, pts: int | None, dts: int | None, now_s: float) -> tuple[int, int, float | None]:
        """Give pts and dts of the next packet in order of decoding.

        Parameters
        ----------
        pts, dts : int or None
            As they came, in ticks.
        now_s : float
            On any clock that runs steadily: a pause of the stream is no leap.

        Returns
        -------
        pts, dts : int
        leap_s : float or None
            By how many seconds the stamps have jumped, where they have.
        """
        stamp = dts if dts is not None else pts
        leap: float | None = None
        if self._last is None or self._shift is None:
            self._shift = -(stamp or 0)
            mended = 0
        elif stamp is None:
            mended = self._last + self._step
        else:
            mended = stamp + self._shift
            ahead = float((mended - self._last) * self._base)
            if ahead < -_LEAP_S or ahead > _LEAP_S + (now_s - self._seen_s):
                leap = ahead
                self._shift -= mended - self._last - self._step
                mended = self._last + self._step
            elif mended <= self._last:
                mended = self._last + 1
        self._last, self._seen_s = mended, now_s
        shown = mended if pts is None or stamp is None else max(pts + self._shift, mended)
        return shown, mended, leap


_WAITED_S = 0.02
"""Seconds of waiting for a packet from which all that had come was read."""

_MOST_LATE_S, _CAUGHT_UP_S = 2.0, 0.2
"""Seconds by which decoding may fall behind, and at which it is not behind any more."""


class Pace:
    """Compares the clock with the stamps of packets, since a packet was last waited for.

    A source that sends in bursts is not ahead of anybody: there is waiting between them. Nor is one
    that is not paced at all, such as a film that comes through a pipe: its stamps are quicker than
    the clock.
    """

    def __init__(self) -> None:
        self._since: tuple[float, float] | None = None
        self._skips = False

    def skips(self, asked_s: float, came_s: float, stamp_s: float, *, is_key: bool) -> bool:
        """Take in a packet, and say whether there is no time to decode it.

        Parameters
        ----------
        asked_s, came_s : float
            When it was asked for, and when it was there, by a clock that never goes back.
        stamp_s : float
            When it is to be decoded, by the stream's own time.
        is_key : bool
            Whether it can be decoded without those before it.
        """
        if self._since is None or came_s - asked_s > _WAITED_S:
            self._since = came_s, stamp_s
        clock_s, begin_s = self._since
        late_s = (came_s - clock_s) - (stamp_s - begin_s)
        if self._skips:
            self._skips = not (is_key and late_s <= _CAUGHT_UP_S)
        else:
            self._skips = late_s > _MOST_LATE_S
        return self._skips


IN_MP4 = {"aac", "mp2", "mp3", "opus", "alac"}
_COPIED = {*IN_MP4, "ac3", "eac3", "flac", "vorbis", "pcm_s16le"}
"""What mkv holds; all else, such as the G.711 of cameras, becomes plain samples of 16 bits."""

_FARTHEST_S = 5.0
"""Seconds between sound and pictures from which one of them has the stamps of another time."""


class Sound:
    """The sound of a stream.

    Parameters
    ----------
    stream : AudioStream

    Attributes
    ----------
    codec : str
        As it is in clips.
    base : Fraction
        Seconds of a tick of its packets.
    is_ready : bool
        Whether enough is known to write it; of AAC with headers in its packets (ADTS), as transport
        streams have it, only after the first of them.
    """

    def __init__(self, stream: AudioStream) -> None:
        context = stream.codec_context
        self.stream, self.codec = stream, context.name
        self.base = pyav.fraction(stream.time_base) or Fraction(1, 1000)
        self._config = context.extradata
        self.is_ready = self.codec != "aac" or self._config is not None
        self._plain: AudioResampler | None = None
        if self.codec not in _COPIED:
            self.codec = "pcm_s16le"
            self._plain = AudioResampler("s16", context.layout, context.sample_rate)

    @classmethod
    def of(cls, container: InputContainer) -> Sound | None:
        """Find the sound of what was opened; None where there is none that can be decoded."""
        stream = container.streams.best("audio")
        known = isinstance(stream, AudioStream) and stream.codec_context is not None
        return cls(stream) if known and isinstance(stream, AudioStream) else None

    def take(self, packet: Packet[Any], shift_s: Fraction, near_s: float) -> StreamPacket | None:
        """Give a packet with the stamps of the pictures; None where it belongs to another time.

        Parameters
        ----------
        packet : Packet
        shift_s : Fraction
            What is added to the stamps of pictures.
        near_s : float
            When the latest picture is shown, by stamps that are mended.
        """
        stamp = packet.pts if packet.pts is not None else packet.dts
        data = b"" if packet.is_corrupt else self._data(packet)
        if stamp is None or not data:
            return None
        if self.codec == "aac" and _has_header(data):
            self._config, self.is_ready = _configuration(data), True
            data = data[7 if data[1] & 1 else 9 :]
        stamp += round(shift_s / self.base)
        if abs(float(stamp * self.base) - near_s) > _FARTHEST_S or not self.is_ready:
            return None
        return StreamPacket(data, stamp, stamp, packet.duration or 0, False, 0.0, is_sound=True)

    def _data(self, packet: Packet[Any]) -> bytes:
        """Give a packet as it is in clips; empty if it cannot be decoded."""
        if self._plain is None:
            return bytes(packet)
        try:
            heard: list[Any] = list(packet.decode())
            frames = [plain for frame in heard for plain in self._plain.resample(frame)]
        except FFmpegError:
            return b""
        return b"".join(frame.to_ndarray().tobytes() for frame in frames)

    def add_to(self, target: OutputContainer) -> None:
        """Announce it in a file that is about to be written."""
        if self._plain is not None:
            context = self.stream.codec_context
            target.add_stream("pcm_s16le", rate=context.sample_rate, layout=context.layout)
            return
        own: Any = target.add_stream_from_template(self.stream)
        own.codec_context.extradata = self._config


def _has_header(data: bytes) -> bool:
    """Say whether a packet of AAC begins with an ADTS header."""
    return len(data) > 9 and data[0] == 0xFF and data[1] & 0xF6 == 0xF0


def _configuration(data: bytes) -> bytes:
    """Give what an ADTS header says in the form of files: ISO/IEC 14496-3, AudioSpecificConfig."""
    kind, rate = (data[2] >> 6) + 1, data[2] >> 2 & 15
    channels = (data[2] & 1) << 2 | data[3] >> 6
    return bytes([kind << 3 | rate >> 1, (rate & 1) << 7 | channels << 3])


RAW = {"rawvideo", "wrapped_avframe", "v210", "yuv4"}
"""Codecs whose packets are pictures as they are."""


class RawEncoder:
    """Encodes raw pictures as H.264: as they are, they would fill memory and disk.

    Parameters
    ----------
    frame : VideoFrame
        The first one; odd sides lose their last line.
    rate : Fraction
        Frames a second.
    base : Fraction
        Seconds of a tick of the stamps.
    """

    def __init__(self, frame: VideoFrame, rate: Fraction, base: Fraction) -> None:
        self._rate, self._base = rate, base
        self._container, self._stream = self._open(io.BytesIO(), frame)

    def _open(self, memory: io.BytesIO, frame: VideoFrame) -> tuple[Any, VideoStream]:
        container = av.open(memory, "w", format="nut")
        options = {"preset": "ultrafast", "tune": "zerolatency", "g": str(round(self._rate))}
        stream = container.add_stream("libx264", rate=self._rate, options=options)
        stream.width, stream.height = frame.width // 2 * 2, frame.height // 2 * 2
        stream.pix_fmt = "yuv420p"
        stream.codec_context.time_base = self._base
        return container, stream

    def sample(self, frame: VideoFrame) -> bytes:
        """Encode a picture alone, as a file that says how."""
        memory = io.BytesIO()
        container, stream = self._open(memory, frame)
        with container:
            container.mux(stream.encode(self._fitted(frame)))
            container.mux(stream.encode(None))
        return memory.getvalue()

    def _fitted(self, frame: VideoFrame) -> VideoFrame:
        width, height = self._stream.width, self._stream.height
        fitted = frame.reformat(width=width, height=height, format="yuv420p")
        fitted.pts, fitted.time_base = frame.pts, self._base
        return fitted

    def encode(self, frame: VideoFrame) -> Iterator[StreamPacket]:
        """Give the packets of a picture."""
        for packet in self._stream.encode(self._fitted(frame)):
            ticks = Fraction(packet.time_base or self._base) / self._base
            pts, dts = (round((stamp or 0) * ticks) for stamp in (packet.pts, packet.dts))
            key, time_s = bool(packet.is_keyframe), float(pts * self._base)
            yield StreamPacket(
                bytes(packet), pts, dts, round(1 / self._rate / self._base), key, time_s
            )


ANALYSED_PIXELS = 480 * 320
"""Pictures of more pixels are shrunk to about so many."""

_IN_MP4 = {"h264", "hevc", "av1", "mpeg4", "vp9"}


class StreamReader:
    """One opened stream, from its first key frame to its end.

    Parameters
    ----------
    container : InputContainer
    stream : VideoStream
    sound : Sound, optional
    settings : dict
        See `bgsub.live.decoding.read`.
    """

    def __init__(
        self,
        container: InputContainer,
        stream: VideoStream,
        sound: Sound | None,
        settings: dict[str, Any],
    ) -> None:
        self._container, self._stream, self._sound = container, stream, sound
        self._scale: float | None = settings["scale"]
        self._every: float = settings["every"]
        prepare(stream, threads=1, strict=True)
        self._base = pyav.fraction(stream.time_base) or Fraction(1, 1000)
        rate = pyav.fraction(stream.average_rate) or Fraction(25)
        self._rate = rate if 0 < rate <= 240 else Fraction(25)
        self._mender = StampMender(self._base, round(1 / self._rate / self._base))
        self._is_raw = stream.codec_context.name in RAW
        # What is raw has to be encoded for clips, whether or not it is analysed.
        self._pace = Pace() if settings["drops"] and not self._is_raw else None
        self._encoder: RawEncoder | None = None
        self._waits_for_key = True
        self._size: tuple[int, int] | None = None
        self._key: Packet[VideoStream] | None = None
        self._waiting: list[StreamPacket] = []
        self._origin: int | None = None
        self._has_sound = False
        self._near_s = 0.0
        self._next_s = 0.0
        self._broken = 0

    def messages(self) -> Iterator[Message]:
        """Give all of it, but the last message."""
        sound = [] if self._sound is None else [self._sound.stream]
        for packet, asked_s in _timed(pyav.demux(self._container, self._stream, *sound)):
            if packet.size == 0:
                continue
            if packet.stream_index != self._stream.index:
                self._hear(packet)
                continue
            if packet.is_corrupt or (self._waits_for_key and not packet.is_keyframe):
                self._waits_for_key = True
                continue
            now_s = time.monotonic()
            pts, dts, leap = self._mender.mend(packet.pts, packet.dts, now_s)
            if leap is not None:
                yield Note(f"its time stamps jumped by {leap:+.1f} s, and were mended")
            packet.pts, packet.dts = pts, dts
            self._near_s = float(pts * self._base)
            if packet.is_keyframe:
                self._waits_for_key = False
                self._key = packet
                self._origin = pts if self._origin is None else self._origin
            stamp_s, is_key = float(dts * self._base), bool(packet.is_keyframe)
            if self._pace is not None and self._pace.skips(asked_s, now_s, stamp_s, is_key=is_key):
                self._waiting.append(self._copy(packet, pts, dts))
                yield from (Skipped(1), *self._packets())
            else:
                yield from self._decode(packet, self._copy(packet, pts, dts))

    def _copy(self, packet: Packet[VideoStream], pts: int, dts: int) -> StreamPacket:
        length, is_key = packet.duration or 0, bool(packet.is_keyframe)
        return StreamPacket(bytes(packet), pts, dts, length, is_key, self._time_s(pts))

    def _decode(self, packet: Packet[VideoStream], copy: StreamPacket) -> Iterator[Message]:
        try:
            frames = [frame for frame in pyav.decode(packet) if not frame.is_corrupt]
        except FFmpegError:
            # What follows refers to this picture: neither analysed nor written.
            self._waits_for_key = True
            self._broken += 1
            if self._broken in {1, 10, 100, 1000}:
                many = f"{plural(self._broken, 'damaged picture')} {was_or_were(self._broken)}"
                yield Note(f"{many} left out so far")
            return
        if not self._is_raw:
            self._waiting.append(copy)
        yield from self._pass_on(frames)

    def _hear(self, packet: Packet[Any]) -> None:
        """Let a packet of the sound follow those of the pictures; none comes before them."""
        if self._sound is None or self._origin is None or self._is_raw:
            return
        taken = self._sound.take(packet, self._mender.shift_s, self._near_s)
        if taken is None:
            return
        if not self._has_sound:
            # What follows is another stream, with sound, and is announced with its next picture.
            self._has_sound, self._size = True, None
        ticks = self._sound.base / self._base
        self._waiting.append(replace(taken, time_s=self._time_s(round(taken.pts * ticks))))

    def _pass_on(self, frames: list[VideoFrame]) -> Iterator[Message]:
        for frame in frames:
            if (frame.width, frame.height) != self._size:
                header = self._begin(frame)
                if header is not None:
                    yield header
            stamp = frame.pts if frame.pts is not None else 0
            if self._encoder is not None:
                yield from self._encoder.encode(frame)
            time_s = self._time_s(stamp)
            yield from self._packets()
            if time_s >= self._next_s:
                # Not from this frame on: the pictures that are taken would come ever later.
                self._next_s = max(self._next_s + self._every, time_s - self._every)
                yield LivePicture(
                    time_s, self._geometry.pack(self._maker.make(frame), self._layout).tobytes()
                )
        yield from self._packets()

    def _time_s(self, stamp: int) -> float:
        """Seconds from the first picture on; those that are shown before it are of no use."""
        return max(0.0, float((stamp - (self._origin or 0)) * self._base))

    def _packets(self) -> Iterator[Message]:
        if self._size is not None:
            yield from self._waiting
            self._waiting.clear()

    def _begin(self, frame: VideoFrame) -> Header | None:
        """Plan for pictures of a new size."""
        self._size = (frame.width, frame.height)
        turn = pyav.orientation(frame)
        scale = self._scale
        if scale is None:
            scale = min(1.0, (ANALYSED_PIXELS / (frame.width * frame.height)) ** 0.5)
        self._geometry = Geometry.plan(self._size, turn, None, scale, "the stream")
        self._layout = self._geometry.layout(
            pyav.native_kind(frame), pyav.matrix(frame), "auto", exact_color=False
        )
        self._maker = pyav.PictureMaker(self._layout)
        codec = self._stream.codec_context.name
        sound = self._sound if self._has_sound else None
        if self._is_raw:
            self._encoder = RawEncoder(frame, self._rate, self._base)
            codec, sample = "raw pictures", self._encoder.sample(frame)
        else:
            sample = _sample(self._stream, self._key, sound)
        in_mp4 = self._is_raw or codec in _IN_MP4
        in_mp4 = in_mp4 and (sound is None or sound.codec in IN_MP4)
        return Header(
            codec,
            self._geometry.input_size,
            self._layout,
            self._base,
            sample,
            "mp4" if in_mp4 else "mkv",
            None if sound is None else sound.base,
        )


def _timed(packets: Iterator[Packet[Any]]) -> Iterator[tuple[Packet[Any], float]]:
    """Give packets, and when each was asked for."""
    asked_s = time.monotonic()
    for packet in packets:
        yield packet, asked_s
        asked_s = time.monotonic()


def _sample(stream: VideoStream, packet: Packet[VideoStream] | None, sound: Sound | None) -> bytes:
    """Write a packet as a file of its own, which says how the stream is encoded."""
    memory = io.BytesIO()
    with av.open(memory, "w", format="nut") as target:
        own = target.add_stream_from_template(stream)
        if sound is not None:
            sound.add_to(target)
        if packet is not None:
            copy = Packet(bytes(packet))
            copy.pts = copy.dts = 0
            copy.time_base, copy.is_keyframe, copy.stream = packet.time_base, True, own
            target.mux(copy)
    return memory.getvalue()


def main() -> None:
    """Send all of a stream to standard output, and end."""
    # Ctrl-C, and what a supervisor sends to all, is for the parent to decide on.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    settings = json.loads(sys.argv[1])
    # Where a launcher may be in between, who started this is not its parent.
    parent = os.getppid() if os.name == "nt" else settings["parent"]
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()
    # Nothing that a library prints may get between the messages.
    pipe = os.fdopen(os.dup(1), "wb", buffering=1 << 16)
    os.dup2(2, 1)
    try:
        for message in read(settings):
            send(pipe, message)
        _finish(pipe, End(""))
    except BrokenPipeError:
        os._exit(0)
    except (FFmpegError, ValueError, OSError) as error:
        _finish(pipe, _end_of(error, settings))


def _end_of(error: Exception, settings: dict[str, Any]) -> End:
    """Say what an error means for somebody who watches."""
    if isinstance(error, ProtocolNotFoundError):
        scheme = settings["address"].partition(":")[0]
        pipe = f"ffmpeg -i {scheme}://… -c copy -f mpegts - | bgsub watch -"
        return End(f"the FFmpeg that PyAV brings cannot connect by {scheme}; use {pipe}", True)
    if settings["format"] == "v4l2" and getattr(error, "errno", None) == errno.ENOTTY:
        return End("it is no camera", True)
    reason = error_reason(error) if isinstance(error, FFmpegError) else str(error)
    return End(reason or type(error).__name__)


def _finish(pipe: BinaryIO, message: Message) -> None:
    """Send the last message and go, without waiting for libraries that may wait for a network."""
    try:
        send(pipe, message)
    finally:
        os._exit(0)


def _end_with_parent(parent: int) -> None:
    """End with whoever started this, though it may have ended while modules were imported."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(0)


def read(settings: dict[str, Any]) -> Iterator[Message]:
    """Give all of a stream as messages, but the last.

    Parameters
    ----------
    settings : dict
        ``address``, ``format``, ``options``, ``protocols`` as of a `LiveSource`; ``scale``, None
        for one that leaves about `ANALYSED_PIXELS`; ``every``, the seconds between pictures that
        are analysed, 0 for all; ``sound``, whether it is taken along; ``drops``, whether pictures
        for which there is no time are not decoded. (And ``parent``, the process that this one
        ends with.)
    """
    options = {**settings["options"], "protocol_whitelist": settings["protocols"]}
    if not settings["protocols"]:
        del options["protocol_whitelist"]
    kind = settings["address"].partition(":")[0]
    if kind in {"file", "pipe"}:
        options["format_whitelist"] = pyav.READ
    if kind != "file":
        options |= {"analyzeduration": "1000000"}
    with av.open(
        settings["address"], "r", format=settings["format"], container_options=options
    ) as container:
        stream = container.streams.best("video")
        if not isinstance(stream, VideoStream) or stream.codec_context is None:
            raise ValueError("holds no video that can be decoded")
        sound = Sound.of(container) if settings["sound"] else None
        yield from StreamReader(container, stream, sound, settings).messages()
