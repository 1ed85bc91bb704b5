"""Measure the noise of every place of a scene, and the contrast of what moves there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.clean_frames import Singles, coarseness
from bgsub.local.evidence import EvidenceMeter
from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.local.regions import thinned
from bgsub.local.scene import Scene
from bgsub.robustpca.median import median, quantile
from bgsub.video.frames import Bytes

NOISE_UNIT = 8
"""Steps of a noise map, a grey level."""

NOISE_BINS = 16
"""Levels of which the noise is known one by one: 0 to 15, 16 to 31, …"""

FAINT = 1.25
"""Noise of most places, in grey levels, below which light matters that drifts by one: half of what
codecs and tremor add to most film."""


_FRAMES = 40
_FINE = 8
# The 0.3 quantile of the evidence, put up to the median that normal noise would have: objects may
# cover a place for two thirds of the film.
_QUANTILE, _TO_MEDIAN = 0.3, 1.75
_AROUND = 9
# Regions are squares of so many of every so many of these pixels, 120 pixels of a small picture.
_REGION, _APART = 15, 4
# The quantile of a region that counts, and the median of normal noise as a share of it.
_FIFTH, _FROM_FIFTH = 0.8, 0.526
# Noise that may be common to a region, times that of codecs and tremor.
_CROWDED = 1.5
_CLEAR = 1.5
_LEAST_VALUES = 100
_LEVELS, _LEAST_SHARE = 16, 0.002

# Of every so many pixels: a lens and chroma at half the resolution blur an edge over those near it,
# and blocks of a codec reach as far as the others.
_EDGE, _BESIDE = np.ones((5, 5), np.uint8), np.ones((9, 9), np.uint8)
_SOLID = np.ones((2, 2), np.uint8)
_HALO = 0.7
_LEAST_RING = 0.005  # of a frame: what stands beside one small person


def with_noise(
    scene: Scene,
    pictures: Bytes,
    params: LocalParams = DEFAULTS,
    each: Callable[..., Iterable[object]] = map,
) -> Scene:
    """Give a scene with its map of noise and its contrast.

    The noise of a place is what its evidence is at rest: measured at each pixel and averaged over
    those around. It is not believed beyond what could be noise there, so that people who are often
    at one place do not raise it: the noise of most places; or a share of the texture, which tremor
    moves, and which is larger where the background is restless; or what most of a wide region show
    together, as water does and drifting light, up to half more than `LocalParams.least_noise`: of
    more, a crowd is the reason.

    Where most places have so little that light hides them which drifts by a level, evidence is
    measured beside that of the region, as it is in masks.

    Cameras add less noise to what is dark, or white, than to what is between in one film, and more
    in another. So of all pixels at rest the mean difference is taken by their level, beside that of
    all: where it is less, the grain of that level is so much smaller.

    The contrast is the median of all evidence well above the noise, every value weighted by itself:
    half of the strength of all that moves comes from what is stronger.

    Film with few bits is noisier beside what moves, as a codec spends them on the blocks there and
    what it gets wrong stays until they are coded again. That noise is measured by itself: of the
    pixels about 4 to 8 from any with half of the contrast, seven tenths have no more of it. Where
    nothing stands out in most frames, light may be what differs in the others. It is a multiple of
    the noise of their places, 1 to 1.7 in film without such halos: a part of these pixels shows
    weaker parts of objects.

    Parameters
    ----------
    scene : Scene
    pictures : ndarray of uint8, shape (n, h, w, 3)
        In the scene's light.
    params : LocalParams, optional
    each : callable, optional
        `map`, or `Workers.map`.

    Returns
    -------
    Scene
    """
    height, width = scene.restless.shape
    step = 2 * coarseness(height, width)
    chosen = np.linspace(0, len(pictures) - 1, min(len(pictures), _FRAMES)).round().astype(int)
    rank = int(_QUANTILE * (chosen.size - 1))
    for faint in (False, True):
        meter = EvidenceMeter(scene, params, is_faint=faint)
        fine, single, level = _measured(meter, [pictures[j] for j in chosen], step, each)
        usual = np.partition(fine, rank, axis=0)[rank].astype(np.float32) * (_TO_MEDIAN / _FINE)
        if median(usual) >= FAINT:
            break
    most = np.maximum(_most_noise(scene, usual, step, params), _shared_noise(fine, rank, params))
    believed = np.minimum(usual, most)
    noise = np.maximum(cv2.blur(believed, (_AROUND // 2 | 1,) * 2), np.float32(params.noise_floor))
    if scene.band is not None:  # at rest there is no evidence there, and then a great deal
        turbulent = (scene.band[0] < scene.band[1]).any(axis=2)[::step, ::step]
        noise[turbulent] = np.maximum(noise[turbulent], np.float32(scene.sigma))
    calm = fine <= noise * np.float32(_FINE * params.threshold)
    clear = fine[fine > noise * np.float32(_CLEAR * _FINE * params.threshold)]
    contrast = _contrast(clear)
    steps = cv2.resize(noise, (width, height), interpolation=cv2.INTER_LINEAR) * NOISE_UNIT
    return replace(
        scene,
        noise=np.clip(np.rint(steps), 1, 255).astype(np.uint8),
        contrast=contrast / _FINE,
        halo=_halo(fine, noise * _FINE, contrast, params),
        grain_shares=_by_level(single[calm], level[calm]),
    )


def _measured(
    meter: EvidenceMeter,
    pictures: list[Bytes],
    step: int,
    each: Callable[..., Iterable[object]],
) -> tuple[NDArray[np.uint16], Bytes, Bytes]:
    """Give evidence, differences of single pixels and luma of every so many pixels, (n, h', w')."""
    height, width = pictures[0].shape[:2]
    fine = np.empty((len(pictures), -(-height // step), -(-width // step)), np.uint16)
    single, level = np.empty(fine.shape, np.uint8), np.empty(fine.shape, np.uint8)

    def measure(some: slice) -> None:
        for i in range(len(pictures))[some]:
            evidence, own, _ = meter.measure(pictures[i])
            fine[i] = evidence[::step, ::step] * np.float32(_FINE / meter.unit)
            single[i] = own[::step, ::step]
            level[i] = cv2.cvtColor(thinned(pictures[i], step), cv2.COLOR_BGR2GRAY)

    half = -(-len(pictures) // 2)
    list(each(measure, [slice(half), slice(half, None)]))
    return fine, single, level


def _by_level(differences: Bytes, levels: Bytes) -> Singles | None:
    """Mean of differences by level, as share of that of all, 1 at most; None where all are 0."""
    bins = levels // _LEVELS
    counts = np.bincount(bins, minlength=NOISE_BINS)
    sums = np.bincount(bins, differences, minlength=NOISE_BINS)
    known = np.flatnonzero(counts >= max(_LEAST_VALUES, _LEAST_SHARE * counts.sum()))
    if not known.size or not sums.any():
        return None
    means = sums[known] / counts[known]
    shares = np.interp(np.arange(NOISE_BINS), known, means / (sums.sum() / counts.sum()))
    return np.asarray(np.minimum(shares, 1), dtype=np.float32)


def _most_noise(scene: Scene, usual: Singles, step: int, params: LocalParams) -> Singles:
    """Noise that a place can have at most, of every so many pixels, in grey levels."""
    color = scene.colors[0].astype(np.float32)
    size = (_AROUND, _AROUND)
    squares, means = (cv2.blur(one, size)[::step, ::step] for one in (color * color, color))
    texture = np.sqrt(np.maximum(squares - means**2, 0)).max(axis=2)
    restless = scene.restless[::step, ::step].astype(np.float32) / 255
    most = (params.noise_texture + params.noise_restless * restless) * texture
    return np.asarray(np.maximum(most, np.float32(median(usual))), dtype=np.float32)


def _shared_noise(evidence: NDArray[np.uint16], rank: int, params: LocalParams) -> Singles:
    """Noise that wide regions show together in most frames, in grey levels, (h', w').

    Water, and light that drifts, are everywhere in a region at any time. What passes covers a
    part of it, and another one later, however long it is in the picture. Waves are rare and far
    above the median: a fifth of a region is as strong as this, or stronger.
    """
    few = np.ascontiguousarray(evidence[:, ::_APART, ::_APART])
    reach = _REGION // 2
    wide = np.pad(few, ((0, 0), (reach, reach), (reach, reach)), mode="symmetric")
    views = np.lib.stride_tricks.sliding_window_view(wide, (_REGION, _REGION), axis=(1, 2))
    rows, columns = (np.arange(min(_APART // 2, n - 1), n, _APART) for n in few.shape[1:])
    regions = views[:, rows[:, None], columns].reshape(len(few), rows.size, columns.size, -1)
    at = int(_FIFTH * (_REGION**2 - 1))
    together = np.partition(regions, at, axis=3)[..., at]
    usual = np.partition(together, rank, axis=0)[rank].astype(np.float32)
    usual *= np.float32(_TO_MEDIAN * _FROM_FIFTH / _FINE)
    size = evidence.shape[2], evidence.shape[1]
    shared = cv2.resize(usual, size, interpolation=cv2.INTER_LINEAR)
    return np.asarray(np.minimum(shared, _CROWDED * params.least_noise), dtype=np.float32)


def _contrast(values: np.ndarray) -> float:
    """Median of values, each weighted by itself; 0 where there are few."""
    if values.size < _LEAST_VALUES:
        return 0.0
    ordered = np.sort(values)
    sums = np.cumsum(ordered, dtype=np.float64)
    return float(ordered[np.searchsorted(sums, sums[-1] / 2)])


def _halo(
    evidence: NDArray[np.uint16], noise: Singles, contrast: float, params: LocalParams
) -> float:
    """Noise beside what moves in most frames, as a multiple of the places'; 0 if little does."""
    beside = []
    for frame in evidence:
        strong = frame >= np.maximum(contrast / 2, _CLEAR * params.threshold * noise)
        solid = cv2.morphologyEx(strong.view(np.uint8), cv2.MORPH_OPEN, _SOLID)
        near, rim = (cv2.dilate(strong.view(np.uint8), one) for one in (_BESIDE, _EDGE))
        ring = np.asarray(cv2.subtract(near, rim), dtype=np.uint8)
        if cv2.hasNonZero(solid):
            beside.append((frame / noise)[ring.view(np.bool_)])
    if not contrast or 2 * len(beside) <= len(evidence):
        return 0.0
    values = np.concatenate(beside)
    return quantile(values, _HALO) if values.size >= _LEAST_RING * evidence.size else 0.0
