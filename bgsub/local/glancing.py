"""Compare large frames with a scene at half their size, which tells where something is as well."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.channels import planes_of
from bgsub.local.clean_frames import Singles
from bgsub.local.evidence import plane_distance, take_nearer
from bgsub.local.regions import shrunk
from bgsub.runtime.threads import scratch
from bgsub.video.frames import Bytes, doubled

_WINDOW = 3
"""Side of the window whose mean score decides, at half size: six pixels, for the five of others."""

_FEW = 0.03
"""Share of the pixels up to which it pays to pick those that a layer has to itself."""


class Glance:
    """The layers of a scene at half their size in each direction.

    A mean over 2×2 pixels takes the place of that over 3×3 in `EvidenceMeter`: what codecs and
    sensors add is gone from it for the most part, and a quarter of the pixels is left. Outlines are
    drawn from single pixels all the same, see `EvidenceMeter.least_difference`.

    Parameters
    ----------
    colors : ndarray of uint8, shape (K, h, w, 3)
        The layers.
    scale : ndarray of float32, shape (h, w)
        Score of a grey level.
    """

    def __init__(self, colors: Bytes, scale: Singles) -> None:
        self._planes = planes_of(np.stack([shrunk(layer, 2) for layer in colors]))
        first, pixels = self._planes[0], self._planes[0, 0].size
        # Where each of the others is one of its own; None where that is too often to pick those.
        self._at: list[NDArray[np.int64] | None] = []
        for layer in self._planes:
            at = np.flatnonzero((layer != first).any(axis=0))
            self._at.append(at if at.size <= _FEW * pixels else None)
        self._scale = shrunk(scale, 2)[..., 0]

    def compare(self, picture: Bytes, factor: float, most: int) -> tuple[Bytes, Bytes, Bytes]:
        """Compare a frame with its background.

        Parameters
        ----------
        picture : ndarray of uint8, shape (h, w, 3)
            In the scene's light.
        factor : float
            Of all scores.
        most : int
            Score that a pixel counts for in the mean, at most.

        Returns
        -------
        score : ndarray of uint8, shape (h, w)
            Scratch memory, as is the index.
        index : ndarray of uint8, shape (h, w)
            The nearest layer.
        mean : ndarray of uint8, shape (h, w)
            Of the score, see `cleanup.mean_score`; new memory.
        """
        best, index = self._find_nearest(shrunk(picture, 2))
        score, part = (scratch(f"half {name}", best.shape, np.uint8) for name in ("score", "part"))
        cv2.multiply(best, self._scale, dst=score, scale=factor, dtype=cv2.CV_8U)
        cv2.threshold(score, most, 0, cv2.THRESH_TRUNC, dst=part)
        cv2.max(part, _beside(score, most), dst=part)
        mean = np.asarray(cv2.blur(part, (_WINDOW, _WINDOW)), dtype=np.uint8)
        wide, nearest = (
            scratch(f"doubled {name}", picture.shape[:2], np.uint8) for name in ("score", "index")
        )
        _double(score, wide, doubled)
        nearest[:] = 0
        if cv2.hasNonZero(index):
            _double(index, nearest, doubled)
        smooth = np.empty(picture.shape[:2], np.uint8)
        _double(mean, smooth, _smoothly_doubled)
        return wide, nearest, smooth

    def _find_nearest(self, picture: Bytes) -> tuple[Bytes, Bytes]:
        """Least difference of a halved frame to a layer, the largest of its channels, and which."""
        shape = picture.shape[:2]
        names = ("best", "distance", "part", "index")
        best, distance, part, index = (scratch(f"half {one}", shape, np.uint8) for one in names)
        planes = scratch("half planes", (3, *shape), np.uint8)
        cv2.split(picture, list(planes))
        index[:] = 0
        plane_distance(planes, self._planes[0], best, part)
        for k, (layer, at) in enumerate(zip(self._planes[1:], self._at[1:], strict=True), 1):
            if at is not None:
                _take_nearer_at(at, k, (planes, layer), best, index)
                continue
            plane_distance(planes, layer, distance, part)
            cv2.compare(distance, best, cv2.CMP_LT, dst=part)
            take_nearer(k, best, index, distance, part)
        return best, index


def _take_nearer_at(
    at: NDArray[np.int64], k: int, colors: tuple[Bytes, Bytes], best: Bytes, index: Bytes
) -> None:
    """Take the number and the distance of layer k where it is nearer, among some pixels."""
    seen, own = (planes.reshape(3, -1).take(at, axis=1) for planes in colors)
    distance = (np.maximum(seen, own) - np.minimum(seen, own)).max(axis=0)
    nearer = np.flatnonzero(distance < best.reshape(-1).take(at))
    best.reshape(-1)[at[nearer]] = distance[nearer]
    index.reshape(-1)[at[nearer]] = k


def _beside(score: Bytes, most: int) -> cv2.typing.MatLike:
    """Give what squares of 2×2 pixels have of an object beside them.

    Their nearer pixels have a third of it in a mean over 3×3 pixels, and `most` at most; the
    farther ones have nothing. Without that, things of a few pixels would be lost.
    """
    beside = np.minimum(np.arange(256) // 3, most) // 2
    return cv2.LUT(cv2.dilate(score, np.ones((3, 3), np.uint8)), beside.astype(np.uint8))


def _double(plane: Bytes, to: Bytes, double: Callable[..., Bytes]) -> None:
    """Enlarge what was halved; a last odd row or column is as that beside it."""
    high, wide = (2 * side for side in plane.shape)
    if to.shape == (high, wide):
        double(plane, to)
        return
    large = double(plane)
    below, right = to.shape[0] - high, to.shape[1] - wide
    cv2.copyMakeBorder(large, 0, below, 0, right, cv2.BORDER_REPLICATE, dst=to)


def _smoothly_doubled(plane: Bytes, to: Bytes | None = None) -> Bytes:
    """Interpolate between the pixels of a plane."""
    high, wide = (2 * side for side in plane.shape)
    large = cv2.resize(plane, (wide, high), dst=to, interpolation=cv2.INTER_LINEAR)
    return np.asarray(large, dtype=np.uint8)
