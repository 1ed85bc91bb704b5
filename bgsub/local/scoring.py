"""A frame against the layers of a scene: how far each pixel is from its background, in noise."""

from __future__ import annotations

import cv2
import numpy as np

from bgsub.local.clean_frames import Singles
from bgsub.local.light import thumbnail
from bgsub.local.scene import Scene
from bgsub.runtime.threads import scratch
from bgsub.video.frames import Bytes

UNIT = 32
"""Score of a pixel that deviates by as much as an object must: 3σ where nothing moves."""

THRESHOLD = 3.0
"""Least deviation of an object, in σ."""

RESTLESS = 0.4
"""Share by which the threshold grows where the background never rests."""

_USUAL, _MARGIN = 0.9, 0.05
_THUMBNAIL_NOISE = 0.75
_LEAST_NOISE = 1.5


class SceneMatcher:
    """A scene in the form in which frames are quickly compared with it.

    Parameters
    ----------
    scene : Scene
    sensitivity : float
        Factor on the threshold.

    Attributes
    ----------
    scene : Scene
    thumbnail : ndarray of float32
        Of the first layer.
    """

    def __init__(self, scene: Scene, sensitivity: float) -> None:
        self.scene = scene
        self.thumbnail = thumbnail(scene.colors[0]).astype(np.float32)
        self._planes = np.ascontiguousarray(scene.colors.transpose(0, 3, 1, 2))
        self._band = None
        if scene.band is not None:
            self._band = np.ascontiguousarray(scene.band.transpose(0, 3, 1, 2))
        wider = 1 + RESTLESS / 255 * scene.restless.astype(np.float32)
        threshold = THRESHOLD * sensitivity * scene.sigma
        self._scale = np.asarray(UNIT / (threshold * wider), dtype=np.float32)

    @property
    def thumbnail_noise(self) -> float:
        """Noise of a thumbnail, in grey levels; averaging takes little away, as light flickers."""
        return max(_THUMBNAIL_NOISE * self.scene.sigma, _LEAST_NOISE)

    def score(self, picture: Bytes, sigma: float) -> tuple[Bytes, Bytes]:
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
            max_c |x − layer| in units of `UNIT` a threshold, 255 at most. Scratch memory.
        index : ndarray of uint8, shape (h, w)
            The nearest layer. Scratch memory.
        """
        shape = picture.shape[:2]
        names = ("best", "distance", "part", "index")
        best, distance, part, index = (scratch(f"local {one}", shape, np.uint8) for one in names)
        planes = scratch("local planes", (3, *shape), np.uint8)
        cv2.split(picture, list(planes))
        index[:] = 0
        for k, layer in enumerate(self._planes):
            to = best if k == 0 else distance
            cv2.absdiff(planes[0], layer[0], dst=to)
            for channel in (1, 2):
                cv2.absdiff(planes[channel], layer[channel], dst=part)
                cv2.max(to, part, dst=to)
            if k:
                cv2.compare(distance, best, cv2.CMP_LT, dst=part)
                np.bitwise_and(part, np.uint8(k), out=part)
                cv2.max(index, part, dst=index)  # later layers have larger numbers
                cv2.min(best, distance, dst=best)
        if self._band is not None:
            low, high = self._band
            for channel in range(3):
                cv2.subtract(low[channel], planes[channel], dst=part)
                outside = cv2.subtract(planes[channel], high[channel])
                cv2.max(part, outside, dst=part)
                if channel == 0:
                    distance[:] = part
                else:
                    cv2.max(distance, part, dst=distance)
            if self.scene.palette is not None:
                self.scene.palette.keep_apart(distance, picture, best)
            cv2.min(best, distance, dst=best)
        factor = self.scene.sigma / sigma
        cv2.multiply(best, self._scale, dst=distance, scale=factor, dtype=cv2.CV_8U)
        return distance, index

    def background(self, index: Bytes, rows: slice, columns: slice) -> Bytes:
        """Colours of the nearest layers in a part of the picture, shape (h', w', 3)."""
        shown = self.scene.colors[0, rows, columns].copy()
        for k in range(1, len(self.scene.colors)):
            here = (index[rows, columns] == k).view(np.uint8)
            if here.any():
                cv2.copyTo(self.scene.colors[k, rows, columns], here, shown)
        return shown


def usual_share(shares: Singles) -> float:
    """Share of a thumbnail that a scene explains in a usual frame, a little less than that."""
    return min(_USUAL, float(np.quantile(shares, 0.25)) - _MARGIN)
