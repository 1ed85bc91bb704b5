"""Measure how far a frame is from the layers of a scene: the evidence, in grey levels."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.channels import largest_difference, planes_of
from bgsub.local.clean_frames import coarseness
from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.local.scene import Scene
from bgsub.runtime.threads import scratch
from bgsub.video.frames import Bytes

Sums = NDArray[np.int16]

_FEW = 0.01
"""Share of the pixels up to which those of a layer are looked at alone: fetching each and putting
it back takes as long as a hundred of a whole picture."""

_BITS = (1 << np.arange(8)).astype(np.uint8)

_MOST_DRIFT = 1.5
"""Grey levels that light drifts by, at most: objects differ by more, however large they are."""

_STEPS, _NEAR = 16, 7
"""Steps of a difference, a grey level, and levels beyond which it is as far as any."""

_SMALLER, _REGION = 4, 15
"""Drift is looked for in every so many pixels, in squares of so many of them."""


class EvidenceMeter:
    """The layers of a scene in the form in which frames are quickly compared with them.

    With d_c the signed difference of channel c to the nearest layer, the evidence at a pixel is the
    larger of  max_c |mean of d_c over 3×3 pixels|  and 0.4 max_c |d_c|: what codecs and sensors add
    changes its sign from pixel to pixel, what an object does changes it rarely.

    Parameters
    ----------
    scene : Scene
    params : LocalParams, optional
    is_faint : bool, optional
        Whether noise is so weak that light matters which drifts by a level or less: the mean
        difference is then that to most of the region around.

    Attributes
    ----------
    unit : int
        Evidence of one grey level.
    """

    def __init__(
        self, scene: Scene, params: LocalParams = DEFAULTS, *, is_faint: bool = False
    ) -> None:
        self._scene, self._is_faint = scene, is_faint
        self._side = params.smooth_px
        self.unit = params.smooth_px**2
        self._detail = params.detail * self.unit
        self._planes = planes_of(scene.colors)
        # Where a layer was not accepted it has the colours of the first one, and is no nearer.
        left = np.stack([(layer != self._planes[0]).any(axis=0) for layer in self._planes])
        for k in range(len(left) - 1, 0, -1):
            left[k - 1] |= left[k]  # some layer from this one on
        # Bits: whether a pixel has another layer than the first.
        self._varied = np.packbits(left[min(1, len(left) - 1)], bitorder="little")
        counts = np.count_nonzero(left, axis=(1, 2))
        self._seen_widely = max(1, int(np.count_nonzero(counts > _FEW * left[0].size)))
        self._at = np.flatnonzero(left[self._seen_widely :].any(axis=0))
        self._of_all = np.concatenate([self._at + i * left[0].size for i in range(3)])
        flat = self._planes[self._seen_widely :].reshape(-1, 3, left[0].size)
        self._few = np.ascontiguousarray(flat[..., self._at])[:, :, None]
        self._band = None
        if scene.band is not None:
            self._band = planes_of(scene.band)

    def measure(self, picture: Bytes) -> tuple[Sums, Bytes, Bytes]:
        """Compare a frame with its background.

        Parameters
        ----------
        picture : ndarray of uint8, shape (h, w, 3)
            In the scene's light.

        Returns
        -------
        evidence : ndarray of int16, shape (h, w)
            In `unit` a grey level. Scratch memory.
        own : ndarray of uint8, shape (h, w)
            Largest channel difference of the pixel alone, in grey levels. Scratch memory.
        index : ndarray of uint8, shape (h, w)
            The nearest layer. Scratch memory.
        """
        planes, near, best, index = self._find_nearest(picture)
        shape = best.shape
        found, sums, part = (
            scratch(f"local {one}", shape, np.int16) for one in ("found", "sums", "part sums")
        )
        np.multiply(best, np.float32(self._detail), out=found, casting="unsafe")
        size = (self._side, self._side)
        for plane, behind in zip(planes, near, strict=True):
            np.subtract(plane, behind, out=part, dtype=np.int16)
            cv2.boxFilter(part, cv2.CV_16S, size, dst=sums, normalize=False)
            if self._is_faint:
                np.subtract(sums, _drift_of(part, self.unit), out=sums)
            np.abs(sums, out=sums)
            cv2.max(found, sums, dst=found)
        if self._band is not None:
            self._allow_band(self._band, planes, picture, best)
            np.multiply(best, np.int16(self.unit), out=part, casting="unsafe")
            cv2.min(found, cv2.dilate(part, np.ones((3, 3), np.uint8)), dst=found)
        return found, best, index

    def least_difference(self, picture: Bytes, at: NDArray[np.intp]) -> Bytes:
        """Largest channel difference of some pixels to the nearest layer.

        Parameters
        ----------
        picture : ndarray of uint8, shape (h, w, 3)
            In the scene's light.
        at : ndarray of int, shape (m,)
            Indices of m > 0 pixels.

        Returns
        -------
        ndarray of uint8, shape (m,)
            In grey levels, as `measure` gives it where there is no turbulence.
        """
        first, *others = (colors.reshape(-1, 3) for colors in self._scene.colors)
        own = picture.reshape(-1, 3).take(at, axis=0)[None]
        least: Bytes = largest_difference(own, first.take(at, axis=0)[None])[0]
        varied = np.flatnonzero(self._varied.take(at >> 3) & _BITS.take(at & 7))
        for colors in others if varied.size else ():
            other = colors.take(at[varied], axis=0)[None]
            apart = largest_difference(own[:, varied], other)[0]
            least[varied] = np.minimum(least[varied], apart)
        return least

    def _find_nearest(self, picture: Bytes) -> tuple[Bytes, Bytes, Bytes, Bytes]:
        """Planes of a picture and of the nearest layers, largest channel difference, and number."""
        shape = picture.shape[:2]
        names = ("best", "distance", "part", "index")
        best, distance, part, index = (scratch(f"local {one}", shape, np.uint8) for one in names)
        planes = scratch("local planes", (3, *shape), np.uint8)
        cv2.split(picture, list(planes))
        index[:] = 0
        near = self._planes[0]
        if len(self._planes) > 1:
            near = scratch("local near", (3, *shape), np.uint8)
            near[:] = self._planes[0]
        for k in range(self._seen_widely):
            to = best if k == 0 else distance
            plane_distance(planes, self._planes[k], to, part)
            if k:
                _take_nearer(k, self._planes[k], (near, best, index), distance, part)
        if self._at.size:
            self._look_at_few(planes, near, best, index)
        return planes, near, best, index

    def _look_at_few(self, planes: Bytes, near: Bytes, best: Bytes, index: Bytes) -> None:
        """Take the nearest of those layers, too, that few pixels have."""
        at, of_all = self._at, self._of_all
        wholes = planes, near, best, index
        places = (of_all, of_all, at, at)
        few, close, least, number = (
            whole.reshape(-1).take(place).reshape(*whole.shape[:-2], 1, -1)
            for whole, place in zip(wholes, places, strict=True)
        )
        distance, part = np.empty_like(least), np.empty_like(least)
        for k, layer in enumerate(self._few, self._seen_widely):
            plane_distance(few, layer, distance, part)
            _take_nearer(k, layer, (close, least, number), distance, part)
        for whole, place, found in zip(wholes[1:], places[1:], (close, least, number), strict=True):
            whole.reshape(-1)[place] = found.reshape(-1)

    def _allow_band(self, band: Bytes, planes: Bytes, picture: Bytes, best: Bytes) -> None:
        """Lower differences to those from the range of levels of turbulent places."""
        low, high = band
        distance, part = (scratch(f"local {n}", best.shape, np.uint8) for n in ("distance", "part"))
        for channel in range(3):
            cv2.subtract(low[channel], planes[channel], dst=part)
            outside = cv2.subtract(planes[channel], high[channel])
            cv2.max(part, outside, dst=part)
            if channel == 0:
                distance[:] = part
            else:
                cv2.max(distance, part, dst=distance)
        if self._scene.palette is not None:
            self._scene.palette.keep_apart(distance, picture, best)
        cv2.min(best, distance, dst=best)


def plane_distance(planes: Bytes, layer: Bytes, to: Bytes, part: Bytes) -> None:
    """Largest channel difference of planes, (3, h, w), to those of a layer."""
    cv2.absdiff(planes[0], layer[0], dst=to)
    for channel in (1, 2):
        cv2.absdiff(planes[channel], layer[channel], dst=part)
        cv2.max(to, part, dst=to)


def _take_nearer(
    k: int, layer: Bytes, nearest: tuple[Bytes, Bytes, Bytes], distance: Bytes, part: Bytes
) -> None:
    """Take layer k where it is nearer than the planes, distance and number that are there."""
    near, best, index = nearest
    cv2.compare(distance, best, cv2.CMP_LT, dst=part)
    for plane, own in zip(near, layer, strict=True):
        cv2.copyTo(own, part, plane)
    take_nearer(k, best, index, distance, part)


def take_nearer(k: int, best: Bytes, index: Bytes, distance: Bytes, part: Bytes) -> None:
    """Take the number and the distance of layer k where `part` is set, which is overwritten."""
    np.bitwise_and(part, np.uint8(k), out=part)
    cv2.max(index, part, dst=index)  # later layers have larger numbers
    cv2.min(best, distance, dst=best)


def _drift_of(differences: Sums, unit: int) -> Sums:
    """Find by how much light has drifted, from how most pixels of wide regions differ.

    Parameters
    ----------
    differences : ndarray of int16, shape (h, w)
        To the background, signed, in grey levels.
    unit : int
        Steps of the result, a grey level.

    Returns
    -------
    ndarray of int16, shape (h, w)
        At most a level and a half. Scratch memory.
    """
    height, width = differences.shape
    step = coarseness(height, width)
    size = max(width // (_SMALLER * step), 1), max(height // (_SMALLER * step), 1)
    fewer = differences[::step, ::step]
    near = scratch("local drift", fewer.shape, np.int16)
    np.clip(fewer, -_NEAR, _NEAR, out=near)
    np.multiply(near, np.int16(_STEPS), out=near)
    small = np.add(cv2.resize(near, size, interpolation=cv2.INTER_AREA), 128, dtype=np.int16)
    middle = cv2.medianBlur(small.astype(np.uint8), _REGION).astype(np.float32) - 128
    drift = np.clip(middle / _STEPS, -_MOST_DRIFT, _MOST_DRIFT)
    steps = np.rint(drift * np.float32(unit)).astype(np.int16)
    wide = scratch("local wide drift", differences.shape, np.int16)
    cv2.resize(steps, (width, height), dst=wide, interpolation=cv2.INTER_LINEAR)
    return wide
