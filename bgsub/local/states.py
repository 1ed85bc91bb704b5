"""States of the scene: groups of frames that one background explains up to its light."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bgsub.local.clean_frames import Singles
from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.robustpca.median import median
from bgsub.runtime.threads import Share, alone
from bgsub.video.frames import Bytes

FRAMES = 120
"""Frames that are compared with each other."""

_QUANTILE = 0.4
_ROUNDS, _MOST_GAIN = 4, 3.0
_NEIGHBOURS = 2.5
_APART = 2.0
# One stop: a frame with half or twice the light of the usual one is given that light to learn from,
# and no more, or its few levels become steps and its noise is doubled. It shows the same place
# where the pixels of both correlate so well, and no more of them look as usual: who stands close to
# the camera leaves some as they are.
_STOP, _ALIKE, _USUAL = 2.0, 0.7, 0.2
_LEAST_CONTRAST = 0.5
# A light is the same in all of its frames, or changes steadily, but where somebody passes. Who
# fills most of the picture moves: what sets his frames apart is not the same in all of them.
_SAME, _MOSTLY = 0.3, 0.75

_AT_ONCE = 6
"""Frames that are compared with all others in one go, some milliseconds."""


def find_states(
    thumbnails: Bytes, params: LocalParams = DEFAULTS, share: Share = alone
) -> NDArray[np.int64]:
    """Find the state of every frame of a sample.

    The distance of two frames is the 0.4 quantile of the residual after a robust affine fit of one
    to the other, so that neither an object of half the picture nor a change of exposure counts.
    Average linkage, cut at 5 grey levels or at 2.5 times the usual distance of neighbours in time.
    What moves in front of most of the picture is no state.

    Parameters
    ----------
    thumbnails : ndarray of uint8, shape (n, h, w, 3)
        In order of time.
    params : LocalParams, optional
    share : callable, optional
        That of workers.

    Returns
    -------
    ndarray of shape (n,)
        0 is the state of most frames. Frames of no state get the nearest one's number; -1 are few
        frames with less than half the light of their state, or more than twice as much.
    """
    return _within_a_stop(_apart(thumbnails, params, share), thumbnails, params)


def _within_a_stop(
    labels: NDArray[np.int64], thumbnails: Bytes, params: LocalParams
) -> NDArray[np.int64]:
    """Take frames out of a state whose light is more than a stop from the usual one of it.

    They show the same place with less than half of its contrast, or more than twice as much, as
    when night falls. They are a state of their own, or of none, -1, if they are few.
    """
    luma = thumbnails.mean(axis=3, dtype=np.float32).reshape(len(thumbnails), -1)
    luma -= median(luma, axis=1)[:, None]
    labels, state = labels.copy(), 0
    least = max(params.state_share * len(labels), 1)
    while state <= labels.max():
        own = np.flatnonzero(labels == state)
        far = own[_is_far(luma[own])]
        if far.size in (0, own.size):
            state += 1
        else:
            labels[far] = labels.max() + 1 if far.size >= least else -1
    sizes = np.bincount(labels[labels >= 0])
    order = np.argsort(np.argsort(-sizes, kind="stable"), kind="stable")
    return np.where(labels < 0, -1, order[labels])


def _is_far(luma: Singles) -> NDArray[np.bool_]:
    """Tell which frames, less their median, show the usual one in far more light, or far less."""
    usual = median(luma, axis=0)
    strong = np.abs(usual) >= max(float(median(np.abs(usual))), _LEAST_CONTRAST)
    if not strong.any():
        return np.zeros(len(luma), np.bool_)
    # A median over places, as one of them may flicker or be covered.
    ratios = luma[:, strong] / usual[strong]
    light = median(ratios, axis=1)
    between = np.sqrt(np.maximum(light, 0))[:, None]  # this light and the usual one
    is_usual = np.where(light[:, None] < 1, ratios > between, ratios < between)
    norms = np.linalg.norm(luma, axis=1) * np.linalg.norm(usual)
    alike = (luma @ usual > _ALIKE * norms) & (is_usual.mean(axis=1) < _USUAL)
    return np.asarray(alike & ((light * _STOP < 1) | (light > _STOP)), dtype=np.bool_)


def _apart(thumbnails: Bytes, params: LocalParams, share: Share) -> NDArray[np.int64]:
    """Find the state of every frame by what a robust affine light leaves."""
    n = len(thumbnails)
    chosen = np.linspace(0, n - 1, min(n, FRAMES)).round().astype(np.int64)
    if chosen.size < 2:
        return np.zeros(n, np.int64)
    luma = thumbnails[chosen].astype(np.float32).mean(axis=3)
    luma = luma.reshape(chosen.size, -1, 2, luma.shape[2] // 2, 2).mean(axis=(2, 4))
    luma = luma.reshape(chosen.size, -1)
    distances = _distances(luma, share)
    np.fill_diagonal(distances, 0)
    near = float(median(np.diag(distances, 1)))
    labels = average_linkage(distances, max(params.state_cut, _NEIGHBOURS * near))
    counts = np.bincount(labels)
    names = np.flatnonzero(counts >= max(params.state_share * chosen.size, 1))
    if names.size < 2:
        return np.zeros(n, np.int64)
    groups = _merge([np.flatnonzero(labels == name) for name in names], distances)
    groups = _join_alike(groups, luma, params.state_cut)
    groups = _join_moving(groups, luma, params.state_cut)
    means = np.stack([distances[:, group].mean(axis=1) for group in groups], axis=1)
    closest = np.abs(np.arange(n)[:, None] - chosen[None]).argmin(axis=1)
    return np.asarray(means.argmin(axis=1)[closest], dtype=np.int64)


def average_linkage(distances: Singles, cut: float) -> NDArray[np.int64]:
    """Join the two clusters of the least mean distance for as long as that is `cut` at most.

    Parameters
    ----------
    distances : ndarray of shape (n, n)
    cut : float

    Returns
    -------
    ndarray of shape (n,)
        The first member of each one's cluster.

    Notes
    -----
    O(n³) operations, a few milliseconds here. SciPy has it, too, but its import takes longer than
    all masks of a short film.
    """
    between = distances.astype(np.float64)
    np.fill_diagonal(between, np.inf)
    sizes, labels = np.ones(len(between)), np.arange(len(between))
    while len(between) > 1:
        i, j = sorted(divmod(int(between.argmin()), len(between)))
        if not between[i, j] <= cut:
            break
        joined = sizes[i] * between[i] + sizes[j] * between[j]
        joined /= sizes[i] + sizes[j]
        joined[i] = joined[j] = np.inf
        between[i] = between[:, i] = joined
        between[j] = between[:, j] = np.inf
        sizes[i] += sizes[j]
        labels[labels == j] = i
    return labels


def _distances(luma: Singles, share: Share = alone) -> Singles:
    """Distance of every two frames, the larger of the two directions, shape (n, n)."""
    frames = range(len(luma))
    parts = [frames[first : first + _AT_ONCE] for first in frames[::_AT_ONCE]]
    found = np.concatenate(list(share(_comparer, {"luma": luma}, parts)))
    return np.asarray(np.maximum(found, found.T), dtype=np.float32)


def _comparer(luma: Singles) -> Callable[[range], Singles]:
    """Give what fits some of the frames to all of them: what is left then, shape (m, n).

    Parameters
    ----------
    luma : ndarray of float32, shape (n, p)
    """
    place = int(_QUANTILE * (luma.shape[1] - 1))
    left = _leaver(luma)

    def compare(chosen: range) -> Singles:
        found = np.empty((len(chosen), len(luma)), np.float32)
        for row, i in zip(found, chosen, strict=True):
            row[:] = np.partition(left(i), place, axis=1)[:, place]
        return found

    return compare


def _leaver(luma: Singles) -> Callable[[int], Singles]:
    """Give what fits one of the frames to all of them: what is left of each, shape (n, p)."""
    level = median(luma, axis=1).astype(np.float32)
    around = luma - level[:, None]
    contrast = np.maximum(median(np.abs(around), axis=1), 1).astype(np.float32)

    def left(i: int) -> Singles:
        x = luma[i]
        # Not least squares to begin with, which a bright object draws to itself.
        gain = np.clip(contrast / contrast[i], 0, _MOST_GAIN)
        residual = np.abs(around - np.outer(gain, around[i]))
        for _ in range(_ROUNDS):
            weights = _weights(residual)
            total = weights.sum(axis=1)
            mean_x = weights @ x / total
            mean_y = np.einsum("ij,ij->i", weights, luma) / total
            dx, dy = x - mean_x[:, None], luma - mean_y[:, None]
            weights *= dx
            variance = np.einsum("ij,ij->i", weights, dx)
            gain = np.einsum("ij,ij->i", weights, dy) / np.maximum(variance, 1e-3)
            dx *= np.clip(gain, 0, _MOST_GAIN)[:, None]
            dy -= dx
            residual = np.abs(dy, out=dy)
        return np.asarray(residual, dtype=np.float32)

    return left


def _weights(residual: Singles) -> Singles:
    """Geman-McClure weights, the scale twice the median of a frame's residuals."""
    middle = residual.shape[1] // 2
    median = np.partition(residual, middle, axis=1)[:, middle]
    weights = residual / (2 * np.maximum(median, 0.5))[:, None]
    weights *= weights
    weights += 1
    weights *= weights
    return np.asarray(np.reciprocal(weights, out=weights), dtype=np.float32)


