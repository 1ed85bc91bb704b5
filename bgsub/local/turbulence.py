"""Places that have no recurring colour but a range of them: curtains, screens, broken water."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.layers import Layers
from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.local.positions import positions
from bgsub.local.regions import large_parts
from bgsub.video.frames import Bytes

_SLOW = 2.2
"""The same where no colour is the usual one: a curtain in the wind, a shop window."""

_USUAL = 0.35
"""Share of the frames that the first colour has there, at most."""

CALMER = 1.5
"""Factor on both beside such a place."""

_STEADY = 0.1
"""Share of the film that a visit of any colour lasts there on average, at most."""

_LONGER, _SEEN = 3, 0.04
"""Times as long as other colours, and share of the film, that a place is seen each time on average,
where others only pass before it: what swings rests where it turns back, but not so long."""

BAND = (0.03, 0.97)
"""Quantiles of the levels that are background there: a visitor is rarer than either end."""

_PART = 1 << 14


def turbulent_pixels(
    layers: Layers,
    accepted: NDArray[np.bool_],
    calmer: float = 1.0,
    params: LocalParams = DEFAULTS,
) -> NDArray[np.bool_]:
    """Mark where colours change from frame to frame, and no few of them explain most frames.

    Parameters
    ----------
    layers : Layers
    accepted : ndarray of bool, shape (K', h, w)
        The layers that are background.
    calmer : float
        Factor by which colours may stay for longer, and be shown more often.
    params : LocalParams, optional

    Returns
    -------
    ndarray of bool, shape (h, w)
    """
    n = len(layers.labels)
    # No more than the frames, which are bytes; of most pixels they say all.
    explained = layers.counts.sum(axis=0, dtype=np.uint8)
    visits = layers.visits.sum(axis=0, dtype=np.uint8).astype(np.float32) + (n - explained)
    slow = (n < calmer * _SLOW * visits) & (layers.counts[0] < calmer * _USUAL * n)
    lively = slow | (n < params.turbulent_stay * visits)
    at = np.flatnonzero(lively)
    counts, stayed, is_background = (
        part.reshape(len(part), -1).take(at, axis=1).astype(np.float32)
        for part in (layers.counts, layers.visits, accepted)
    )
    covered = (counts[: len(accepted)] * is_background).sum(axis=0) / n
    stays = counts / np.maximum(stayed, 1)
    throughout = stays.max(axis=0) <= _STEADY * n  # not only while somebody sways there
    others = counts[1:].sum(axis=0)
    others /= np.maximum(stayed[1:].sum(axis=0), 1)
    throughout &= stays[0] < np.maximum(_LONGER * np.maximum(others, 1), _SEEN * n)
    lively.flat[at] = throughout & (covered < min(calmer * params.turbulent_covered, 1))
    return np.asarray(lively)


def large_places(
    where: NDArray[np.bool_], calmer: NDArray[np.bool_], params: LocalParams = DEFAULTS
) -> NDArray[np.bool_]:
    """Mark large places where most pixels around are turbulent, with what is next to them.

    Parameters
    ----------
    where, calmer : ndarray of bool, shape (h, w)
        Turbulent pixels, and those that are nearly so: the upper part of a curtain moves less.
    params : LocalParams, optional

    Returns
    -------
    ndarray of bool, shape (h, w)
    """
    core, around = (_mostly(one) for one in (where, where | calmer))
    found = large_parts(core.view(np.bool_), params.turbulent_place)
    _, labels = cv2.connectedComponents(around | found.view(np.uint8), connectivity=8)
    return np.asarray(np.isin(labels, labels[found]))


def _mostly(where: NDArray[np.bool_]) -> Bytes:
    """Mark where most of 7×7 pixels are true, opened; 0 or 1."""
    mostly = cv2.blur(255 * where.astype(np.uint8), (7, 7)) > 128
    opened = cv2.morphologyEx(mostly.view(np.uint8), cv2.MORPH_OPEN, np.ones((5, 5), np.uint8))
    return np.asarray(opened, dtype=np.uint8)


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
    y, x = positions(where)
    ranks = [round(share * (len(pictures) - 1)) for share in BAND]
    for start in range(0, len(y), _PART):
        part = np.s_[start : start + _PART]
        ordered = np.partition(pictures[:, y[part], x[part]], ranks, axis=0)
        low[y[part], x[part]], high[y[part], x[part]] = ordered[ranks[0]], ordered[ranks[1]]
    return low, high
