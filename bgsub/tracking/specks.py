"""Follow specks from frame to frame, and find out which are objects: those that move steadily."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import NamedTuple

import cv2
import numpy as np

from bgsub.local.specks import STRONG, Speck
from bgsub.video.frames import Bytes

_WINDOWS = (12, 24, 48, 96)
"""Frames in which an object moves as far as it must."""

_FAR, _FARTHER = 1, 3
"""Its own sizes by which it moves: one that is strong, and one that is not."""

_CHECKS = 4
"""How often in each of these windows that is looked at."""

_FORGOTTEN = 12
"""Frames without being seen after which something is given up."""

_SEEN = 0.75
"""Share of the frames of a window in which it is seen."""

_PARTS = 4
"""Parts of these frames; where it was in each is the mean of its places."""

_STRAIGHT = 0.8
"""Straight way from the first part to the last over the way by the others, at least."""

_EVEN = 0.3
"""Way from part to part over its share of the straight way, at least: leaves jump, and rest."""

_REACH, _LEAST_REACH = 1, 2
"""Its own sizes, and pixels more, up to which something is looked for where it is expected."""

_ALIKE = 2.5
"""Factor between areas of one thing, from frame to frame, at most."""

_MERGED = 1.4
"""Areas of something that a region has, at least, in which it is together with another."""

_BESIDE, _LARGER = 2, 4
"""Sizes of a speck around it in which so many times its area of an object are what it is of."""


class _Place(NamedTuple):
    """Where something was seen, its pixels, and how strong it was in thresholds."""

    frame: int
    x: float
    y: float
    area: float
    strength: float


@dataclass(eq=False)
class _Way:
    """Where something has been alone, where it was seen last, and whether it is an object."""

    seen: _Place
    places: deque[_Place] = field(default_factory=lambda: deque(maxlen=_WINDOWS[-1]))
    is_object: bool = False

    def expected(self, frame: int) -> tuple[float, float]:
        """Predict where it will be in a frame, going on as over the last places."""
        x, y = self.seen.x, self.seen.y
        if len(self.places) < 2 or self.places[-1] is not self.seen:
            return x, y
        before = self.places[max(-_PARTS, -len(self.places))]
        ahead = (frame - self.seen.frame) / (self.seen.frame - before.frame)
        return x + ahead * (x - before.x), y + ahead * (y - before.y)

    def see(self, place: _Place, *, is_free: bool = True) -> bool:
        """Take a place for where it is, alone or with another, if that can be.

        Parameters
        ----------
        place : _Place
        is_free : bool
            Whether it may be there alone.
        """
        growth = place.area / self._area() if self.places else 1.0
        if is_free and 1 / _ALIKE <= growth <= _ALIKE:
            self.places.append(place)
            self.is_object = self.is_object or self._moves()
        elif growth < _MERGED:
            return False
        self.seen = place
        return True

    def _area(self) -> float:
        """Give its usual pixels, of which a few frames with another say nothing."""
        areas = sorted(each.area for each in islice(reversed(self.places), _WINDOWS[0]))
        return areas[len(areas) // 2]

    def _moves(self) -> bool:
        """Say whether it has moved steadily for one of the windows that end now."""
        now = self.places[-1].frame
        return any(
            _is_steady([each for each in self.places if now - each.frame < window], window)
            for window in _WINDOWS
            if now % (window // _CHECKS) == 0
        )


class SpeckFilter:
    """Add the specks that are objects to the masks of a film, frame by frame.

    A speck is an object if it was seen in three quarters of 12, 24, 48 or 96 frames and moved
    through them straight and evenly: by its own size if it was three thresholds strong on average,
    by three times its size if it was weaker; frames in which the mask shows it count as strong. It
    stays an object for as long as it is followed. A mask depends on the frames before it alone, so
    the first dozen frames of a speck are missed.

    Notes
    -----
    Each frame O(m·n) for n specks and m that are followed; nothing where there are none.
    """

    def __init__(self) -> None:
        self._frame = 0
        self._ways: list[_Way] = []

    def add(self, mask: Bytes, specks: Sequence[Speck]) -> Bytes:
        """Give the mask of the next frame with the specks that are objects.

        Parameters
        ----------
        mask : ndarray of uint8, shape (h, w)
            0 or 255.
        specks : sequence of Speck
            What `bgsub.local.specks.find_specks` found beside the mask.

        Returns
        -------
        ndarray of uint8, shape (h, w)
            The mask that was given where there is nothing to add.
        """
        self._frame += 1
        if not specks and not self._ways:
            return mask
        places = {
            _place(speck.inside, speck.x, speck.y, self._frame, speck.strength): speck
            for speck in specks
            if not _is_beside(speck, mask)
        }
        objects = self._link(list(places))
        for way in self._ways:
            if way.seen.frame < self._frame:
                self._find_in_mask(way, mask)
        self._ways = [way for way in self._ways if self._frame - way.seen.frame <= _FORGOTTEN]
        return _drawn(mask, [places[place] for place in objects]) if objects else mask

    def _link(self, places: list[_Place]) -> set[_Place]:
        """Follow ways to the nearest places, and give the places of objects."""
        objects, taken = set(), set()
        for way, place in self._pairs(places):
            if way.seen.frame < self._frame and way.see(place, is_free=place not in taken):
                taken.add(place)
                if way.is_object:
                    objects.add(place)
        for place in places:
            if place not in taken:
                self._ways.append(_Way(place))
                self._ways[-1].see(place)
        return objects

    def _pairs(self, places: list[_Place]) -> list[tuple[_Way, _Place]]:
        """Give ways and the places within their reach, the nearest first."""
        if not places or not self._ways:
            return []
        ahead = np.array([way.expected(self._frame) for way in self._ways])
        there = np.array(places)
        off = np.hypot(*(ahead[:, None] - there[None, :, 1:3]).transpose(2, 0, 1))
        i, j = np.nonzero(off <= _REACH * np.sqrt(there[:, 3]) + _LEAST_REACH)
        order = np.argsort(off[i, j], kind="stable")
        return [(self._ways[a], places[b]) for a, b in zip(i[order], j[order], strict=True)]

    def _find_in_mask(self, way: _Way, mask: Bytes) -> None:
        """Look for something in the mask where it is expected, alone or with another."""
        x, y = way.expected(self._frame)
        reach = math.ceil(_REACH * math.sqrt(way.seen.area) + _LEAST_REACH)
        left, top = max(round(x) - reach, 0), max(round(y) - reach, 0)
        part = mask[top : top + 2 * reach + 1, left : left + 2 * reach + 1]
        if part.size and cv2.hasNonZero(part):
            way.see(_place(part, left, top, self._frame, STRONG))


def _place(shape: Bytes, left: int, top: int, frame: int, strength: float) -> _Place:
    moments = cv2.moments(shape, binaryImage=True)
    area = moments["m00"]
    x, y = moments["m10"] / area + left + 0.5, moments["m01"] / area + top + 0.5
    return _Place(frame, x, y, area, strength)


def _is_beside(speck: Speck, mask: Bytes) -> bool:
    """Say whether a larger object is near."""
    high, wide = speck.inside.shape
    around = _BESIDE * math.ceil(math.sqrt(high * wide))
    top, left = max(speck.y - around, 0), max(speck.x - around, 0)
    part = mask[top : speck.y + high + around, left : speck.x + wide + around]
    return cv2.countNonZero(part) >= _LARGER * cv2.countNonZero(speck.inside)


def _is_steady(places: list[_Place], window: int) -> bool:
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


def _drawn(mask: Bytes, specks: Sequence[Speck]) -> Bytes:
    result = mask.copy()
    for x, y, inside, _ in specks:
        high, wide = inside.shape
        result[y : y + high, x : x + wide][inside > 0] = 255
    return result
