"""Inputs of the mask network: a frame beside the hypotheses of its background."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.video.frames import Bytes

Singles = NDArray[np.float32]

CHANNELS = 17
"""Planes that `features` returns."""


def features(
    frame: Bytes,
    first: Bytes,
    second: Bytes,
    before: Bytes,
    shares: Bytes,
    noise: Bytes,
    activity: Bytes,
) -> Singles:
    """Compute the inputs of the mask network.

    Parameters
    ----------
    frame, first, second, before : ndarray of uint8, shape (h, w, 3)
        The frame, both hypotheses in its light, and the frame before it; all aligned.
    shares, noise, activity
        See `bgsub.background.plates.Plates`.

    Returns
    -------
    ndarray of float32, shape (17, h, w)
        Colours; signed differences to both hypotheses; their size in units of the noise; the log
        ratio of the light; the change since the frame before; shares of the hypotheses; noise and
        activity. Differences d are squashed to d / (|d| + c).
    """
    height, width = frame.shape[:2]
    planes = np.empty((CHANNELS, height, width), np.float32)
    own, one, two = (_planes(each) for each in (frame, first, second))
    np.subtract(own, 128, out=planes[0:3])
    planes[0:3] *= np.float32(1 / 64)
    spread = noise * np.float32(3 / 8) + np.float32(3)
    for at, other, place in ((3, one, 9), (6, two, 10)):
        apart = own - other
        size = np.abs(apart)
        largest = np.maximum(np.maximum(size[0], size[1]), size[2])
        np.divide(largest, largest + spread, out=planes[place])
        size += 16
        np.divide(apart, size, out=planes[at : at + 3])
    ratio = (own[0] + own[1] + own[2] + 24) / (one[0] + one[1] + one[2] + 24)
    np.clip(np.log(ratio), -1.5, 1.5, out=planes[11])
    change = _largest(frame, before)
    np.divide(change, change + np.float32(8), out=planes[12])
    np.multiply(shares, np.float32(1 / 255), out=planes[13:15])
    np.divide(noise, noise + np.float32(32), out=planes[15])
    np.divide(activity, activity + np.float32(48), out=planes[16])
    return planes


def _planes(frame: Bytes) -> Singles:
    return np.stack(cv2.split(frame)).astype(np.float32)


def _largest(one: Bytes, other: Bytes) -> Singles:
    """Return the largest channel difference of two frames, (h, w)."""
    blue, green, red = cv2.split(cv2.absdiff(one, other))
    return np.asarray(cv2.max(cv2.max(blue, green), red), np.float32)
