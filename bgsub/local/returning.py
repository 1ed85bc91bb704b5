"""Let what comes back to a place again and again overrule what was chosen in its stead."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.clean_frames import Singles, coarseness
from bgsub.local.recurrence import (
    BLOCK,
    LEAST_NOISE,
    SCALE,
    Film,
    differences,
    returns,
    shrunk,
)
from bgsub.local.regions import repeated
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
    where = (usual != chosen).any(axis=2)
    if count < 3 or min(height, width) < BLOCK * scale or not where.any():
        return np.zeros((height, width), np.bool_)
    part = tuple(_blocks_around(where.any(axis=axis), BLOCK * scale) for axis in (1, 0))
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
