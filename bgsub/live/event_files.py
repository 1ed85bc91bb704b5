"""Write what belongs to the event that is open, and let no failure of it reach the watching."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bgsub.errors import OutputError
from bgsub.live.feed import Opened
from bgsub.live.options import WatchOptions
from bgsub.live.recording import MaskRecording, Recording
from bgsub.live.ring import PacketRing
from bgsub.video.frames import Bytes


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
