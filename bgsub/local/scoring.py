"""Compare a frame with the layers of a scene: how far each pixel is from them, in noise."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.channels import highest_channel
from bgsub.local.clean_frames import Singles, coarseness
from bgsub.local.evidence import EvidenceMeter
from bgsub.local.glancing import Glance
from bgsub.local.light import thumbnail
from bgsub.local.noise import FAINT, NOISE_UNIT
from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.local.scene import Scene
from bgsub.robustpca.median import NORMAL_MAD, median, quantile
from bgsub.runtime.threads import scratch
from bgsub.video.frames import Bytes

UNIT = 32
"""Score of a pixel that deviates by as much as an object must."""

_USUAL, _MARGIN = 0.9, 0.05
_THUMBNAIL_NOISE = 0.75
_LEAST_NOISE = 1.5
LIGHT_WINDOW = 5
"""Side in pixels of the window whose light thresholds follow."""

_MOST_HALO = 1.5
"""Factor of thresholds by the halos of a codec, at most: half as much again hides no limbs."""

_DARK, _MEDIUM = 20.0, 128.0  # grey levels: what film adds to black, and a lit place


# Bytes a pixel, measured: of a scene with its tables, and of what a thread takes to compare a frame
# with it and to even out its light.
_TABLES, _COMPARING = 50, 40


def comparing_bytes(height: int, width: int, threads: int) -> int:
    """Give the memory of a scene that so many threads compare frames with."""
    return (_TABLES + _COMPARING * threads) * height * width


class SceneMatcher:
    """A scene in the form in which frames are quickly compared with it.

    Parameters
    ----------
    scene : Scene
    sensitivity : float
        Factor on the threshold.
    params : LocalParams, optional
    is_faint : bool, optional
        None is as the noise of the scene says.

    Attributes
    ----------
    scene : Scene
    thumbnail : ndarray of float32
        Of the first layer.
    bounds : LocalParams
        The parameters, with what this scene tells: how deep shadows are; no share of an object's
        score that is shade where there is none; no reflections where it has no colours, as nothing
        tells a faint plain object from more light there, and shadows are darker; and outlines that
        move inwards by one pixel at most where as much inside of objects is weak.
    is_faint : bool
        Whether differences are those to the region around, see `evidence`.
    is_glanced_at : bool
        Whether masks are told at half size, see `Glance`: in large pictures, unless every pixel
        counts there, as where a place is turbulent.
    """

    def __init__(
        self,
        scene: Scene,
        sensitivity: float,
        params: LocalParams = DEFAULTS,
        *,
        is_faint: bool | None = None,
    ) -> None:
        self.scene = scene
        self._sensitivity, self._params = sensitivity, params
        self.thumbnail = thumbnail(scene.colors[0]).astype(np.float32)
        is_solid = scene.weak_inside <= params.outline_inside
        self.bounds = replace(
            params,
            shadow_darkest=scene.darkest or params.shadow_darkest,
            shade_share=params.shade_share if scene.shade >= params.shade_least else 0,
            outline_px=params.outline_px if is_solid else 1,
        )
        self.is_faint = _is_faint(scene) if is_faint is None else is_faint
        self._meter = EvidenceMeter(scene, params, is_faint=self.is_faint)
        self._coarse: dict[int, Bytes] = {}
        threshold = sensitivity * thresholds(scene, params)
        self._scale = np.asarray(UNIT / (self._meter.unit * threshold), dtype=np.float32)
        is_large = coarseness(*threshold.shape) > 1
        self.is_glanced_at = is_large and scene.band is None and not self.is_faint

    def at_rows(self, rows: NDArray[np.int64]) -> SceneMatcher:
        """Give what compares frames that consist of these rows of the scene's."""
        own, faint = self.scene.at_rows(rows), self.is_faint  # of the scene, not of these rows
        return SceneMatcher(own, self._sensitivity, self._params, is_faint=faint)

    @property
    def thumbnail_noise(self) -> float:
        """Noise of a thumbnail, in grey levels; averaging takes little away, as light flickers."""
        return max(_THUMBNAIL_NOISE * self.scene.sigma, _LEAST_NOISE)

    @cached_property
    def threshold(self) -> Singles:
        """Grey levels by which a pixel deviates, at least, where there is an object, (h, w)."""
        return np.asarray(UNIT / (self._meter.unit * self._scale), dtype=np.float32)

    @cached_property
    def usual_threshold(self) -> float:
        """Evidence in grey levels that is asked for at most places."""
        return float(median(UNIT / self._scale)) / self._meter.unit

    def score(self, picture: Bytes, sigma: float) -> tuple[Bytes, Bytes, Bytes]:
        """Deviation of a frame from the nearest layer.

        Parameters
        ----------
        picture : ndarray of uint8, shape (h, w, 3)
            In the scene's light.
        sigma : float
            Noise of this frame, that of the scene or more.

        Returns
        -------
        score : ndarray of uint8, shape (h, w)
            Evidence in units of `UNIT` a threshold, 255 at most. Scratch memory.
        own : ndarray of uint8, shape (h, w)
            Largest channel difference of the pixel alone, in grey levels; `in_units` makes scores
            of them. Scratch memory.
        index : ndarray of uint8, shape (h, w)
            The nearest layer. Scratch memory.
        """
        evidence, own, index = self._meter.measure(picture)
        score = scratch("local distance", index.shape, np.uint8)
        factor = self.scene.sigma / sigma
        cv2.multiply(evidence, self._scale, dst=score, scale=factor, dtype=cv2.CV_8U)
        return score, own, index

    @cached_property
    def _glance(self) -> Glance:
        return Glance(self.scene.colors, self._scale * np.float32(self._meter.unit))

    def glance(self, picture: Bytes, sigma: float) -> tuple[Bytes, Bytes, Bytes]:
        """Give score, index and mean score of a frame, as `Glance.compare` does."""
        most = int(self._params.vote_most * UNIT)
        return self._glance.compare(picture, self.scene.sigma / sigma, most)

    def own_difference(self, picture: Bytes, at: NDArray[np.intp]) -> Bytes:
        """Give of m > 0 pixels, by their indices, what `score` gives as own."""
        return self._meter.least_difference(picture, at)

    def in_units(self, own: Bytes, sigma: float, at: NDArray[np.intp] | None = None) -> Bytes:
        """Scores of single pixels, for what needs sharp edges: all, or m > 0 by their indices."""
        # As one row: OpenCV takes a list of up to four for one pixel of four channels.
        one, scale = (own, self._scale) if at is None else (own[None], self._scale.take(at)[None])
        factor = self.scene.sigma / sigma * self._meter.unit
        score = cv2.multiply(one, scale, scale=factor, dtype=cv2.CV_8U)
        return np.asarray(score, dtype=np.uint8).reshape(own.shape)

    def background(self, index: Bytes, rows: slice, columns: slice) -> Bytes:
        """Colours of the nearest layers in a part of the picture.

        Parameters
        ----------
        index : ndarray of uint8, shape (h, w)
            The nearest layer.
        rows, columns : slice
            With a step, the same for both, every so many pixels; then they begin at its multiples.

        Returns
        -------
        ndarray of uint8, shape (h', w', 3)
            New memory.
        """
        nearest, colors = index[rows, columns], self.scene.colors
        step = rows.step or 1
        if step > 1:
            if step not in self._coarse:
                self._coarse[step] = np.ascontiguousarray(colors[:, ::step, ::step])
            colors = self._coarse[step]
            rows, columns = _coarsened(rows), _coarsened(columns)
        shown, nearest = colors[0, rows, columns].copy(), np.ascontiguousarray(nearest)
        if not cv2.hasNonZero(nearest):
            return shown
        for k in range(1, len(colors)):
            here = (nearest == k).view(np.uint8)
            if cv2.hasNonZero(here):
                cv2.copyTo(colors[k, rows, columns], here, shown)
        return shown


