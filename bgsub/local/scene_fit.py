"""Fit one state of a scene: find which colours of which pixels are its background."""

from __future__ import annotations

from functools import partial

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.channels import distances_to
from bgsub.local.clean_frames import (
    Singles,
    clean_shares,
    coarseness,
    find_clean_frames,
    trimmed_mean,
)
from bgsub.local.clustering import find_layers
from bgsub.local.decisions import describe_changes
from bgsub.local.filling import fill_inwards
from bgsub.local.grain import SHADOW_WINDOW, measure_noise
from bgsub.local.layers import Layers
from bgsub.local.objects import Verdict, judge_changes
from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.local.passing import is_passed
from bgsub.local.recurrence import colors_that_come_back
from bgsub.local.regions import repeated
from bgsub.local.returning import came_and_left, comes_back, is_around
from bgsub.local.scene import Scene
from bgsub.local.turbulence import find_band
from bgsub.runtime.threads import WORTH_A_THREAD, Workers
from bgsub.video.frames import Bytes

_VISIT_FRAMES = 1.6
_NEARBY_PIXELS = 3
_NEARBY_SIGMAS = 3.0
_LEAST_SHARE = 0.04
_STRIP_PIXELS = 1 << 17  # that are compared with those around at a time: more leave the cache
# Around an object that stood for most of the time, in pixels, its colours may be the most frequent
# ones of some more pixels: of those where another layer is shown at least half as often.
_BESIDE, _RIVAL = 15, 0.5


def fit_scene(
    pictures: Bytes,
    *,
    seed: int,
    workers: Workers,
    params: LocalParams = DEFAULTS,
    is_shaken: bool = False,
) -> Scene:
    """Learn the background of pictures of one state of a scene.

    Parameters
    ----------
    pictures : ndarray of uint8, shape (n, h, w, 3)
        In order of time, at most `MOST_FRAMES`.
    seed : int
    workers : Workers
    params : LocalParams, optional
    is_shaken : bool, optional
        Whether the camera shakes, and the pictures were moved to their place.

    Returns
    -------
    Scene
    """
    height, width = pictures.shape[1:3]
    each = workers.map if height * width >= WORTH_A_THREAD else map
    luma = np.stack(list(each(_luma, pictures)))
    clean = find_clean_frames(luma, params.clean_fraction, workers.map)
    del luma
    center = trimmed_mean(pictures, clean, each)
    grain = measure_noise(pictures, center, workers.map)
    shared = measure_noise(pictures, center, workers.map, SHADOW_WINDOW)
    sigma = max(grain, params.least_noise)
    first = np.rint(center).astype(np.uint8)
    del center
    tolerance = int(min(params.layer_width * sigma, 60))
    layers = find_layers(pictures, first, tolerance, seed=seed, workers=workers)
    colors = layers.colors[: params.kept_layers].copy()
    step = coarseness(height, width)

    def judge() -> tuple[Layers, Verdict]:
        fewer, seen = layers.every(step), pictures[:, ::step, ::step]
        return fewer, judge_changes(seen, fewer, sigma, params, workers.share)

    judged = workers.submit(judge) if step > 1 else None  # beside what chooses the layers
    rates = _restlessness(layers, params.kept_layers)
    passed = is_passed(layers, params, is_shaken=is_shaken)
    shares = clean_shares(layers.labels, clean, params.kept_layers)
    accepted = _accept(layers, colors, shares, rates, passed, sigma, workers, params)
    del shares
    fewer, verdict = judge() if judged is None else judged.result()
    allowed = accepted.copy()
    notes = _settle(colors, accepted, layers, verdict, step, sigma, params)
    ways = (
        partial(comes_back, pictures, layers.colors[0], colors[0]),
        partial(is_around, layers, colors[0], params),
    )
    back_again, around = each(lambda way: way(), ways)
    stands = (back_again | around) & ~repeated(verdict.breaks, step, height, width)
    if stands.any():
        verdict.is_object[0] &= ~stands[::step, ::step]
        colors, accepted = layers.colors[: params.kept_layers].copy(), allowed
        notes = _settle(colors, accepted, layers, verdict, step, sigma, params)
    regions = tuple(describe_changes(verdict, fewer, step, (height, width)))
    is_object = repeated(verdict.is_object, step, height, width)
    back = colors_that_come_back(pictures, colors[0], layers, is_object, sigma, params)
    if back is not None:
        known = distances_to(colors, back) <= _NEARBY_SIGMAS * sigma
        accepted[1:] &= (known[0] | known)[1:]
        colors[0] = back
    band, palette = find_band(pictures, layers, accepted, passed, colors[0], tolerance, params)
    for k in range(1, params.kept_layers):
        cv2.copyTo(colors[0], (~accepted[k]).view(np.uint8), colors[k])
    moving = (accepted[1:] * rates[1:]).max(axis=0, initial=0).astype(np.float32)
    restless = np.rint(255 * cv2.blur(moving, (7, 7))).astype(np.uint8)
    used = 1 + max((k for k in range(1, params.kept_layers) if accepted[k].any()), default=0)
    return Scene(
        np.ascontiguousarray(colors[:used]),
        restless,
        sigma,
        notes,
        band,
        regions,
        palette,
        grain=grain,
        shared=min(shared, grain),
    )


def _luma(picture: Bytes) -> Bytes:
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY), dtype=np.uint8)


