"""Absorb what has come to rest: take regions out of masks that have not changed for a time."""

from __future__ import annotations

import math
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.tracking.detections import positions
from bgsub.video.frames import Bytes, Pixels

AT_ONCE_S = 2.0  # without change, after which ``background`` absorbs: a pause in a walk is shorter
_ALIKE = 14  # grey levels up to which a pixel shows the same: noise of 3×3 pixels is less
_STEADY = 0.8  # share of a region's pixels: outlines flicker, and sleepers breathe
_RIM = 2.5  # sides of the smallest region for a width of the rim around what was absorbed
_DRIFT_S = 0.5  # seconds in which a remembered colour may follow the light by one grey level
# What becomes of what has come to rest; a number is seconds after which it is absorbed.
Stillness = Literal["foreground", "background"] | float


def absorbed_after(still: Stillness | None) -> float | None:
    """Return the seconds at rest after which a region is taken out of the masks; None is never."""
    if still == "background":
        return AT_ONCE_S
    return None if still is None or isinstance(still, str) else still


class Absorber:
    """Take what has come to rest out of the masks of a film, frame by frame.

    Every foreground pixel remembers a colour and for how long it has shown it; other colours take
    from that time what they last, so that a passer-by does not make a parked car new. A region of
    the mask whose pixels have been steady for `seconds` is absorbed: from then on these pixels are
    background while they show their colour, until they have shown something else for as long.
    `min_area` are the pixels of the smallest region that is left beside what was absorbed.
    """

    def __init__(self, height: int, width: int, seconds: float, min_area: int = 0) -> None:
        self._seconds, self._least = seconds, min_area
        self._rim = max(3, round(math.sqrt(min_area) / _RIM) | 1)
        self._colors = np.zeros((height, width, 3), np.uint8)
        self._steady = np.full((height, width), -1.0, np.float32)
        self._shown = np.zeros((height, width))
        self._absorbed = np.zeros((height, width), np.bool_)
        self._start: float | None = None
        self._last = self._drifted = 0.0

    def apply(self, mask: Bytes, picture: Pixels, time_s: float) -> Bytes:
        """Return a mask, 0 or 255, without what has come to rest; the picture may be the mask."""
        if self._start is None:
            self._start = self._last = time_s
        now = time_s - self._start
        step, self._last = now - self._last, now
        if not cv2.hasNonZero(mask):
            return mask
        y, x = positions(mask)
        # The mean colours of 3×3 pixels.
        rows, columns = (slice(max(int(p.min()) - 1, 0), int(p.max()) + 2) for p in (y, x))
        own = cv2.blur(picture[rows, columns], (3, 3))[y - rows.start, x - columns.start]
        colors = np.asarray(own if own.ndim == 2 else np.repeat(own[:, None], 3, 1), np.uint8)
        steady = self._remember(y, x, colors, now, step)
        self._absorb(mask, y, x, steady)
        gone = steady & self._absorbed[y, x]
        return self._without(mask, y[gone], x[gone]) if gone.any() else mask

    def _remember(
        self, y: NDArray[np.intp], x: NDArray[np.intp], colors: Bytes, now: float, step: float
    ) -> NDArray[np.bool_]:
        """Add to the time of pixels that show their colour, take from others; return which do."""
        known = self._colors[y, x]
        alike = cv2.absdiff(known, colors).max(axis=1) <= _ALIKE
        away = now - self._shown[y, x] - step  # it was background since it was seen here last
        times = self._steady[y, x] - np.where(away > step / 2, away, 0)
        alike &= times >= 0
        times += np.where(alike, np.float32(step), np.float32(-step))
        np.minimum(times, self._seconds, out=times)
        fresh = times < 0
        times[fresh] = 0
        if now - self._drifted >= _DRIFT_S:
            self._drifted = now
            up, down = colors > known, colors < known
            known = (known + up.view(np.uint8) - down.view(np.uint8)).astype(np.uint8)
        self._colors[y, x] = np.where(fresh[:, None], colors, known)
        self._steady[y, x] = times
        self._shown[y, x] = now
        self._absorbed[y[fresh], x[fresh]] = False
        shows: NDArray[np.bool_] = alike | fresh
        return shows

    def _absorb(
        self, mask: Bytes, y: NDArray[np.intp], x: NDArray[np.intp], alike: NDArray[np.bool_]
    ) -> None:
        """Absorb the regions most of whose pixels have been steady for long enough."""
        ripe = alike & (self._steady[y, x] >= self._seconds - 1e-3)
        if not (ripe & ~self._absorbed[y, x]).any():
            return
        _, labels = cv2.connectedComponents(mask, connectivity=8, ltype=cv2.CV_32S)
        own = np.asarray(labels[y, x], np.int32)
        sizes = np.bincount(own)
        resting = np.bincount(own[ripe], minlength=sizes.size) >= _STEADY * sizes
        chosen = ripe & resting[own]
        self._absorbed[y[chosen], x[chosen]] = True

    def _without(self, mask: Bytes, y: NDArray[np.intp], x: NDArray[np.intp]) -> Bytes:
        """Take pixels out of a mask, and with them the rims that are left of their regions."""
        rest = mask.copy()
        rest[y, x] = 0
        side, reach = self._rim, 2 * self._rim + 1
        opened = cv2.morphologyEx(rest, cv2.MORPH_OPEN, np.ones((side, side), np.uint8))
        near = np.zeros_like(mask)
        near[y, x] = 255
        around = cv2.dilate(near, np.ones((reach, reach), np.uint8))
        rest = np.where(around > 0, opened, rest).astype(np.uint8)
        _, labels, stats, _ = cv2.connectedComponentsWithStats(rest, connectivity=8)
        small = stats[:, cv2.CC_STAT_AREA] < self._least
        return np.where(small[labels], 0, rest).astype(np.uint8)
