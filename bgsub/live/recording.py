"""Record the clip of the event that is open, from the ring of packets."""

from __future__ import annotations

from pathlib import Path

from bgsub.errors import OutputError
from bgsub.live.clip import ClipFormat, ClipWriter
from bgsub.live.clips_folder import clip_name
from bgsub.live.feed import Opened
from bgsub.live.ring import PacketRing


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

    def __init__(self, folder: Path, ring: PacketRing, clip_format: ClipFormat) -> None:
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
