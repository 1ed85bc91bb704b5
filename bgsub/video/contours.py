"""Measure and fill outlines that OpenCV has found in a mask."""

from __future__ import annotations

import cv2
import numpy as np

from bgsub.video.frames import Bytes


def pixels_within(outline: cv2.typing.MatLike) -> float:
    """Count the pixels that an outline encloses, its own included.

    By Pick's theorem: with A the area of the polygon through the centres of the b pixels of the
    outline, it covers A + b/2 + 1 pixels.

    Parameters
    ----------
    outline : ndarray of shape (b, 1, 2)
        Every pixel of it, as ``cv2.CHAIN_APPROX_NONE`` gives them.
    """
    return 1.0 if len(outline) == 1 else cv2.contourArea(outline) + len(outline) / 2 + 1


def cut_out(mask: Bytes, outline: cv2.typing.MatLike) -> tuple[int, int, Bytes]:
    """Cut out what an outline encloses of a mask.

    Parameters
    ----------
    mask : ndarray of uint8, shape (h, w)
        0 is background, anything else foreground with its lowest bit set.
    outline : ndarray of shape (b, 1, 2)

    Returns
    -------
    x, y : int
        Upper left corner of the box around it.
    inside : ndarray of uint8, shape (height, width)
        1 at its pixels, 0 elsewhere in the box.
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
