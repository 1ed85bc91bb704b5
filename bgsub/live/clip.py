"""Write packets as they are into a film that plays even if it is never finished."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, Literal

import av
from av.error import FFmpegError
from av.packet import Packet

from bgsub.errors import OutputError
from bgsub.live.messages import Header, StreamPacket

ClipFormat = Literal["auto", "mp4", "mkv"]

_OPTIONS = {
    "mp4": {
        "movflags": "empty_moov+default_base_moof",
        "frag_duration": "500000",
        "flush_packets": "1",
    },
    "mkv": {"cluster_time_limit": "500", "flush_packets": "1"},
}
"""A piece of half a second at a time, each of which plays with those before it."""

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
        self._base = header.time_base
        self._begin: int | None = None
        self._last = -1
        kind = path.suffix[1:]
        try:
            # The sample is read again, since a stream can only be made of one that was opened.
            with av.open(io.BytesIO(header.sample), "r", format="nut") as sample:
                self._target = av.open(
                    f"file:{path}", "w", format=_MUXERS[kind], container_options=_OPTIONS[kind]
                )
                self._stream: Any = self._target.add_stream_from_template(sample.streams.video[0])
        except (FFmpegError, OSError, ValueError) as error:
            raise _cannot_write(path, error) from error

    def add(self, packet: StreamPacket) -> None:
        """Write the next packet.

        Raises
        ------
        OutputError
            If the disk is full, say.
        """
        if self._begin is None:
            self._begin = packet.dts
        copy: Packet[Any] = Packet(packet.data)
        copy.dts = self._last = max(packet.dts - self._begin, self._last + 1)
        copy.pts = max(packet.pts - self._begin, copy.dts)
        copy.duration, copy.is_keyframe = packet.duration, packet.is_key
        copy.time_base, copy.stream = self._base, self._stream
        try:
            self._target.mux(copy)
        except (FFmpegError, OSError, ValueError) as error:
            raise _cannot_write(self.path, error) from error
        self.frames += 1

    def close(self) -> None:
        """Finish the film; what was written before plays in any case."""
        try:
            self._target.close()
        except (FFmpegError, OSError, ValueError) as error:
            raise _cannot_write(self.path, error) from error


def _cannot_write(path: Path, error: Exception) -> OutputError:
    reason = getattr(error, "strerror", None) or str(error)
    return OutputError(f"{path}: cannot be written ({reason}); check space and permissions")
