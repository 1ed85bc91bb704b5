"""Write a clip of each event from the stream's own packets, and remove the oldest of a folder."""

from __future__ import annotations

import contextlib
import io
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import av
from av.error import FFmpegError
from av.packet import Packet

from bgsub.errors import OutputError, writing
from bgsub.live.decoding import IN_MP4, Header, StreamPacket
from bgsub.live.feed import Opened, PacketRing
from bgsub.live.options import WatchOptions, parse_keep
from bgsub.video.frames import Bytes, Layout
from bgsub.video.sink import FrameSink, open_sink

_NAME = re.compile(r"event-\d{8}T\d{6}Z-\d{4,}(-mask)?\.(mp4|mkv)")


def clip_name(wall_s: float, number: int, suffix: str) -> str:
    """Name a clip by the time at which its event began, UTC, and the event's number.

    >>> clip_name(0.0, 7, "mp4")
    'event-19700101T000000Z-0007.mp4'
    """
    return f"event-{datetime.fromtimestamp(wall_s, UTC):%Y%m%dT%H%M%SZ}-{number:04d}.{suffix}"


def remove_oldest(folder: Path, keep: str | None, current: Path | None) -> None:
    """Remove clips beyond what `parse_keep` reads, the oldest first, but never the one at work."""
    if keep is None:
        return
    most_bytes, most_s = parse_keep(keep)
    clips = []
    for path in folder.iterdir():
        if _NAME.fullmatch(path.name) and path.is_file() and not path.is_symlink():
            with contextlib.suppress(OSError):
                facts = path.stat()
                clips.append((facts.st_mtime, path.name, facts.st_size, path))
    total = sum(size for _, _, size, _ in clips)
    for written, _, size, path in sorted(clips):
        if path != current and (total > most_bytes or time.time() - written > most_s):
            with contextlib.suppress(OSError):
                path.unlink()
                total -= size


# A piece of half a second at a time, each of which plays with those before it; frames wait no
# longer for sound that ends.
_AT_ONCE = {"flush_packets": "1", "max_interleave_delta": "500000"}
_REFUSED = FFmpegError, ValueError  # what PyAV raises besides errors of the system
_MUXERS = {
    "mp4": {"movflags": "empty_moov+default_base_moof", "frag_duration": "500000"} | _AT_ONCE,
    "mkv": {"cluster_time_limit": "500"} | _AT_ONCE,
}


class ClipWriter:
    """A clip that is being written, as .mp4 or .mkv; OutputError if it cannot be."""

    def __init__(self, path: Path, header: Header) -> None:
        self.path, self.frames = path, 0
        self._base, self._sound_base = header.time_base, header.sound_base
        self._begin: int | None = None
        self._last = self._last_sound = -1
        self._sound: Any = None
        kind = path.suffix[1:]
        memory, named = io.BytesIO(header.sample), writing(path, kinds=_REFUSED)
        # The sample is read again, since a stream can only be made of one that was opened.
        with named, av.open(memory, "r", format="nut") as sample:
            self._target = av.open(f"file:{path}", "w", container_options=_MUXERS[kind])
            self._stream: Any = self._target.add_stream_from_template(sample.streams.video[0])
            for sound in sample.streams.audio:
                if kind != "mp4" or sound.codec_context.name in IN_MP4:
                    self._sound = self._target.add_stream_from_template(sound)

    def add(self, packet: StreamPacket) -> None:
        """Write the next packet, a key frame as the first; OutputError if the disk is full, say."""
        copy: Packet[Any] = Packet(packet.data)
        copy.duration = packet.duration
        if packet.is_sound:
            if self._sound is None or self._sound_base is None or self._begin is None:
                return
            stamp = packet.pts - round(self._begin * self._base / self._sound_base)
            if stamp <= self._last_sound:
                return  # before the first frame, or it has no place
            copy.pts = copy.dts = self._last_sound = stamp
            copy.is_keyframe, copy.time_base, copy.stream = True, self._sound_base, self._sound
        else:
            if self._begin is None:
                self._begin = packet.dts
            copy.dts = self._last = max(packet.dts - self._begin, self._last + 1)
            copy.pts = max(packet.pts - self._begin, copy.dts)
            copy.is_keyframe, copy.time_base, copy.stream = packet.is_key, self._base, self._stream
            self.frames += 1
        with writing(self.path, kinds=_REFUSED):
            self._target.mux(copy)

    def close(self) -> None:
        """Finish the clip; what was written before plays in any case."""
        with contextlib.suppress(OSError, *_REFUSED):
            self._target.close()


class EventFiles:
    """The clip and masks of the open event; what cannot be written is passed to `fail`."""

    def __init__(
        self, folder: Path, options: WatchOptions, fail: Callable[[OutputError], None]
    ) -> None:
        self._folder, self._options, self._fail = folder, options, fail
        self._ring = PacketRing(0.0)  # that of the clip
        self._clip: ClipWriter | None = None
        self._masks: FrameSink | None = None
        self._next = 0
        self._masks_s: float | None = None

    @property
    def path(self) -> Path | None:
        """Of the clip that is being written."""
        return None if self._clip is None else self._clip.path

    def begin(self, opened: Opened, begin_s: float, wall_s: float, number: int) -> Path | None:
        """Begin a clip with the key frame before a time; return its path, None if there is none."""
        self.close()
        if not self._options.clips:
            return None
        header, form = opened.header, self._options.clip_format
        suffix = header.container if form == "auto" else form
        path = self._folder / clip_name(wall_s, number, suffix)
        try:
            self._clip = ClipWriter(path, header)
            self._ring, self._next = opened.ring, opened.ring.begin(begin_s)
            self._ring.hold(self._next)
            if self._options.writes_masks:
                grey = Layout("gray", header.layout.height, header.layout.width)
                place = path.with_name(f"{path.stem}-mask.mkv")
                self._masks = open_sink(place, "mask", layout=grey, kind="mkv")
                self._masks_s = None
        except OutputError as error:
            self._fail(error)
        self.write()
        return self.path

    def write(self) -> None:
        """Write the packets that have come; a clip that fails is given up."""
        if self._clip is None:
            return
        for serial, packet in self._ring.since(self._next):
            try:
                if self._clip.frames or packet.is_key:
                    self._clip.add(packet)
            except OutputError as error:
                self._close_clip()
                self._fail(error)
                return
            self._next = serial + 1
        self._ring.hold(self._next)

    def add_mask(self, mask: Bytes, time_s: float) -> None:
        """Write the mask of a frame that was analysed; a file that fails is given up."""
        if self._masks is None:
            return
        self._masks_s = time_s if self._masks_s is None else self._masks_s
        try:
            self._masks.write(mask, time_s - self._masks_s)
        except OutputError as error:
            self._masks.abort()
            self._masks = None
            self._fail(error)

    def close(self) -> None:
        """Write what has come, and finish the files; one that holds no mask is removed."""
        self.write()
        self._close_clip()
        masks, self._masks = self._masks, None
        if masks is not None:
            try:
                masks.close()
            except OutputError:
                masks.abort()

    def _close_clip(self) -> None:
        self._ring.hold(None)
        if self._clip is not None:
            self._clip.close()
        self._clip = None
