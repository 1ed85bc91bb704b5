"""Inputs of the mask network: a frame beside the hypotheses of its background."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.video.frames import Bytes

Singles = NDArray[np.float32]

CHANNELS = 16
"""Planes that `features` returns."""

_LOGARITHMS = np.log(np.arange(256, dtype=np.float32) + 8)


def features(
    frame: Bytes,
    first: Bytes,
    second: Bytes,
    before: Bytes,
    shares: Bytes,
    noise: Bytes,
    activity: Bytes,
    order: Bytes,
) -> Singles:
    """Compute the inputs of the mask network.

    Parameters
    ----------
    frame, first, second, before : ndarray of uint8, shape (h, w, 3)
        The frame, both hypotheses in its light, and the frame before it; all aligned.
    shares, noise, activity, order
        See `bgsub.background.plates.Plates`.

    Returns
    -------
    ndarray of float32, shape (16, h, w)
        Colours; signed differences to the first hypothesis, and of luma to the second; the size
        of both in units of the noise; the log ratio of the light; the change since the frame
        before; the second hypothesis's part of both shares, and the order of both; noise and
        activity. Differences d are squashed to d / (|d| + c).
    """
    height, width = frame.shape[:2]
    planes = np.empty((CHANNELS, height, width), np.float32)
    own, one = _planes(frame), _planes(first)
    np.subtract(own, 128, out=planes[0:3])
    planes[0:3] *= np.float32(1 / 64)
    spread = noise * np.float32(3 / 8) + np.float32(3)
    apart = np.subtract(own, one, out=planes[3:6])
    size = np.abs(apart)
    largest = np.maximum(np.maximum(size[0], size[1]), size[2])
    np.divide(largest, largest + spread, out=planes[7])
    size += 16
    apart /= size
    luma, plain, other = (cv2.cvtColor(each, cv2.COLOR_BGR2GRAY) for each in (frame, first, second))
    apart = np.subtract(luma, other, out=planes[6], dtype=np.float32)
    apart /= np.abs(apart) + 16
    largest = _largest(frame, second)
    np.divide(largest, largest + spread, out=planes[8])
    ratio = np.subtract(cv2.LUT(luma, _LOGARITHMS), cv2.LUT(plain, _LOGARITHMS), out=planes[9])
    np.clip(ratio, -1.5, 1.5, out=ratio)
    change = _largest(frame, before)
    np.divide(change, change + np.float32(8), out=planes[10])
    both = np.maximum(shares[0].astype(np.float32) + shares[1], 1)
    np.divide(shares[1], both, out=planes[11])
    np.subtract(order, np.float32(128), out=planes[12:14])
    planes[12:14] *= np.float32(1 / 64)
    np.divide(noise, noise + np.float32(32), out=planes[14])
    np.divide(activity, activity + np.float32(48), out=planes[15])
    return planes


def _planes(frame: Bytes) -> Singles:
    return np.stack(cv2.split(frame)).astype(np.float32)


def _largest(one: Bytes, other: Bytes) -> Singles:
    """Return the largest channel difference of two frames, (h, w)."""
    blue, green, red = cv2.split(cv2.absdiff(one, other))
    return np.asarray(cv2.max(cv2.max(blue, green), red), np.float32)