def _merge(groups: list[NDArray[np.int64]], distances: Singles) -> list[NDArray[np.int64]]:
    """Join states that do not lie twice as far from each other as their own frames do."""

    def between(a: NDArray[np.int64], b: NDArray[np.int64]) -> float:
        return float(median(distances[np.ix_(a, b)]))

    groups = sorted(groups, key=len, reverse=True)
    while len(groups) > 1:
        ratios = {
            (i, j): between(groups[i], groups[j])
            / max(between(groups[i], groups[i]), between(groups[j], groups[j]), 1e-3)
            for i in range(len(groups))
            for j in range(i)
        }
        (i, j), ratio = min(ratios.items(), key=lambda item: item[1])
        if ratio >= _APART:
            break
        groups[j] = np.concatenate([groups[j], groups.pop(i)])
    return sorted(groups, key=len, reverse=True)


def _join_alike(
    groups: list[NDArray[np.int64]], luma: Singles, cut: float
) -> list[NDArray[np.int64]]:
    """Join states whose frames have the same in common, which is their median.

    Then it is passing objects by which they differ: few frames in which many of them stay are as
    like each other, and as unlike the others, as frames in another light.
    """
    while len(groups) > 1:
        shared = _distances(np.stack([median(luma[group], axis=0) for group in groups]))
        np.fill_diagonal(shared, np.inf)
        i, j = sorted(divmod(int(shared.argmin()), len(groups)))
        if shared[i, j] > cut:
            break
        groups[i] = np.concatenate([groups[i], groups.pop(j)])
    return sorted(groups, key=len, reverse=True)


