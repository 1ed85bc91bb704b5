"""Take a mask apart into its blobs, and say how far each stands out."""

from __future__ import annotations

from typing import NamedTuple

import cv2

from bgsub.local.scoring import UNIT
from bgsub.video.contours import cut_out
from bgsub.video.frames import Bytes


class Blob(NamedTuple):
    """A connected part of a mask.

    Attributes
    ----------
    x, y : int
        Upper left corner of its box.
    inside : ndarray of uint8, shape (height, width)
        1 at its pixels, 0 elsewhere in its box.
    area : int
        Its pixels.
    cx, cy : float
        Their mean place.
    strength : float
        Mean of `cleanup.mean_score` over them, in thresholds.
    """

    x: int
    y: int
    inside: Bytes
    area: int
    cx: float
    cy: float
    strength: float


def find_blobs(mask: Bytes, mean: Bytes) -> tuple[Blob, ...]:
    """Find the 8-connected blobs of a mask; what lies in the hole of one is of it.

    Parameters
    ----------
    mask : ndarray of uint8, shape (h, w)
        0 or 255.
    mean : ndarray of uint8, shape (h, w)
        See `cleanup.mean_score`.

    Returns
    -------
    tuple of Blob

    Notes
    -----
    O(h·w) to follow the outlines.
    """
    found = []
    outlines, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    for outline in reversed(outlines):  # from top to bottom
        x, y, inside = cut_out(mask, outline)
        high, wide = inside.shape
        moments = cv2.moments(inside, binaryImage=True)
        area = moments["m00"]
        center = x + moments["m10"] / area, y + moments["m01"] / area
        strength = cv2.mean(mean[y : y + high, x : x + wide], inside)[0] / UNIT
        found.append(Blob(x, y, inside, round(area), *center, strength))
    return tuple(found)
