"""Light that changes in a part of the picture: a smooth field of gains, where texture agrees.

Clouds, the edges of their shadows and automatic exposure with vignetting are no one gain for all of
a frame. Blocks of the picture propose gains where their texture is that of the background, which an
object would hide; between them the field is smooth, and far from any it is 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.clean_frames import Singles
from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.local.regions import thinned
from bgsub.robustpca.median import median
from bgsub.video.frames import Bytes

# Correlation of a block's levels with those of its background, and share of its pixels that one
# gain explains: together they leave no room for an object. Least texture, in thresholds.
_AGREES, _EXPLAINED, _TEXTURED = 0.85, 0.7, 1 / 3
_MARKED = 0.5
# Share of the marked blocks that agree, at least: single ones among objects are for `texture`.
_CHANGED = 1 / 8
_GAINS = (0.4, 2.5)
_OFFSET = 4.0
# Blocks over which gains are spread, from far to near, and the weight of the wider field beside
# one block's.
_WIDTHS, _WIDER = (8.0, 4.0, 2.0, 1.0), 0.05


def find_light_field(
    picture: Bytes,
    background: Callable[[slice, slice], Bytes],
    threshold: Callable[[slice, slice], Singles],
    raw: Bytes,
    step: int,
    params: LocalParams = DEFAULTS,
) -> Singles | None:
    """Find the gains of a frame in the blocks of the picture.

    Parameters
    ----------
    picture : ndarray of uint8, shape (h, w, 3)
    background : callable
        Gives the colours behind some rows and columns, by slices that may have a step.
    threshold : callable
        Gives the grey levels by which an object differs there, at least.
    raw : ndarray of uint8, shape (h, w)
        Mask of 0 and 1 without the field.
    step : int
        Every so many pixels are looked at, down and across.
    params : LocalParams, optional

    Returns
    -------
    ndarray of float32, shape (rows, columns, 3), or None
        Logarithms of the gains, see `even_out`. None where of the blocks that are marked for the
        most part fewer than an eighth show the texture of their background: then objects are what
        is marked, no light has changed, or nothing tells.

    Notes
    -----
    Without a change of light, some operations a pixel of the marked blocks; else about 60 a pixel
    that is looked at.
    """
    side = params.light_block
    if not side:
        return None
    marked = _mostly(raw, side, step)
    if not marked.any():
        return None
    near = _around(marked, side * step)
    held = tuple(slice(one.start // (side * step), one.stop // (side * step)) for one in near)
    part = _Blocks(picture, background, threshold, near, marked[held], side, step)
    least = max(1, math.ceil(_CHANGED * np.count_nonzero(marked)))
    if np.count_nonzero(part.agreeing(least)[0]) < least:
        return None
    everywhere = slice(0, picture.shape[0]), slice(0, picture.shape[1])
    every = np.ones_like(marked)
    blocks = _Blocks(picture, background, threshold, everywhere, every, side, step)
    agrees, explained = blocks.agreeing()
    gains = np.zeros((*marked.shape, 3), np.float32)
    seen, there = (one[agrees] for one in (blocks.picture, blocks.background))
    agrees = agrees.reshape(marked.shape)
    gains[agrees] = _gains(seen, there, explained)
    return _spread(gains, agrees)


def _mostly(mask: Bytes, side: int, step: int) -> NDArray[np.bool_]:
    """Say of every block whether a mask of 0 and 1 marks most of it, (rows, columns)."""
    wide = _filled_up(thinned(mask, step), side)
    rows, columns = wide.shape[0] // side, wide.shape[1] // side
    # A byte has room for the sum of a column: blocks have 128 rows at most.
    sums = np.add.reduce(wide.reshape(rows, side, -1), axis=1, dtype=np.uint8)
    counts = np.add.reduce(sums.reshape(rows, columns, side), axis=2, dtype=np.int64)
    return np.asarray(counts > _MARKED * side * side)


def _around(marked: NDArray[np.bool_], side: int) -> tuple[slice, slice]:
    """Rows and columns of the picture that hold all blocks that are marked."""
    x, y, wide, high = cv2.boundingRect(marked.view(np.uint8))
    return slice(y * side, (y + high) * side), slice(x * side, (x + wide) * side)


def even_out(picture: Bytes, field: Singles, step: int, params: LocalParams = DEFAULTS) -> Bytes:
    """Give the picture as it would look without the field, shape (h, w, 3)."""
    height, width = picture.shape[:2]
    side = params.light_block * step
    size = (field.shape[1] * side, field.shape[0] * side)
    gains = cv2.resize(np.exp(-field), size, interpolation=cv2.INTER_LINEAR)[:height, :width]
    level = picture.astype(np.float32)
    level += _OFFSET
    level *= gains
    level -= _OFFSET - 0.5
    return np.asarray(np.clip(level, 0, 255, out=level).astype(np.uint8))


def _filled_up(plane: NDArray[Any], side: int) -> NDArray[Any]:
    """Continue a plane below and to the right, so that squares of `side` divide it."""
    below, right = -plane.shape[0] % side, -plane.shape[1] % side
    if not below and not right:
        return plane
    return np.asarray(cv2.copyMakeBorder(plane, 0, below, 0, right, cv2.BORDER_REPLICATE))


def _blocks(plane: NDArray[Any], chosen: NDArray[np.bool_], side: int) -> NDArray[Any]:
    """Squares of a plane that are chosen of (rows, columns), shape (n, side, side, …)."""
    rows, columns = (length // side for length in plane.shape[:2])
    within = plane[: rows * side, : columns * side]
    squares = within.reshape(rows, side, columns, side, *plane.shape[2:]).swapaxes(1, 2)
    if chosen.shape == (rows, columns):
        return np.asarray(squares[chosen])
    y, x = np.nonzero(chosen)
    found = np.empty((y.size, side, side, *plane.shape[2:]), plane.dtype)
    whole = (y < rows) & (x < columns)
    found[whole] = squares[y[whole], x[whole]]
    for i in np.flatnonzero(~whole):  # few: filling up the plane would copy all of it
        top, left = side * y[i], side * x[i]
        found[i] = _filled_up(plane[top : top + side, left : left + side], side)
    return found


class _Blocks:
    """Some blocks of a part of a frame and of its background, to be compared.

    Attributes
    ----------
    picture, background : ndarray of uint8, shape (n, side, side, 3)
    """

    def __init__(
        self,
        picture: Bytes,
        background: Callable[[slice, slice], Bytes],
        threshold: Callable[[slice, slice], Singles],
        part: tuple[slice, slice],
        chosen: NDArray[np.bool_],
        side: int,
        step: int,
    ) -> None:
        rows, columns = (slice(one.start, one.stop, step) for one in part)
        self._part, self._chosen, self._threshold = (rows, columns), chosen, threshold
        self._side = side
        self.picture, self.background = (
            _blocks(one, chosen, side)
            for one in (picture[rows, columns], background(rows, columns))
        )

    def agreeing(self, least: int = 0) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Mark which of the blocks show the background in some light.

        Parameters
        ----------
        least : int, optional
            Fewer than so many need not be told from none.

        Returns
        -------
        agrees : ndarray of bool, shape (n,)
        explained : ndarray of bool, shape (m, side * side)
            Pixels of those that agree which that light explains.
        """
        side, pixels = self._side, self._side**2
        x, b = (
            _luma(one).reshape(-1, pixels).astype(np.float32) + _OFFSET
            for one in (self.picture, self.background)
        )
        around, place = (one - one.mean(axis=1, keepdims=True) for one in (x, b))
        texture = np.sqrt(np.einsum("np,np->n", place, place))
        both = np.einsum("np,np->n", around, place)
        agrees = both > _AGREES * texture * np.sqrt(np.einsum("np,np->n", around, around))
        # Medians cost the most, so they are taken of what is left only.
        alike = np.flatnonzero(agrees)
        if alike.size < least:
            return np.zeros_like(agrees), np.zeros((0, pixels), np.bool_)
        limits = self._threshold(*self._part)
        widths = _blocks(limits, self._chosen, side)[alike].reshape(-1, pixels)
        x, b = x[alike], b[alike]
        gain = median(x / b, axis=1)[:, None]
        explained = np.abs(x - gain * b) < widths * np.maximum(gain, 1)
        least_texture = _TEXTURED * np.sqrt(pixels) * median(widths, axis=1)
        kept = (gain[:, 0] > _GAINS[0]) & (gain[:, 0] < _GAINS[1])
        kept &= (texture[alike] > least_texture) & (explained.mean(axis=1) > _EXPLAINED)
        agrees[alike] = kept
        return agrees, explained[kept]


