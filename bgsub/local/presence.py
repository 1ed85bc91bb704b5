"""Judge from time which state of a place was an object: what moved there, and what came back."""

from __future__ import annotations

from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.layers import LAYERS, Layers
from bgsub.local.positions import box_around, positions
from bgsub.video.frames import Bytes

LEAST_WALK = 0.25
"""Share of the motion before and after a change by which they must differ to tell."""

SHADES = 4.5
"""Noise by which two colours of one object differ at most."""

Label = NDArray[np.int8]

_FRAMES = 10
"""Frames before a change, and after it, in which motion is looked at: a walk in or out."""

_BITS = 4
_LEVELS = 1 << _BITS
"""Levels of a channel that are told apart: clothes have folds, and codecs few colours."""

_USUAL, _LEAST_PIXELS = 0.002, 20
"""Share of the pixels that move which have a colour that is no chance, and pixels that move at all,
at least."""

_RETURN, _RETURN_FRAMES = 0.03, 2
"""Share of the film, and frames, for which a state is shown that came back, at least."""

_STAYS = 0.25
"""Share of the motion that begins with a change which is somebody who stays, if it never ends."""

_FIDGETS = 0.25
"""Share of a region's size around it within which who moves settles there, and walks nowhere."""

_VISITS = 2
"""Layers, at least, that a place is seen before or after."""

_STAY, _STAY_FRAMES = 0.02, 2
"""Share of the film, and frames, for which a layer is shown that is a visit, at least."""

_MOST_OF_IT = 0.5
"""Share of a region that shows a state, from which all of it does."""

_NOWHERE = np.zeros(0, np.intp)
_WINDOW = np.ones((3, 3), np.uint8)


def moving_colors(
    pictures: Bytes,
    layers: Layers,
    region: NDArray[np.bool_],
    states: tuple[Label, Label],
    frame: int,
) -> float:
    """Compare the colours that move around a change with those of the states before and after it.

    Who comes to stay was seen to move just before in the colours that stay then, and who leaves is
    seen to move in the colours that were there. A place does not move.

    Parameters
    ----------
    pictures : ndarray of uint8, shape (n, h, w, 3)
    layers : Layers
        Of these pictures.
    region : ndarray of bool, shape (h, w)
    states : tuple of ndarray of int8, shape (h, w)
        Layers shown before and after.
    frame : int
        From which on it is changed.

    Returns
    -------
    float
        From 2, the state before moved away, to −2, the state after moved in; 0 where nothing tells.
    """
    y, x = positions(region)
    reach = (int(max(np.ptp(y), np.ptp(x))) + 1) // 2
    rows = slice(max(int(y.min()) - reach, 0), int(y.max()) + reach + 1)
    columns = slice(max(int(x.min()) - reach, 0), int(x.max()) + reach + 1)
    before, after = (layers.colors[state[y, x], y, x] for state in states)
    found: dict[int, NDArray[np.intp]] = {}
    for j in range(max(frame - _FRAMES, 0), min(frame + _FRAMES + 2, len(pictures))):
        solid = cv2.morphologyEx(layers.moving[j, rows, columns], cv2.MORPH_OPEN, _WINDOW)
        shown = np.ascontiguousarray(pictures[j, rows, columns]).reshape(-1, 3)
        bins = _bins(shown[np.flatnonzero(solid.view(np.bool_))])
        found[j] = np.ravel_multi_index(bins, (_LEVELS,) * 3)
    balance = 0.0
    for first, last in ((frame - _FRAMES, frame + 2), (frame, frame + _FRAMES + 2)):
        own = [places for j, places in found.items() if first <= j < last]
        counts = np.bincount(np.concatenate([*own, _NOWHERE]), minlength=_LEVELS**3)
        seen = counts.astype(np.float32).reshape((_LEVELS,) * 3)
        total = float(seen.sum())
        if total >= _LEAST_PIXELS:
            around = _usual(seen)
            balance += float(around[_bins(before)].mean() - around[_bins(after)].mean())
    return balance


def share_among(colors: Bytes, others: Bytes) -> float:
    """Find how many of some colours, (m, 3), are among others, (p, 3), or next to one of them."""
    bins = np.ravel_multi_index(_bins(others), (_LEVELS,) * 3)
    seen = np.bincount(bins, minlength=_LEVELS**3).astype(np.float32)
    return float(_usual(seen.reshape((_LEVELS,) * 3))[_bins(colors)].mean())


def motion_around(
    layers: Layers, region: NDArray[np.bool_], last_before: int, first_after: int
) -> float:
    """Compare how much moves elsewhere before a change and after it.

    Who sits down walked in and does not walk out; who gets up and leaves is seen to walk out. Who
    puts something down does both. Who settles fidgets for a while: what moves within a quarter of
    the size of a region around it walks nowhere. Motion that begins with the change and never ends
    is somebody who came, moved a thing and stays: that tells nothing.

    Parameters
    ----------
    layers : Layers
    region : ndarray of bool, shape (h, w)
    last_before, first_after : int
        Frames between which it changed.

    Returns
    -------
    float
        From 1, all motion comes after, to −1, all came before; nearer to 0 where all of it covers
        less than the region.
    """
    first = first_after + 1
    spans = range(last_before - _FRAMES, last_before), range(first, first + _FRAMES)
    near = [_motion(layers, region, span) for span in spans]
    if min(moving.size for moving in near) < _FRAMES // 2:
        return 0.0
    before, after = (float(moving.mean()) for moving in near)
    walked = (after - before) / max(after + before, float(region.sum()))
    if walked > LEAST_WALK:
        later = _motion(layers, region, range(spans[1].stop, len(layers.labels)))
        if later.size >= _FRAMES and later.min() > before + _STAYS * (after - before):
            return 0.0
    return walked


