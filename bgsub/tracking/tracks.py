"""Sum up tracks: when and where each object came and went, how far and how fast it moved."""

from __future__ import annotations

import math
from array import array
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from bgsub.tracking.detections import Box
from bgsub.tracking.tracker import Observation

Side = Literal["left", "right", "top", "bottom", "inside"]

_BORDER = 0.015
"""Distance from the border, in shares of the picture's longer side, up to which a box is at it."""

_STILL = 0.1
"""Sizes of the object that it may move within `_STILL_S` and be at rest."""

_STILL_S = 1.0

_STEP = 0.1
"""Sizes of the object by which it must have moved for its path to grow: outlines breathe."""

_MOST_SPEEDS = 4096
"""Speeds that are kept of a track for their median; every second one goes when they are more."""


@dataclass(frozen=True)
class Track:
    """An object from its first frame to its last.

    Attributes
    ----------
    track : int
        Number of the track, from 1.
    first_frame, last_frame : int
        Both included.
    start_s, end_s, duration_s : float
        Times of these frames, and what lies between them.
    path_px, displacement_px : float
        Length of its way, and distance between its first and its last place, in pixels.
    median_speed, peak_speed : float
        Pixels a second, over half a second each.
    median_area : float
        Pixels.
    entered, left : {"left", "right", "top", "bottom", "inside"}
        The side of the picture, or of what --roi keeps of it, that its first and last box touch.
    rest_s : float
        Seconds in which it moved by less than a tenth of its size a second.
    frames : int
        Frames in which it was seen.
    """

    track: int
    first_frame: int
    last_frame: int
    start_s: float
    end_s: float
    duration_s: float
    path_px: float
    displacement_px: float
    median_speed: float
    peak_speed: float
    median_area: float
    entered: Side
    left: Side
    rest_s: float
    frames: int

    def to_dict(self) -> dict[str, Any]:
        """Give the values by the names of the columns of tracks.csv."""
        return asdict(self)


class TrackRecorder:
    """Collect what a track is summed up from, frame by frame.

    Parameters
    ----------
    first : Observation
    region : tuple of four ints
        x, y, width and height of what was looked at: the picture, or the part that --roi keeps.

    Notes
    -----
    Memory does not grow with the length of the track.
    """

    def __init__(self, first: Observation, region: tuple[int, int, int, int]) -> None:
        self._region = region
        self._first = self._last = first
        self._anchor = (first.cx, first.cy)
        self._resting = (first.time_s, first.cx, first.cy)
        self._recent: list[tuple[float, float, float]] = []
        self._path = self._rest = self._peak = 0.0
        self._speeds, self._areas = _Thinned(), _Thinned()
        self._frames = 0
        self.add(first)

    @property
    def last_time_s(self) -> float:
        """Time at which the object was seen last."""
        return self._last.time_s

    def add(self, seen: Observation) -> None:
        """Take in the object's next frame."""
        size = math.sqrt(max(seen.box[2] * seen.box[3], 1.0))
        place = (seen.cx, seen.cy)
        step = math.dist(place, self._anchor)
        if step > max(_STEP * size, 1.0):
            self._path += step
            self._anchor = place
        self._measure_speed(seen)
        self._measure_rest(seen, size)
        self._areas.add(seen.area)
        self._frames += 1
        self._last = seen

    def _measure_speed(self, seen: Observation) -> None:
        self._recent.append((seen.time_s, seen.cx, seen.cy))
        while seen.time_s - self._recent[0][0] > 0.5 and len(self._recent) > 2:
            self._recent.pop(0)
        time_s, x, y = self._recent[0]
        if seen.time_s > time_s:
            speed = math.dist((x, y), (seen.cx, seen.cy)) / (seen.time_s - time_s)
            self._speeds.add(speed)
            if seen.time_s - time_s >= 0.2:
                self._peak = max(self._peak, speed)

    def _measure_rest(self, seen: Observation, size: float) -> None:
        _, x, y = self._resting
        if math.dist((x, y), (seen.cx, seen.cy)) > max(_STILL * size, 1.0):
            self._rest += self._present_rest()
            self._resting = (seen.time_s, seen.cx, seen.cy)

    def _present_rest(self) -> float:
        """Seconds for which it has been at rest, 0 while it moves."""
        still = self._last.time_s - self._resting[0]
        return still if still >= _STILL_S else 0.0

    def summary(self) -> Track:
        """Sum up the track as it is so far."""
        first, last = self._first, self._last
        return Track(
            track=first.track,
            first_frame=first.frame,
            last_frame=last.frame,
            start_s=first.time_s,
            end_s=last.time_s,
            duration_s=last.time_s - first.time_s,
            path_px=self._path,
            displacement_px=math.dist((first.cx, first.cy), (last.cx, last.cy)),
            median_speed=self._speeds.median(),
            peak_speed=max(self._peak, self._speeds.median()),
            median_area=self._areas.median(),
            entered=side_of(first.box, self._region),
            left=side_of(last.box, self._region),
            rest_s=self._rest + self._present_rest(),
            frames=self._frames,
        )


class _Thinned:
    """Numbers for a median, at most so many: evenly thinned out as they become more."""

    def __init__(self) -> None:
        self._values = array("d")
        self._every = 1
        self._skip = 0

    def add(self, value: float) -> None:
        self._skip += 1
        if self._skip < self._every:
            return
        self._skip = 0
        self._values.append(value)
        if len(self._values) > _MOST_SPEEDS:
            self._values = self._values[::2]
            self._every *= 2

    def median(self) -> float:
        return float(np.median(self._values)) if self._values else 0.0


def side_of(box: Box, region: tuple[int, int, int, int]) -> Side:
    """Name the side of a region that a box touches, the nearest of several.

    Parameters
    ----------
    box : tuple of four floats
        x, y, width, height in pixels.
    region : tuple of four ints
        Likewise.
    """
    x, y, width, height = region
    distances: dict[Side, float] = {
        "left": box[0] - x,
        "right": x + width - box[0] - box[2],
        "top": box[1] - y,
        "bottom": y + height - box[1] - box[3],
    }
    nearest = min(distances, key=lambda side: distances[side])
    return nearest if distances[nearest] <= max(_BORDER * max(width, height), 1.0) else "inside"
