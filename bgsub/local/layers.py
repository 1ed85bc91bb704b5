"""Find the recurring colours of every pixel, its *layers*, and how they come and go."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.clean_frames import Singles
from bgsub.video.frames import Bytes

UNSEEN = 255
"""Layer of a value that none explains."""

LAYERS = 6
"""Colours that are followed per pixel."""

MOST_FRAMES = 250
"""Frames of a sample at most: counts of frames are bytes."""

_RARE = 0.12
"""Share of the frames that a layer is seen at most where what it shows moves on."""


@dataclass(frozen=True, eq=False)
class Layers:
    """Layers of every pixel, the most frequent first.

    Attributes
    ----------
    colors : ndarray of uint8, shape (K, h, w, 3)
    counts : ndarray of uint8, shape (K, h, w)
        Frames of the sample that a layer explains.
    absences : ndarray of uint8, shape (K, h, w)
        Longest run of frames without it.
    visits : ndarray of uint8, shape (K, h, w)
        Separate runs of frames with it.
    labels : ndarray of uint8, shape (n, h, w)
        Layer of every value, UNSEEN where there is none.
    """

    colors: Bytes
    counts: Bytes
    absences: Bytes
    visits: Bytes
    labels: Bytes

    @property
    def shares(self) -> Singles:
        """Share of the frames that a layer explains, shape (K, h, w)."""
        return np.asarray(self.counts / np.float32(len(self.labels)), dtype=np.float32)

    def every(self, step: int) -> Layers:
        """Give those of every so many pixels, down and across."""
        if step == 1:
            return self
        parts = (self.colors, self.counts, self.absences, self.visits, self.labels)
        return Layers(*(np.ascontiguousarray(part[:, ::step, ::step]) for part in parts))

    @cached_property
    def rare(self) -> Bytes:
        """Bits, shape (h, w): k is set where layer k is seldom seen, as what moves on is."""
        seldom = np.packbits(self.counts < _RARE * len(self.labels), axis=0, bitorder="little")
        return np.asarray(seldom[0], dtype=np.uint8)

    @cached_property
    def moving(self) -> Bytes:
        """Mark with 1 what is seldom seen there, no layer or a rare one, shape (n, h, w)."""
        found = np.empty_like(self.labels)
        for shown, seldom in zip(self.labels, found, strict=True):
            seldom[:] = (shown >= LAYERS) | (self.rare >> shown) & 1
        return found

    def part(self, rows: slice, columns: slice) -> Layers:
        """Give the layers of a part of the picture, with the count of what moves in all of it."""
        parts = (self.colors, self.counts, self.absences, self.visits, self.labels)
        found = Layers(*(values[:, rows, columns] for values in parts))
        found.__dict__["moving"] = self.moving[:, rows, columns]
        found.__dict__["moving_pixels"] = self.moving_pixels
        return found

    @cached_property
    def moving_pixels(self) -> NDArray[np.int64]:
        """Count the pixels of each frame that move with all around them, shape (n,)."""
        window = np.ones((3, 3), np.uint8)
        counts = [cv2.countNonZero(cv2.erode(one, window)) for one in self.moving]
        return np.array(counts, dtype=np.int64)


def color_of(colors: Bytes, label: NDArray[np.integer]) -> Bytes:
    """Picture whose pixels show the layers that `label` names, shape (h, w, 3)."""
    shown = np.array(colors[0], dtype=np.uint8)
    for k in range(1, len(colors)):
        here = label == k
        if here.any():
            cv2.copyTo(np.ascontiguousarray(colors[k]), here.view(np.uint8), shown)
    return shown
