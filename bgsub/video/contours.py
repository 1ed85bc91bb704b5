"""Measure and fill outlines that OpenCV has found in a mask."""

from __future__ import annotations

import cv2
import numpy as np

from bgsub.video.frames import Bytes


def pixels_within(outline: cv2.typing.MatLike) -> float:
    """Count the pixels that an outline (``cv2.CHAIN_APPROX_NONE``) encloses, with its own.

    By Pick's theorem: with A the area of the polygon through the centres of the b pixels of the
    outline, it covers A + b/2 + 1 pixels.
    """
    return 1.0 if len(outline) == 1 else cv2.contourArea(outline) + len(outline) / 2 + 1


def cut_out(mask: Bytes, outline: cv2.typing.MatLike) -> tuple[int, int, Bytes]:
    """Return the upper left corner of an outline's box, and 1 where the mask is set within it.

    Foreground must have its lowest bit set.
    """
    x, y, wide, high = cv2.boundingRect(outline)
    inside = filled(outline, x, y, wide, high)
    cv2.bitwise_and(inside, mask[y : y + high, x : x + wide], dst=inside)
    return x, y, inside


def filled(outline: cv2.typing.MatLike, x: int, y: int, width: int, height: int) -> Bytes:
    """Fill an outline in a box: 1 at what it encloses, itself included, 0 elsewhere."""
    inside = np.zeros((height, width), np.uint8)
    cv2.drawContours(inside, [outline], -1, 1, cv2.FILLED, offset=(-x, -y))
    return inside
