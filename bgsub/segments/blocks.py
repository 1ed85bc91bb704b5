"""Cut a quick look at a film into blocks: the median of some small pictures, and what moves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.video.frames import Bytes, Frame

Floats = NDArray[np.float32]


Flags = NDArray[np.bool_]


_SMALL = 80 * 60
"""Pixels that pictures are scaled down to."""


_BLOCK_S, _BLOCK_FRAMES = 4.0, 8
"""Seconds and pictures of a block at least."""


LIVELY = 8.0
"""Grey levels from the median, in a tenth of the pictures, from which a pixel is not quiet."""


@dataclass(frozen=True, eq=False)
class Block:
    """What some small pictures in a row have in common.

    Attributes
    ----------
    first, last : int
        Numbers of the frames.
    median, stir : ndarray of float32, shape (h, w)
        Their median, and the 0.9 quantile of the differences from it.
    """

    first: int
    last: int
    median: Floats
    stir: Floats

    @property
    def quiet(self) -> Flags:
        """Pixels in which nothing moves."""
        return self.stir <= max(LIVELY, 3.0 * float(np.quantile(self.stir, 0.25)))


def small_luma(frame: Frame) -> Bytes:
    """Give the luma of a frame, scaled down."""
    layout = frame.layout
    luma = np.ascontiguousarray(layout.luma(frame.data)).reshape(layout.height, layout.width)
    scale = min(1.0, (_SMALL / luma.size) ** 0.5)
    size = max(4, round(layout.width * scale)), max(4, round(layout.height * scale))
    return np.asarray(cv2.resize(luma, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def blocks_of(frames: Iterable[Frame]) -> Iterator[Block]:
    """Gather frames into blocks; the last one may be shorter."""
    waiting: list[tuple[int, float, Bytes]] = []
    for frame in frames:
        long_enough = len(waiting) >= _BLOCK_FRAMES
        if long_enough and frame.time_s - waiting[0][1] >= _BLOCK_S - 1e-6:
            yield _block(waiting)
            waiting = []
        waiting.append((frame.number, frame.time_s, small_luma(frame)))
    if len(waiting) >= _BLOCK_FRAMES:
        yield _block(waiting)


def _block(members: list[tuple[int, float, Bytes]]) -> Block:
    pictures = np.stack([picture for _, _, picture in members]).astype(np.float32)
    median = np.median(pictures, axis=0).astype(np.float32)
    away = np.abs(pictures - median)
    place = int(0.9 * (len(members) - 1))
    stir = np.partition(away, place, axis=0)[place]
    return Block(members[0][0], members[-1][0], median, stir.astype(np.float32))
