"""Shrink pictures by a whole factor faster than OpenCV does, to the same bytes."""

from __future__ import annotations

from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.video.frames import Bytes

_LARGE = 60_000
"""Pixels from which shrinking takes longer than a few calls of NumPy."""


def shrunk(picture: Bytes, columns: int, rows: int) -> Bytes:
    """Shrink a picture, every pixel the rounded mean of its area.

    Parameters
    ----------
    picture : ndarray of uint8, shape (h, w, 3)
    columns, rows : int
        Of the result, shape (rows, columns, 3).

    Notes
    -----
    `cv2.resize` adds pixel by pixel. Of large pictures that the size divides, whole lines are added
    up, and then the values of each block by a matrix product; single precision holds these whole
    numbers exactly. That takes a third of the time.
    """
    height, width = picture.shape[0] // rows, picture.shape[1] // columns
    size = rows * height, columns * width
    if picture.shape[0] * picture.shape[1] < _LARGE or picture.shape[:2] != size:
        small = cv2.resize(picture, (columns, rows), interpolation=cv2.INTER_AREA)
        return np.asarray(small, dtype=np.uint8)
    whole = np.uint16 if height < 257 else np.uint32  # 257 · 255 is the largest
    lines = np.add.reduce(picture.reshape(rows, height, -1), axis=1, dtype=whole)
    blocks = lines.astype(np.float32).reshape(rows * columns, 3 * width)
    sums = blocks @ _summing(width)
    means = np.rint(sums * (np.float32(1) / np.float32(height * width)))
    return np.asarray(means.astype(np.uint8).reshape(rows, columns, 3))


@cache
def _summing(count: int) -> NDArray[np.float32]:
    """Give the matrix that adds up so many pixels of three channels, channel by channel."""
    return np.tile(np.eye(3, dtype=np.float32), (count, 1))
