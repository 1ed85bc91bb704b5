"""Write packets as they are into a film that plays even if it is never finished."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import av
from av.error import FFmpegError
from av.packet import Packet

from bgsub.errors import cannot_write
from bgsub.live.messages import Header, StreamPacket
from bgsub.live.sound import IN_MP4

_OPTIONS = {
    "mp4": {
        "movflags": "empty_moov+default_base_moof",
        "frag_duration": "500000",
        "flush_packets": "1",
        "max_interleave_delta": "500000",
    },
    "mkv": {
        "cluster_time_limit": "500",
        "flush_packets": "1",
        "max_interleave_delta": "500000",
    },
}
"""A piece of half a second at a time, each of which plays with those before it; pictures wait no
longer for sound that ends."""

_MUXERS = {"mp4": "mp4", "mkv": "matroska"}


class ClipWriter:
    """A clip that is being written.

    Parameters
    ----------
    path : Path
        Ends with .mp4 or .mkv.
    header : Header
        Of the stream.

    Attributes
    ----------
    path : Path
    frames : int

    Raises
    ------
    OutputError
        If it cannot be written.
    """

    def __init__(self, path: Path, header: Header) -> None:
        self.path = path
        self.frames = 0
        self._base, self._sound_base = header.time_base, header.sound_base
        self._begin: int | None = None
        self._last = self._last_sound = -1
        self._sound: Any = None
        kind = path.suffix[1:]
        try:
            # The sample is read again, since a stream can only be made of one that was opened.
            with av.open(io.BytesIO(header.sample), "r", format="nut") as sample:
                self._target = av.open(
                    f"file:{path}", "w", format=_MUXERS[kind], container_options=_OPTIONS[kind]
                )
                self._stream: Any = self._target.add_stream_from_template(sample.streams.video[0])
                for sound in sample.streams.audio:
                    if kind == "mkv" or sound.codec_context.name in IN_MP4:
                        self._sound = self._target.add_stream_from_template(sound)
        except (FFmpegError, OSError, ValueError) as error:
            raise cannot_write(path, error) from error

    def add(self, packet: StreamPacket) -> None:
        """Write the next packet; a key frame is the first.

        Raises
        ------
        OutputError
            If the disk is full, say.
        """
        copy = self._with_sound(packet) if packet.is_sound else self._with_picture(packet)
        if copy is None:
            return
        try:
            self._target.mux(copy)
        except (FFmpegError, OSError, ValueError) as error:
            raise cannot_write(self.path, error) from error

    def _with_picture(self, packet: StreamPacket) -> Packet[Any]:
        if self._begin is None:
            self._begin = packet.dts
        copy: Packet[Any] = Packet(packet.data)
        copy.dts = self._last = max(packet.dts - self._begin, self._last + 1)
        copy.pts = max(packet.pts - self._begin, copy.dts)
        copy.duration, copy.is_keyframe = packet.duration, packet.is_key
        copy.time_base, copy.stream = self._base, self._stream
        self.frames += 1
        return copy

    def _with_sound(self, packet: StreamPacket) -> Packet[Any] | None:
        """Give a packet of the sound; None for what is before the pictures, or has no place."""
        if self._sound is None or self._sound_base is None or self._begin is None:
            return None
        stamp = packet.pts - round(self._begin * self._base / self._sound_base)
        if stamp <= self._last_sound:
            return None
        copy: Packet[Any] = Packet(packet.data)
        copy.pts = copy.dts = self._last_sound = stamp
        copy.duration, copy.is_keyframe = packet.duration, True
        copy.time_base, copy.stream = self._sound_base, self._sound
        return copy

    def close(self) -> None:
        """Finish the film; what was written before plays in any case."""
        try:
            self._target.close()
        except (FFmpegError, OSError, ValueError) as error:
            raise cannot_write(self.path, error) from error
