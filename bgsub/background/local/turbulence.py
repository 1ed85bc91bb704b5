"""Places that have no recurring colour but a range of them: curtains, screens, broken water."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bgsub.background.local.layers import LAYERS, Layers
from bgsub.video.frames import Bytes

COVERED = 0.75
"""Share of the frames that a background's layers explain, at least, where it is not turbulent."""

LONGEST = 1.25
"""Frames of the sample that a colour stays on average, at most, where it is: people stay longer."""

BAND = (0.03, 0.97)
"""Quantiles of the levels that are background there: a visitor is rarer than either end."""

_PART = 1 << 14


def turbulent_pixels(layers: Layers, accepted: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Where the colours change from frame to frame, and no few of them explain most frames.

    Parameters
    ----------
    layers : Layers
    accepted : ndarray of bool, shape (K', h, w)
        The layers that are background.

    Returns
    -------
    ndarray of bool, shape (h, w)
    """
    n = len(layers.labels)
    kept = layers.counts[: len(accepted)].astype(np.float32)
    covered = (kept * accepted).sum(axis=0) / n
    explained = layers.counts.sum(axis=0, dtype=np.float32)
    visits = layers.visits[:LAYERS].sum(axis=0, dtype=np.float32) + (n - explained)
    return np.asarray((covered < COVERED) & (n < LONGEST * visits))


def level_band(pictures: Bytes, where: NDArray[np.bool_], color: Bytes) -> tuple[Bytes, Bytes]:
    """Lowest and highest levels of the background, per channel; its colour where it is calm.

    Parameters
    ----------
    pictures : ndarray of uint8, shape (n, h, w, 3)
    where : ndarray of bool, shape (h, w)
    color : ndarray of uint8, shape (h, w, 3)

    Returns
    -------
    low, high : ndarray of uint8, shape (h, w, 3)
    """
    low, high = color.copy(), color.copy()
    y, x = np.nonzero(where)
    ranks = [round(share * (len(pictures) - 1)) for share in BAND]
    for start in range(0, len(y), _PART):
        part = np.s_[start : start + _PART]
        ordered = np.partition(pictures[:, y[part], x[part]], ranks, axis=0)
        low[y[part], x[part]], high[y[part], x[part]] = ordered[ranks[0]], ordered[ranks[1]]
    return low, high
