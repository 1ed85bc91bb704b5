"""Notice a camera that moves, of which every method here supposes that it stands still."""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.pipeline.consumers import Need
from bgsub.pipeline.frames import SceneFrame

# Every eighth frame is compared with the one eight before. On 23 films of fixed cameras 0 to 7 % of
# such pairs moved; in films cut from a still picture, a pan by a thousandth of the width a frame
# moved 96 to 100 % of them, and a shake by 3 pixels of 480 moved 71 %.
_EVERY = 8
_WIDTH = 160
_SHIFT = 1.0
_LEAST_RESPONSE = 0.2
_FEWEST = 6


class CameraWatch:
    """Count how often the picture as a whole has moved; a consumer of the frames of a run.

    Attributes
    ----------
    pairs, moved : int
        Pairs of frames that were compared, and those between which the picture moved.
    """

    needs: frozenset[Need] = frozenset()

    def __init__(self) -> None:
        self.pairs = self.moved = 0
        self._frames = 0
        self._before: NDArray[np.float32] | None = None
        self._window: NDArray[np.float32] | None = None

    def prepare(self, frame: SceneFrame) -> None:
        """Do nothing: few frames are looked at."""

    def take(self, frame: SceneFrame, prepared: None) -> None:
        """Compare every eighth frame with the one before."""
        del prepared
        self._frames += 1
        if self._frames % _EVERY != 1:
            return
        now = _small(frame)
        if self._before is not None and self._window is not None:
            shift, response = cv2.phaseCorrelate(self._before, now, self._window)
            self.pairs += 1
            self.moved += math.hypot(*shift) > _SHIFT and response > _LEAST_RESPONSE
        elif min(now.shape) >= 2:
            window = cv2.createHanningWindow(now.shape[::-1], cv2.CV_32F)
            self._window = np.asarray(window, dtype=np.float32)
        self._before = now

    @property
    def is_moving(self) -> bool:
        """Whether the camera moved most of the time, as far as enough frames tell."""
        return self.pairs >= _FEWEST and self.moved > self.pairs / 2

    def close(self) -> None:
        """Do nothing."""

    def abort(self) -> None:
        """Do nothing."""


def _small(frame: SceneFrame) -> NDArray[np.float32]:
    """Luma of a frame, at most 160 pixels wide."""
    layout = frame.layout
    luma = frame.row[: layout.pixels].reshape(layout.height, layout.width)
    if layout.width > _WIDTH:
        height = max(1, round(layout.height * _WIDTH / layout.width))
        luma = np.asarray(cv2.resize(luma, (_WIDTH, height), interpolation=cv2.INTER_AREA))
    return luma.astype(np.float32)