def _motion(layers: Layers, region: NDArray[np.bool_], span: range) -> NDArray[np.int64]:
    """Count the pixels that move, but not around a region, in each frame of a stretch."""
    frames = slice(max(span.start, 0), max(span.stop, 0))
    rows, columns = box_around(region, 0)
    reach = int(_FIDGETS * max(rows.stop - rows.start, columns.stop - columns.start))
    near, wide = box_around(region, reach), box_around(region, reach + 1)
    inner = tuple(
        slice(one.start - edge.start, one.stop - edge.start)
        for one, edge in zip(near, wide, strict=True)
    )
    # All that moves is counted once, and what of it is around a region there alone.
    taken = [
        cv2.countNonZero(cv2.erode(np.ascontiguousarray(one[wide]), _WINDOW)[inner])
        for one in layers.moving[frames]
    ]
    return layers.moving_pixels[frames] - np.array(taken, dtype=np.int64)


def _bins(colors: Bytes) -> tuple[Bytes, Bytes, Bytes]:
    blue, green, red = (np.asarray(level >> (8 - _BITS), np.uint8) for level in colors.T)
    return blue, green, red


def _usual(seen: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Mark the bins that are seen more often than by chance, and those next to them."""
    return np.asarray(_with_neighbours(seen) > max(3.0, _USUAL * float(seen.sum())))


def _with_neighbours(seen: NDArray[np.float32]) -> NDArray[np.float32]:
    """Largest count of every bin and those next to it."""
    flat = np.stack([cv2.dilate(plane, _WINDOW) for plane in seen])
    wide = np.pad(flat, ((1, 1), (0, 0), (0, 0)))
    return np.maximum(np.maximum(wide[:-2], wide[1:-1]), wide[2:])


def what_came_back(
    layers: Layers, region: NDArray[np.bool_], states: tuple[Label, Label]
) -> Literal[-1, 0, 1]:
    """Find whether one of two states of a place was there before and after the other.

    Parameters
    ----------
    layers : Layers
    region : ndarray of bool, shape (h, w)
    states : tuple of ndarray of int8, shape (h, w)
        Layers shown before and after a change.

    Returns
    -------
    {-1, 0, 1}
        −1: the state before came back after all of the other; 1: the state after had been there
        before all of the other; 0: neither, or both come and go.
    """
    y, x = positions(region)
    shown = layers.labels[:, y, x]
    before, after = (
        np.flatnonzero((shown == state[y, x]).mean(axis=1) > _MOST_OF_IT) for state in states
    )
    if not before.size or not after.size:
        return 0
    least = max(_RETURN * len(shown), _RETURN_FRAMES)
    if np.count_nonzero(before > after[-1]) >= least and before[0] < after[0]:
        return -1
    if np.count_nonzero(after < before[0]) >= least and after[-1] > before[-1]:
        return 1
    return 0


def lies_between(
    layers: Layers,
    y: NDArray[np.int64],
    x: NDArray[np.int64],
    rivals: NDArray[np.bool_],
    sigma: float,
) -> NDArray[np.bool_]:
    """Find pixels whose most frequent layer is what visits begin and end with.

    Behind a visitor his place is seen before and after him. So a layer that is followed or preceded
    by several others, each for a while, is the place of all of them; who stays in a place has only
    that before and after him, and so have his shades.

    Parameters
    ----------
    layers : Layers
    y, x : ndarray of int64, shape (m,)
        The pixels.
    rivals : ndarray of bool, shape (K, m)
        Layers that may be the place instead of the first one.
    sigma : float
        Noise in grey levels.

    Returns
    -------
    ndarray of bool, shape (m,)
        Where the first layer is next to two others at least, and to more than any rival is.
    """
    beside = _neighbours(layers.labels[:, y, x])
    colors = layers.colors[:, y, x].astype(np.int16)
    for k in range(LAYERS):
        for j in range(k):
            alike = np.abs(colors[k] - colors[j]).max(axis=1) < SHADES * sigma
            beside[:, k] &= ~(beside[:, j] & alike)  # shades of a colour count once
    counts = np.count_nonzero(beside, axis=1)
    return np.asarray((counts[0] >= _VISITS) & (counts[0] > (counts * rivals)[1:].max(axis=0)))


def _neighbours(shown: Bytes) -> NDArray[np.bool_]:
    """Say which layers follow each other, of those that last, shape (K, K, m)."""
    least = max(_STAY * len(shown), _STAY_FRAMES)
    pixels = np.arange(shown.shape[1])
    lasting, now = (np.full(shown.shape[1], LAYERS) for _ in range(2))
    count = np.zeros(shown.shape[1], np.int64)
    beside = np.zeros((LAYERS + 1, LAYERS + 1, shown.shape[1]), np.bool_)
    for label in shown:
        known = label < LAYERS  # what no layer explains interrupts nothing
        count = np.where(known, (now == label) * count + 1, count)
        now = np.where(known, label, now)
        settled = (count >= least) & (now != lasting)
        before, after = lasting[settled], now[settled]
        beside[before, after, pixels[settled]] = beside[after, before, pixels[settled]] = True
        lasting[settled] = after
    return beside[:LAYERS, :LAYERS]
