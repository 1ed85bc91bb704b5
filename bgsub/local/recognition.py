"""Recognise the state of the scene that a frame shows, and the light that it shows it in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.channels import largest_difference
from bgsub.local.clean_frames import Singles
from bgsub.local.light import Light, explained, find_light, relight, thumbnail, tone_curve
from bgsub.local.params import LocalParams
from bgsub.local.scoring import SceneMatcher
from bgsub.local.shadows import UNEVEN
from bgsub.robustpca.median import NORMAL_MAD, median
from bgsub.video.frames import Bytes

# Grey levels that a codec's coarse colours differ by where nothing has changed.
_LEAST_GRAIN = 1.5
# Square of the deviation of the difference of two rounded values.
_ROUNDING = 1 / 6


@dataclass(frozen=True, eq=False)
class FrameFit:
    """A frame under the light of the scene that explains it best.

    Attributes
    ----------
    matcher : SceneMatcher
        Of the state of the scene.
    picture : ndarray of uint8, shape (h, w, 3) BGR
        The frame in that light.
    small : ndarray of uint8, shape (h', w', 3)
        Its thumbnail.
    sigma : float
        Its noise in grey levels.
    explained : float
        Share of what is explained in usual frames.
    relit : float
        Grey levels by which its light was changed, at most.
    """

    matcher: SceneMatcher
    picture: Bytes
    small: Bytes
    sigma: float
    explained: float = 1.0
    relit: float = 0.0

    def under(self, picture: Bytes) -> FrameFit:
        """Give the same frame after its light was changed once more."""
        small = thumbnail(picture)
        relit = self.relit + _largest_step(self.small, small)
        return replace(self, picture=picture, small=small, relit=relit)

    def noise(self, params: LocalParams) -> Singles:
        """Noise by luma, in grey levels: of single pixels, and what they share; shape (2, 256).

        Light that is not the scene's is noise that pixels share: of light that was taken out a part
        is left, as of the depth of shadows, and what most of the frame differs by is light that is
        not known. So is what a codec leaves.
        """
        scene = self.matcher.scene
        single, shared = scene.noise_by_level * np.float32(self.sigma / scene.sigma)
        coarse = np.maximum(np.float32(_LEAST_GRAIN**2) - single * single, 0)
        single = np.maximum(single, np.float32(_LEAST_GRAIN))
        shared = np.maximum(shared, np.float32(params.noise_floor))
        if (shared * shared + coarse < single * single).any():
            shared = np.maximum(shared, np.float32(self._drift()))
        left = np.float32(UNEVEN * self.relit)
        return np.stack([single, np.minimum(np.sqrt(shared**2 + coarse + left**2), single)])

    def _drift(self) -> float:
        """Grey levels by which half of the frame differs, at least, without noise."""
        scene = self.matcher.scene
        away = cv2.absdiff(self.small, self.matcher.thumbnail.astype(np.uint8)).reshape(-1, 3)
        pixels = max(self.picture[..., 0].size / len(away), 1)
        own = (scene.grain or scene.sigma) * self.sigma / scene.sigma
        noise = NORMAL_MAD**2 * (own**2 / pixels + _ROUNDING)
        return math.sqrt(max(max(_usual_step(one) for one in away.T) ** 2 - noise, 0))


def _usual_step(steps: NDArray[Any]) -> float:
    """Median of differences of rounded values, between whole numbers."""
    counts = np.bincount(steps, minlength=2)
    below = np.cumsum(counts)
    middle = int(np.searchsorted(below, steps.size / 2))
    inside = (steps.size / 2 - below[middle] + counts[middle]) / counts[middle]
    return float(max(middle - 0.5, 0) + inside * (1 if middle else 0.5))


def recognize(
    picture: Bytes, matchers: Sequence[SceneMatcher], usual: Sequence[float], params: LocalParams
) -> FrameFit:
    """Find the state, with a gain and an offset, that explains most of a frame.

    Parameters
    ----------
    picture : ndarray of uint8, shape (h, w, 3) BGR or (h, w)
    matchers : sequence of SceneMatcher
        One for each state.
    usual : sequence of float
        Share of a thumbnail that each explains in a usual frame.
    params : LocalParams
    """
    picture = colored(picture)
    small = thumbnail(picture)
    plain = [explained(small, one.thumbnail, one.thumbnail_noise) for one in matchers]
    best = int(np.argmax(plain))
    matcher = matchers[best]
    if plain[best] >= usual[best]:
        return FrameFit(matcher, picture, small, matcher.scene.sigma)
    lights: dict[int, Light] = {}
    for i in np.argsort(plain)[::-1].tolist():
        one = matchers[i]
        lights[i] = find_light(small, one.thumbnail, one.thumbnail_noise, params=params)
        if lights[i].share >= usual[i]:
            break
    best = max(lights, key=lambda i: lights[i].share)
    matcher = matchers[best]
    sigma = matcher.scene.sigma
    table = tone_curve(small, matcher.thumbnail, lights[best], matcher.thumbnail_noise)
    lit = relight(small, table)
    if table is not None:
        left = largest_difference(lit, matcher.thumbnail.astype(np.uint8))
        left = left[left < 4 * sigma]
        if left.size:
            sigma = max(sigma, float(median(left)) / NORMAL_MAD)
    share = min(lights[best].share / max(usual[best], 1e-3), 1.0)
    step = _largest_step(small, lit)
    return FrameFit(matcher, relight(picture, table), lit, sigma, share, step)


def _largest_step(one: Bytes, other: Bytes) -> float:
    """Grey levels by which two thumbnails differ, at most."""
    return float(largest_difference(one, other).max())


def colored(picture: Bytes) -> Bytes:
    """Give a picture in BGR, (h, w, 3), be it in colour or grey."""
    if picture.ndim == 3:
        return picture
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_GRAY2BGR), dtype=np.uint8)
