"""Places that have no recurring colour but a range of them: curtains, screens, broken water."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.clean_frames import coarseness
from bgsub.local.layers import Layers
from bgsub.local.palette import Palette, find_palette
from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.local.positions import positions
from bgsub.video.frames import Bytes

_SLOW = 2.2
"""Frames that a colour stays, at most, where none is the usual one: a curtain in the wind, a shop
window. Elsewhere it is `LocalParams.turbulent_stay`."""

_USUAL = 0.35
"""Share of the frames that the first colour has there, at most."""

_CALMER = 1.5
"""Factor by which colours may stay for longer, and be shown more often, beside such a place."""

_STEADY = 0.1
"""Share of the film that a visit of any colour lasts there on average, at most."""

_LONGER, _SEEN = 3, 0.04
"""Times as long as other colours, and share of the film, that a place is seen each time on average,
where others only pass before it: what swings rests where it turns back, but not so long."""

_MOST = 0.7
"""Share of the picture that is turbulent, at most: more is a measure of noise that fails."""

_AT_ONCE = 0.55
"""Share of the changes over the film that happen from one frame to the next, at least."""

BAND = (0.03, 0.97)
"""Quantiles of the levels that are background there: a visitor is rarer than either end."""

_PART = 1 << 14


def find_band(
    pictures: Bytes,
    layers: Layers,
    accepted: NDArray[np.bool_],
    passed: NDArray[np.bool_],
    color: Bytes,
    tolerance: int,
    params: LocalParams = DEFAULTS,
) -> tuple[Bytes, Palette] | tuple[None, None]:
    """Find the range of levels and the colours of turbulent places, if they are large enough.

    What many pass changes in every frame of a film of few, as what is turbulent does, but all at
    once; and people who stay before a place change little of it from one frame to the next.

    Parameters
    ----------
    pictures : ndarray of uint8, shape (n, h, w, 3)
        In order of time.
    layers : Layers
        Of these.
    accepted : ndarray of bool, shape (K', h, w)
        The layers that are background.
    passed : ndarray of bool, shape (h, w)
        See `passing.is_passed`.
    color : ndarray of uint8, shape (h, w, 3)
        Of the background.
    tolerance : int
        Largest channel difference of two values of one colour, in grey levels.
    params : LocalParams, optional

    Returns
    -------
    band : ndarray of uint8, shape (2, h, w, 3), or None
        Lowest and highest levels; None, as the palette, where no place is turbulent.
    palette : Palette or None
    """
    where, calmer = (
        turbulent_pixels(layers, accepted, factor, params) & ~passed for factor in (1.0, _CALMER)
    )
    large = large_places(where, calmer, params)
    if large.any():
        large = restless_places(pictures, large, tolerance)
    if not large.any() or large.mean() > _MOST:
        return None, None
    band = np.stack(level_band(pictures, large, color))
    return band, find_palette(pictures, large, coarseness(*large.shape))


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
    """Mark places of which enough is turbulent, all of it with what hangs together with it.

    Leaves that sway are turbulent in patches, and at their finest in the sharpest pictures: what
    counts is what the patches of a place cover together, not how large one of them is.

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
    count, places = cv2.connectedComponents(around | core, connectivity=8)
    sizes = np.bincount(places[core > 0], minlength=count)
    return np.asarray((sizes >= max(params.turbulent_place * where.size, 1))[places])


def restless_places(pictures: Bytes, where: NDArray[np.bool_], tolerance: int) -> NDArray[np.bool_]:
    """Keep the places that change from one frame to the next as much as over the film, or nearly.

    A curtain in the wind forgets at once how it hung. People before a place move, too, and may show
    no colour for long, but from one frame to the next they stay about where they are.

    Parameters
    ----------
    pictures : ndarray of uint8, shape (n, h, w, 3)
        In order of time.
    where : ndarray of bool, shape (h, w)
        What hangs together is one place.
    tolerance : int
        Largest channel difference in grey levels that is no change.

    Returns
    -------
    ndarray of bool, shape (h, w)
    """
    count, places = cv2.connectedComponents(where.view(np.uint8), connectivity=8)

    def changed(lag: int) -> NDArray[np.float64]:
        """Count the pixels of each place that differ after so many frames, on average."""
        found = np.zeros(count, np.int64)
        for one, later in zip(pictures, pictures[lag:], strict=False):
            apart = cv2.absdiff(one, later).max(axis=2) > tolerance
            found += np.bincount(places[apart], minlength=count)
        return np.asarray(found / max(len(pictures) - lag, 1), dtype=np.float64)

    over_the_film = (changed(len(pictures) // 3) + changed(len(pictures) // 2)) / 2
    return np.asarray(where & (changed(1) >= _AT_ONCE * over_the_film)[places])


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