def _restlessness(layers: Layers, kept: int) -> Singles:
    """1 for layers that come for a frame or two, towards 0 for those that stay, (K', h, w)."""
    visits = layers.visits[:kept].astype(np.float32)
    rate = np.minimum(_VISIT_FRAMES * visits / np.maximum(layers.counts[:kept], 1), 1)
    return np.asarray(rate * rate, dtype=np.float32)


def _accept(
    layers: Layers,
    colors: Bytes,
    shares: Singles,
    rates: Singles,
    passed: NDArray[np.bool_],
    sigma: float,
    workers: Workers,
    params: LocalParams,
) -> NDArray[np.bool_]:
    """Choose the layers that are background, by how often, where else and how they are seen.

    What comes for a frame or two, however often, is none where it is what moves on before a place.
    """
    accepted = np.ones(shares.shape, np.bool_)
    n = np.float32(len(layers.labels))

    def judge(k: int) -> None:
        far = _farness(colors, k, sigma)
        lowest = params.near_share + (params.staying_share - params.near_share) * (1 - rates[k])
        absence = layers.absences[k] / n
        accepted[k] = (shares[k] >= lowest + (params.far_share - lowest) * far) & (
            absence <= params.longest_absence
        )
        more = (params.often_far - params.often_near) * far
        often = layers.counts[k] / n >= params.often_near + more
        comes_and_goes = rates[k] > 0.5
        accepted[k] |= often & comes_and_goes & (absence <= params.often_absence)
        accepted[k] &= ~(passed & comes_and_goes)

    workers.each(judge, range(1, params.kept_layers))
    return accepted


def _farness(colors: Bytes, k: int, sigma: float) -> Singles:
    """0 where the colour of layer k is a first layer's within 3 pixels, up to 1 where it is not."""
    reach = _NEARBY_PIXELS
    height, width = colors.shape[1:3]
    wide = cv2.copyMakeBorder(colors[0], reach, reach, reach, reach, cv2.BORDER_REPLICATE)
    own, around = cv2.split(colors[k]), cv2.split(wide)
    nearest = np.full((height, width), 255, np.uint8)
    rows = max(_STRIP_PIXELS // width, 1)
    for top in range(0, height, rows):
        strip = nearest[top : top + rows]
        planes = [plane[top : top + rows] for plane in own]
        largest, other = (np.empty_like(strip) for _ in range(2))
        for down, right in np.ndindex(2 * reach + 1, 2 * reach + 1):
            part = np.s_[top + down : top + down + len(strip), right : right + width]
            cv2.absdiff(planes[0], around[0][part], dst=largest)
            for plane, shifted in zip(planes[1:], around[1:], strict=True):
                cv2.max(largest, cv2.absdiff(plane, shifted[part], dst=other), dst=largest)
            cv2.min(strip, largest, dst=strip)
    far = nearest / np.float32(sigma * _NEARBY_SIGMAS) - np.float32(0.5)
    return np.asarray(np.clip(far, 0, 1), dtype=np.float32)


def _disputed(layers: Layers, allowed: NDArray[np.bool_], longest: float) -> NDArray[np.bool_]:
    """Mark where the first layer stays away for long and another one is shown nearly as often."""
    rival = (allowed[1:] * layers.counts[1:]).max(axis=0)
    away = layers.absences[0] > longest * len(layers.labels)
    return np.asarray(away & (rival >= _RIVAL * layers.counts[0]))


def _settle(
    colors: Bytes,
    accepted: NDArray[np.bool_],
    layers: Layers,
    verdict: Verdict,
    step: int,
    sigma: float,
    params: LocalParams,
) -> list[str]:
    """Take layers that were objects out of the background, and things that were moved in."""
    notes: list[str] = []
    kept = params.kept_layers
    height, width = layers.labels.shape[1:]
    if not verdict.is_object.any() and not verdict.is_thing.any():
        return notes
    is_object = repeated(verdict.is_object, step, height, width)
    is_thing = repeated(verdict.is_thing[:kept], step, height, width)
    shares = layers.shares
    allowed = ~is_object & (shares >= _LEAST_SHARE)
    swap = is_object[0] & allowed.any(axis=0)
    worth_a_word = params.least_area * height * width  # what is smaller is a speck in a mask
    if swap.any():
        if swap.sum() >= worth_a_word:
            notes.append(f"{swap.sum()} pixels: what stood there most of the time was an object")
        hole = cv2.morphologyEx(swap.view(np.uint8), cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8)) > 0
        beside = cv2.dilate(hole.view(np.uint8), np.ones((_BESIDE * step | 1,) * 2, np.uint8)) > 0
        hole |= beside & _disputed(layers, allowed, params.longest_absence)
        filled = fill_inwards(colors[0], hole, layers.colors, shares, allowed, sigma)
        smooth = cv2.medianBlur(filled, 3)
        colors[0][hole] = smooth[hole]
    # What one change calls an object and another one a thing at rest: things stay, visitors leave.
    is_thing &= ~came_and_left(layers, is_object[:kept] & is_thing & ~is_object[0])
    accepted &= ~(is_object[:kept] & ~is_thing)
    accepted[0] = True
    moved = is_thing & ~accepted
    objects = np.asarray(is_object.any(axis=0), dtype=np.uint8)
    beside_objects = cv2.dilate(objects, np.ones((5, 5), np.uint8)) > 0
    places = int((moved.any(axis=0) & ~beside_objects).sum())
    if places and places >= worth_a_word:
        notes.append(f"{places} pixels: a thing was moved there or away")
    accepted |= moved
    return notes
