"""Say how large pictures are scored, from how many frames, and the memory that learning takes."""

from __future__ import annotations

import math

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
