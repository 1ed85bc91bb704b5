"""Arrivals and departures: places that show one colour for long, and then another."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.layers import LAYERS, Layers, color_of
from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.local.positions import box_around, positions
from bgsub.local.presence import LEAST_WALK, motion_around, moving_colors, what_came_back
from bgsub.robustpca.median import level_median, median, quantile
from bgsub.video.frames import Bytes

_LEAN = 0.1
"""Weight of the motion of the edges beside that of the outline."""

COLORS = 0.5
"""Weight of the colours that move beside that of the outline."""

_ALONE = 0.4
"""The same, from which nothing else can have moved: the visitor need not stir."""

_RIGID = 0.05
"""Motion of edges in pixels that noise alone makes of a thing at rest."""

LIVELIER = 1.5
"""Factor by which the edges of people move more than those of their places."""

UNKNOWN = 1.0
"""Motion of edges that there are none of, or no time to tell."""

_CELLS = 40
_REACH = 4
_LAG = 1
_APART = 3.0
_RING = 2.0
_MOVES = 0.25
_LONG = 0.1
_WINDOW_FRAMES, _MOTION_FRAMES = 12, 32


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
    """

    frame: int
    region: NDArray[np.bool_]
    before: NDArray[np.int8]
    after: NDArray[np.int8]
    balance: float
    motion: tuple[float, float]
    visitor: int = 0
    outline: float = 0.0

    def is_rigid(self, side: int, params: LocalParams = DEFAULTS) -> bool:
        """Say whether what was there before (0) or after (1) is at rest as only things are.

        No displacement in pixels divides things from people who sleep, as noise displaces edges
        too; but it does so alike before and after.
        """
        moves, other = self.motion[side], self.motion[1 - side]
        least = min(_RIGID, params.rigid_motion)
        return moves < params.rigid_motion and moves < max(LIVELIER * other, least)


def find_changes(
    pictures: Bytes, layers: Layers, sigma: float, params: LocalParams = DEFAULTS
) -> list[Change]:
    """Find the places that are still, and later still in another colour.

    Parameters
    ----------
    pictures : ndarray of uint8, shape (n, h, w, 3)
    layers : Layers
        Of these pictures.
    sigma : float
        Noise in grey levels.
    params : LocalParams, optional

    Returns
    -------
    list of Change
    """
    edges, history = _history(layers, sigma, params.still_share)
    height, width = layers.labels.shape[1:]
    least = params.change_area * height * width
    sizes = [int(moment.new.sum()) for moment in history]
    found = []
    for c in range(len(history) - 1):
        peak = not (c and sizes[c - 1] > sizes[c]) and sizes[c + 1] < sizes[c]
        if sizes[c] < least or not peak:
            continue
        first, last = history[max(c - 1, 0)], history[min(c + 2, len(history) - 1)]
        now, following = history[c], history[c + 1]
        before = np.maximum(np.where(first.still >= 0, first.still, now.still), 0)
        after = np.maximum(last.still, 0)
        union = first.new | now.new | following.new
        shown_before, shown_after = (color_of(layers.colors, one) for one in (before, after))
        for region in _regions(union, least):
            balance = outline = _outline_balance(shown_before, shown_after, region, sigma)
            end = int(median(first.since[region]))
            past = edges[max(end - _LAG - _REACH, 0)], edges[max(end - _LAG, 1)]
            coming = edges[c + _LAG], edges[min(c + _LAG + _REACH, len(edges) - 1)]
            here = [_edge_motion(pictures, _frames(*span), region) for span in (past, coming)]
            kept = region & union
            y, x = positions(kept)
            shown = layers.labels[:, y, x]
            motion = [
                _edge_motion(pictures, _showing(shown, label[y, x]), kept)
                for label in (before, after)
            ]
            # A person moves, a place does not; asleep at least in the course of all the frames.
            moves = here if max(here) > _MOVES else motion
            if max(here) > _MOVES or UNKNOWN not in motion:
                ratio = max(moves[0], _RIGID) / max(moves[1], _RIGID)
                balance += _LEAN * float(np.clip(np.log2(ratio), -2, 2))
            colors = moving_colors(pictures, layers, kept, (before, after), int(edges[c]))
            if abs(colors) > params.color_balance:
                balance += COLORS * colors
            walked = motion_around(layers, kept, int(edges[min(end, c)]), int(edges[c]))
            if abs(walked) > LEAST_WALK:
                balance += params.walk_weight * walked
            returned = what_came_back(layers, kept, (before, after))
            balance += params.return_weight * returned
            visitor = returned or (int(np.sign(walked)) if abs(walked) > _ALONE else 0)
            moved = motion[0], motion[1]
            frame = int(edges[c])
            found.append(Change(frame, kept, before, after, balance, moved, visitor, outline))
    return found


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


