"""Fit the light of a frame: gain and offset of each channel, and the states of a scene."""

from __future__ import annotations

import math
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.robustpca.spaces import Singles, median, quantile
from bgsub.video.frames import Bytes

# Width and height at which light is fitted: noise and small objects are averaged out.
THUMBNAIL = (40, 30)
_LEAST, _MOST = 10, 246  # grey levels between which a gain holds: beyond them sensors clip
# Logarithms of gains that are looked for, to both sides, and the bins of their histogram.
_REACH, _BINS = 1.6, 160
# How fast the weight of a gain falls with its logarithm: who fills a frame is no light.
_USUAL = 0.8
_MIDDLES = (np.arange(_BINS) + 0.5) * (2 * _REACH / _BINS) - _REACH
_HOW_USUAL = np.exp(-_USUAL * np.abs(_MIDDLES))
_ROUNDS = 6
# Squared grey levels of contrast that weigh as much as the common gain of the channels.
_PRIOR = 25.0
_SLIGHT = 0.12  # logarithm of ratios that exposure alone makes
_NOISE = 4.0  # grey levels by which thumbnails of one scene in one light differ, at least
_ALIKE = 12.0  # grey levels up to which a pixel of a thumbnail is explained
# Share of a thumbnail that a state explains of its frames, at least, and share of all frames from
# which their median shows one state.
_EXPLAINED, _MOST_FRAMES = 0.62, 0.8
# Share of the frames that every state of a scene has: an object seldom fills a frame so long.
STATE_SHARE = 0.15
_MOST_STATES = 3
# Share of a thumbnail from which a frame is learned from: the rest may be objects.
_RECOGNISED = 0.35


class Light(NamedTuple):
    """Light of a frame relative to a plate: frame = gain · plate + offset.

    Gain and offset are those of blue, green and red; `explained`: how much of the thumbnail fits.
    """

    gain: Singles
    offset: Singles
    explained: float


def thumbnail(frame: Bytes) -> Singles:
    """Return a frame, (h, w, 3), at the size at which light is fitted."""
    small = cv2.resize(frame, THUMBNAIL, interpolation=cv2.INTER_AREA)
    # Planes, as maxima over an axis of three values are slow.
    return np.ascontiguousarray(small.transpose(2, 0, 1), dtype=np.float32)


def lit(
    plate: Bytes, light: Light, within: tuple[Bytes, Bytes] | None = None, *, back: bool = False
) -> Bytes:
    """Return a plate, (h, w, 3) or (h, w), in the light of a frame, or `back` a frame in its.

    `within` are the lowest and the highest level of each channel, where what lies beyond ends, as
    sensors and codecs clip, at 255 or below.
    """
    gain, offset = light.gain, light.offset
    if back:
        gain = np.asarray(1 / gain, np.float32)
        offset = -offset * gain
    if np.abs(gain - 1).max() < 0.004 and np.abs(offset).max() < 0.5:
        return plate  # no grey level changes by more than rounding does
    levels = np.arange(256, dtype=np.float32)[:, None] * gain + offset
    table = np.clip(np.rint(levels), *(within or (0, 255)))[None].astype(np.uint8)
    return np.asarray(cv2.LUT(plate, table if plate.ndim == 3 else table[..., 1]), np.uint8)


def reach(frames: Bytes) -> tuple[Bytes, Bytes]:
    """Return the lowest and the highest level of each channel of frames, (n, h, w, 3)."""
    # Rows first, which is quick: pixels of three channels take forty times as long.
    low, high = frames.min(axis=(0, 1)), frames.max(axis=(0, 1))
    return low.min(axis=0), high.max(axis=0)