def _luma(blocks: Bytes) -> Bytes:
    """Luma of the pixels of blocks, one block below the other."""
    tall = blocks.reshape(-1, *blocks.shape[2:])
    return np.asarray(cv2.cvtColor(tall, cv2.COLOR_BGR2GRAY), dtype=np.uint8)


def _gains(
    picture: NDArray[Any], background: NDArray[Any], explained: NDArray[np.bool_]
) -> Singles:
    """Logarithms of the gains of every channel over the pixels that one light explains, (n, 3)."""
    weight = explained.astype(np.float32)
    shape = (*explained.shape, 3)
    seen, there = (
        np.einsum("npc,np->nc", one.reshape(shape).astype(np.float32) + _OFFSET, weight) + 1e-3
        for one in (picture, background)
    )
    return np.asarray(np.log(np.clip(seen / there, *_GAINS)), dtype=np.float32)


def _spread(gains: Singles, agrees: NDArray[np.bool_]) -> Singles:
    """Carry the gains of blocks that agree to the others, from far to near."""
    weight = agrees.astype(np.float32)
    weighted = gains * weight[..., None]
    field = np.zeros_like(gains)
    for width in _WIDTHS:
        near, total = (
            cv2.GaussianBlur(one, (0, 0), width, borderType=cv2.BORDER_CONSTANT)
            for one in (weighted, weight)
        )
        field = (near + _WIDER * field) / (total[..., None] + _WIDER)
    return np.asarray(field, dtype=np.float32)
