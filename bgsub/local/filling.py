"""Fill in the background behind an object from the border inwards, by what continues it."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.clean_frames import Singles
from bgsub.video.frames import Bytes

_REACH = 3
"""Pixels to either side whose settled colours are looked at."""

_PULL = 0.5
"""Weight of the logarithm of a layer's share, in σ."""

_CAP = 12.0
_ROUNDS = 4
_OFFSETS = [
    (down, right)
    for down in range(-_REACH, _REACH + 1)
    for right in range(-_REACH, _REACH + 1)
    if down or right
]


def fill_inwards(
    base: Bytes,
    hole: NDArray[np.bool_],
    colors: Bytes,
    shares: Singles,
    allowed: NDArray[np.bool_],
    sigma: float,
) -> Bytes:
    """Fill a hole in a picture, each pixel by the layer that continues its surroundings.

    The layer of least  min_q d + ½ mean_q d − ½ log share, over the settled pixels q around, with d
    the colour difference in σ, 12 at most.

    Parameters
    ----------
    base : ndarray of uint8, shape (h, w, 3)
    hole : ndarray of bool, shape (h, w)
    colors : ndarray of uint8, shape (K, h, w, 3)
    shares : ndarray of float32, shape (K, h, w)
    allowed : ndarray of bool, shape (K, h, w)
    sigma : float
        Noise in grey levels.

    Returns
    -------
    ndarray of uint8, shape (h, w, 3)
    """
    hole = hole & allowed.any(axis=0)
    known = ~hole
    filled = base.copy()
    if not known.any() or not hole.any():
        return filled
    cross = np.ones((3, 3), np.uint8)
    while not known.all():
        next_to = cv2.dilate(known.view(np.uint8), cross) > 0
        y, x = np.nonzero(next_to & ~known)
        filled[y, x] = _best(filled, known, y, x, colors, shares, allowed, sigma)
        known[y, x] = True
    y, x = np.nonzero(hole)
    for _ in range(_ROUNDS):
        filled[y, x] = _best(filled, known, y, x, colors, shares, allowed, sigma)
    return filled


def _best(
    base: Bytes,
    known: NDArray[np.bool_],
    y: NDArray[np.int64],
    x: NDArray[np.int64],
    colors: Bytes,
    shares: Singles,
    allowed: NDArray[np.bool_],
    sigma: float,
) -> Bytes:
    """Colours of the best layers at some pixels, shape (m, 3)."""
    height, width = known.shape
    own = np.ascontiguousarray(np.moveaxis(colors[:, y, x], 2, 0), dtype=np.int16)
    least = np.full(own.shape[1:], _CAP, np.float32)
    total = np.zeros_like(least)
    count = np.zeros(len(y), np.float32)
    for down, right in _OFFSETS:
        rows, columns = y + down, x + right
        settled = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
        rows, columns = np.clip(rows, 0, height - 1), np.clip(columns, 0, width - 1)
        settled &= known[rows, columns]
        blue, green, red = np.abs(own - base[rows, columns].T[:, None])
        difference = np.maximum(np.maximum(blue, green), red) / np.float32(sigma)
        np.minimum(difference, _CAP, out=difference)
        least = np.where(settled, np.minimum(least, difference), least)
        total += difference * settled
        count += settled
    cost = least + 0.5 * total / np.maximum(count, 1)
    cost -= _PULL * np.log(np.maximum(shares[:, y, x], 1e-3))
    chosen = np.where(allowed[:, y, x], cost, np.inf).argmin(axis=0)
    return np.asarray(colors[chosen, y, x], dtype=np.uint8)
