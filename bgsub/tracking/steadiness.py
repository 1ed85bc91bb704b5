"""Say whether a speck has moved steadily, and where it was before that was known."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np

from bgsub.local.specks import STRONG
from bgsub.tracking.detections import Detection

_WINDOWS = (12, 24, 48, 96)
"""Frames in which an object moves as far as it must."""

LONGEST = _WINDOWS[-1]
"""Frames after which at the latest a speck that moves steadily is known to be an object."""

_FAR, _FARTHER = 1, 3
"""Its own sizes by which it moves: one that is strong, and one that is not."""

_CHECKS = 4
"""How often in each of these windows that is looked at."""

_SEEN = 0.75
"""Share of the frames of a window in which it is seen."""

_FORGOTTEN = 12
"""Frames without being seen after which something is given up."""

_PARTS = 4
"""Parts of these frames; where it was in each is the mean of its places."""

_STRAIGHT = 0.8
"""Straight way from the first part to the last over the way by the others, at least."""

_EVEN = 0.3
"""Way from part to part over its share of the straight way, at least: leaves jump, and rest."""

_ALIKE = 2.5
"""Factor between areas of one thing, from frame to frame, at most."""

_MERGED = 1.4
"""Areas of something that a region has, at least, in which it is together with another."""


class Place(NamedTuple):
    """Where something was seen, its pixels, and how strong it was in thresholds.

    A speck has the box around it and its highest score too; what the mask shows has no box.
    """

    frame: int
    x: float
    y: float
    area: float
    strength: float
    left: int = 0
    top: int = 0
    width: int = 0
    height: int = 0
    peak: float = math.nan


class Earlier(NamedTuple):
    """Where an object was before it was known to be one.

    Attributes
    ----------
    ago : int
        Frames before the one in which it is known.
    region : Detection
        What it looked like there.
    """

    ago: int
    region: Detection


class Recognized(NamedTuple):
    """Something that is known to be an object from a frame on.

    Attributes
    ----------
    x, y : float
        Its centroid in that frame, in pixels.
    earlier : tuple of Earlier
        Where it was in the frames before, in which the mask does not show it.
    """

    x: float
    y: float
    earlier: tuple[Earlier, ...]


@dataclass(eq=False)
class Way:
    """Where something has been alone, where it was seen last, and whether it is an object."""

    seen: Place
    places: deque[Place] = field(default_factory=lambda: deque(maxlen=LONGEST))
    is_object: bool = False
    is_known: bool = False
    area: float = 0.0
    """Its usual pixels, of which a few frames with another say nothing."""

    def expected(self, frame: int) -> tuple[float, float]:
        """Predict where it will be in a frame, going on as over the last places."""
        x, y = self.seen.x, self.seen.y
        if len(self.places) < 2 or self.places[-1] is not self.seen:
            return x, y
        before = self.places[max(-_PARTS, -len(self.places))]
        ahead = (frame - self.seen.frame) / (self.seen.frame - before.frame)
        return x + ahead * (x - before.x), y + ahead * (y - before.y)

    def see(self, place: Place, *, is_free: bool = True) -> bool:
        """Take a place for where it is, alone or with another, if that can be.

        Parameters
        ----------
        place : Place
        is_free : bool
            Whether it may be there alone.
        """
        growth = place.area / self.area if self.places else 1.0
        if is_free and 1 / _ALIKE <= growth <= _ALIKE:
            self.places.append(place)
            areas = sorted(each.area for each in islice(reversed(self.places), _WINDOWS[0]))
            self.area = areas[len(areas) // 2]
            self.is_object = self.is_object or self._moves()
        elif growth < _MERGED:
            return False
        self.seen = place
        return True

    def recognized(self) -> Recognized:
        """Say where it was while it was no object yet, within the longest window."""
        now = self.places[-1]
        earlier = [
            Earlier(
                now.frame - one.frame,
                Detection(
                    (one.left, one.top, one.width, one.height), one.x, one.y, one.area, one.peak
                ),
            )
            for one in self.places
            if one.width and now.frame - LONGEST < one.frame < now.frame
        ]
        return Recognized(now.x, now.y, tuple(earlier))

    def is_followed(self, frame: int) -> bool:
        """Say whether something can still be an object, or become one.

        What has been together with another for a quarter of the longest window has not been seen
        alone in enough of any window that its places from before are in.
        """
        if frame - self.seen.frame > _FORGOTTEN:
            return False
        return self.is_object or frame - self.places[-1].frame <= (1 - _SEEN) * LONGEST

    def _moves(self) -> bool:
        """Say whether it has moved steadily for one of the windows that end now."""
        now = self.places[-1].frame
        return any(
            _is_steady([each for each in self.places if now - each.frame < window], window)
            for window in _WINDOWS
            if now % (window // _CHECKS) == 0
        )


def _is_steady(places: list[Place], window: int) -> bool:
    """Say whether places of so many frames are those of something that moves steadily."""
    count = len(places)
    if count < _SEEN * window:
        return False
    values = np.array(places)[count % _PARTS :]
    at = values[:, 1:3].reshape(_PARTS, -1, 2).mean(axis=1)
    steps = [math.dist(one, two) for one, two in pairwise(at)]
    straight = math.dist(at[0], at[-1])
    size, strength = math.sqrt(values[:, 3].mean()), values[:, 4].mean()
    return bool(
        straight >= (_FAR if strength >= STRONG else _FARTHER) * size
        and straight >= _STRAIGHT * sum(steps)
        and min(steps) >= _EVEN * straight / len(steps)
    )
