"""Notice a camera that moves, of which every method here supposes that it stands still."""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.pipeline.loop import SceneFrame, Sink

_Luma = NDArray[np.float32]

# Every eighth frame is compared with the one eight before. On 26 films of fixed cameras the picture
# moved in none of such pairs (21 films) or in up to a third of them (5). A pan that is too slow for
# that is found as the scene is learned: its frames have to be aligned by ever more.
_EVERY = 8
_WIDTH = 160
_SHIFT = 1.0  # pixels
_LEAST_PEAK = 0.35
_PEAK_OF_NOISE = 36.0  # over the root of the number of pixels, in one of a hundred such peaks
_FEWEST = 6
# What has strong texture outweighs a smooth room around it: all of the picture must have moved.
_PARTS = 6  # of each side
_BETTER = 0.7
_LEAST_PARTS = 0.25


class CameraWatch(Sink):
    """Count pairs of frames, and those between which the picture as a whole has moved."""

    def __init__(self) -> None:
        self.pairs = self.moved = 0
        self._frames = 0
        self._before: _Luma | None = None
        self._window: _Luma | None = None

    def write(self, frame: SceneFrame, prepared: None) -> None:
        """Compare every eighth frame with the one before."""
        del prepared
        self._frames += 1
        if self._frames % _EVERY != 1:
            return
        layout = frame.layout
        luma = frame.row[: layout.pixels].reshape(layout.height, layout.width)
        if layout.width > _WIDTH:
            size = _WIDTH, max(1, round(layout.height * _WIDTH / layout.width))
            luma = np.asarray(cv2.resize(luma, size, interpolation=cv2.INTER_AREA))
        now, before = luma.astype(np.float32), self._before
        self._before = now
        if self._window is None:
            self._window = np.outer(*(np.hanning(side) for side in now.shape)).astype(np.float32)
        if before is None or min(now.shape) < _PARTS:
            return
        self.pairs += 1
        # Copies: OpenCV 4.13 writes its window into the pictures where their sides suit a fast
        # Fourier transform (160 × 120, for example).
        (x, y), peak = cv2.phaseCorrelate(before.copy(), now.copy(), self._window)
        if peak > max(_LEAST_PEAK, _PEAK_OF_NOISE / math.sqrt(now.size)):
            self.moved += math.hypot(x, y) > _SHIFT and _is_of_all(before, now, -x, -y)

    @property
    def is_moving(self) -> bool:
        """Return whether the picture moved most of the time, as far as enough frames tell."""
        return self.pairs >= _FEWEST and self.moved > self.pairs / 2


def _is_of_all(one: _Luma, other: _Luma, x: float, y: float) -> bool:
    """Return whether a displacement is that of most parts of a picture, of those that tell.

    In whole pixels: between them noise is averaged, and any place would seem to fit better.
    """
    shift = (min(max(round(v), 1 - n), n - 1) for v, n in zip((y, x), one.shape, strict=True))
    rows, columns = (
        (slice(max(by, 0), side + min(by, 0)), slice(max(-by, 0), side + min(-by, 0)))
        for by, side in zip(shift, one.shape, strict=True)
    )
    now = other[rows[1], columns[1]]
    moved = _unlike(now, one[rows[0], columns[0]])
    still = _unlike(now, one[rows[1], columns[1]])
    votes = int((moved < _BETTER * still).sum())
    against = int((still < _BETTER * moved).sum())
    return votes > against and votes >= _LEAST_PARTS * moved.size


def _unlike(one: _Luma, other: _Luma) -> _Luma:
    """Return the variance of the difference in each part of two frames, which light leaves out."""
    size = min(_PARTS, one.shape[1]), min(_PARTS, one.shape[0])
    away = one - other
    mean, square = (
        cv2.resize(each, size, interpolation=cv2.INTER_AREA) for each in (away, away**2)
    )
    return np.asarray(square - mean**2)
