"""Shrink pictures to the size that scores are made at; plan the frames and memory of learning."""

from __future__ import annotations

import math
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.outliers.sweeping_shadow import Singles

LEVEL_FRAMES = 192
"""Clean frames from which levels are estimated."""

NOISE_FRAMES = 96
"""Frames among them that the noise of pixels is of."""

WINDOW_SIDE = 5
WINDOW_FACTORS = (1, 2, 4)
"""Windows are of so many pixels a side, of the picture shrunk by these factors."""

_WORKING_PIXELS = 320 * 240

# Pictures of the shrunk size, in float32: those that pass together, twice, and those that a thread
# has at a time.
_PASSING_PICTURES = 16
_WORKING_PICTURES = 16


def shrinking(height: int, width: int) -> int:
    """Give the whole number that pictures are shrunk by in both directions."""
    return max(1, round(math.sqrt(height * width / _WORKING_PIXELS)))


def scorer_bytes(pixels: int, n_frames: int, k: int, threads: int) -> tuple[int, int]:
    """Count the bytes of learning a scorer: while frames pass, and at its end.

    Parameters
    ----------
    pixels : int
        Of a frame.
    n_frames, k, threads : int
        Frames that are fitted, components, and threads that work.
    """
    factor = shrinking(1, pixels)
    small = pixels // factor**2
    pictures = min(n_frames, LEVEL_FRAMES) * small * (1 if factor == 1 else 2)
    sums = 4 * (2 * (k + 1) + 1 + _PASSING_PICTURES) * small
    places = min(n_frames, NOISE_FRAMES) * small * (2 + 4)
    light = 4 * (2 * k + 6 + 4) * small
    working = threads * (_WORKING_PICTURES * 4 * small + 4 * pixels)
    return pictures + sums + working, pictures + sums + places + light + working


def shrink(picture: NDArray[Any], factor: int) -> Singles:
    """Shrink a picture by means over squares; a rest at the right and below is left out."""
    height, width = picture.shape[0] // factor, picture.shape[1] // factor
    whole = picture[: height * factor, : width * factor]
    if factor > 1:
        # Averaged in float32: whole grey levels would add the noise of rounding.
        whole = np.asarray(whole, dtype=np.float32)
        whole = cv2.resize(whole, (width, height), interpolation=cv2.INTER_AREA)
    return np.ascontiguousarray(whole, dtype=np.float32)


def shrink_inside(inside: NDArray[np.bool_] | None, shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Give the squares all pixels of which count, or the best ones if there are none."""
    factor = shrinking(*shape)
    if inside is None:
        return np.ones((shape[0] // factor, shape[1] // factor), dtype=np.bool_)
    share = shrink(inside.astype(np.uint8), factor)
    return np.asarray(share >= min(1.0, float(share.max())))
