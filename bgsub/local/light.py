"""The light of a frame against that of a background: gain, offset and tone curve, by consensus."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.clean_frames import Singles
from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.robustpca.median import NORMAL_MAD
from bgsub.runtime.threads import Workers
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


def thumbnail(picture: Bytes) -> Bytes:
    """A picture at thumbnail size, every pixel the mean of its area."""
    return np.asarray(cv2.resize(picture, THUMBNAIL, interpolation=cv2.INTER_AREA), dtype=np.uint8)


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
        """Whether the frame has the background's own light."""
        return bool((self.gain == 1).all() and (self.offset == 0).all())


def find_light(
    seen: Bytes | Singles,
    model: Singles,
    sigma: float,
    *,
    seed: int = 0,
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
    seed : int
        Of the pairs of pixels that propose a light.
    params : LocalParams, optional

    Returns
    -------
    Light
    """
    x = np.asarray(seen, dtype=np.float32).reshape(-1, 3)
    c = model.reshape(-1, 3)
    gain, offset = np.ones(3, np.float32), np.zeros(3, np.float32)
    plain = explained(seen, model, sigma)
    if plain > _EXPLAINED:
        return Light(gain, offset, plain)
    pairs = np.random.default_rng(seed).integers(0, len(x), (2, _PAIRS))
    for k in range(3):
        gain[k], offset[k] = _channel_light(x[:, k], c[:, k], pairs, _WIDTH * sigma)
    share = float((np.abs(x - gain * c - offset).max(axis=1) < _WIDTH * sigma).mean())
    if share < plain + params.light_bonus:
        return Light(np.ones(3, np.float32), np.zeros(3, np.float32), plain)
    return Light(gain, offset, share)


def _channel_light(x: Singles, c: Singles, pairs: np.ndarray, width: float) -> tuple[float, float]:
    """Gain and offset of one channel: the best of those that two pixels define, then refined."""
    first, second = pairs
    contrast = c[first] - c[second]
    usable = np.abs(contrast) > _LEAST_CONTRAST
    first, second, contrast = first[usable], second[usable], contrast[usable]
    gains = np.append((x[first] - x[second]) / contrast, np.float32(1))
    offsets = np.append(x[first] - gains[:-1] * c[first], np.median(x - c))
    likely = (gains > _GAINS[0]) & (gains < _GAINS[1]) & (np.abs(offsets) < _LARGEST_OFFSET)
    gains, offsets = gains[likely].astype(np.float32), offsets[likely].astype(np.float32)
    if not gains.size:
        return 1.0, 0.0
    residual = np.outer(gains, -c[::_EVERY])
    residual += x[::_EVERY]
    residual -= offsets[:, None]
    np.abs(residual, out=residual)
    best = int((residual < width).view(np.uint8).sum(axis=1, dtype=np.uint16).argmax())
    inside = np.abs(x - gains[best] * c - offsets[best]) < width
    if np.count_nonzero(inside) <= 20:
        return 1.0, 0.0
    terms = np.stack([c[inside], np.ones(np.count_nonzero(inside), np.float32)], axis=1)
    gain, offset = map(float, np.linalg.lstsq(terms, x[inside], rcond=None)[0])
    # A frame without contrast, such as a black one, has any offset and no gain: that is no light.
    return (gain, offset) if _GAINS[0] < gain < _GAINS[1] else (1.0, 0.0)


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
    x = np.asarray(seen, dtype=np.float32).reshape(-1, 3)
    c = model.reshape(-1, 3)
    for k in range(3):
        table[:, k] = (levels - light.offset[k]) / light.gain[k]
        left = c[:, k] - (x[:, k] - light.offset[k]) / light.gain[k]
        table[:, k] += _bend(x[:, k], left, levels, 8 * sigma)
    return np.clip(np.rint(table), 0, 255).astype(np.uint8).reshape(1, 256, 3)


def _bend(x: Singles, left: Singles, levels: Singles, width: float) -> Singles:
    """Median of what an affine light leaves, between quantiles of the levels, interpolated."""
    at, by = [], []
    for part in np.array_split(np.argsort(x, kind="stable"), _KNOTS):
        here = part[np.abs(left[part]) < width]
        if here.size > 0.3 * part.size:
            middle = here.size // 2
            at.append(x[here[middle]])  # the median, for they are sorted
            by.append(np.partition(left[here], middle)[middle])
    if len(at) < 2:
        return np.zeros_like(levels)
    bend = np.interp(levels, at, by)
    return np.asarray(bend, dtype=np.float32)


def relight(picture: Bytes, table: Bytes | None) -> Bytes:
    """The picture as it would look under its background's light."""
    return picture if table is None else np.asarray(cv2.LUT(picture, table), dtype=np.uint8)


def in_one_light(
    pictures: Bytes,
    thumbnails: Bytes,
    chosen: NDArray[np.int64],
    workers: Workers,
    params: LocalParams = DEFAULTS,
) -> tuple[Bytes, int]:
    """Put pictures of one state, in place, into the light of their median.

    Parameters
    ----------
    pictures : ndarray of uint8, shape (n, h, w, 3)
    thumbnails : ndarray of uint8, shape (n, h', w', 3)
        Those of all pictures.
    chosen : ndarray of int64, shape (m,)
        The pictures of the state.
    workers : Workers
    params : LocalParams, optional

    Returns
    -------
    pictures : ndarray of uint8, shape (m, h, w, 3)
        Those of the state.
    relit : int
        How many of them had another light.
    """
    own = thumbnails[chosen].astype(np.float32)
    middle = np.median(own, axis=0).astype(np.float32)
    still = 1.5
    if chosen.size > 1:
        steps = np.abs(np.diff(own, axis=0)).max(axis=3)
        still = float(np.median(steps)) / (NORMAL_MAD * np.sqrt(2))
    wide = float(np.median(np.abs(own - middle))) / NORMAL_MAD
    sigma = max(min(wide, 3 * still), 1.5)  # not widened by a drift of the light

    def put(i: int) -> bool:
        light = find_light(own[i], middle, sigma, params=params)
        table = tone_curve(own[i], middle, light, sigma)
        if table is not None:
            pictures[chosen[i]] = relight(pictures[chosen[i]], table)
        return table is not None

    relit = sum(workers.map(put, range(chosen.size)))
    return pictures if chosen.size == len(pictures) else pictures[chosen], relit
