"""Notice a camera that moves, of which every method here supposes that it stands still."""

from __future__ import annotations

import math
from collections import deque
from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.pipeline.loop import SceneFrame, Sink

_Luma = NDArray[np.float32]

# Every eighth frame is compared with the one eight before. On 26 films of fixed cameras the picture
# moved in none of such pairs (21 films) or in up to a third of them (5).
_EVERY = 8
_WIDTH = 160
_SHIFT = 1.0  # pixels
_LEAST_PEAK = 0.35
_PEAK_OF_NOISE = 36.0  # over the root of the number of pixels, in one of a hundred such peaks
_FEWEST = 6
# A slower pan is seen from further away: a frame is compared with the latest from which the picture
# has moved. Several such steps must lead away, and a look back over all of them must say the same:
# objects that all go one way, and light that changes for hours, look like one step after another.
# In six films of fixed cameras, cut out so that they pan by a 5,000th of the width a frame, that is
# noticed in all; in none of the 26 is a camera said to move.
_DRIFT = 5.0
_FEWEST_STEPS = 4
_LONGEST_STEP = 3 * _SHIFT
_DISAGREEMENT = 0.3 * _DRIFT
# What has strong texture outweighs a smooth room around it: all of the picture must have moved.
_PARTS = 6  # of each side
_BETTER = 0.7
_LEAST_PARTS = 0.25


class CameraWatch(Sink):
    """Count pairs of frames, those between which all has moved, and whether it `drifts` far."""

    def __init__(self) -> None:
        self.pairs = self.moved = 0
        self._frames = 0
        self._before: _Luma | None = None
        self.drifts = False
        self._mark: _Luma | None = None
        self._steps: deque[tuple[_Luma, float, float]] = deque(
            maxlen=math.ceil(_DRIFT / _SHIFT) + 1
        )

    def write(self, frame: SceneFrame, prepared: None) -> None:
        """Compare every eighth frame with the one before."""
        del prepared
        self._frames += 1
        layout = frame.layout
        if self._frames % _EVERY != 1 or min(layout.width, layout.height) < _PARTS:
            return
        luma = layout.luma(frame.row)
        if layout.width > _WIDTH:
            size = _WIDTH, max(1, round(layout.height * _WIDTH / layout.width))
            luma = cv2.resize(luma, size, interpolation=cv2.INTER_AREA).astype(np.uint8, copy=False)
        now, before = luma.astype(np.float32), self._before
        self._before = now
        if before is not None:
            x, y, is_clear = _displacement(before, now)
            self.pairs += 1
            seems = is_clear and math.hypot(x, y) > _SHIFT
            self.moved += seems and _is_of_all(before, now, x, y)
            if not self.drifts:
                self._follow(now)

    @property
    def is_moving(self) -> bool:
        """Return whether the picture moved most of the time, as far as enough frames tell."""
        return self.pairs >= _FEWEST and self.moved > self.pairs / 2

    def _follow(self, now: _Luma) -> None:
        """Compare a picture with the mark; make it the next mark if it has moved."""
        mark, self._mark = self._mark, now
        if mark is None:
            return
        x, y, is_clear = _displacement(mark, now)
        if not is_clear or math.hypot(x, y) > _LONGEST_STEP:
            self._steps.clear()  # a cut, a jolt or a mistake is no slow pan
        elif math.hypot(x, y) > _SHIFT:
            self._steps.append((mark, x, y))
            self.drifts = self._leads_away(now)
        else:
            self._mark = mark

    def _leads_away(self, now: _Luma) -> bool:
        x, y = sum(x for _, x, _ in self._steps), sum(y for _, _, y in self._steps)
        if len(self._steps) < _FEWEST_STEPS or math.hypot(x, y) <= _DRIFT:
            return False
        first = self._steps[0][0]
        seen_x, seen_y, is_clear = _displacement(first, now)
        agrees = math.hypot(seen_x - x, seen_y - y) < _DISAGREEMENT
        return agrees and is_clear and _is_of_all(first, now, x, y)


@cache
def _window(height: int, width: int) -> _Luma:
    return np.outer(np.hanning(height), np.hanning(width)).astype(np.float32)


def _displacement(one: _Luma, other: _Luma) -> tuple[float, float, bool]:
    """Find by how many pixels a picture lies beside another, and whether that is clear."""
    # Copies: OpenCV 4.13 writes its window into the pictures where their sides suit a fast Fourier
    # transform (160 × 120, for example).
    (x, y), peak = cv2.phaseCorrelate(one.copy(), other.copy(), _window(*one.shape))
    return -x, -y, peak > max(_LEAST_PEAK, _PEAK_OF_NOISE / math.sqrt(one.size))


def _is_of_all(one: _Luma, other: _Luma, x: float, y: float) -> bool:
    """Return whether most parts that tell have moved so, in whole pixels, which blur no noise."""
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
    both = away, away**2
    mean, square = (cv2.resize(each, size, interpolation=cv2.INTER_AREA) for each in both)
    return np.asarray(square - mean**2)
