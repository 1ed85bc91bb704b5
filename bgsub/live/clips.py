"""Name the clips of a folder, and remove the oldest where there are too many."""

from __future__ import annotations

import contextlib
import io
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import av
from av.error import FFmpegError
from av.packet import Packet

from bgsub.errors import OutputError, cannot_write
from bgsub.live.decoding import IN_MP4, Header, StreamPacket
from bgsub.live.feed import Opened, PacketRing
from bgsub.live.options import Keep, WatchOptions
from bgsub.video.frames import Bytes, Layout
from bgsub.video.sink import FrameSink, open_sink

_NAME = re.compile(r"event-\d{8}T\d{6}Z-\d{4,}(-mask)?\.(mp4|mkv)")


def clip_name(wall_s: float, number: int, suffix: str) -> str:
    """Name a clip by the time at which its event began, UTC, and the event's number.

    Examples
    --------
    >>> clip_name(0.0, 7, "mp4")
    'event-19700101T000000Z-0007.mp4'
    """
    return f"event-{datetime.fromtimestamp(wall_s, UTC):%Y%m%dT%H%M%SZ}-{number:04d}.{suffix}"


def remove_oldest(folder: Path, keep: Keep, writing: Path | None) -> int:
    """Remove clips that are too many, the oldest first; the one being written stays.

    Only files with the names of clips are looked at.

    Returns
    -------
    int
        How many were removed.
    """
    clips = []
    for path in folder.iterdir():
        if _NAME.fullmatch(path.name) and path.is_file() and not path.is_symlink():
            with contextlib.suppress(OSError):
                facts = path.stat()
                clips.append((facts.st_mtime, path.name, facts.st_size, path))
    total, now, removed = sum(size for _, _, size, _ in clips), time.time(), 0
    for written, _, size, path in sorted(clips):
        is_too_much = keep.size is not None and total > keep.size
        is_too_old = keep.age_s is not None and now - written > keep.age_s
        if path == writing or not (is_too_much or is_too_old):
            continue
        with contextlib.suppress(OSError):
            path.unlink()
            total -= size
            removed += 1
    return removed


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


class Recording:
    """The clip that is being written, if one is.

    Parameters
    ----------
    folder : Path
    ring : PacketRing
    clip_format : {"auto", "mp4", "mkv"}
        Auto is mp4 where it can hold the stream.

    Attributes
    ----------
    path : Path or None
    """

    def __init__(
        self, folder: Path, ring: PacketRing, clip_format: Literal["auto", "mp4", "mkv"]
    ) -> None:
        self._folder, self._ring, self._format = folder, ring, clip_format
        self._clip: ClipWriter | None = None
        self._next = self._epoch = 0

    @property
    def path(self) -> Path | None:
        """Where it is written."""
        return None if self._clip is None else self._clip.path

    def begin(self, opened: Opened, begin_s: float, wall_s: float, number: int) -> Path:
        """Begin a clip with the key frame before a time.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        self.close()
        header = opened.header
        suffix = header.container if self._format == "auto" else self._format
        path = self._folder / clip_name(wall_s, number, suffix)
        self._clip = ClipWriter(path, header)
        self._epoch = opened.epoch
        self._next = self._ring.begin(begin_s)
        self._ring.hold(self._next)
        self.write()
        return path

    def write(self) -> None:
        """Write the packets that have come.

        Raises
        ------
        OutputError
            If they cannot be written; the clip is given up.
        """
        if self._clip is None:
            return
        for serial, packet in self._ring.since(self._next, self._epoch):
            try:
                if self._clip.frames or packet.is_key:
                    self._clip.add(packet)
            except OutputError:
                self.close()
                raise
            self._next = serial + 1
        self._ring.hold(self._next)

    def close(self) -> None:
        """Finish the clip, if there is one; never raises: what is written plays as it is."""
        clip, self._clip = self._clip, None
        self._ring.hold(None)
        if clip is not None:
            try:
                clip.close()
            except OutputError:
                return


class MaskRecording:
    """The masks of the event that is open, beside its clip, if they are wanted.

    Parameters
    ----------
    is_wanted : bool
    """

    def __init__(self, *, is_wanted: bool) -> None:
        self._is_wanted = is_wanted
        self._sink: FrameSink | None = None
        self._begin_s: float | None = None

    def begin(self, clip: Path, layout: Layout) -> None:
        """Begin the masks that belong to a clip: its name, with ``-mask.mkv``.

        Raises
        ------
        OutputError
            If they cannot be written.
        """
        self.close()
        if self._is_wanted:
            path = clip.with_name(f"{clip.stem}-mask.mkv")
            grey = Layout("gray", layout.height, layout.width)
            self._sink = open_sink(path, "mask", layout=grey, kind="mkv")
            self._begin_s = None

    def add(self, mask: Bytes, time_s: float) -> None:
        """Write the mask of a frame that was analysed.

        Raises
        ------
        OutputError
            If it cannot be written; the masks of this clip are given up.
        """
        if self._sink is None:
            return
        self._begin_s = time_s if self._begin_s is None else self._begin_s
        try:
            self._sink.write(mask, time_s - self._begin_s)
        except OutputError:
            self._sink.abort()
            self._sink = None
            raise

    def close(self) -> None:
        """Finish the file, if there is one; it is removed where it holds no mask."""
        sink, self._sink = self._sink, None
        if sink is None:
            return
        try:
            sink.close()
        except OutputError:
            sink.abort()


class EventFiles:
    """The clip and the masks of the event that is open.

    Parameters
    ----------
    folder : Path
    ring : PacketRing
    options : WatchOptions
    fail : callable
        Called with what could not be written.

    Attributes
    ----------
    path : Path or None
        Of the clip that is being written.
    """

    def __init__(
        self,
        folder: Path,
        ring: PacketRing,
        options: WatchOptions,
        fail: Callable[[OutputError], None],
    ) -> None:
        self._fail, self._is_wanted = fail, options.clips
        self._clip = Recording(folder, ring, options.clip_format)
        self._masks = MaskRecording(is_wanted=options.writes_masks)

    @property
    def path(self) -> Path | None:
        """Of the clip that is being written."""
        return self._clip.path

    def begin(self, opened: Opened, begin_s: float, wall_s: float, number: int) -> Path | None:
        """Begin the files of an event; gives the clip, None where there is none."""
        if not self._is_wanted:
            return None
        try:
            path = self._clip.begin(opened, begin_s, wall_s, number)
        except OutputError as error:
            self._fail(error)
            return None
        try:
            self._masks.begin(path, opened.header.layout)
        except OutputError as error:
            self._fail(error)
        return path

    def write(self) -> None:
        """Write the packets that have come."""
        try:
            self._clip.write()
        except OutputError as error:
            self._fail(error)

    def add_mask(self, mask: Bytes, time_s: float) -> None:
        """Write the mask of a frame that was analysed."""
        try:
            self._masks.add(mask, time_s)
        except OutputError as error:
            self._fail(error)

    def close(self) -> None:
        """Write what has come, and finish the files."""
        self.write()
        self._clip.close()
        self._masks.close()
