"""Run the mask network, and bring its answers to the size of the frames."""

from __future__ import annotations

import threading
from importlib import resources
from typing import NamedTuple

import cv2
import numpy as np

from bgsub.background.camera import moved_back
from bgsub.background.plates import Background, Hypothesis
from bgsub.segmenter.features import Singles, features
from bgsub.video.frames import Bytes

WEIGHTS = "mask.onnx"

_REACH, _FLAT = 5, 2e-4
"""Side of the windows in which edges of the answer follow those of the frame, and the variance of
luma, of values from 0 to 1, below which they do not."""

_ENLARGED = 1.2
"""Enlargement from which edges follow the frame: below it the answer is as fine as the frame."""

_nets = threading.local()


class Answer(NamedTuple):
    """Probabilities of the pixels of a frame, at its size.

    Attributes
    ----------
    objects : ndarray of float32, shape (h, w)
    shadows : ndarray of float32, shape (h, w)
        Of a shadow that an object casts.
    """

    objects: Singles
    shadows: Singles


def answer(background: Background, found: Hypothesis, before: Bytes | None) -> Answer:
    """Return what the network says of a frame, at the working size, where the frame lies.

    Parameters
    ----------
    background : Background
    found : Hypothesis
        Of the frame.
    before : ndarray of uint8, shape (h, w, 3), or None
        The frame before it at the working size; without one nothing moves.
    """
    own, plates, motion = found.aligned.frame, found.plates, found.aligned.motion
    planes = features(
        own,
        found.first,
        found.second,
        own if before is None else background.aligned(before),
        plates.shares,
        plates.noise,
        plates.activity,
        plates.order,
    )
    net = _net()
    net.setInput(planes[None])
    # Four planes each, of the pixels of every two by two.
    height, width = own.shape[:2]
    parts = np.asarray(net.forward(), np.float32).reshape(2, 2, 2, height // 2, width // 2)
    chances = parts.transpose(0, 3, 1, 4, 2).reshape(2, height, width)
    objects, shadows = (moved_back(one, motion) for one in chances)
    return Answer(objects, shadows)


def enlarged(chances: Singles, frame: Bytes, small: Bytes) -> Singles:
    """Bring probabilities to the size of a frame, along its edges.

    A guided filter (He, Sun, Tang 2013) at the working size says how a probability depends on luma
    around each pixel; the full luma then decides.

    Parameters
    ----------
    chances : ndarray of float32, shape (h', w')
    frame : ndarray of uint8, shape (h, w, 3) or (h, w)
    small : ndarray of uint8, shape (h', w', 3)
        The frame at the working size.

    Returns
    -------
    ndarray of float32, shape (h, w)
        Beside edges it may lie a little outside of [0, 1].
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


def _luma(frame: Bytes) -> Bytes:
    if frame.ndim == 2:
        return frame
    return np.asarray(cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY), np.uint8)


def _net() -> cv2.dnn.Net:
    """Return the network of this thread: one cannot serve two at a time."""
    net = getattr(_nets, "net", None)
    if net is None:
        weights = resources.files(__package__).joinpath(WEIGHTS).read_bytes()
        net = _nets.net = cv2.dnn.readNetFromONNX(np.frombuffer(weights, np.uint8))
    return net