def _join_moving(
    groups: list[NDArray[np.int64]], luma: Singles, cut: float
) -> list[NDArray[np.int64]]:
    """Join states that differ by what is not the same in their own frames, as it moves."""
    while len(groups) > 1:
        usual = np.stack([median(luma[group], axis=0) for group in groups])
        spread = np.stack([_spread(luma[np.sort(group)]) for group in groups])
        pairs = [(i, j) for i in range(len(groups)) for j in range(i)]
        shares = [_share_the_same(usual[[i, j]], spread[[i, j]], cut) for i, j in pairs]
        least = int(np.argmin(shares))
        if shares[least] >= _MOSTLY:
            break
        i, j = pairs[least]
        groups[j] = np.concatenate([groups[j], groups.pop(i)])
    return sorted(groups, key=len, reverse=True)


def _spread(luma: Singles) -> Singles:
    """Measure how far the frames of a state usually are from what they have in common, per pixel.

    Neither their light counts nor, where that is less, what changes steadily all the while.
    """
    time = np.linspace(-1, 1, len(luma), dtype=np.float32)
    steady = luma - np.outer(time, time @ luma / (time @ time))
    around = [_leaver(np.stack([median(x, axis=0), *x]))(0)[1:] for x in (luma, steady)]
    return np.asarray(np.minimum(*(median(each, axis=0) for each in around)), dtype=np.float32)


def _share_the_same(usual: Singles, spread: Singles, cut: float) -> float:
    """Measure the share of where two states differ that is the same in all frames of either."""
    left = _leaver(usual)
    differ = np.maximum(left(0)[1], left(1)[0])
    same = spread.max(axis=0) < _SAME * differ
    return float(same[differ > cut].mean()) if (differ > cut).any() else 0.0
