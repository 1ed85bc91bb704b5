"""Count what the masks of a run amount to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bgsub.pipeline.consumers import Need
from bgsub.pipeline.frames import SceneFrame


@dataclass
class MaskTally:
    """Count what the masks of a run amount to; a consumer of their frames.

    Attributes
    ----------
    pixels : int
        Pixels of a frame that can be foreground.
    frames, empty, crowded : int
        Frames with a mask; those in which it is empty; those in which it covers over 80 %.
    covered : float
        Sum of the shares of the frames that were covered.
    """

    pixels: int
    frames: int = 0
    empty: int = 0
    crowded: int = 0
    covered: float = 0.0
    needs: frozenset[Need] = frozenset({"mask"})

    def prepare(self, frame: SceneFrame) -> float:
        """Give the share of a frame that is foreground."""
        return float(np.count_nonzero(frame.mask)) / max(self.pixels, 1)

    def take(self, frame: SceneFrame, prepared: float) -> None:
        """Count the share of a frame."""
        del frame
        self.add(prepared)

    def add(self, share: float) -> None:
        """Count a mask that covers a share of its frame."""
        self.frames += 1
        self.empty += share == 0.0
        self.crowded += share > 0.8
        self.covered += share

    def close(self) -> None:
        """Nothing is left to do."""

    def abort(self) -> None:
        """Nothing was begun."""

    @property
    def mean_share(self) -> float:
        """Mean share of a frame that is foreground."""
        return self.covered / max(self.frames, 1)
