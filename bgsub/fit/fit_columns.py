"""Give the pixels that take part in a fit, a block of columns at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgsub.video.frames import Bytes
from bgsub.video.matrix import FrameMatrix


class FitColumns:
    """The columns of a frame matrix that take part in the fit: luma, inside the pixel mask.

    Parameters
    ----------
    matrix : FrameMatrix
    rows : ndarray of shape (n,), or None
        Frames that take part; None for all.
    pixel_mask : ndarray of shape (h, w), bool, or None
    """

    def __init__(
        self,
        matrix: FrameMatrix,
        rows: NDArray[np.int64] | None,
        pixel_mask: NDArray[np.bool_] | None,
    ) -> None:
        self._matrix, self._rows = matrix, rows
        self._index = None if pixel_mask is None else np.flatnonzero(pixel_mask)

    @property
    def shape(self) -> tuple[int, int]:
        """Frames and pixels of the fit."""
        frames = len(self._matrix) if self._rows is None else self._rows.size
        pixels = self._matrix.layout.pixels if self._index is None else self._index.size
        return frames, pixels

    @property
    def dtype(self) -> np.dtype[Any]:
        """Always uint8."""
        return np.dtype(np.uint8)

    def columns(self, start: int, stop: int) -> Bytes:
        """Give the pixels start to stop (exclusive) of all frames of the fit."""
        if self._index is None:
            return self._matrix.columns(start, stop, self._rows)
        index = self._index[start:stop]
        first = int(index[0])
        return self._matrix.columns(first, int(index[-1]) + 1, self._rows)[:, index - first]
