"""Inputs of the mask network: a frame beside the hypotheses of its background."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.video.frames import Bytes

Singles = NDArray[np.float32]

CHANNELS = 16
"""Planes that `features` returns."""

_LEVELS = np.arange(256, dtype=np.float32)
_CENTRED, _LOGARITHMS = (_LEVELS - 128) / 64, np.log(_LEVELS + 8)
# Most planes are functions of bytes, which are looked up: in a third of the time of arithmetic.
_SQUASHED, _CHANGED = _LEVELS / (_LEVELS + 16), _LEVELS / (_LEVELS + 8)
_ACTIVE, _NOISY = _LEVELS / (_LEVELS + 48), _LEVELS / (_LEVELS + 32)
_SPREAD = _LEVELS * np.float32(3 / 8) + np.float32(3)


def features(
    frame: Bytes,
    first: Bytes,
    second: Bytes,
    before: Bytes,
    shares: Bytes,
    noise: Bytes,
    activity: Bytes,
    order: Bytes,
    out: Singles | None = None,
) -> Singles:
    """Compute the inputs of the mask network.

    Parameters
    ----------
    frame, first, second, before : ndarray of uint8, shape (h, w, 3)
        The frame, both hypotheses in its light, and the frame before it; all aligned.
    shares, noise, activity, order
        See `bgsub.background.plates.Plates`.
    out : ndarray of float32, optional
        What was returned for another frame before the same plates, to be overwritten: what these
        alone decide is in it.

    Returns
    -------
    ndarray of float32, shape (16, h, w)
        Colours; signed differences to the first hypothesis, and of luma to the second; the size
        of both in units of the noise; the log ratio of the light; the change since the frame
        before; the second hypothesis's part of both shares, and the order of both; noise and
        activity. Differences d are squashed to d / (|d| + c).
    """
    if out is None:
        out = np.empty((CHANNELS, *frame.shape[:2]), np.float32)
        both = np.maximum(shares[0].astype(np.float32) + shares[1], 1)
        np.divide(shares[1], both, out=out[11])
        for plane, values, table in (
            (12, order[0], _CENTRED),
            (13, order[1], _CENTRED),
            (14, noise, _NOISY),
            (15, activity, _ACTIVE),
        ):
            cv2.LUT(values, table, out[plane])
    spread = np.asarray(cv2.LUT(noise, _SPREAD), np.float32)
    room = np.empty_like(spread)
    for plane, (own, one) in enumerate(zip(cv2.split(frame), cv2.split(first), strict=True)):
        cv2.LUT(own, _CENTRED, out[plane])
        _squash(own, one, out[3 + plane], room)
    luma, plain, other = (cv2.cvtColor(each, cv2.COLOR_BGR2GRAY) for each in (frame, first, second))
    _squash(luma, other, out[6], room)
    for plane, hypothesis in ((7, first), (8, second)):
        largest = np.asarray(_largest(frame, hypothesis), np.float32)
        np.divide(largest, np.add(largest, spread, out=room), out=out[plane])
    cv2.LUT(luma, _LOGARITHMS, out[9])
    out[9] -= cv2.LUT(plain, _LOGARITHMS, room)
    np.clip(out[9], -1.5, 1.5, out=out[9])
    cv2.LUT(_largest(frame, before), _CHANGED, out[10])
    return out


def _squash(
    own: cv2.typing.MatLike, other: cv2.typing.MatLike, out: Singles, room: Singles
) -> None:
    """Write d / (|d| + 16) of the difference of two planes; one of its halves is 0."""
    cv2.LUT(cv2.subtract(own, other), _SQUASHED, out)
    np.subtract(out, cv2.LUT(cv2.subtract(other, own), _SQUASHED, room), out=out)


def _largest(one: Bytes, other: Bytes) -> Bytes:
    """Return the largest channel difference of two frames, (h, w)."""
    blue, green, red = cv2.split(cv2.absdiff(one, other))
    return np.asarray(cv2.max(cv2.max(blue, green), red), np.uint8)
