"""Record the clip of the event that is open, from the ring of packets, and its masks."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from bgsub.errors import OutputError
from bgsub.live.clip import ClipWriter
from bgsub.live.clips_folder import clip_name
from bgsub.live.feed import Opened
from bgsub.live.ring import PacketRing
from bgsub.video.frames import Bytes, Layout
from bgsub.video.sink import FrameSink, open_sink


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
