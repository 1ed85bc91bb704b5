"""Tell from the surroundings of a change who came or left: outline, edges, colours, who walks."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.layers import Layers, color_of
from bgsub.local.params import LocalParams
from bgsub.local.positions import box_around, positions
from bgsub.local.presence import LEAST_WALK, motion_around, moving_colors, what_came_back
from bgsub.robustpca.median import level_median, median, quantile
from bgsub.video.frames import Bytes

Label = NDArray[np.int8]
Flags = NDArray[np.bool_]

_LEAN = 0.1
"""Weight of the motion of the edges beside that of the outline."""

COLORS = 0.5
"""Weight of the colours that move beside that of the outline."""

_ALONE = 0.4
"""Share of the motion before and after a change by which they differ where somebody walked in or
out for certain: he need not stir to be the visitor."""

RIGID = 0.05
"""Motion of edges in pixels that noise alone makes of a thing at rest."""

UNKNOWN = 1.0
"""Motion of edges that there are none of, or no time to tell."""

# Pixels from the outermost ones of a region, along the normal; no halves of a pixel, which the last
# bits of a blur would round up or down.
_INSIDE, _OUTSIDE = 1.499, -2.501
_MOVES = 0.25
"""Displacement of edges in pixels, just before or after a change, that no thing at rest has."""

_LONG = 0.1
"""Share of the film for which a state is shown, at least, for its motion to tell."""

_WINDOW_FRAMES, _MOTION_FRAMES = 12, 32
"""Frames that are looked at, at most, of a stretch beside a change and of all the film."""

_AROUND = 12
"""Pixels around a region that its outline and edges are looked at with, at most."""


class Time(NamedTuple):
    """When a place changed, in frames of the sample: see `Change` and `motion_around`.

    `past` and `coming` are the stretches just before and after, from a frame to another one.
    """

    past: tuple[int, int]
    coming: tuple[int, int]
    last_before: int
    first_after: int


class Place(NamedTuple):
    """A part of the picture in which something changed, and all that is looked at there.

    Attributes
    ----------
    pictures : ndarray of uint8, shape (n, h', w', 3)
    layers : Layers
        Of these.
    region, kept : ndarray of bool, shape (h', w')
        What hangs together, and what of it has changed.
    states : tuple of ndarray of int8, shape (h', w')
        Layers shown before and after.
    time : Time
    share : float
        Of the whole picture.
    """

    pictures: Bytes
    layers: Layers
    region: Flags
    kept: Flags
    states: tuple[Label, Label]
    time: Time
    share: float


class Told(NamedTuple):
    """What a place tells; see the fields of `Change` of these names."""

    balance: float
    motion: tuple[float, float]
    visitor: int
    outline: float
    took_break: bool


def place_of(
    pictures: Bytes,
    layers: Layers,
    region: Flags,
    kept: Flags,
    states: tuple[Label, Label],
    time: Time,
) -> Place:
    """Cut out of pictures and layers, without a copy, what a change in a region is told from."""
    _, _, width, height = cv2.boundingRect(region.view(np.uint8))
    # Colours that move are looked for as far around as the region is large.
    margin = max(_AROUND, (max(width, height) + 1) // 2 + 1)
    rows, columns = box_around(region, margin)
    here = kept[rows, columns]
    before, after = (state[rows, columns] for state in states)
    return Place(
        pictures[:, rows, columns],
        layers.part(rows, columns),
        region[rows, columns],
        here,
        (before, after),
        time,
        here.size / kept.size,
    )


def make_teller(sigma: float, params: LocalParams) -> Callable[[Place], Told]:
    """Give what finds out what a place tells, with this noise in grey levels."""

    def tell(place: Place) -> Told:
        pictures, layers, region, kept, states, time, _ = place
        shown_before, shown_after = (color_of(layers.colors, one) for one in states)
        balance = outline = _outline_balance(shown_before, shown_after, region, sigma)
        spans = time.past, time.coming
        here = [_edge_motion(pictures, _frames(*span), region) for span in spans]
        y, x = positions(kept)
        shown = layers.labels[:, y, x]
        before, after = (
            _edge_motion(pictures, frames_showing(shown, label[y, x]), kept) for label in states
        )
        # A person moves, a place does not; asleep at least in the course of all the frames.
        moves = here if max(here) > _MOVES else (before, after)
        if max(here) > _MOVES or UNKNOWN not in (before, after):
            ratio = max(moves[0], RIGID) / max(moves[1], RIGID)
            balance += _LEAN * float(np.clip(np.log2(ratio), -2, 2))
        colors = moving_colors(pictures, layers, kept, states, time.first_after)
        if abs(colors) > params.color_balance:
            balance += COLORS * colors
        walked = motion_around(layers, kept, time.last_before, time.first_after)
        if abs(walked) > LEAST_WALK:
            balance += params.walk_weight * walked
        returned = what_came_back(layers, kept, states)
        balance += params.return_weight * returned
        alone = int(np.sign(walked)) if abs(walked) > _ALONE else 0
        # Who takes a break comes back as his place does: who is seen to walk is the visitor.
        took_break = alone * returned < 0 < alone * balance
        visitor = alone if took_break else returned or alone
        return Told(balance, (before, after), visitor, outline, took_break)

    return tell


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
    """Places inside and outside of an outline, along its normal; not at the rim."""
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

    return place(_INSIDE), place(_OUTSIDE)


def _frames(start: int, stop: int) -> NDArray[np.int64]:
    """Some frames of a stretch, evenly spaced."""
    last = max(start, stop - 1)
    return np.linspace(start, last, min(_WINDOW_FRAMES, last - start + 1)).astype(np.int64)


def frames_showing(shown: Bytes, label: NDArray[np.int8]) -> NDArray[np.int64]:
    """Give frames of the film in which most places, (n, m), show the layers of `label`, (m,)."""
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
