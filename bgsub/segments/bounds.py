"""Choose where the segments of a film begin: after so many frames, or so much time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bgsub.options import RunOptions
from bgsub.segments.moments import Moments, selected_moments
from bgsub.video.source import FrameSource
from bgsub.video.timecode import Position, parse_step

_LEAST = 50
"""Frames that a segment has at least: fewer are no fit to speak of."""


@dataclass(frozen=True)
class Bound:
    """Where a segment begins.

    Attributes
    ----------
    first : int
        Number of its first frame in the film.
    reason : str
    """

    first: int
    reason: str


def divide(source: FrameSource, options: RunOptions) -> list[Bound]:
    """Divide the frames that are selected of a film into segments.

    Parameters
    ----------
    source : FrameSource
    options : RunOptions

    Returns
    -------
    list of Bound
        In order; the first one is the first frame that is selected.
    """
    moments = selected_moments(source)
    length = parse_step(options.segment, "--segment")
    places = equal_parts(moments, length)
    unit = " frames" if length.seconds is None else ""
    reason = f"after {options.segment}{unit}"
    return [
        Bound(int(moments.numbers[place]), reason if place else "beginning")
        for place in places.tolist()
    ]


def equal_parts(moments: Moments, length: Position) -> NDArray[np.int64]:
    """Choose the places at which parts of a length begin, the first at 0.

    What is left at the end is a part if it has half the length and enough frames, or else belongs
    to the part before it.

    Parameters
    ----------
    moments : Moments
    length : Position
        In frames or in seconds.

    Returns
    -------
    ndarray of int64
        Increasing.
    """
    n = moments.numbers.size
    if length.frame is not None:
        step = max(length.frame, _LEAST)
        starts = np.arange(0, n, step)
        left = n - int(starts[-1])
        is_long = 2 * left >= step
    else:
        seconds = float(length.seconds or 0.0)
        times = moments.times - moments.times[0]
        steps = np.arange(0.0, times[-1] + seconds, seconds)
        starts = np.unique(np.searchsorted(times, steps - 1e-6))
        starts = starts[starts < n]
        is_long = 2 * (times[-1] - times[starts[-1]]) >= seconds
    kept = [0]
    for start in starts[1:].tolist():
        if start - kept[-1] >= _LEAST:
            kept.append(start)
    if len(kept) > 1 and (n - kept[-1] < _LEAST or (kept[-1] == starts[-1] and not is_long)):
        kept.pop()
    return np.array(kept, dtype=np.int64)
