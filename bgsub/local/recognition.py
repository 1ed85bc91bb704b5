"""Recognise the state of the scene that a frame shows, and the light that it shows it in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from bgsub.local.channels import largest_difference
from bgsub.local.clean_frames import Singles
from bgsub.local.light import Light, explained, find_light, relight, thumbnail, tone_curve
from bgsub.local.params import LocalParams
from bgsub.local.scoring import SceneMatcher
from bgsub.robustpca.median import NORMAL_MAD, median
from bgsub.video.frames import Bytes


@dataclass(frozen=True, eq=False)
class FrameFit:
    """A frame under the light of the scene that explains it best.

    Attributes
    ----------
    matcher : SceneMatcher
        Of the state of the scene.
    picture : ndarray of uint8, shape (h, w, 3) BGR
        The frame in that light.
    sigma : float
        Its noise in grey levels.
    explained : float
        Share of what is explained in usual frames.
    """

    matcher: SceneMatcher
    picture: Bytes
    sigma: float
    explained: float = 1.0

    @property
    def grain(self) -> Singles:
        """Noise of single pixels by their luma, in grey levels, shape (256,)."""
        scene = self.matcher.scene
        return scene.grain_by_level * np.float32(self.sigma / scene.sigma)


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
        return FrameFit(matcher, picture, matcher.scene.sigma)
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
    if table is not None:
        left = largest_difference(relight(small, table), matcher.thumbnail.astype(np.uint8))
        left = left[left < 4 * sigma]
        if left.size:
            sigma = max(sigma, float(median(left)) / NORMAL_MAD)
    share = min(lights[best].share / max(usual[best], 1e-3), 1.0)
    return FrameFit(matcher, relight(picture, table), sigma, share)


def colored(picture: Bytes) -> Bytes:
    """Give a picture in BGR, (h, w, 3), be it in colour or grey."""
    if picture.ndim == 3:
        return picture
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_GRAY2BGR), dtype=np.uint8)
