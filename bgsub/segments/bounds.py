"""Choose where the segments of a film begin: where its scene changes for good, and by length."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bgsub.options import RunOptions
from bgsub.segments.moments import Film, Moments
from bgsub.video.timecode import Position, parse_step

AUTO_FRAMES = 15_000
"""Frames up to which ``auto`` leaves a film as it is, and that it makes segments of at most."""

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
    state : int
        Of the scene, from 1; segments of one state follow each other.
    """

    first: int
    reason: str
    state: int = 1


def divide(film: Film, options: RunOptions) -> list[Bound]:
    """Divide the frames that are selected of a film into segments.

    Parameters
    ----------
    film : Film
    options : RunOptions
        ``segment`` is ``auto`` or a length.

    Returns
    -------
    list of Bound
        In order; the first one is the first frame that is selected.
    """
    moments = film.moments
    is_auto = options.segment == "auto"
    if is_auto and moments.numbers.size <= AUTO_FRAMES:
        return [Bound(int(moments.numbers[0]), "beginning")]
    length = Position(frame=AUTO_FRAMES) if is_auto else parse_step(options.segment, "--segment")
    unit = " frames" if length.seconds is None else ""
    reason = f"after {AUTO_FRAMES if is_auto else options.segment}{unit}"
    bounds: list[Bound] = []
    states = _states(film)
    for state, (place, why) in enumerate(states, start=1):
        stop = states[state][0] if state < len(states) else moments.numbers.size
        part = Moments(moments.numbers[place:stop], moments.times[place:stop])
        own = [Bound(int(part.numbers[at]), reason, state) for at in equal_parts(part, length)]
        bounds += [replace(own[0], reason=why), *own[1:]]
    return bounds


def _states(film: Film) -> list[tuple[int, str]]:
    """Give the places among the frames at which the states of the scene begin, and why."""
    from bgsub.segments.changes import find_changes  # a film in one piece needs none

    numbers = film.moments.numbers
    found = [(0, "beginning")]
    for change in find_changes(film):
        place = int(np.searchsorted(numbers, change.first))
        if place - found[-1][0] >= _LEAST and numbers.size - place >= _LEAST:
            found.append((place, change.reason))
    return found


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
