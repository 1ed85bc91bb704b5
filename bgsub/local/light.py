"""Find the light of a frame against a background: gain, offset and tone curve, by consensus."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import chain

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.clean_frames import Singles
from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.local.shrinking import shrunk
from bgsub.robustpca.median import NORMAL_MAD, level_median, median
from bgsub.runtime.threads import Share, alone
from bgsub.video.frames import Bytes

THUMBNAIL = (40, 30)
"""Width and height at which frames are compared as wholes."""

_PAIRS = 128
_EVERY = 2
_EXPLAINED = 0.9
_GAINS = (0.4, 2.5)
_LARGEST_OFFSET = 60.0
_LEAST_CONTRAST = 20.0
_KNOTS = 8
_WIDTH = 3.0
# The steps between frames have more than noise where light drifts: how much of them counts.
_DRIFT = 1.5

_AT_ONCE = 6
"""Frames whose light is found in one go, some milliseconds."""


def thumbnail(picture: Bytes) -> Bytes:
    """Shrink a picture to thumbnail size, every pixel the mean of its area."""
    return shrunk(picture, *THUMBNAIL)


def explained(seen: Bytes | Singles, model: Singles, sigma: float) -> float:
    """Share of the pixels of a thumbnail within 3σ of the model in every channel."""
    difference = cv2.absdiff(np.asarray(seen, dtype=np.float32), model)
    largest = cv2.max(
        cv2.max(difference[..., 0], difference[..., 1]), np.ascontiguousarray(difference[..., 2])
    )
    return float(np.count_nonzero(largest < _WIDTH * sigma)) / largest.size


@dataclass(frozen=True, eq=False)
class Light:
    """x ≈ gain · c + offset, per channel, for most pixels.

    Attributes
    ----------
    gain, offset : ndarray of float32, shape (3,)
    share : float
        Of the pixels that it explains within 3σ.
    """

    gain: Singles
    offset: Singles
    share: float

    @property
    def is_identity(self) -> bool:
        """Say whether the frame has the background's own light."""
        return bool((self.gain == 1).all() and (self.offset == 0).all())


def find_light(
    seen: Bytes | Singles,
    model: Singles,
    sigma: float,
    *,
    params: LocalParams = DEFAULTS,
) -> Light:
    """Gain and offset per channel by consensus: the ones that explain most pixels.

    Least squares and medians latch onto a large object; the share of the pixels within 3σ does
    not. The identity is kept unless another light explains 3 % more.

    Parameters
    ----------
    seen : ndarray of shape (h, w, 3)
        Thumbnail of the frame.
    model : ndarray of float32, shape (h, w, 3)
        That of the background.
    sigma : float
        Noise in grey levels.
    params : LocalParams, optional

    Returns
    -------
    Light
    """
    gain, offset = np.ones(3, np.float32), np.zeros(3, np.float32)
    plain = explained(seen, model, sigma)
    if plain > _EXPLAINED:
        return Light(gain, offset, plain)
    pairs = _pairs(seen.shape[0] * seen.shape[1])
    left = np.zeros(seen.shape[0] * seen.shape[1], np.float32)
    for k, (x, c) in enumerate(zip(_channels(seen), _channels(model), strict=True)):
        gain[k], offset[k] = _channel_light(x, c, pairs, _WIDTH * sigma)
        np.maximum(left, np.abs(x - gain[k] * c - offset[k]), out=left)
    share = float(np.count_nonzero(left < _WIDTH * sigma)) / left.size
    if share < plain + params.light_bonus:
        return Light(np.ones(3, np.float32), np.zeros(3, np.float32), plain)
    return Light(gain, offset, share)


@cache
def _pairs(pixels: int) -> NDArray[np.int64]:
    """Pixels of which every two propose a light, the same in every frame, shape (2, n)."""
    return np.random.default_rng(0).integers(0, pixels, (2, _PAIRS))


def _channels(picture: Bytes | Singles) -> Singles:
    """Levels of the pixels of a thumbnail, channel by channel, shape (3, n)."""
    return np.ascontiguousarray(picture.reshape(-1, 3).T, dtype=np.float32)


def _channel_light(
    x: Singles, c: Singles, pairs: NDArray[np.int64], width: float
) -> tuple[float, float]:
    """Gain and offset of one channel: the best of those that two pixels define, then refined."""
    first, second = pairs
    contrast = c[first] - c[second]
    usable = np.abs(contrast) > _LEAST_CONTRAST
    first, second, contrast = first[usable], second[usable], contrast[usable]
    gains, offsets = np.ones((2, first.size + 1), np.float32)
    gains[:-1] = (x[first] - x[second]) / contrast
    offsets[:-1] = x[first] - gains[:-1] * c[first]
    offsets[-1] = median(x - c)
    likely = (gains > _GAINS[0]) & (gains < _GAINS[1]) & (np.abs(offsets) < _LARGEST_OFFSET)
    gains, offsets = gains[likely], offsets[likely]
    if not gains.size:
        return 1.0, 0.0
    residual = gains[:, None] * -c[::_EVERY]
    residual += np.ascontiguousarray(x[::_EVERY])
    residual -= offsets[:, None]
    np.abs(residual, out=residual)
    within = (residual < width).view(np.uint8)
    best = int(cv2.reduce(within, 1, cv2.REDUCE_SUM, dtype=cv2.CV_32S).argmax())
    inside = np.abs(x - gains[best] * c - offsets[best]) < width
    if np.count_nonzero(inside) <= 20:
        return 1.0, 0.0
    gain, offset = _line(c[inside], x[inside])
    # A frame without contrast, such as a black one, has any offset and no gain: that is no light.
    return (gain, offset) if _GAINS[0] < gain < _GAINS[1] else (1.0, 0.0)