def _regions(union: NDArray[np.bool_], least: float) -> list[NDArray[np.bool_]]:
    solid = cv2.morphologyEx(union.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8))
    solid = cv2.morphologyEx(solid, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    count, labels, stats, _ = cv2.connectedComponentsWithStats(solid, connectivity=8)
    large = [r for r in range(1, count) if stats[r, cv2.CC_STAT_AREA] >= least]
    return [np.asarray(labels == r) for r in large]


def _outline_balance(before: Bytes, after: Bytes, region: NDArray[np.bool_], sigma: float) -> float:
    """Share of the outline where the step across it is larger before, less where it is after.

    An object adds edges along its outline, an empty place does not.
    """
    inside, outside = _sides(region)

    def step(picture: Bytes) -> NDArray[np.int16]:
        difference = picture[inside].astype(np.int16) - picture[outside]
        return np.asarray(np.abs(difference).max(axis=1), dtype=np.int16)

    if not inside[0].size:
        return 0.0
    steps, later = step(before), step(after)
    more, less = steps > later + 2 * sigma, later > steps + 2 * sigma
    return float(more.mean() - less.mean())


_Places = tuple[NDArray[np.int64], NDArray[np.int64]]


def _sides(region: NDArray[np.bool_]) -> tuple[_Places, _Places]:
    """Places 2 pixels inside and outside of an outline, along its normal; not at the rim."""
    mask = region.astype(np.uint8)
    height, width = mask.shape
    ring = region & (cv2.erode(mask, np.ones((3, 3), np.uint8), borderValue=1) == 0)
    ring[:2] = ring[-2:] = False
    ring[:, :2] = ring[:, -2:] = False
    y, x = positions(ring)
    soft = cv2.GaussianBlur(mask.astype(np.float32), (0, 0), 2)
    down, right = cv2.Sobel(soft, cv2.CV_32F, 0, 1)[y, x], cv2.Sobel(soft, cv2.CV_32F, 1, 0)[y, x]
    norm = np.maximum(np.hypot(down, right), 1e-6)

    def place(step: float) -> _Places:
        rows, columns = np.round(y + step * down / norm), np.round(x + step * right / norm)
        return (
            np.clip(rows, 0, height - 1).astype(np.int64),
            np.clip(columns, 0, width - 1).astype(np.int64),
        )

    return place(_RING - 0.5), place(-_RING - 0.5)


def _frames(start: int, stop: int) -> NDArray[np.int64]:
    """Some frames of a stretch, evenly spaced."""
    last = max(start, stop - 1)
    return np.linspace(start, last, min(_WINDOW_FRAMES, last - start + 1)).astype(np.int64)


def _showing(shown: Bytes, label: NDArray[np.int8]) -> NDArray[np.int64]:
    """Frames of the whole film in which most places, (n, m), show the layers of `label`, (m,)."""
    frames = np.flatnonzero((shown == label).mean(axis=1) > 0.5)
    if frames.size < _LONG * len(shown):
        return frames[:0]
    if frames.size <= _MOTION_FRAMES:
        return frames
    return frames[np.linspace(0, frames.size - 1, _MOTION_FRAMES).astype(np.int64)]


def _edge_motion(pictures: Bytes, frames: NDArray[np.int64], region: NDArray[np.bool_]) -> float:
    """Median displacement of the strong edges in and around a region: deviation over gradient."""
    if frames.size < 3:
        return UNKNOWN
    box = box_around(region, 3)
    band = cv2.dilate(region[box].view(np.uint8), np.ones((5, 5), np.uint8)) > 0
    cut = [np.ascontiguousarray(pictures[j][box]) for j in frames]
    grey = np.stack([np.asarray(cv2.cvtColor(one, cv2.COLOR_BGR2GRAY), np.uint8) for one in cut])
    mean = level_median(grey)
    gradient = np.hypot(
        cv2.Sobel(mean, cv2.CV_32F, 0, 1), cv2.Sobel(mean, cv2.CV_32F, 1, 0)
    ) / np.float32(8)
    strong = band & (gradient >= quantile(gradient[band], 0.7)) & (gradient > 1)
    if not strong.any():
        return UNKNOWN
    away = grey - mean
    away -= median(away[:, band], axis=1)[:, None, None]  # the light
    return float(median(np.abs(away[:, strong]).mean(axis=0) / gradient[strong]))
