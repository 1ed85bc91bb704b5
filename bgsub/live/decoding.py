"""Decode a stream in a process of its own, which can be killed where a network hangs."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import av
from av.audio.resampler import AudioResampler
from av.audio.stream import AudioStream
from av.container import InputContainer, OutputContainer
from av.error import FFmpegError, ProtocolNotFoundError
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter
from av.video.stream import VideoStream

from bgsub.errors import plural, was_or_were
from bgsub.runtime.processes import send
from bgsub.video import pyav
from bgsub.video.frames import Layout
from bgsub.video.geometry import Geometry


@dataclass(frozen=True)
class Header:
    """What a stream is: its first message, and sent again when the stream changes."""

    codec: str
    size: tuple[int, int]  # of its frames, upright
    layout: Layout  # of the frames that are analysed
    time_base: Fraction  # seconds of a tick of packets
    sample: bytes  # a packet as a NUT file: what a muxer has to know of the stream and its sound
    container: str  # that can hold the packets
    sound_base: Fraction | None = None
    rate: float = 25.0


class StreamPacket(NamedTuple):
    """A packet of the stream; stamps are in ticks and increase, `time_s` is since it was opened."""

    data: bytes
    pts: int
    dts: int
    duration: int
    is_key: bool
    time_s: float
    is_sound: bool = False


class Seen(NamedTuple):
    """A frame to be analysed, in the layout of the header."""

    time_s: float  # since the stream was opened; since the feed was started when that hands it on
    row: bytes
    came_s: float = 0.0  # monotonic


class Note(NamedTuple):
    """Something that a person should know, such as time stamps that were repaired."""

    text: str


class Skipped:
    """A frame was not decoded for lack of time; its packet came."""


class End(NamedTuple):
    """The last message; no reason where the stream came to its end."""

    reason: str
    is_final: bool = False  # whether another try would end in the same way


Message = Header | StreamPacket | Seen | Note | Skipped | End

_LEAP_S = 5.0  # by which stamps may run ahead of those before them, and of the clock on the wall


class StampMender:
    """Make the time stamps of packets increase from 0; those without one are `step` ticks apart."""

    def __init__(self, time_base: Fraction, step: int) -> None:
        self._base, self._step = time_base, max(step, 1)
        self.shift = 0  # what is added to stamps at present
        self._last: int | None = None
        self._seen_s = 0.0

    def mend(self, pts: int | None, dts: int | None, now_s: float) -> tuple[int, int, float | None]:
        """Return pts and dts of the next packet to decode, and the seconds of a jump, if any.

        `now_s` is the time on a clock that runs steadily: a pause of the stream is no jump.
        """
        stamp = dts if dts is not None else pts
        leap: float | None = None
        if self._last is None:
            self.shift, mended = -(stamp or 0), 0
        elif stamp is None:
            mended = self._last + self._step
        else:
            mended = stamp + self.shift
            ahead = float((mended - self._last) * self._base)
            if ahead < -_LEAP_S or ahead > _LEAP_S + (now_s - self._seen_s):
                leap = ahead
                self.shift -= mended - self._last - self._step
                mended = self._last + self._step
            elif mended <= self._last:
                mended = self._last + 1
        self._last, self._seen_s = mended, now_s
        shown = mended if pts is None or stamp is None else max(pts + self.shift, mended)
        return shown, mended, leap


_WAITED_S = 0.02  # of waiting for a packet from which all that had come was read
_MOST_LATE_S, _CAUGHT_UP_S = 2.0, 0.2  # how late decoding may be, and when it is no more


class Pace:
    """Compare the clock with the stamps of packets, since a packet was last waited for.

    So neither a source that sends in bursts is late, nor one that is not paced at all, such as a
    video that comes through a pipe.
    """

    def __init__(self) -> None:
        self._since: tuple[float, float] | None = None
        self._skips = False

    def skips(self, asked_s: float, came_s: float, stamp_s: float, *, is_key: bool) -> bool:
        """Return whether there is no time to decode the next packet.

        It was asked for at `asked_s` and there at `came_s`, by a steady clock, and `stamp_s` is its
        dts; a key packet is decoded without those before it.
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
# What mkv holds; all else, such as the G.711 of cameras, becomes plain samples of 16 bits.
_COPIED = {*IN_MP4, "ac3", "eac3", "flac", "vorbis", "pcm_s16le"}
_FARTHEST_S = 5.0  # between sound and frames: one of them has the stamps of another time


