"""Follow specks from frame to frame, and find out which are objects: those that move steadily."""

from __future__ import annotations

import math
from collections.abc import Sequence

import cv2
import numpy as np

from bgsub.local.specks import STRONG, Speck
from bgsub.tracking.steadiness import Place, Recognized, Way
from bgsub.video.frames import Bytes

_REACH, _LEAST_REACH = 1, 2
"""Its own sizes, and pixels more, up to which something is looked for where it is expected."""

_BESIDE, _LARGER = 2, 4
"""Sizes of a speck around it in which so many times its area of an object are what it is of."""


class SpeckFilter:
    """Add the specks that are objects to the masks of a film, frame by frame.

    A speck is an object if it was seen in three quarters of 12, 24, 48 or 96 frames and moved
    through them straight and evenly: by its own size if it was three thresholds strong on average,
    by three times its size if it was weaker; frames in which the mask shows it count as strong. It
    stays an object for as long as it is followed. A mask depends on the frames before it alone, so
    the first dozen frames of a speck are missed in masks; `recognized` says where it was in them.

    Attributes
    ----------
    recognized : list of Recognized
        What the last frame has shown to be objects.

    Notes
    -----
    Each frame O(m·n) for n specks and m that are followed; nothing where there are none.
    """

    def __init__(self) -> None:
        self._frame = 0
        self._ways: list[Way] = []
        self.recognized: list[Recognized] = []

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
        self.recognized = []
        if not specks and not self._ways:
            return mask
        places = {
            _place_of(speck, self._frame): speck for speck in specks if not _is_beside(speck, mask)
        }
        objects = self._link(list(places))
        for way in self._ways:
            if way.seen.frame < self._frame:
                self._find_in_mask(way, mask)
            if way.is_object and not way.is_known:
                way.is_known = True
                self.recognized.append(way.recognized())
        self._ways = [way for way in self._ways if way.is_followed(self._frame)]
        return _drawn(mask, [places[place] for place in objects]) if objects else mask

    def _link(self, places: list[Place]) -> set[Place]:
        """Follow ways to the nearest places, and give the places of objects."""
        objects, taken = set(), set()
        for way, place in self._pairs(places):
            if way.seen.frame < self._frame and way.see(place, is_free=place not in taken):
                taken.add(place)
                if way.is_object:
                    objects.add(place)
        for place in places:
            if place not in taken:
                self._ways.append(Way(place))
                self._ways[-1].see(place)
        return objects

    def _pairs(self, places: list[Place]) -> list[tuple[Way, Place]]:
        """Give ways and the places within their reach, the nearest first."""
        if not places or not self._ways:
            return []
        ahead = np.array([way.expected(self._frame) for way in self._ways])
        there = np.array(places)
        off = np.hypot(*(ahead[:, None] - there[None, :, 1:3]).transpose(2, 0, 1))
        i, j = np.nonzero(off <= _REACH * np.sqrt(there[:, 3]) + _LEAST_REACH)
        order = np.argsort(off[i, j], kind="stable")
        return [(self._ways[a], places[b]) for a, b in zip(i[order], j[order], strict=True)]

    def _find_in_mask(self, way: Way, mask: Bytes) -> None:
        """Look for something in the mask where it is expected, alone or with another."""
        x, y = way.expected(self._frame)
        reach = math.ceil(_REACH * math.sqrt(way.area) + _LEAST_REACH)
        left, top = max(round(x) - reach, 0), max(round(y) - reach, 0)
        part = mask[top : top + 2 * reach + 1, left : left + 2 * reach + 1]
        if part.size and cv2.hasNonZero(part):
            way.see(_place(part, left, top, self._frame, STRONG))


def _place(shape: Bytes, left: int, top: int, frame: int, strength: float) -> Place:
    moments = cv2.moments(shape, binaryImage=True)
    area = moments["m00"]
    x, y = moments["m10"] / area + left + 0.5, moments["m01"] / area + top + 0.5
    return Place(frame, x, y, area, strength)


def _place_of(speck: Speck, frame: int) -> Place:
    place = _place(speck.inside, speck.x, speck.y, frame, speck.strength)
    left, top, width, height = cv2.boundingRect(speck.inside)
    return place._replace(
        left=speck.x + left, top=speck.y + top, width=width, height=height, peak=speck.peak
    )


def _is_beside(speck: Speck, mask: Bytes) -> bool:
    """Say whether a larger object is near."""
    high, wide = speck.inside.shape
    around = _BESIDE * math.ceil(math.sqrt(high * wide))
    top, left = max(speck.y - around, 0), max(speck.x - around, 0)
    part = mask[top : speck.y + high + around, left : speck.x + wide + around]
    return cv2.countNonZero(part) >= _LARGER * cv2.countNonZero(speck.inside)


def _drawn(mask: Bytes, specks: Sequence[Speck]) -> Bytes:
    result = mask.copy()
    for speck in specks:
        high, wide = speck.inside.shape
        part = result[speck.y : speck.y + high, speck.x : speck.x + wide]
        part[speck.inside > 0] = 255
    return result
