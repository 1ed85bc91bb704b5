"""Count what the masks of a run amount to, and keep how far each deserves trust."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bgsub.pipeline.consumers import Need
from bgsub.pipeline.frames import SceneFrame
from bgsub.segmenter.masks import LeftOut

TrustSpan = tuple[int, int, float]


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
    trust : list of (int, int, float)
        First and last frame, and the trust that their masks deserve, in tenths; frames that follow
        each other with the same one are one entry. Empty where nothing says.
    left_out : LeftOut
        Sums of the shares of the frames that other options would mark.
    """

    pixels: int
    frames: int = 0
    empty: int = 0
    crowded: int = 0
    covered: float = 0.0
    trust: list[TrustSpan] = field(default_factory=list)
    left_out: LeftOut = field(default_factory=LeftOut)
    needs: frozenset[Need] = frozenset({"mask"})

    def prepare(self, frame: SceneFrame) -> float:
        """Give the share of a frame that is foreground."""
        return float(np.count_nonzero(frame.mask)) / max(self.pixels, 1)

    def take(self, frame: SceneFrame, prepared: float) -> None:
        """Count the share of a frame."""
        self.add(prepared)
        if frame.trust is not None:
            self._add_trust(frame.number, round(frame.trust, 1))
        if frame.left_out is not None:
            self.left_out = LeftOut(*map(sum, zip(self.left_out, frame.left_out, strict=True)))

    def _add_trust(self, number: int, trust: float) -> None:
        if self.trust and self.trust[-1][2] == trust:
            self.trust[-1] = (self.trust[-1][0], number, trust)
        else:
            self.trust.append((number, number, trust))

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
