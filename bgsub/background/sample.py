"""Draw a sample of the frames of a video as it passes by."""

from __future__ import annotations

import numpy as np

from bgsub.background.plates import at_working_size, small_of, working_size
from bgsub.robustpca.spaces import evenly
from bgsub.video.frames import Bytes, Layout
from bgsub.video.selection import sample_rows

# Frames whose colours are counted: visits of a tenth of the video are then told from chance.
MOST_FRAMES = 100
# Bytes of the frames that are kept at their own size, as well: a composite needs few.
_FULL_BYTES = 40_000_000
_LEAST_FULL, _MOST_FULL = 15, 50


def full_frames(height: int, width: int) -> int:
    """Return how many frames of a size are kept as they are, at most."""
    return max(_LEAST_FULL, min(_MOST_FULL, _FULL_BYTES // (3 * height * width)))


class Sample:
    """A seeded sample of a video: one frame of each of equal stretches.

    `rows`, (n,), are its frames by their index in the video. All are at the working size in
    `small`, (n, h', w', 3), and those at the places `kept`, (m,), at their own size in `full`: none
    of them unless a scene is to be `composed`.
    """

    def __init__(self, layout: Layout, frames: int, seed: int, *, composed: bool = False) -> None:
        self._layout = layout
        height, width = layout.height, layout.width
        self.shape = height, width
        self.rows = sample_rows(frames, MOST_FRAMES, seed)
        count = len(self.rows)
        self.small = np.empty((count, *working_size(height, width), 3), np.uint8)
        self.kept = evenly(count, min(count, full_frames(height, width)) if composed else 0)
        self.full: Bytes = np.empty(0, np.uint8)  # until a frame tells whether they are grey

    def add(self, start: int, rows: Bytes) -> None:
        """Take the frames start, start + 1, …; shape (m, size)."""
        first, last = np.searchsorted(self.rows, [start, start + len(rows)])
        for i in range(first, last):
            row = rows[self.rows[i] - start]
            self.small[i] = small_of(self._layout, row)
            for place in np.flatnonzero(self.kept == i):
                frame = self._layout.seen(row)
                if not self.full.size:
                    self.full = np.empty((len(self.kept), *frame.shape), np.uint8)
                self.full[place] = frame

    @classmethod
    def of(cls, frames: Bytes, *, composed: bool = False) -> Sample:
        """Return a sample of frames that are at hand, shape (n, h, w, 3) or (n, h, w)."""
        height, width = frames.shape[1:3]
        sample = cls(Layout("bgr", height, width), len(frames), 0, composed=composed)
        sample.small[:] = [at_working_size(frames[row]) for row in sample.rows]
        sample.full = frames[sample.rows[sample.kept]]
        return sample
