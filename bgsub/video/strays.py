"""Find timestamps that cannot be those of their pictures, and put others in their place.

Decoders give pictures in the order in which they are seen, whatever their timestamps say. One that
lies before that of an earlier picture, or far beyond those that follow, was damaged.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bgsub.video.clock import RESTART_S
from bgsub.video.survey import PictureNote, Survey

# So many stamps before and after one say whether it is alone with its time.
_NEIGHBOURS = 9
_LEAST_PART = 3
# With a larger share of strays the order of the pictures is not that of their times at all.
_FEW = 0.25
_SAME_COUNT = 0.25
# Shares of a step within which two frames have one time, and beyond which a place is free.
_SAME_TIME, _FREE = 0.3, 0.7


@dataclass(frozen=True)
class Mended:
    """What became of timestamps.

    Attributes
    ----------
    pictures : list of int
        Those that have another now, by their place among all.
    is_sure : bool
        Whether there is but one place for each of them.
    """

    pictures: list[int]
    is_sure: bool = True


def without_leaps(stamps: Sequence[float]) -> list[float]:
    """Leave out the timestamps that are alone far before or far behind all of their neighbours.

    Parameters
    ----------
    stamps : sequence of float
        Seconds in the order of the file, in which pictures may be out of order by a few.

    Examples
    --------
    >>> without_leaps([0.0, 0.04, 900.0, 0.08, 0.12])
    [0.0, 0.04, 0.08, 0.12]
    >>> without_leaps([8.0, 8.04, 0.0, 0.04])
    [8.0, 8.04, 0.0, 0.04]
    """
    kept = []
    for place, stamp in enumerate(stamps):
        before = stamps[max(0, place - _NEIGHBOURS) : place]
        after = stamps[place + 1 : place + 1 + _NEIGHBOURS]
        if before and after:
            is_peak = stamp > max(*before, *after) + RESTART_S
            is_dip = stamp < min(*before, *after) - RESTART_S
            if is_peak or is_dip:
                continue
        kept.append(stamp)
    return kept


def mend(survey: Survey, latest_s: float = math.inf) -> Mended:
    """Give pictures whose timestamps are damaged, and their packets, the times between others'.

    Parameters
    ----------
    survey : Survey
        Is changed.
    latest_s : float
        Beyond this no timestamp can be.
    """
    _mend_lost_packets(survey, latest_s)
    strays: list[int] = []
    is_sure = True
    for part in _parts(survey.pictures):
        stamps = np.array([survey.pictures[index].stamp_s for index in part], dtype=np.float64)
        possible = np.flatnonzero(stamps <= latest_s)
        kept = possible[longest_rise(stamps[possible])]
        if part.size - kept.size > _FEW * part.size:
            continue
        step = float(np.median(np.diff(stamps[kept]))) if kept.size > 1 else 0.0
        kept = np.array(sorted({*kept.tolist(), *_late_comers(stamps, kept, step)}), dtype=np.intp)
        for first, last in _runs(part.size, kept):
            times, fits = _times_between(stamps, first, last, step)
            is_sure &= fits
            for index, time_s in zip(part[first:last], times, strict=True):
                _restamp(survey, int(index), time_s)
                strays.append(int(index))
    return Mended(strays, is_sure)


def longest_rise(stamps: NDArray[np.float64]) -> NDArray[np.intp]:
    """Give the places of as many values as possible of which none is less than the one before.

    Examples
    --------
    >>> longest_rise(np.array([0.0, 1.0, 90.0, 2.0, 1.5, 3.0])).tolist()
    [0, 1, 4, 5]
    """
    tails: list[float] = []
    ends: list[int] = []
    before = np.full(len(stamps), -1, dtype=np.intp)
    for place, stamp in enumerate(stamps):
        length = bisect.bisect_right(tails, stamp)
        before[place] = ends[length - 1] if length else -1
        tails[length : length + 1] = [float(stamp)]
        ends[length : length + 1] = [place]
    kept = []
    place = ends[-1] if ends else -1
    while place >= 0:
        kept.append(place)
        place = int(before[place])
    return np.array(kept[::-1], dtype=np.intp)


def _parts(pictures: list[PictureNote]) -> Iterator[NDArray[np.intp]]:
    """Give the pictures that have stamps, by parts of a film whose clock begins anew."""
    known = [i for i, picture in enumerate(pictures) if picture.stamp_s is not None]
    stamps = [pictures[i].stamp_s or 0.0 for i in known]
    start = 0
    for place in range(1, len(known)):
        before = stamps[max(start, place - _NEIGHBOURS) : place]
        if len(before) < _LEAST_PART:
            continue
        after = stamps[place : place + _NEIGHBOURS]
        if max(after) < float(np.median(before)) - RESTART_S:
            yield np.array(known[start:place], dtype=np.intp)
            start = place
    yield np.array(known[start:], dtype=np.intp)


def _runs(size: int, kept: NDArray[np.intp]) -> Iterator[tuple[int, int]]:
    """Give beginning and end of each stretch that is not kept."""
    for last, following in pairwise([-1, *kept.tolist(), size]):
        if following > last + 1:
            yield last + 1, following


def _late_comers(stamps: NDArray[np.float64], kept: NDArray[np.intp], step: float) -> Iterator[int]:
    """Find the pictures that came out of the decoder too late, by the places that wait for them."""
    for place in np.setdiff1d(np.arange(stamps.size), kept):
        near = stamps[max(0, place - _NEIGHBOURS) : place + _NEIGHBOURS]
        is_near = near.min() < stamps[place] < near.max()
        if is_near and _distance(stamps[kept], float(stamps[place])) > _FREE * step:
            yield int(place)


def _times_between(
    stamps: NDArray[np.float64], first: int, last: int, step: float
) -> tuple[list[float], bool]:
    """Give times for a stretch of strays, and whether there are as many places as strays."""
    count = last - first
    if first == 0 and last == stamps.size:
        return [step * i for i in range(count)], False
    if first == 0:
        return [float(stamps[last]) - step * i for i in range(count, 0, -1)], False
    start = float(stamps[first - 1])
    room = float(stamps[last]) - start if last < stamps.size else 0.0
    fits = step > 0 and abs(room / step - count - 1) < _SAME_COUNT
    if room > (count + 1) * step or last == stamps.size:
        return [start + step * i for i in range(1, count + 1)], False
    return [start + room * i / (count + 1) for i in range(1, count + 1)], fits


def _restamp(survey: Survey, index: int, time_s: float) -> None:
    picture = survey.pictures[index]
    if picture.packet is not None:
        survey.packets[picture.packet].stamp_s = time_s
    picture.stamp_s = time_s


def _mend_lost_packets(survey: Survey, latest_s: float) -> None:
    """Give packets without a picture another stamp where theirs is far off or that of another."""
    shown = {picture.packet for picture in survey.pictures}
    stamps = [packet.stamp_s for packet in survey.packets]
    taken = np.unique([s for i, s in enumerate(stamps) if i in shown and s is not None])
    if taken.size < 3:
        return
    step = float(np.median(np.diff(taken)))
    for place, packet in enumerate(survey.packets):
        around = stamps[max(0, place - _NEIGHBOURS) : place + 1 + _NEIGHBOURS]
        others = [stamp for stamp in around if stamp is not None and stamp != packet.stamp_s]
        if packet.stamp_s is None or place in shown or not others:
            continue
        is_near = min(others) - RESTART_S <= packet.stamp_s <= max(others) + RESTART_S
        is_far = packet.stamp_s > latest_s or not is_near
        if is_far or _distance(taken, packet.stamp_s) < _SAME_TIME * step:
            known = [stamp for stamp in stamps[:place] if stamp is not None]
            packet.stamp_s = known[-1] + step if known else others[0]


def _distance(stamps: NDArray[np.float64], stamp: float) -> float:
    """Give how far the nearest of increasing stamps is."""
    place = int(np.searchsorted(stamps, stamp))
    return float(np.abs(stamps[max(0, place - 1) : place + 1] - stamp).min())
