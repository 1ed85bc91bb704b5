"""Find specks: what is too small for an object, or taken for a shadow, and yet stands out."""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np

from bgsub.local.cleanup import SCORE_LEVEL, in_hundredths
from bgsub.local.scoring import UNIT
from bgsub.video.contours import filled, pixels_within
from bgsub.video.frames import Bytes

_PEAK = 2
"""Thresholds that the strongest pixel of a speck exceeds: noise and faint light do not."""

STRONG = 3
"""Mean in thresholds from which a speck stands out by itself, nine times the noise of its place."""

_LEAST_PIXELS = 9
"""Smallest speck: what a single pixel's noise can leave of a mean over 3×3 pixels."""

MOST_AREA = 2
"""Least areas of an object below which a speck is: what is larger, light and shadows make too."""

_LONGEST = 3
"""Sides of a square of that area that a speck is long, at most."""

_OWN = 0.6
"""Share of its mean score that a pixel of a speck has, at least: the rest is its blur."""

_MANY = 50
"""Specks of a frame from which only strong ones count: light and leaves come in hundreds."""


class Speck(NamedTuple):
    """A small region that stands out.

    Attributes
    ----------
    x, y : int
        Upper left corner of its box.
    inside : ndarray of uint8, shape (height, width)
        1 at its pixels, 0 elsewhere in its box.
    strength : float
        Mean score in thresholds.
    peak : float
        Highest of the scores that masks are cut from within it, in thresholds.
    """

    x: int
    y: int
    inside: Bytes
    strength: float
    peak: float = float("nan")


def find_specks(
    raw: Bytes, mask: Bytes, score: Bytes, mean: Bytes, least_area: int
) -> tuple[Speck, ...]:
    """Find the small regions of a raw mask that did not become objects, and how strong they are.

    Of so few pixels a shadow cannot be told from a dark thing, nor noise from a small one. Motion
    can tell; this finds what is worth following.

    Parameters
    ----------
    raw : ndarray of uint8, shape (h, w)
        What the vote marked, 0 or 1.
    mask : ndarray of uint8, shape (h, w)
        The objects in it, 0 or 255; what touches them is part of them and no speck.
    score : ndarray of uint8, shape (h, w)
        In units of `UNIT` a threshold.
    mean : ndarray of uint8, shape (h, w)
        What the vote was made of, in the same unit.
    least_area : int
        Pixels of an object, at least.

    Returns
    -------
    tuple of Speck

    Notes
    -----
    O(h·w) to see that there is none, which is usual.
    """
    _, peaks = cv2.threshold(score, _PEAK * UNIT - 1, 1, cv2.THRESH_BINARY)
    peaks = cv2.bitwise_and(peaks, cv2.subtract(raw, mask))
    if not cv2.hasNonZero(peaks):
        return ()
    most = MOST_AREA * least_area
    longest = _LONGEST * most**0.5
    found: list[_Found] = []
    outlines, _ = cv2.findContours(raw, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    for outline in outlines:
        if not _LEAST_PIXELS <= pixels_within(outline) < most:
            continue
        x, y, wide, high = cv2.boundingRect(outline)
        part = np.s_[y : y + high, x : x + wide]
        if max(wide, high) > longest or not cv2.hasNonZero(peaks[part]):
            continue
        inside = filled(outline, x, y, wide, high)
        if not cv2.hasNonZero(cv2.bitwise_and(inside, mask[part])):
            found.append(_Found(x, y, inside, cv2.mean(score[part], inside)[0]))
    if len(found) > _MANY:
        found = [one for one in found if one.strength / UNIT >= STRONG]
    return tuple(_speck(one, score, mean) for one in found)


class _Found(NamedTuple):
    """A small region, at its place, and the mean of its scores."""

    x: int
    y: int
    inside: Bytes
    strength: float


def _speck(found: _Found, score: Bytes, mean: Bytes) -> Speck:
    """Leave out what is weak beside the rest, and look for the highest score."""
    x, y, inside, strength = found
    high, wide = inside.shape
    part = np.s_[y : y + high, x : x + wide]
    inside &= score[part] >= _OWN * strength
    highest = int(cv2.minMaxLoc(mean[part], inside)[1])
    peak = int(in_hundredths(np.full((1, 1), highest, np.uint8))[0, 0]) / SCORE_LEVEL
    return Speck(x, y, inside, strength / UNIT, peak)