def fit_light(seen: Singles, plate: Singles) -> Light:
    """Fit the light of a frame to a plate, both as thumbnails, (3, h, w).

    The gain is the mode of the log ratio, which objects that cover less than the scene do not
    move; gains and offsets of the channels are then refined with the weights of Geman and McClure.
    """
    usual = Light(np.ones(3, np.float32), np.zeros(3, np.float32), 1.0)
    seen, plate = seen.reshape(3, -1), plate.reshape(3, -1)
    same = explained(seen, plate, usual)
    if same > 0.8 and np.abs(median(seen - plate, axis=1)).max() < 1.0:
        # Already in one light: a fit would follow the noise.
        return usual._replace(explained=same)
    mean, own = seen.mean(axis=0), plate.mean(axis=0)
    holds = (own > _LEAST) & (own < _MOST) & (mean < _MOST)
    if np.count_nonzero(holds) < 50:
        return usual._replace(explained=same)
    ratios = np.log((mean[holds] + 4) / (own[holds] + 4))
    counts = cv2.calcHist([ratios[None]], [0], None, [_BINS], [-_REACH, _REACH])
    smooth = cv2.GaussianBlur(counts.T, (0, 0), 2.5, borderType=cv2.BORDER_CONSTANT)[0]
    start = math.exp(_MIDDLES[np.argmax(smooth * _HOW_USUAL)])
    gain, offset = np.full((3, 1), start, np.float32), np.zeros((3, 1), np.float32)
    # Rows in one piece: of `plate[:, holds]` the columns are, and all below takes twice as long.
    x, y = plate.compress(holds, axis=1), seen.compress(holds, axis=1)
    for _ in range(_ROUNDS):
        left = np.abs(y - (gain * x + offset)).max(axis=0)
        scale = max(_NOISE, 2.5 * quantile(left, 0.3))
        weights = 1 / np.square(1 + np.square(left / np.float32(scale)))
        weights /= weights.sum()
        mx, my = (x @ weights)[:, None], (y @ weights)[:, None]
        dx = x - mx
        # The prior keeps the gain of plain scenes, whose contrast tells nothing.
        variance, covariance = (dx * dx) @ weights, (dx * (y - my)) @ weights
        gain = ((covariance + _PRIOR * start) / (variance + _PRIOR))[:, None]
        # Not `np.clip`, which takes many times as long for three numbers.
        gain = np.minimum(np.maximum(gain, np.float32(0.15)), np.float32(6))
        offset = np.minimum(np.maximum(my - gain * mx, np.float32(-80)), np.float32(80))
    found = Light(gain[:, 0], offset[:, 0], 0.0)
    share = explained(seen, plate, found)
    if share > same + 0.02:
        return found._replace(explained=share)
    # Exposure changes a little all the time; anything more needs support.
    ratio = np.log((seen + 4) / (np.maximum(plate, 0) + 4))
    near = np.abs(ratio).max(axis=0) < _SLIGHT
    if np.count_nonzero(near) < 0.4 * near.size:
        return usual._replace(explained=same)
    slight = np.exp(median(ratio.compress(near, axis=1), axis=1)).astype(np.float32)
    return Light(slight, np.zeros(3, np.float32), same)


def explained(seen: Singles, plate: Singles, light: Light) -> float:
    """Return the share of a thumbnail that a plate explains in a light."""
    seen, plate = seen.reshape(3, -1), plate.reshape(3, -1)
    left = np.abs(seen - (light.gain[:, None] * plate + light.offset[:, None])).max(axis=0)
    bound = _ALIKE * min(max(float(light.gain.mean()), 0.5), 1.0)
    return float(np.count_nonzero(left < bound) / left.size)


def find_states(thumbnails: Singles) -> tuple[NDArray[np.int64], list[Light]]:
    """Find the states of a scene, lights on and off, among thumbnails, (n, 3, 30, 40), in order.

    Returns the state of each frame, 0 for that of most and −1 where none explains it, and the light
    of each against the median of its state. Every state has at least `STATE_SHARE` of the frames.
    """
    n = len(thumbnails)
    members, plates = np.full(n, -1, np.int64), list[Singles]()
    lights: list[Light | None] = [None] * n
    left = np.arange(n)
    while not plates or (len(plates) < _MOST_STATES and len(left) >= max(3, STATE_SHARE * n)):
        plate = _settled(thumbnails[left])
        fits = [fit_light(one, plate) for one in thumbnails[left]]
        share = np.array([one.explained for one in fits])
        if plates:
            if np.count_nonzero(share >= _EXPLAINED) < max(3, STATE_SHARE * n):
                break
            if max(fit_light(plate, one).explained for one in plates) >= _RECOGNISED:
                break  # who fills the frame for long is no light
            chosen = share >= _EXPLAINED
        else:
            chosen = share >= min(_EXPLAINED, float(np.median(share)))
        state = len(plates)
        plates.append(plate)
        for index, fit in zip(left[chosen], np.flatnonzero(chosen), strict=True):
            members[index], lights[index] = state, fits[fit]
        left = left[~chosen]
    for index in left:
        fits = [fit_light(thumbnails[index], plate) for plate in plates]
        state = max(range(len(fits)), key=lambda i: fits[i].explained)
        lights[index] = fits[state]
        if fits[state].explained >= _RECOGNISED:
            members[index] = state
    return members, [light for light in lights if light is not None]


def _settled(thumbnails: Singles) -> Singles:
    """Return the median of the frames that are alike one of them, each in its light."""
    plate = median(thumbnails, axis=0).astype(np.float32)
    fits = [fit_light(one, plate) for one in thumbnails]
    if sum(fit.explained >= _EXPLAINED for fit in fits) < _MOST_FRAMES * len(fits):
        # The median of several states is none of them: the frame that explains most of the others.
        last, scores = len(thumbnails) - 1, []
        picks = thumbnails[np.linspace(0, last, min(9, last + 1)).astype(int)]
        looks = thumbnails[np.linspace(0, last, min(25, last + 1)).astype(int)]
        for pick in picks:
            shares = np.array([fit_light(one, pick).explained for one in looks])
            scores.append(float(np.mean(shares >= _EXPLAINED) + 0.1 * np.mean(shares)))
        plate = picks[int(np.argmax(scores))]
        fits = [fit_light(one, plate) for one in thumbnails]
    at = [
        (one - fit.offset[:, None, None]) / fit.gain[:, None, None]
        for one, fit in zip(thumbnails, fits, strict=True)
        if fit.explained >= _EXPLAINED
    ]
    if len(at) < 2:
        return plate
    return np.asarray(np.clip(median(np.stack(at), axis=0), 0, 255), np.float32)
