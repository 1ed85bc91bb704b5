"""Tell changes from what jumps at the complete pictures of film that a codec freezes."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.layers import Layers, color_of
from bgsub.local.params import LocalParams
from bgsub.local.positions import positions
from bgsub.local.telling import UNKNOWN, frames_showing
from bgsub.robustpca.median import level_median, median, quantile
from bgsub.video.frames import Bytes

# Objects seldom cover more than a fifth of the picture; so many σ hold four fifths of normal values
# in both directions, and three of them nearly all.
_REST, _WITHIN, _APART = 0.8, 1.2816, 3.0

_PLACES, _FEWEST = 4096, 30
"""Pixels on edges that are looked at, at most and at least: a median of fewer is chance."""

_STRONG, _STRONGEST = 0.7, 0.99
"""Quantiles of the slopes of a place: its strong edges, which are those whose motion is measured,
and but for a few pixels its strongest."""

_BESIDE = np.ones((9, 9), np.uint8)
"""Pixels that a codec blurs what comes and goes over, which are of the place and not elsewhere."""

_BAND = np.ones((5, 5), np.uint8)
"""The same for its own edges: they lie on its outline."""


def jump_at(before: Bytes, after: Bytes) -> float:
    """Give the step in grey levels that is no change, as all of the picture jumps meanwhile.

    Parameters
    ----------
    before, after : ndarray of uint8, shape (n, h, w, 3)
        Pictures of the stretches before and after, the lengths of which may differ.

    Returns
    -------
    float
    """
    jump = np.abs(level_median(after) - level_median(before)).max(axis=2)
    return _APART * quantile(jump.ravel(), _REST) / _WITHIN


def weak_step(steps: list[Bytes], params: LocalParams) -> float:
    """Give the step in grey levels that no mask shows, from all steps of places that changed.

    Parameters
    ----------
    steps : list of ndarray of uint8, shape (m,)
        Largest channel differences of the pixels that changed at one time.
    params : LocalParams

    Returns
    -------
    float
        `LocalParams.contrast_share` of their contrast: half of all that differs is in steps that
        are larger.
    """
    levels = np.arange(256)
    counts = sum((np.bincount(one, minlength=256) for one in steps), np.zeros(256, np.int64))
    sums = np.cumsum(counts * levels)
    return params.contrast_share * int(np.searchsorted(sums, sums[-1] / 2))


class Elsewhere:
    """Edges of all the picture, to compare those of a place with in the same frames.

    A codec's errors displace edges, and other ones after each complete picture; but they do so
    everywhere. What moves no more than edges elsewhere does not move.

    Parameters
    ----------
    pictures : ndarray of uint8, shape (n, h, w, 3)
    layers : Layers
        Of these pictures.
    """

    def __init__(self, pictures: Bytes, layers: Layers) -> None:
        self._layers = layers
        gradient = _gradient(layers.colors[0])
        y, x = positions(gradient > 1)
        chosen = slice(None, None, max(1, -(-y.size // _PLACES)))
        self._y, self._x = y[chosen], x[chosen]
        self._gradient = gradient[self._y, self._x]
        levels = [_grey(one)[self._y, self._x] for one in pictures]
        self._levels = np.stack(levels)

    def motion(self, region: NDArray[np.bool_], state: NDArray[np.int8]) -> float:
        """Give the displacement in pixels of edges elsewhere, as strong as those of a place.

        Parameters
        ----------
        region : ndarray of bool, shape (h, w)
        state : ndarray of int8, shape (h, w)
            Layers that the place shows in the frames that are looked at.

        Returns
        -------
        float
            `UNKNOWN` where there are too few such frames or edges.
        """
        y, x = positions(region)
        frames = frames_showing(self._layers.labels[:, y, x], state[y, x])
        if frames.size < 3:
            return UNKNOWN
        shape = region.view(np.uint8)
        own = _gradient(color_of(self._layers.colors, state))[cv2.dilate(shape, _BAND) > 0]
        weakest, strongest = (quantile(own, share) for share in (_STRONG, _STRONGEST))
        alike = (self._gradient >= weakest) & (self._gradient <= max(strongest, weakest + 1))
        alike &= cv2.dilate(shape, _BESIDE)[self._y, self._x] == 0
        if np.count_nonzero(alike) < _FEWEST:
            return UNKNOWN
        shown = self._levels[frames]
        away = shown - level_median(shown)
        away -= median(away, axis=1)[:, None]  # the light
        return float(median(np.abs(away[:, alike]).mean(axis=0) / self._gradient[alike]))


def _grey(picture: Bytes) -> Bytes:
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY), np.uint8)


def _gradient(picture: Bytes) -> NDArray[np.float32]:
    grey = _grey(picture)
    down, right = cv2.Sobel(grey, cv2.CV_32F, 0, 1), cv2.Sobel(grey, cv2.CV_32F, 1, 0)
    return np.asarray(np.hypot(down, right) / np.float32(8), np.float32)
