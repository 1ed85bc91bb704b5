"""Light that changes in a part of the picture: a smooth field of gains, where texture agrees.

Clouds, the edges of their shadows and automatic exposure with vignetting are no one gain for all of
a frame. Blocks of the picture propose gains where their texture is that of the background, which an
object would hide; between them the field is smooth, and far from any it is 1.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.clean_frames import Singles
from bgsub.local.params import DEFAULTS, LocalParams
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
    background: Bytes,
    threshold: Singles,
    raw: Bytes,
    step: int,
    params: LocalParams = DEFAULTS,
) -> Singles | None:
    """Find the gains of a frame in the blocks of the picture.

    Parameters
    ----------
    picture, background : ndarray of uint8, shape (h, w, 3)
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
    levels = [
        _blocks(np.asarray(cv2.cvtColor(one, cv2.COLOR_BGR2GRAY), dtype=np.uint8), side, 1)
        for one in (_thinned(picture, step), _thinned(background, step))
    ]
    limit = _blocks(threshold, side, step)
    if not _agreement(levels[0][marked], levels[1][marked], limit[marked])[0].any():
        return None
    every = np.ones_like(marked)
    agrees, explained = _agreement(levels[0][every], levels[1][every], limit[every])
    gains = _gains(_blocks(picture, side, step), _blocks(background, side, step), explained)
    rows, columns = marked.shape
    return _spread(gains.reshape(rows, columns, 3), agrees.reshape(rows, columns))


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


def _thinned(picture: Bytes, step: int) -> Bytes:
    return np.ascontiguousarray(picture[::step, ::step])


def _blocks(plane: NDArray[Any], side: int, step: int) -> NDArray[Any]:
    """Squares of every so many pixels of a plane, shape (rows, columns, side, side, …)."""
    fewer = plane[::step, ::step]
    height, width = fewer.shape[:2]
    rest = [(0, 0)] * (plane.ndim - 2)
    wide = np.pad(fewer, [(0, -height % side), (0, -width % side), *rest], mode="edge")
    rows, columns = wide.shape[0] // side, wide.shape[1] // side
    return wide.reshape(rows, side, columns, side, *plane.shape[2:]).swapaxes(1, 2)


def _agreement(
    levels: NDArray[Any], behind: NDArray[Any], limit: NDArray[Any]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which of n blocks show the background in some light, and which pixels that light explains.

    Parameters
    ----------
    levels, behind, limit : ndarray of shape (n, side, side)

    Returns
    -------
    agrees : ndarray of bool, shape (n,)
    explained : ndarray of bool, shape (n, side * side)
    """
    x, b = (one.reshape(len(one), -1).astype(np.float32) + _OFFSET for one in (levels, behind))
    widths = limit.reshape(len(limit), -1)
    around, place = (one - one.mean(axis=1, keepdims=True) for one in (x, b))
    texture = np.sqrt(np.einsum("np,np->n", place, place))
    both = np.einsum("np,np->n", around, place)
    alike = both > _AGREES * texture * np.sqrt(np.einsum("np,np->n", around, around))
    textured = texture > _TEXTURED * np.sqrt(x.shape[1]) * np.median(widths, axis=1)
    gain = np.median(x / b, axis=1, keepdims=True)
    explained = np.abs(x - gain * b) < widths * np.maximum(gain, 1)
    likely = (gain[:, 0] > _GAINS[0]) & (gain[:, 0] < _GAINS[1])
    agrees = alike & textured & likely & (explained.mean(axis=1) > _EXPLAINED)
    return agrees, explained


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