def _coarsened(part: slice) -> slice:
    """Give the rows or columns of a picture of every so many that a slice with that step names."""
    stop = None if part.stop is None else -(-part.stop // part.step)
    return slice((part.start or 0) // part.step, stop)


def _is_faint(scene: Scene) -> bool:
    noise = scene.noise
    return noise is not None and float(median(noise)) < FAINT * NOISE_UNIT


def thresholds(scene: Scene, params: LocalParams) -> Singles:
    """Evidence that an object has at least, in grey levels, shape (h, w).

    So many times the noise of the place, or a share of the film's contrast, less where the picture
    is dark: light that is cast on a place, or missing there, changes it in proportion.

    A codec that has few bits adds noise to the blocks around what moves. Where that noise exceeds
    what other films have there, the thresholds grow with it, by half at most.
    """
    if scene.noise is None:
        noise = np.full(scene.restless.shape, scene.sigma * NORMAL_MAD, dtype=np.float32)
    else:
        noise = np.asarray(scene.noise / np.float32(NOISE_UNIT))
    faint = params.contrast_share * scene.contrast
    around = cv2.blur(highest_channel(scene.colors[0]), (LIGHT_WINDOW, LIGHT_WINDOW))
    level = around.astype(np.float32) + _DARK
    light = np.minimum(level / np.float32(_MEDIUM + _DARK), 1)
    halo = min(max(scene.halo / params.halo_noise, 1), _MOST_HALO)
    least = np.maximum(params.threshold * noise, faint * light)
    return np.asarray(np.float32(halo) * least, dtype=np.float32)


def usual_share(shares: Singles) -> float:
    """Share of a thumbnail that a scene explains in a usual frame, a little less than that."""
    return min(_USUAL, quantile(shares, 0.25) - _MARGIN)
