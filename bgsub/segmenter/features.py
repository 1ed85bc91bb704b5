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
_ACTIVE, _NOISY = _LEVELS / (_LEVELS + 48), _LEVELS / (_LEVELS + 32)


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
    # Without a temporary plane, and without tables: these take three times as long as arithmetic.
    spread, room = np.empty((2, *noise.shape), np.float32)
    np.copyto(spread, noise)
    spread *= np.float32(3 / 8)
    spread += 3
    own, one = cv2.split(frame), cv2.split(first)
    for plane in range(3):
        np.copyto(out[plane], own[plane])
        _squash(out[plane], one[plane], out[3 + plane], room)
        # (x − 128) / 64, exactly.
        out[plane] *= np.float32(1 / 64)
        out[plane] -= 2
    luma, plain, other = (cv2.cvtColor(each, cv2.COLOR_BGR2GRAY) for each in (frame, first, second))
    np.copyto(out[9], luma)
    _squash(out[9], other, out[6], room)
    largest = _largest(*map(cv2.absdiff, own, one))
    for plane, apart in ((7, largest), (8, _largest(*cv2.split(cv2.absdiff(frame, second))))):
        np.copyto(out[plane], apart)
        np.divide(out[plane], np.add(out[plane], spread, out=room), out=out[plane])
    cv2.LUT(luma, _LOGARITHMS, out[9])
    out[9] -= cv2.LUT(plain, _LOGARITHMS, room)
    np.clip(out[9], -1.5, 1.5, out=out[9])
    np.copyto(out[10], _largest(*cv2.split(cv2.absdiff(frame, before))))
    np.divide(out[10], np.add(out[10], 8, out=room), out=out[10])
    return out


def _squash(own: Singles, other: cv2.typing.MatLike, out: Singles, room: Singles) -> None:
    """Write d / (|d| + 16) of the difference of two planes of grey levels."""
    np.copyto(room, other)
    np.subtract(own, room, out=out)
    np.abs(out, out=room)
    room += 16
    np.divide(out, room, out=out)


def _largest(
    blue: cv2.typing.MatLike, green: cv2.typing.MatLike, red: cv2.typing.MatLike
) -> cv2.typing.MatLike:
    return cv2.max(cv2.max(blue, green), red)
