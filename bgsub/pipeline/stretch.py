"""Describe a stretch of a longer film that is run by itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from bgsub.fit.store import Borrowed
from bgsub.options import RunOptions
from bgsub.pipeline.inputs import open_input
from bgsub.video.film import VideoFileSource
from bgsub.video.film_index import Entry, Place
from bgsub.video.source import Footage, FrameSource


@dataclass(frozen=True)
class Stretch:
    """What a run takes over from the film that its frames are a stretch of.

    Attributes
    ----------
    identity : dict
        What `bgsub.pipeline.manifest.input_identity` gives for the film, which is not read again.
    entry : Entry or None
        Where decoding may begin; None is the start of the film.
    before, after : tuple of Place
        Frames of the film before and behind the stretch that are fitted with it.
    """

    identity: dict[str, Any]
    entry: Entry | None = None
    before: tuple[Place, ...] = ()
    after: tuple[Place, ...] = ()

    def enter(self, source: FrameSource) -> None:
        """Let a source begin to decode there."""
        if self.entry is not None and isinstance(source, VideoFileSource):
            source.enter(self.entry)

    def borrow(self, footage: Footage, options: RunOptions) -> Borrowed | None:
        """Open the film where frames before and behind the stretch are; None if none is fitted."""
        places = [*self.before, *self.after]
        if not places:
            return None
        first, last = places[0].number, places[-1].number
        start = first if self.before else options.source.start
        end = last if self.after else options.source.end
        wider = replace(options, source=replace(options.source, start=start, end=end))
        return Borrowed(open_input(footage, wider), self.before, self.after)