def _line(c: Singles, x: Singles) -> tuple[float, float]:
    """Gain and offset of least squares; no gain where all of c is the same."""
    middle, level = c.mean(dtype=np.float64), x.mean(dtype=np.float64)
    apart = c - middle
    spread = float(apart @ apart)
    gain = float(apart @ (x - level)) / spread if spread > 0 else 0.0
    return gain, float(level - gain * middle)


def tone_curve(seen: Bytes | Singles, model: Singles, light: Light, sigma: float) -> Bytes | None:
    """Look-up table that gives a frame its background's light, bent where the camera's curve bends.

    Parameters
    ----------
    seen, model : ndarray of shape (h, w, 3)
        Thumbnails.
    light : Light
    sigma : float

    Returns
    -------
    ndarray of uint8, shape (1, 256, 3), or None
        None where the light is the same.
    """
    if light.is_identity:
        return None
    levels = np.arange(256, dtype=np.float32)
    table = np.empty((256, 3), np.float32)
    orders = np.argsort(seen.reshape(-1, 3), axis=0, kind="stable").T
    for k, (x, c) in enumerate(zip(_channels(seen), _channels(model), strict=True)):
        table[:, k] = (levels - light.offset[k]) / light.gain[k]
        left = c - (x - light.offset[k]) / light.gain[k]
        order = orders[k]
        table[:, k] += _bend(x[order], left[order], levels, 8 * sigma)
    return np.clip(np.rint(table), 0, 255).astype(np.uint8).reshape(1, 256, 3)


def _bend(x: Singles, left: Singles, levels: Singles, width: float) -> Singles:
    """Median of what an affine light leaves, between quantiles of the levels, interpolated.

    `x` increases.
    """
    at, by = [], []
    near = np.abs(left) < width
    for part in _knots(x.size):
        here = near[part]
        count = np.count_nonzero(here)
        if count > 0.3 * here.size:
            middle = count // 2
            at.append(x[part][here][middle])  # the median, for they are sorted
            by.append(np.partition(left[part][here], middle)[middle])
    if len(at) < 2:
        return np.zeros_like(levels)
    bend = np.interp(levels, at, by)
    return np.asarray(bend, dtype=np.float32)


@cache
def _knots(size: int) -> list[slice]:
    """Equal parts of so many values, as `numpy.array_split` divides them."""
    ends = np.cumsum([0, *map(len, np.array_split(np.arange(size), _KNOTS))]).tolist()
    return [slice(*ends[i : i + 2]) for i in range(_KNOTS)]


def relight(picture: Bytes, table: Bytes | None) -> Bytes:
    """Give a picture as it would look under its background's light."""
    return picture if table is None else np.asarray(cv2.LUT(picture, table), dtype=np.uint8)


def in_one_light(
    pictures: Bytes,
    thumbnails: Bytes,
    chosen: NDArray[np.int64],
    params: LocalParams = DEFAULTS,
    share: Share = alone,
) -> tuple[Bytes, int]:
    """Put pictures of one state, in place, into the light of their median.

    Parameters
    ----------
    pictures : ndarray of uint8, shape (n, h, w, 3)
    thumbnails : ndarray of uint8, shape (n, h', w', 3)
        Those of all pictures.
    chosen : ndarray of int64, shape (m,)
        The pictures of the state.
    params : LocalParams, optional
    share : callable, optional
        That of workers.

    Returns
    -------
    pictures : ndarray of uint8, shape (m, h, w, 3)
        Those of the state.
    relit : int
        How many of them had another light.
    """
    own = thumbnails[chosen].astype(np.float32)
    middle = level_median(thumbnails[chosen])
    still = 1.5
    if chosen.size > 1:
        steps = np.abs(np.diff(own, axis=0)).max(axis=3)
        still = float(median(steps)) / (NORMAL_MAD * np.sqrt(2))
    wide = float(median(np.abs(own - middle))) / NORMAL_MAD
    sigma = max(min(wide, _DRIFT * still), 1.5)  # not widened by a drift of the light

    parts = [own[first : first + _AT_ONCE] for first in range(0, len(own), _AT_ONCE)]
    arguments = {"middle": middle, "sigma": sigma, "params": params}
    tables = list(chain.from_iterable(share(_toner, arguments, parts)))

    relit = 0
    for i, table in zip(chosen, tables, strict=True):
        if table is not None:
            pictures[i] = relight(pictures[i], table)
            relit += 1
    return pictures if chosen.size == len(pictures) else pictures[chosen], relit


def _toner(
    middle: Singles, sigma: float, params: LocalParams
) -> Callable[[Singles], list[Bytes | None]]:
    """Give what finds the tone curves of some frames, against the thumbnail of their background."""

    def tone(thumbnails: Singles) -> list[Bytes | None]:
        lights = [find_light(own, middle, sigma, params=params) for own in thumbnails]
        return [
            tone_curve(own, middle, light, sigma)
            for own, light in zip(thumbnails, lights, strict=True)
        ]

    return tone
