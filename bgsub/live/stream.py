"""Read one opened stream: its packets, mended, and pictures of them for the analysis."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import av
from av.container import InputContainer
from av.error import FFmpegError
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from bgsub.live.encoding import RAW, RawEncoder
from bgsub.live.messages import Header, LivePicture, Message, Note, Skipped, StreamPacket
from bgsub.live.pace import Pace
from bgsub.live.sound import IN_MP4, Sound
from bgsub.live.stamps import StampMender
from bgsub.video import pixels, pyav
from bgsub.video.decoding import prepare
from bgsub.video.geometry import Geometry
from bgsub.wording import plural, was_or_were

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
        See `bgsub.live.reader.read`.
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
        turn = pixels.orientation(frame)
        scale = self._scale
        if scale is None:
            scale = min(1.0, (ANALYSED_PIXELS / (frame.width * frame.height)) ** 0.5)
        self._geometry = Geometry.plan(self._size, turn, None, scale, "the stream")
        self._layout = self._geometry.layout(
            pixels.native_kind(frame), pixels.matrix(frame), "auto", exact_color=False
        )
        self._maker = pixels.PictureMaker(self._layout)
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