class Sound:
    """The sound of a stream, its packets as they are in clips.

    `codec` is that of clips. `is_ready` says whether enough is known to write it: of AAC with
    headers in its packets (ADTS), as transport streams have it, only after the first of them.
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
        """Return the sound of what was opened, if it has any that can be decoded."""
        stream = container.streams.best("audio")
        if isinstance(stream, AudioStream) and stream.codec_context is not None:
            return cls(stream)
        return None

    def take(self, packet: Packet[Any], shift_s: Fraction, near_s: float) -> StreamPacket | None:
        """Return a packet with its stamps moved by `shift_s`, as those of the frames are.

        None where that is far from `near_s`, the time of the latest frame, or it has no data.
        """
        stamp = packet.pts if packet.pts is not None else packet.dts
        data = b"" if packet.is_corrupt else self._data(packet)
        if stamp is None or not data:
            return None
        if self.codec == "aac" and len(data) > 9 and data[0] == 0xFF and data[1] & 0xF6 == 0xF0:
            # An ADTS header, which files have as AudioSpecificConfig (ISO/IEC 14496-3) instead.
            kind, rate = (data[2] >> 6) + 1, data[2] >> 2 & 15
            channels = (data[2] & 1) << 2 | data[3] >> 6
            self._config = bytes([kind << 3 | rate >> 1, (rate & 1) << 7 | channels << 3])
            self.is_ready, data = True, data[7 if data[1] & 1 else 9 :]
        stamp += round(shift_s / self.base)
        if abs(float(stamp * self.base) - near_s) > _FARTHEST_S or not self.is_ready:
            return None
        return StreamPacket(data, stamp, stamp, packet.duration or 0, False, 0.0, is_sound=True)

    def _data(self, packet: Packet[Any]) -> bytes:
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


class RawEncoder:
    """Encode raw pictures, but for odd last lines, as H.264: they would fill memory and disk."""

    def __init__(self, frame: VideoFrame, rate: Fraction, base: Fraction) -> None:
        self._rate, self._base, self._memory = rate, base, io.BytesIO()
        self._convert = VideoReformatter().reformat  # kept: one of a frame's own is set up for each
        self._container = av.open(self._memory, "w", format="nut")
        options = {"preset": "ultrafast", "tune": "zerolatency", "g": str(round(rate))}
        self._stream = stream = self._container.add_stream("libx264", rate=rate, options=options)
        stream.width, stream.height = frame.width // 2 * 2, frame.height // 2 * 2
        stream.pix_fmt, stream.codec_context.time_base = "yuv420p", base

    def sample(self, frame: VideoFrame) -> bytes:
        """Return a picture alone as a file, for `Header.sample`."""
        own = RawEncoder(frame, self._rate, self._base)
        with own._container as container:
            container.mux(own._stream.encode(self._fitted(frame)))
            container.mux(own._stream.encode(None))
        return own._memory.getvalue()

    def _fitted(self, frame: VideoFrame) -> VideoFrame:
        width, height = self._stream.width, self._stream.height
        fitted = self._convert(frame, width=width, height=height, format="yuv420p")
        fitted.pts, fitted.time_base = frame.pts, self._base
        return fitted

    def encode(self, frame: VideoFrame) -> Iterator[StreamPacket]:
        """Yield the packets of a picture."""
        length = round(1 / self._rate / self._base)
        for packet in self._stream.encode(self._fitted(frame)):
            ticks = (pyav.fraction(packet.time_base) or self._base) / self._base
            pts, dts = (round((stamp or 0) * ticks) for stamp in (packet.pts, packet.dts))
            key, time_s = bool(packet.is_keyframe), float(pts * self._base)
            yield StreamPacket(bytes(packet), pts, dts, length, key, time_s)


ANALYSED_PIXELS = 480 * 320  # pictures of more pixels are shrunk to about so many
_RAW = {"rawvideo", "wrapped_avframe", "v210", "yuv4"}  # packets that are pictures as they are
_VIDEO_IN_MP4 = {"h264", "hevc", "av1", "mpeg4", "vp9"}


class StreamReader:
    """One opened stream, from its first key frame to its end; settings as for `read`."""

    def __init__(self, container: InputContainer, settings: dict[str, Any]) -> None:
        stream = container.streams.best("video")
        if not isinstance(stream, VideoStream) or stream.codec_context is None:
            raise ValueError("holds no video that can be decoded")
        self._container, self._stream = container, stream
        self._sound = Sound.of(container) if settings["sound"] else None
        self._scale: float | None = settings["scale"]
        self._every: float = settings["every"]
        pyav.prepare(stream, threads=1, strict=True)
        self._base = pyav.fraction(stream.time_base) or Fraction(1, 1000)
        rate = pyav.fraction(stream.average_rate) or Fraction(25)
        self._rate = rate if 0 < rate <= 240 else Fraction(25)
        self._mender = StampMender(self._base, round(1 / self._rate / self._base))
        self._is_raw = stream.codec_context.name in _RAW
        # What is raw has to be encoded for clips, whether or not it is analysed.
        self._pace = Pace() if settings["drops"] and not self._is_raw else None
        self._encoder: RawEncoder | None = None
        self._waits_for_key = True
        self._size: tuple[int, int] | None = None
        self._key: Packet[VideoStream] | None = None
        self._waiting: list[StreamPacket] = []
        self._origin: int | None = None
        self._has_sound = False
        self._near_s = self._next_s = 0.0
        self._broken = 0

    def messages(self) -> Iterator[Message]:
        """Yield all messages but the last."""
        sound = [] if self._sound is None else [self._sound.stream]
        packets = pyav.demux(self._container, self._stream, *sound)
        asked_s = time.monotonic()
        for packet in packets:
            if packet.size == 0:
                pass
            elif packet.stream_index != self._stream.index:
                self._hear(packet)
            elif packet.is_corrupt or (self._waits_for_key and not packet.is_keyframe):
                self._waits_for_key = True
            else:
                yield from self._take(packet, asked_s)
            asked_s = time.monotonic()

    def _take(self, packet: Packet[VideoStream], asked_s: float) -> Iterator[Message]:
        now_s, is_key = time.monotonic(), bool(packet.is_keyframe)
        pts, dts, leap = self._mender.mend(packet.pts, packet.dts, now_s)
        if leap is not None:
            yield Note(f"its time stamps jumped by {leap:+.1f} s, and were mended")
        packet.pts, packet.dts = pts, dts
        self._near_s = float(pts * self._base)
        if is_key:
            self._waits_for_key, self._key = False, packet
            self._origin = pts if self._origin is None else self._origin
        length = packet.duration or 0
        copy = StreamPacket(bytes(packet), pts, dts, length, is_key, self._time_s(pts))
        stamp_s = float(dts * self._base)
        if self._pace is not None and self._pace.skips(asked_s, now_s, stamp_s, is_key=is_key):
            self._waiting.append(copy)
            yield from (Skipped(), *self._packets())
            return
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
        for frame in frames:
            yield from self._show(frame)
        yield from self._packets()

    def _hear(self, packet: Packet[Any]) -> None:
        """Let a packet of the sound follow those of the frames; none comes before them."""
        if self._sound is None or self._origin is None or self._is_raw:
            return
        taken = self._sound.take(packet, self._mender.shift * self._base, self._near_s)
        if taken is None:
            return
        if not self._has_sound:
            # What follows is another stream, with sound, and is announced with its next frame.
            self._has_sound, self._size = True, None
        ticks = self._sound.base / self._base
        self._waiting.append(taken._replace(time_s=self._time_s(round(taken.pts * ticks))))

    def _show(self, frame: VideoFrame) -> Iterator[Message]:
        if (frame.width, frame.height) != self._size:
            yield self._header(frame)
        time_s = self._time_s(frame.pts if frame.pts is not None else 0)
        if self._encoder is not None:
            yield from self._encoder.encode(frame)
        yield from self._packets()
        if time_s >= self._next_s:
            # Not from this frame on: the frames that are taken would come ever later.
            self._next_s = max(self._next_s + self._every, time_s - self._every)
            row = self._geometry.pack(self._maker.make(frame), self._layout)
            yield Seen(time_s, row.tobytes())

    def _time_s(self, stamp: int) -> float:
        """Return seconds from the first frame on; those that are shown before it are of no use."""
        return max(0.0, float((stamp - (self._origin or 0)) * self._base))

    def _packets(self) -> Iterator[Message]:
        if self._size is not None:
            yield from self._waiting
            self._waiting.clear()

    def _header(self, frame: VideoFrame) -> Header:
        """Plan for frames of a new size."""
        self._size = (frame.width, frame.height)
        scale = self._scale
        if scale is None:
            scale = min(1.0, (ANALYSED_PIXELS / (frame.width * frame.height)) ** 0.5)
        kind, matrix, turn = pyav.native(frame)
        self._geometry = Geometry.plan(self._size, turn, None, scale, "the stream")
        self._layout = self._geometry.layout(kind, matrix, "auto", exact_color=False)
        self._maker = pyav.PictureMaker(self._layout)
        codec = self._stream.codec_context.name
        sound = self._sound if self._has_sound else None
        if self._is_raw:
            self._encoder = RawEncoder(frame, self._rate, self._base)
            codec, sample = "raw pictures", self._encoder.sample(frame)
        else:
            sample = self._sample(sound)
        in_mp4 = self._is_raw or codec in _VIDEO_IN_MP4
        in_mp4 = in_mp4 and (sound is None or sound.codec in IN_MP4)
        size, layout, base = self._geometry.input_size, self._layout, self._base
        sound_base, holder = None if sound is None else sound.base, "mp4" if in_mp4 else "mkv"
        return Header(codec, size, layout, base, sample, holder, sound_base, float(self._rate))

    def _sample(self, sound: Sound | None) -> bytes:
        """Write the last key packet as a file of its own, which says how the stream is encoded."""
        memory, packet = io.BytesIO(), self._key
        with av.open(memory, "w", format="nut") as target:
            own = target.add_stream_from_template(self._stream)
            if sound is not None:
                sound.add_to(target)
            if packet is not None:
                copy = Packet(bytes(packet))
                copy.pts = copy.dts = 0
                copy.time_base, copy.is_keyframe, copy.stream = packet.time_base, True, own
                target.mux(copy)
        return memory.getvalue()


def read(settings: dict[str, Any]) -> Iterator[Message]:
    """Yield all messages of a stream but the last.

    Settings: ``address``, ``format``, ``options`` and ``protocols`` as of a `LiveSource`;
    ``scale``, None for about `ANALYSED_PIXELS`; ``every``, the seconds between frames that are
    analysed; ``sound`` says whether that is taken along, ``drops`` whether frames for which there
    is no time are not decoded. This process ends with ``parent``.
    """
    options = dict(settings["options"])
    if settings["protocols"]:
        options["protocol_whitelist"] = settings["protocols"]
    kind = settings["address"].partition(":")[0]
    if kind in {"file", "pipe"}:
        options["format_whitelist"] = pyav.READ
    if kind != "file":
        options["analyzeduration"] = "1000000"
    with av.open(
        settings["address"], "r", format=settings["format"], container_options=options
    ) as container:
        yield from StreamReader(container, settings).messages()


def main() -> None:
    """Send all of a stream to standard output, and end."""
    # Ctrl-C, and what a supervisor sends to all, is for the parent to decide on.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    settings = json.loads(sys.argv[1])
    # Where a launcher may be in between, who started this is not its parent.
    parent = os.getppid() if os.name == "nt" else settings["parent"]

    def end_with_parent() -> None:  # which may have ended while modules were imported
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(0)

    threading.Thread(target=end_with_parent, daemon=True).start()
    # Nothing that a library prints may get between the messages.
    pipe = os.fdopen(os.dup(1), "wb", buffering=1 << 16)
    os.dup2(2, 1)
    end = End("")
    try:
        for message in read(settings):
            send(pipe, message)
    except BrokenPipeError:
        os._exit(0)
    except (FFmpegError, ValueError, OSError) as error:
        end = _end_of(error, settings)
    with contextlib.suppress(OSError):
        send(pipe, end)
    os._exit(0)  # without waiting for libraries that may wait for a network


def _end_of(error: Exception, settings: dict[str, Any]) -> End:
    """Return what an error means for somebody who watches."""
    if isinstance(error, ProtocolNotFoundError):
        scheme = settings["address"].partition(":")[0]
        pipe = f"ffmpeg -i {scheme}://… -c copy -f mpegts - | bgsub watch -"
        return End(f"the FFmpeg that PyAV brings cannot connect by {scheme}; use {pipe}", True)
    if settings["format"] == "v4l2" and getattr(error, "errno", None) == errno.ENOTTY:
        return End("it is no camera", True)
    reason = pyav.error_reason(error) if isinstance(error, FFmpegError) else str(error)
    return End(reason or type(error).__name__)
