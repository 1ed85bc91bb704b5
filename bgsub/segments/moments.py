"""Find number and time of every frame that is selected of a film, without its pictures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import EmptySelectionError
from bgsub.video.source import FrameSource


@dataclass(frozen=True, eq=False)
class Moments:
    """Numbers and seconds of frames, in order.

    Attributes
    ----------
    numbers : ndarray of int64, shape (n,)
        From 1 in the film.
    times : ndarray of float64, shape (n,)
    """

    numbers: NDArray[np.int64]
    times: NDArray[np.float64]


def selected_moments(source: FrameSource) -> Moments:
    """Find the frames that are selected of a film; those that cannot be decoded are left out.

    Raises
    ------
    EmptySelectionError
        If there is none.
    """
    found = [(frame.number, frame.time_s) for frame in source]
    if not found:
        raise EmptySelectionError(f"{source.name}: no frame is selected")
    numbers, times = zip(*found, strict=True)
    return Moments(np.array(numbers, dtype=np.int64), np.array(times))
