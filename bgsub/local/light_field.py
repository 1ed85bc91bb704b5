"""Light that changes in a part of the picture: a smooth field of gains, where texture agrees.

Clouds, the edges of their shadows and automatic exposure with vignetting are no one gain for all of
a frame. Blocks of the picture propose gains where their texture is that of the background, which an
object would hide; between them the field is smooth, and far from any it is 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.clean_frames import Singles
from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.local.regions import thinned
from bgsub.video.frames import Bytes

# Correlation of a block's levels with those of its background, and share of its pixels that one
# gain explains: together they leave no room for an object. Least texture, in thresholds.
_AGREES, _EXPLAINED, _TEXTURED = 0.85, 0.7, 1 / 3
_MARKED = 0.5
_GAINS = (0.4, 2.5)
_OFFSET = 4.0
# Blocks over which gains are spread, from far to near, and the weight of the wider field beside
# one block's.
_WIDTHS, _WIDER = (8.0, 4.0, 2.0, 1.0), 0.05


def find_light_field(
    picture: Bytes,
    background: Callable[[slice, slice], Bytes],
    threshold: Singles,
    raw: Bytes,
    step: int,
    params: LocalParams = DEFAULTS,
) -> Singles | None:
    """Find the gains of a frame in the blocks of the picture.

    Parameters
    ----------
    picture : ndarray of uint8, shape (h, w, 3)
    background : callable
        Gives the colours behind some rows and columns.
    threshold : ndarray of float32, shape (h, w)
        Grey levels by which an object differs, at least.
    raw : ndarray of uint8, shape (h, w)
        Mask of 0 and 1 without the field.
    step : int
        Every so many pixels are looked at, down and across.
    params : LocalParams, optional

    Returns
    -------
    ndarray of float32, shape (rows, columns, 3), or None
        Logarithms of the gains, see `even_out`. None where no block that is marked for the most
        part shows the texture of its background: then no light has changed, or nothing tells.

    Notes
    -----
    Without marked blocks that agree, some operations a pixel of the marked ones; else about 60 a
    pixel that is looked at.
    """
    side = params.light_block
    if not side:
        return None
    marked = _blocks(raw, side, step).mean(axis=(2, 3), dtype=np.float32) > _MARKED
    if not marked.any():
        return None
    near = _around(marked, side * step)
    part = _Blocks(picture[near], background(*near), threshold[near], side, step)
    held = tuple(slice(one.start // (side * step), one.stop // (side * step)) for one in near)
    if not part.agreeing(marked[held])[0].any():
        return None
    everywhere = slice(None)
    behind = background(everywhere, everywhere)
    blocks = _Blocks(picture, behind, threshold, side, step)
    agrees, explained = blocks.agreeing(np.ones_like(marked))
    agrees = agrees.reshape(marked.shape)
    gains = np.zeros((*marked.shape, 3), np.float32)
    seen, there = (_blocks(one, side, step)[agrees] for one in (picture, behind))
    gains[agrees] = _gains(seen, there, explained)
    return _spread(gains, agrees)


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


def _blocks(plane: NDArray[Any], side: int, step: int) -> NDArray[Any]:
    """Squares of every so many pixels of a plane, shape (rows, columns, side, side, …)."""
    fewer = thinned(plane, step)
    below, right = -fewer.shape[0] % side, -fewer.shape[1] % side
    wide = np.asarray(cv2.copyMakeBorder(fewer, 0, below, 0, right, cv2.BORDER_REPLICATE))
    rows, columns = wide.shape[0] // side, wide.shape[1] // side
    return wide.reshape(rows, side, columns, side, *plane.shape[2:]).swapaxes(1, 2)


class _Blocks:
    """Blocks of a frame and of its background, to be compared."""

    def __init__(
        self, picture: Bytes, background: Bytes, threshold: Singles, side: int, step: int
    ) -> None:
        self._levels, self._behind = (
            _blocks(np.asarray(cv2.cvtColor(one, cv2.COLOR_BGR2GRAY)), side, step)
            for one in (picture, background)
        )
        self._limit, self._pixels = _blocks(threshold, side, step), side * side

    def agreeing(self, chosen: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which of the chosen blocks show the background in some light.

        Returns
        -------
        agrees : ndarray of bool, shape (n,)
        explained : ndarray of bool, shape (m, side * side)
            Pixels of those that agree which that light explains.
        """
        x, b = (
            one[chosen].reshape(-1, self._pixels).astype(np.float32) + _OFFSET
            for one in (self._levels, self._behind)
        )
        around, place = (one - one.mean(axis=1, keepdims=True) for one in (x, b))
        texture = np.sqrt(np.einsum("np,np->n", place, place))
        both = np.einsum("np,np->n", around, place)
        agrees = both > _AGREES * texture * np.sqrt(np.einsum("np,np->n", around, around))
        # Medians cost the most, so they are taken of what is left only.
        alike = np.flatnonzero(agrees)
        widths = self._limit[chosen][alike].reshape(-1, self._pixels)
        x, b = x[alike], b[alike]
        gain = np.median(x / b, axis=1, keepdims=True)
        explained = np.abs(x - gain * b) < widths * np.maximum(gain, 1)
        least = _TEXTURED * np.sqrt(self._pixels) * np.median(widths, axis=1)
        kept = (gain[:, 0] > _GAINS[0]) & (gain[:, 0] < _GAINS[1]) & (texture[alike] > least)
        kept &= explained.mean(axis=1) > _EXPLAINED
        agrees[alike] = kept
        return agrees, explained[kept]


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
