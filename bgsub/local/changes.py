"""Arrivals and departures: places that show one colour for long, and then another."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import compress

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.jumps import Elsewhere, jump_at, weak_step
from bgsub.local.layers import LAYERS, Layers
from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.local.positions import positions
from bgsub.local.telling import RIGID, UNKNOWN, Place, Time, Told, make_teller, place_of
from bgsub.robustpca.median import median
from bgsub.runtime.threads import Share, alone
from bgsub.video.frames import Bytes

LIVELIER = 1.5
"""Factor by which the edges of people move more than those of their places."""

_CELLS = 40
_REACH = 4
_LAG = 1
_APART = 3.0
_EVERY = 2  # pixels, of which jumps are measured

_LARGEST_SHARED = 1 / 6
"""Share of the picture up to which a place is sent to another process."""


@dataclass(frozen=True, eq=False)
class Change:
    """A place whose still colour changed.

    Attributes
    ----------
    frame : int
        Of the sample, from which on it is changed.
    region : ndarray of bool, shape (h, w)
    before, after : ndarray of int8, shape (h, w)
        Layers shown before and after.
    balance : float
        Above 0: an object was there and left; below 0: it came. From the share of the outline
        across which the step is larger before, or after, from the motion of the
        edges, from the colours that move there, and from what came back.
    motion : tuple of float
        Displacement of the edges of the place before and after, in pixels, over all frames of the
        film that show it: people who sit still move now and then, things do not. 1 where it is
        shown in less than a tenth of the film, which is no time to tell.
    visitor : {-1, 0, 1}
        Which state is a visitor however still: −1 the one after, as it walked in and not out or the
        place came back, 1 the one before; see `presence`.
    outline : float
        What the outline alone says, in `balance`.
    took_break : bool
        Whether the visitor was seen to walk in or out, and was there before and after his place.
    elsewhere : tuple of float
        Displacement of edges in the rest of the picture, in the frames of `motion`, in film that a
        codec freezes; `UNKNOWN` in other film.
    """

    frame: int
    region: NDArray[np.bool_]
    before: NDArray[np.int8]
    after: NDArray[np.int8]
    balance: float = 0.0
    motion: tuple[float, float] = (UNKNOWN, UNKNOWN)
    visitor: int = 0
    outline: float = 0.0
    took_break: bool = False
    elsewhere: tuple[float, float] = (UNKNOWN, UNKNOWN)

    def is_rigid(self, side: int, params: LocalParams = DEFAULTS) -> bool:
        """Say whether what was there before (0) or after (1) is at rest as only things are.

        No displacement in pixels divides things from people who sleep, as noise displaces edges
        too; but it does so alike before and after. Where a codec's errors displace edges, which
        differ before and after, those elsewhere in the picture tell by how much.
        """
        moves, other, elsewhere = self.motion[side], self.motion[1 - side], self.elsewhere[side]
        least = min(RIGID, params.rigid_motion)
        if elsewhere < UNKNOWN and least:
            return moves < max(LIVELIER * elsewhere, least)
        return moves < params.rigid_motion and moves < max(LIVELIER * other, least)


def find_changes(
    pictures: Bytes,
    layers: Layers,
    sigma: float,
    params: LocalParams = DEFAULTS,
    share: Share = alone,
    *,
    is_frozen: bool = False,
) -> list[Change]:
    """Find the places that are still, and later still in another colour.

    In film that a codec freezes all of the picture jumps a little at each complete picture. There a
    step is a change only where it is larger than most of the picture's at that time, and strong
    enough to show in a mask.

    Parameters
    ----------
    pictures : ndarray of uint8, shape (n, h, w, 3)
    layers : Layers
        Of these pictures.
    sigma : float
        Noise in grey levels.
    params : LocalParams, optional
    share : callable, optional
        `Workers.share`: each place is long work of its own.
    is_frozen : bool, optional
        Whether a codec freezes the film, see `frozen_noise`.

    Returns
    -------
    list of Change
    """
    edges, history = _history(layers, sigma, params.still_share)
    if is_frozen:
        history = _without_jumps(pictures, layers, edges, history, params)
    height, width = layers.labels.shape[1:]
    least = params.change_area * height * width
    sizes = [int(moment.new.sum()) for moment in history]
    found: list[Change] = []
    places: list[Place] = []
    for c in range(len(history) - 1):
        peak = not (c and sizes[c - 1] > sizes[c]) and sizes[c + 1] < sizes[c]
        if sizes[c] < least or not peak:
            continue
        first, last = history[max(c - 1, 0)], history[min(c + 2, len(history) - 1)]
        now, following = history[c], history[c + 1]
        before = np.maximum(np.where(first.still >= 0, first.still, now.still), 0)
        after = np.maximum(last.still, 0)
        union = first.new | now.new | following.new
        for region in _regions(union, least):
            kept, end, frame = region & union, int(median(first.since[region])), int(edges[c])
            past = edges[max(end - _LAG - _REACH, 0)], edges[max(end - _LAG, 1)]
            coming = edges[c + _LAG], edges[min(c + _LAG + _REACH, len(edges) - 1)]
            time = Time(past, coming, int(edges[min(end, c)]), frame)
            found.append(Change(frame, kept, before, after))
            places.append(place_of(pictures, layers, region, kept, (before, after), time))
    told = _told(places, sigma, params, share)
    found = [replace(change, **one._asdict()) for change, one in zip(found, told, strict=True)]
    return _with_elsewhere(found, pictures, layers) if is_frozen else found


def _with_elsewhere(changes: list[Change], pictures: Bytes, layers: Layers) -> list[Change]:
    """Note how much edges move in the rest of the picture meanwhile."""
    if not changes:
        return changes
    rest = Elsewhere(pictures, layers)
    return [
        replace(
            one, elsewhere=(rest.motion(one.region, one.before), rest.motion(one.region, one.after))
        )
        for one in changes
    ]


def _told(places: list[Place], sigma: float, params: LocalParams, share: Share) -> Iterator[Told]:
    """Find out what the surroundings of places tell; large ones are looked at here."""
    small = [place.share <= _LARGEST_SHARED for place in places]
    sent = share(make_teller, {"sigma": sigma, "params": params}, compress(places, small))
    shared, tell = iter(sent), make_teller(sigma, params)
    for place, is_small in zip(places, small, strict=True):
        yield next(shared) if is_small else tell(place)


@dataclass(frozen=True, eq=False)
class _Moment:
    """At the start of a window: where the still layer is a new one, the last one, and its end."""

    new: NDArray[np.bool_]
    still: NDArray[np.int8]
    since: NDArray[np.int16]


def _history(
    layers: Layers, sigma: float, still_share: float
) -> tuple[NDArray[np.int64], list[_Moment]]:
    n, height, width = layers.labels.shape
    cells = max(min(_CELLS, n // 2), _REACH)
    edges = np.linspace(0, n, cells + 1).round().astype(np.int64)
    sums = np.zeros((cells + 1, LAYERS, height, width), np.uint8)
    for cell, (start, stop) in enumerate(itertools.pairwise(edges.tolist())):
        sums[cell + 1] = sums[cell]
        for shown in layers.labels[start:stop]:
            for k in range(LAYERS):
                sums[cell + 1, k] += (shown == k).view(np.uint8)
    still = np.full((height, width), -1, np.int8)
    since = np.zeros((height, width), np.int16)
    history, more = [], np.empty((height, width), np.uint8)
    for c in range(cells - _REACH + 1):
        counts = sums[c + _REACH] - sums[c]
        most, later = counts[0].copy(), np.zeros((height, width), np.uint8)
        for k in range(1, LAYERS):
            cv2.compare(counts[k], most, cv2.CMP_GT, dst=more)
            np.bitwise_and(more, np.uint8(k), out=more)
            cv2.max(later, more, dst=later)  # later layers have larger numbers
            cv2.max(most, counts[k], dst=most)
        label = later.view(np.int8)
        is_still = most >= math.ceil(still_share * float(edges[c + _REACH] - edges[c]))
        new = is_still & (still >= 0) & (label != still)
        if new.any():
            y, x = positions(new)
            now, old = (layers.colors[one[y, x], y, x].astype(np.int16) for one in (label, still))
            step = np.abs(now - old).max(axis=1)
            new[y, x] = step > _APART * sigma
        history.append(_Moment(new, still.copy(), since.copy()))
        still = np.where(is_still, label, still)
        np.copyto(since, np.int16(c + _REACH), where=is_still)
    history.append(_Moment(np.zeros((height, width), np.bool_), still, since))
    return edges, history


def _without_jumps(
    pictures: Bytes,
    layers: Layers,
    edges: NDArray[np.int64],
    history: list[_Moment],
    params: LocalParams,
) -> list[_Moment]:
    """Leave out what differs by no more than the picture jumps at that time, or than masks show."""
    few, last = pictures[:, ::_EVERY, ::_EVERY], len(edges) - 1
    places = [positions(one.new) for one in history]
    steps, least = [], []
    for c, (y, x) in enumerate(places[:-1]):
        old, now = (
            layers.colors[moment.still[y, x], y, x].astype(np.int16)
            for moment in history[c : c + 2]
        )
        steps.append(np.abs(now - old).max(axis=1).astype(np.uint8))
        before = few[edges[max(c + 1 - _REACH, 0)] : max(edges[c], 1)]
        after = few[edges[min(c + 1, last - 1)] : edges[min(c + _REACH, last)]]
        least.append(jump_at(before, after) if y.size else 0.0)
    weak = weak_step(steps, params)
    for moment, (y, x), step, jump in zip(history, places, steps, least, strict=False):
        moment.new[y, x] = step > max(jump, weak)
    return history


def _regions(union: NDArray[np.bool_], least: float) -> list[NDArray[np.bool_]]:
    solid = cv2.morphologyEx(union.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8))
    solid = cv2.morphologyEx(solid, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    count, labels, stats, _ = cv2.connectedComponentsWithStats(solid, connectivity=8)
    large = [r for r in range(1, count) if stats[r, cv2.CC_STAT_AREA] >= least]
    return [np.asarray(labels == r) for r in large]
