"""Measure the noise of the pixels of a film at rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.clean_frames import Singles, coarseness
from bgsub.robustpca.median import NORMAL_MAD, column_median, median
from bgsub.video.frames import Bytes

SHADOW_WINDOW = 5
"""Side in pixels of the windows in which shadows are told from objects."""

_NOISE_FRAMES = 100
# One frame of so many, the quantile that holds as many normal values on either side of their mean,
# and times their noise that of all frames is at most; on real films it is less than twice as much.
_AGREEING, _NORMAL_THIRD, _MOST_NOISE = 3, 0.4307, 2.0


def measure_noise(
    pictures: Bytes,
    center: Singles,
    each: Callable[..., Iterable[Bytes]] = map,
    side: int = 1,
) -> float:
    """Median over pixels and channels of their noise, in grey levels.

    Where most places are covered for half of the time, half of the frames are not of the place: no
    more than twice the noise of those that agree best counts.

    Parameters
    ----------
    pictures : ndarray of uint8, shape (n, h, w, 3)
    center : ndarray of float32, shape (h, w, 3)
        The place.
    each : callable, optional
        `map`, or `Workers.map`.
    side : int, optional
        Noise is that of the mean of so many by so many pixels, side by side: what sensors add to
        each by itself is not in it, what codecs and light add to all of them is.

    Returns
    -------
    float
    """
    chosen = np.linspace(0, len(pictures) - 1, min(len(pictures), _NOISE_FRAMES)).astype(np.int64)
    step = max(2, side) * coarseness(*center.shape[:2])
    part = _means(center, side)[::step, ::step]

    def usual(rows: slice) -> Bytes:
        """Median over the frames of each value in some rows, in eighths of a grey level."""
        own = part[rows]
        eighths = np.empty((chosen.size, own.size), np.uint8)
        for row, j in zip(eighths, chosen, strict=True):
            seen = _means(pictures[j, step * rows.start : step * rows.stop], side)
            difference = np.abs(seen[::step, ::step] - own).ravel()
            np.copyto(row, np.minimum(8 * difference, 255), casting="unsafe")
        return column_median(eighths)

    half = -(-len(part) // 2)
    medians = np.concatenate(list(each(usual, [slice(0, half), slice(half, len(part))])))
    noise = float(median((medians + 0.5) / 8)) / NORMAL_MAD
    return min(noise, _MOST_NOISE * _least_noise(pictures[chosen, :: 2 * step, :: 2 * step, 1]))


def _least_noise(pictures: Bytes) -> float:
    """Noise of the third of the frames that agree best, median over pixels of shape (n, h, w).

    From the shortest interval that holds their levels, of whatever the others show.
    """
    levels = np.sort(pictures.reshape(len(pictures), -1).T, axis=1)
    kept = -(-len(pictures) // _AGREEING)
    if kept == len(pictures):
        return np.inf
    widths = (levels[:, kept:] - levels[:, :-kept]).min(axis=1)
    return (float(median(widths)) + 0.5) / (2 * _NORMAL_THIRD)


def _means(picture: NDArray[Any], side: int) -> NDArray[Any]:
    if side == 1 or not picture.size:
        return picture
    return np.asarray(cv2.boxFilter(picture, cv2.CV_32F, (side, side)))
