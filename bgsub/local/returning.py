"""Let what comes back to a place again and again overrule what was chosen in its stead."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.channels import largest_difference
from bgsub.local.clean_frames import Singles, coarseness
from bgsub.local.layers import Layers
from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.local.positions import positions
from bgsub.local.recurrence import (
    BLOCK,
    LEAST_NOISE,
    SCALE,
    Film,
    differences,
    returns,
)
from bgsub.local.regions import large_parts, repeated, shrunk
from bgsub.robustpca.median import median
from bgsub.video.frames import Bytes

Flags = NDArray[np.bool_]

_ALIKE = 3.0
"""Times the noise of a place by which its looks differ at most, as colours of layers do."""

_OFTENER = 2
"""Times as many stretches of the film in which what overrules is seen."""

_RESTLESS = 2 * LEAST_NOISE
"""Grey levels by which a place changes from frame to frame where leaves move, at least. Who sits
before a calm place may have left and come back once."""


_IN_ONE_GO, _WHILE, _ENOUGH = 0.7, 0.02, 0.25
"""Share of the frames between the first and the last of a visit that show it, share of the film for
which the place is seen on either side, and of the pixels around that say so, at least."""

_PART = 1 << 14


def comes_back(pictures: Bytes, usual: Bytes, chosen: Bytes) -> Flags:
    """Mark the places that come back to their usual colours, and less to those that were chosen.

    Edges do not tell who came or left where leaves move: most outlines lie among their edges. But
    leaves look alike again whenever nobody is before them, and who stood there once does not come
    back. So a block of pixels has its usual colours if it is seen with them in more than twice as
    many stretches of the film as with those that were chosen, and comes back to them more often;
    where the place is calm, twice more.

    Parameters
    ----------
    pictures : ndarray of shape (n, h, w, 3), uint8
        In order of time.
    usual, chosen : ndarray of shape (h, w, 3), uint8
        Most frequent colours, and what was chosen instead of some of them.

    Returns
    -------
    ndarray of shape (h, w), bool

    Notes
    -----
    As much memory as the pictures.
    """
    count, height, width = pictures.shape[:3]
    scale = SCALE * coarseness(height, width)
    where = np.asarray(largest_difference(usual, chosen) > 0)
    if count < 3 or min(height, width) < BLOCK * scale or not where.any():
        return np.zeros((height, width), np.bool_)
    part = tuple(_blocks_around(np.asarray(where.any(axis=axis)), BLOCK * scale) for axis in (1, 0))
    small = np.stack([shrunk(picture[part], scale) for picture in pictures])
    noise = median(differences(small[1:], small[:-1]), axis=0)
    alike = _ALIKE * np.maximum(noise, LEAST_NOISE)
    often, again = _seen(small, shrunk(usual[part], scale), alike)
    seldom, once = _seen(small, shrunk(chosen[part], scale), alike)
    wins = (often > _OFTENER * seldom) & (again > once + (noise <= _RESTLESS))
    found = np.zeros((height, width), np.bool_)
    inner = found[part]
    marked = repeated(_most_blocks(wins), scale, *inner.shape)
    inner[: marked.shape[0], : marked.shape[1]] = marked
    return np.asarray(found & where)


def is_around(layers: Layers, chosen: Bytes, params: LocalParams = DEFAULTS) -> Flags:
    """Mark the places that show their usual colours before and after what was chosen instead.

    Who came and left in one go was a visitor, whatever the outlines say, where what is seen more
    often than he is there on either side. Among leaves that is not so at every pixel, as they have
    several colours: a quarter of those around that were overruled is enough.

    Parameters
    ----------
    layers : Layers
    chosen : ndarray of shape (h, w, 3), uint8
        What was chosen instead of some of the most frequent colours.
    params : LocalParams, optional

    Returns
    -------
    ndarray of shape (h, w), bool
    """
    where = np.asarray(largest_difference(layers.colors[0], chosen) > 0)
    found = np.zeros(where.shape, np.bool_)
    if not where.any():
        return found
    y, x = positions(where)
    for start in range(0, y.size, _PART):
        part = y[start : start + _PART], x[start : start + _PART]
        colors = layers.colors[:, *part].astype(np.int16)
        label = np.abs(colors - chosen[part]).max(axis=2).argmin(axis=0)
        found[part] = _came_and_left(layers.labels[:, *part], label)
    size = (BLOCK * SCALE * coarseness(*where.shape) | 1,) * 2
    told, asked = (cv2.blur(one.astype(np.float32), size) for one in (found, where))
    return large_parts(where & (told > _ENOUGH * asked), params.least_area)


def came_and_left(layers: Layers, which: Flags) -> Flags:
    """Mark the layers that come in one go, with the first one before and after.

    Parameters
    ----------
    layers : Layers
    which : ndarray of shape (K, h, w), bool
        Those that are asked about; K may be fewer than there are.

    Returns
    -------
    ndarray of shape (K, h, w), bool
    """
    found = np.zeros_like(which)
    k, y, x = np.nonzero(which)
    for start in range(0, k.size, _PART):
        part = slice(start, start + _PART)
        label, place = k[part], (y[part], x[part])
        found[label, *place] = _came_and_left(layers.labels[:, *place], label)
    return found


def _came_and_left(labels: Bytes, label: NDArray[np.int64]) -> Flags:
    """Say of m pixels, (n, m), whether a layer comes in one go, and the first is around it."""
    came, usual, count = labels == label, labels == 0, len(labels)
    first, last = came.argmax(axis=0), count - 1 - came[::-1].argmax(axis=0)
    in_one_go = np.count_nonzero(came, axis=0) > _IN_ONE_GO * (last - first + 1)
    time, long = np.arange(count)[:, None], max(_WHILE * count, 2)
    before = np.count_nonzero(usual & (time < first), axis=0) >= long
    after = np.count_nonzero(usual & (time > last), axis=0) >= long
    return np.asarray(in_one_go & before & after)


def _blocks_around(any_of: Flags, side: int) -> slice:
    """Give the rows or columns of the blocks that touch those that are marked."""
    first, last = np.flatnonzero(any_of)[[0, -1]].tolist()
    return slice(max(first // side - 1, 0) * side, (last // side + 2) * side)


def _seen(
    small: Bytes, plate: Bytes, alike: Singles
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count in how many stretches blocks look like a picture, and how often they do so again."""
    film = Film(len(small))
    like = differences(small, plate[None]) <= alike
    compared = like[film.compared]
    stretches = np.logical_or.reduceat(compared, film.starts, axis=0).sum(axis=0)
    again = returns(like.reshape(len(like), -1).T, film)
    return stretches, again.reshape(stretches.shape)


def _most_blocks(wins: Flags) -> Flags:
    """Mark the pixels of which most blocks are marked, those by their upper left corners."""
    whole = np.zeros(wins.shape, np.float32)
    whole[: 1 - BLOCK, : 1 - BLOCK] = 1
    marked, all_of_them = (
        cv2.boxFilter(
            one,
            -1,
            (BLOCK, BLOCK),
            anchor=(BLOCK - 1, BLOCK - 1),
            normalize=False,
            borderType=cv2.BORDER_CONSTANT,
        )
        for one in (whole * wins, whole)
    )
    return np.asarray(2 * marked > all_of_them)
