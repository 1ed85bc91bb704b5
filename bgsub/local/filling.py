"""Fill in the background behind an object from the border inwards, by what continues it."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.clean_frames import Singles
from bgsub.local.positions import positions
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
    if not known.any() or not hole.any():
        return base.copy()
    picture = _Filled(base, known)
    cross = np.ones((3, 3), np.uint8)
    while not known.all():
        places = (cv2.dilate(known.view(np.uint8), cross) > 0) & ~known
        picture.settle(_Candidates(places, colors, shares, allowed), sigma)
        known |= places
    candidates = _Candidates(hole, colors, shares, allowed)
    for _ in range(_ROUNDS):
        picture.settle(candidates, sigma)
    return picture.picture


class _Candidates:
    """The layers that are allowed at some places, as lists: of m places, and of all p layers."""

    def __init__(
        self, places: NDArray[np.bool_], colors: Bytes, shares: Singles, allowed: NDArray[np.bool_]
    ) -> None:
        self.y, self.x = positions(places)
        self.layer, self.place = np.nonzero(allowed[:, self.y, self.x])
        at = self.layer, self.y[self.place], self.x[self.place]
        self.colors = colors[at]
        self.prior = _PULL * np.log(np.maximum(shares[at], 1e-3))

    def cheapest(self, cost: Singles) -> Bytes:
        """Colours of the layers of least cost at all places, shape (m, 3)."""
        costs = np.full((self.layer.max() + 1, self.y.size), np.inf, np.float32)
        costs[self.layer, self.place] = cost
        number = np.empty(costs.shape, np.intp)
        number[self.layer, self.place] = np.arange(self.layer.size)
        chosen = number[costs.argmin(axis=0), np.arange(self.y.size)]
        return np.asarray(self.colors[chosen], dtype=np.uint8)


class _Filled:
    """A picture that is being filled, with a rim of unknown pixels as wide as is looked."""

    def __init__(self, base: Bytes, known: NDArray[np.bool_]) -> None:
        rim = (_REACH, _REACH)
        self._wide = np.pad(base, (rim, rim, (0, 0)))
        self._known = np.pad(known, _REACH)

    @property
    def picture(self) -> Bytes:
        """Without the rim, shape (h, w, 3)."""
        return self._wide[_REACH:-_REACH, _REACH:-_REACH].copy()

    def settle(self, candidates: _Candidates, sigma: float) -> None:
        """Give some places the colours of the best layers."""
        width = self._known.shape[1]
        colors, known = self._wide.reshape(-1, 3), self._known.reshape(-1)
        at = (candidates.y + _REACH) * width + candidates.x + _REACH
        pairs = at[candidates.place]
        in_sigmas = np.minimum(np.arange(256, dtype=np.int16) / np.float32(sigma), _CAP)
        least = np.full(pairs.size, _CAP, np.float32)
        total = np.zeros_like(least)
        count = np.zeros(at.size, np.float32)
        for down, right in _OFFSETS:
            off = down * width + right
            apart = cv2.absdiff(candidates.colors, colors.take(pairs + off, axis=0))
            blue, green, red = apart.T
            difference = in_sigmas.take(np.maximum(np.maximum(blue, green), red))
            settled = known.take(at + off)
            if not settled.all():
                there = settled[candidates.place]
                total += difference * there
                difference[~there] = _CAP
            else:
                total += difference
            np.minimum(least, difference, out=least)
            count += settled
        around = 0.5 * total / np.maximum(count, 1)[candidates.place]
        cost = np.asarray(least + around - candidates.prior, dtype=np.float32)
        colors[at] = candidates.cheapest(cost)
        known[at] = True
