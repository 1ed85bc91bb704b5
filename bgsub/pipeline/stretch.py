"""Describe a stretch of a longer film that is run by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bgsub.video.entry import Entry
from bgsub.video.source import FrameSource
from bgsub.video.video_file import VideoFileSource


@dataclass(frozen=True)
class Stretch:
    """What a run takes over from the film that its frames are a stretch of.

    Attributes
    ----------
    identity : dict
        What `bgsub.pipeline.manifest.input_identity` gives for the film, which is not read again.
    entry : Entry or None
        Where decoding may begin; None is the start of the film.
    """

    identity: dict[str, Any]
    entry: Entry | None = None

    def enter(self, source: FrameSource) -> None:
        """Let a source begin to decode there."""
        if self.entry is not None and isinstance(source, VideoFileSource):
            source.enter(self.entry)
