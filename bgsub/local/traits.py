"""Learn what is usual of a film's objects: whether they throw soft shade, how solid they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import cv2
import numpy as np

from bgsub.local.cleanup import BlobRule, mean_score, vote, without_shadows
from bgsub.local.params import LocalParams
from bgsub.local.scoring import SceneMatcher
from bgsub.local.shade import soft_shade
from bgsub.video.frames import Bytes

PassTo = Callable[[Callable[..., Any], Iterable[Any]], Iterable[Any]]
"""`map`, or what does the same in threads."""

_FRAMES = 24
"""Frames that are looked at, at most; of large pictures fewer, as each has more pixels."""

_IN_LIGHT = 0.4
"""Share of a frame that is marked, at most: more is no object but another light."""

_INSIDE = np.ones((5, 5), np.uint8)
_PAIR, _AROUND = np.ones((2, 2), np.uint8), np.ones((9, 9), np.uint8)
_WEAK = 0.125
"""Share of the score beside that no edge's blur has inside of an object."""

_LEAST = 1000
"""Pixels inside of objects in all frames together: fewer say nothing."""


class Traits(NamedTuple):
    """What is usual of a film's objects.

    Attributes
    ----------
    shade : float
        Share of what is marked that is soft shade, see `shade`.
    weak_inside : float
        Share of the pixels inside of objects that have less than an eighth of the score beside; 1
        where too few were seen.
    """

    shade: float
    weak_inside: float


def traits_of(
    matcher: SceneMatcher,
    pictures: Bytes,
    step: int,
    params: LocalParams,
    each: PassTo = map,
) -> Traits:
    """Look at the objects in some frames of a film.

    Parameters
    ----------
    matcher : SceneMatcher
    pictures : ndarray of uint8, shape (n, h, w, 3)
        In the scene's light.
    step : int
        Lengths are so many times as long.
    params : LocalParams
        With the bounds of the shadows of the scene.
    each : callable, optional
        Calls a function for each of some items, as `map` does.

    Returns
    -------
    Traits
    """
    count = min(len(pictures), _FRAMES // step)
    chosen = np.linspace(0, len(pictures) - 1, count).round().astype(int)
    frames = (pictures[j] for j in chosen.tolist())
    counts = np.sum(list(each(partial(_counted, matcher, step, params), frames)), axis=0)
    shaded, marked, weak, inside = counts.tolist()
    return Traits(shaded / max(marked, 1), weak / inside if inside >= _LEAST else 1.0)


def _counted(
    matcher: SceneMatcher, step: int, params: LocalParams, picture: Bytes
) -> tuple[int, ...]:
    """Count the pixels of a frame that are shade, marked, weak inside of objects, and inside."""
    scene = matcher.scene
    score, own, index = matcher.score(picture, scene.sigma)
    raw = vote(mean_score(score, params.vote_most), params.vote_level)
    if not 0 < cv2.countNonZero(raw) <= _IN_LIGHT * raw.size:
        return 0, 0, 0, 0

    def behind(rows: slice, columns: slice) -> Bytes:
        return matcher.background(index, rows, columns)

    mask = without_shadows(raw, picture, behind, scene.noise_by_level, step, params)
    shade = soft_shade(mask, score, picture, behind, step, params)
    solid = BlobRule(round(params.least_area * scene.restless.size)).apply(mask - shade)
    inside = cv2.erode(solid, _INSIDE, borderValue=255)
    single = matcher.in_units(own, scene.sigma)
    weak = cv2.subtract(inside, _strong_beside(single, solid))
    return tuple(cv2.countNonZero(one) for one in (shade, mask, weak, inside))


def _strong_beside(score: Bytes, mask: Bytes) -> Bytes:
    """Mark what is not weak beside what 2×2 pixels of a mask within 4 pixels have at least."""
    pairs = cv2.erode(cv2.copyTo(score, mask), _PAIR, borderValue=255)
    beside = cv2.convertScaleAbs(cv2.dilate(pairs, _AROUND), alpha=_WEAK)
    return np.asarray(cv2.compare(score, beside, cv2.CMP_GE), dtype=np.uint8)
