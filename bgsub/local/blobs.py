"""Take a mask apart into its blobs, and say how far each stands out."""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np

from bgsub.local.scoring import UNIT
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
    """Find the 8-connected blobs of a mask.

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
    O(h·w) for the box around the mask.
    """
    left, top, wide, high = cv2.boundingRect(mask)
    if not wide:
        return ()
    box = np.s_[top : top + high, left : left + wide]
    part, scores = mask[box], mean[box]
    count, labels, stats, centers = cv2.connectedComponentsWithStats(part, connectivity=8)
    found = []
    for label in range(1, count):
        x, y, across, down, area = stats[label].tolist()
        own = np.s_[y : y + down, x : x + across]
        inside = (labels[own] == label).view(np.uint8)
        strength = cv2.mean(scores[own], inside)[0] / UNIT
        cx, cy = centers[label].tolist()
        found.append(Blob(left + x, top + y, inside, area, left + cx, top + cy, strength))
    return tuple(found)
