"""Frames of a film before and behind those of a run, which are fitted with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bgsub.video.film_index import Place
from bgsub.video.frames import Frame
from bgsub.video.seek import frames_at
from bgsub.video.source import FrameSource


@dataclass(frozen=True, eq=False)
class Borrowed:
    """Frames before and after its own that a fit sees, and a source that selects all of them."""

    source: FrameSource
    before: Sequence[Place]
    after: Sequence[Place]

    def __len__(self) -> int:
        return len(self.before) + len(self.after)

    def frames(self, places: Sequence[Place]) -> Iterator[Frame]:
        """Yield some of them; those that cannot be decoded are left out."""
        return frames_at(self.source, places)
