"""Choose what the fit of each segment sees: so many of its own frames, and some of its neighbours.

Somebody who stands through a whole segment is background to a fit that sees nothing else, and two
fits that have no frame in common may disagree at the border between them. So the sample of a
segment reaches over its borders, where the scene behind them is in the same state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bgsub.fit.memory_need import AUTO_FIT_FRAMES
from bgsub.options import RunOptions
from bgsub.segments.bounds import Bound
from bgsub.segments.moments import Film
from bgsub.video.entry import Place

LEAST_FITTED = 500
"""Frames that are fitted of every segment, if it has so many."""

_BORROWED = 0.6
"""Share of them that are the neighbours': what stays through a segment is the smaller part."""


class SampleShare(NamedTuple):
    """What the fit of a segment sees.

    Attributes
    ----------
    fit_frames : int
        Frames in all.
    before, after : tuple of Place
        Those among them of the segments before and behind it.
    """

    fit_frames: int
    before: tuple[Place, ...]
    after: tuple[Place, ...]


def share_sample(film: Film, bounds: Sequence[Bound], options: RunOptions) -> list[SampleShare]:
    """Share the frames that are fitted of a film among its segments, by their length.

    Each has `LEAST_FITTED`, or as many as ``--fit-frames`` says. With ``--fit-frames all`` a fit
    is that of the frames of the segment, and of no others.

    Parameters
    ----------
    film : Film
    bounds : sequence of Bound
        Where its segments begin.
    options : RunOptions
    """
    numbers = film.moments.numbers
    edges = np.append(np.searchsorted(numbers, [bound.first for bound in bounds]), numbers.size)

    def borrowed(neighbour: int, count: int) -> tuple[Place, ...]:
        first, last = numbers[edges[neighbour]], numbers[edges[neighbour + 1] - 1]
        return tuple(film.samples(int(first), int(last), count))

    shares = []
    for index, size in enumerate(np.diff(edges).tolist()):
        fitted = max(LEAST_FITTED, round(AUTO_FIT_FRAMES * size / numbers.size))
        sides = [
            side
            for side in (index - 1, index + 1)
            if 0 <= side < len(bounds) and bounds[side].state == bounds[index].state
        ]
        if isinstance(options.fit_frames, int):
            fitted = options.fit_frames
        found: dict[int, tuple[Place, ...]] = {}
        if sides and options.fit_frames != "all":
            # Of a segment that is shorter than its sample, all frames are the smaller part still.
            total = min(fitted, round(size / (1 - _BORROWED)))
            found = {side: borrowed(side, round(_BORROWED * total / len(sides))) for side in sides}
        shares.append(SampleShare(fitted, found.get(index - 1, ()), found.get(index + 1, ())))
    return shares
