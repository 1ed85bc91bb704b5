"""Find where flags of a picture are set."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray


def positions(flags: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the rows and columns of what is not 0, as `numpy.nonzero` does.

    In a twentieth of its time where little is set: that one looks at flags of two dimensions one by
    one, and at those of one dimension many at once.

    Parameters
    ----------
    flags : ndarray of shape (h, w)
    """
    rows, columns = np.divmod(np.flatnonzero(flags), flags.shape[1])
    return rows, columns


def box_around(region: NDArray[np.bool_], margin: int) -> tuple[slice, slice]:
    """Give the rows and columns of a region, shape (h, w), and so many pixels around it."""
    left, top, width, height = cv2.boundingRect(region.view(np.uint8))
    rows, columns = (
        slice(max(start - margin, 0), start + length + margin)
        for start, length in ((top, height), (left, width))
    )
    return rows, columns
