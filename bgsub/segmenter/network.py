"""Run the mask network, and bring its answers to the size of the frames."""

from __future__ import annotations

import math
import threading
from importlib import resources
from typing import NamedTuple

import cv2
import numpy as np

from bgsub.background.camera import moved_back
from bgsub.background.plates import Background, Hypothesis, Plates
from bgsub.segmenter.features import Singles, features
from bgsub.video.frames import Bytes

WEIGHTS = "mask.onnx"

_REACH, _FLAT = 5, 2e-4
"""Side of the windows in which edges of the answer follow those of the frame, and the variance of
luma, of values from 0 to 1, below which they do not."""

_ENLARGED = 1.2
"""Enlargement from which edges follow the frame: below it the answer is as fine as the frame."""

_POSSIBLE, _MARGIN = 1 / 4, 8
"""Share of a level below which no probability reaches it when it is enlarged, and the pixels around
those above it that can."""


class _Own(threading.local):
    """The network of a thread, as one cannot serve two at a time, and its latest inputs."""

    net: cv2.dnn.Net | None = None
    planes: Singles | None = None
    plates: Plates | None = None


_own = _Own()


class Answer(NamedTuple):
    """Probabilities of the pixels of a frame, at its size: of objects and of cast shadows."""

    objects: Singles
    shadows: Singles


def answer(background: Background, found: Hypothesis, before: Bytes | None) -> Answer:
    """Return what the network says of a frame, at the working size, where the frame lies.

    Without the frame before it, at the working size, nothing moves.
    """
    own, plates, motion = found.aligned.frame, found.plates, found.aligned.motion
    planes = _own.planes = features(
        own,
        found.first,
        found.second,
        own if before is None else background.aligned(before),
        plates.shares,
        plates.noise,
        plates.activity,
        plates.order,
        _own.planes if _own.plates is plates else None,
    )
    _own.plates = plates
    if _own.net is None:
        weights = resources.files(__package__).joinpath(WEIGHTS).read_bytes()
        _own.net = cv2.dnn.readNetFromONNX(np.frombuffer(weights, np.uint8))
    _own.net.setInput(planes[None])
    half = own.shape[0] // 2, own.shape[1] // 2
    said = np.asarray(_own.net.forward(), np.float32).reshape(2, 4, *half)
    objects, shadows = (moved_back(_woven(four), motion) for four in said)
    return Answer(np.asarray(objects, np.float32), np.asarray(shadows, np.float32))


def _woven(four: Singles) -> Singles:
    """Return the plane whose every two by two pixels are of four planes."""
    _, height, width = four.shape
    woven = np.empty((height, 2, width, 2), np.float32)
    for i in range(4):
        woven[:, i // 2, :, i % 2] = four[i]
    return woven.reshape(2 * height, 2 * width)


def enlarged(chances: Singles, frame: Bytes, small: Bytes) -> Singles:
    """Bring probabilities to the size of a frame, along its edges.

    A guided filter (He, Sun, Tang 2013) at the working size says how a probability depends on luma
    around each pixel; the full luma then decides. Beside edges results may lie a little outside of
    [0, 1].
    """
    height, width = frame.shape[:2]
    if chances.shape == (height, width):
        return chances
    if height * width < _ENLARGED**2 * chances.size:
        way = cv2.INTER_AREA if height * width < chances.size else cv2.INTER_LINEAR
        return np.asarray(cv2.resize(chances, (width, height), interpolation=way), np.float32)
    guide = _luma(small).astype(np.float32) / 255
    window = (_REACH, _REACH)
    mean, chance = cv2.blur(guide, window), cv2.blur(chances, window)
    variance = cv2.blur(guide * guide, window) - mean * mean
    slope = (cv2.blur(guide * chances, window) - mean * chance) / (variance + np.float32(_FLAT))
    offset = chance - slope * mean
    wide, rest = (
        np.asarray(cv2.resize(cv2.blur(one, window), (width, height)), np.float32)
        for one in (slope / 255, offset)
    )
    # In place, as new memory of this size costs more than the arithmetic.
    wide *= _luma(frame)
    wide += rest
    return wide


def marked(chances: Singles, frame: Bytes, small: Bytes, level: float) -> Bytes:
    """Return where enlarged probabilities reach a level, 0 or 255; see `enlarged`.

    Only the box around what can reach it is enlarged.
    """
    height, width = frame.shape[:2]
    tall, wide = chances.shape
    mask = np.zeros((height, width), np.uint8)
    possible = (chances >= level * _POSSIBLE).view(np.uint8)
    left, top, across, down = cv2.boundingRect(possible)
    columns = _whole(left, left + across, wide, width)
    rows = _whole(top, top + down, tall, height)
    here, there = (tuple(slice(*ends) for ends in pair) for pair in zip(rows, columns, strict=True))
    chances = enlarged(chances[here], frame[there], small[here])
    mask[there] = (chances >= level).view(np.uint8) * np.uint8(255)
    return mask


def _whole(first: int, last: int, short: int, long: int) -> list[tuple[int, int]]:
    """Return the ends of a stretch and of its enlargement, where both are whole pixels."""
    step = short // math.gcd(short, long)
    first = max(first - _MARGIN, 0) // step * step
    last = min(-(-(last + _MARGIN) // step) * step, short)
    return [(first, last), (first * long // short, last * long // short)]


def _luma(frame: Bytes) -> Bytes:
    if frame.ndim == 2:
        return frame
    return np.asarray(cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY), np.uint8)
