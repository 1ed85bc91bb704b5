"""Measure outlines that OpenCV has found in a mask."""

from __future__ import annotations

import cv2


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
