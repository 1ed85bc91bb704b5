"""The mask network: its inputs, and its answers brought to the size of the frames."""

from __future__ import annotations

import math
import threading
from functools import reduce
from importlib import resources
from typing import NamedTuple

import cv2
import numpy as np

from bgsub.background.camera import moved
from bgsub.background.plates import NOISE_UNIT, Background, Hypothesis, Plates
from bgsub.robustpca.spaces import Singles
from bgsub.video.frames import Bytes, Part

WEIGHTS = "mask.onnx"
CHANNELS = 16  # planes that `features` returns
_LEVELS = np.arange(256, dtype=np.float32)
# Less noise than two levels counts as two: what a codec hides of it comes back in steps.
_LEAST_NOISE = np.uint8(2 * NOISE_UNIT)
_CENTRED, _LOGARITHMS = (_LEVELS - 128) / 64, np.log(_LEVELS + 8)
_ACTIVE, _NOISY = _LEVELS / (_LEVELS + 48), _LEVELS / (_LEVELS + 32)

# Sides of windows in which the answer is fitted to luma, and in which fits are averaged; variances
# of both, of values from 0 to 1, that say nothing; share of the answer's from which luma decides.
_REACH, _NEAR, _FLAT, _SURE, _TOLD = 5, 3, 2e-4, 1e-3, 1 / 4
# Enlargement from which the filter works at the size of the answer, else at that of the frame.
_ENLARGED = 1.2
# Share of a level below which no probability reaches it when it is enlarged, and the pixels around
# those above it that can.
_POSSIBLE, _MARGIN = 1 / 4, 8


class _Own(threading.local):
    """The network of a thread, as one cannot serve two at a time, and its latest inputs."""

    net: cv2.dnn.Net | None = None
    planes: Singles | None = None
    plates: Plates | None = None


_own = _Own()


class Answer(NamedTuple):
    """Probabilities of the pixels of a frame, aligned: of objects and of cast shadows."""

    found: Hypothesis
    objects: Singles
    shadows: Singles

    def placed(self, earlier: Answer | None = None) -> Answer:
        """Return it where the frame lies, in doubt of objects that the frame before did not show.

        Of p above q, the highest there within two pixels, q + (p − q)² is left: glitter and leaves
        are gone in the next frame, and a thing is sure soon.
        """
        objects, motion = self.objects, self.found.aligned.motion
        if earlier is not None:
            shared = cv2.min(objects, cv2.dilate(earlier.objects, np.ones((5, 5), np.uint8)))
            objects = np.asarray(cv2.accumulateSquare(objects - shared, shared), np.float32)
        both = (moved(one, motion, back=True) for one in (objects, self.shadows))
        return Answer(self.found, *both)


def answer(background: Background, frame: Bytes, before: Bytes | None) -> Answer:
    """Return what the network says of a frame; it and the one before are at the working size."""
    found = background.of(frame)
    own, plates = found.aligned.frame, found.plates
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
    woven = np.empty((2, half[0], 2, half[1], 2), np.float32)
    for i in range(4):  # every two by two pixels are of four planes
        woven[:, :, i // 2, :, i % 2] = said[:, i]
    return Answer(found, *woven.reshape(2, *own.shape[:2]))


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
    """Compute the inputs of the mask network, (16, h, w).

    Of a frame, both hypotheses in its light and the frame before it, all aligned, (h, w, 3), and of
    what else `bgsub.background.plates.Plates` say. `out` is what was returned for another frame
    before the same plates, to be overwritten: what these alone decide is in it.

    The planes are colours; signed differences to the first hypothesis, and of luma to the second;
    the size of both in units of the noise; the log ratio of the light; the change since the frame
    before; the second hypothesis's part of both shares, and the order of both; noise and activity.
    Noise is two levels at least. Differences d are squashed to d / (|d| + c).
    """
    noise = np.maximum(noise, _LEAST_NOISE)
    if out is None:
        out = np.empty((CHANNELS, *frame.shape[:2]), np.float32)
        both = np.maximum(shares[0].astype(np.float32) + shares[1], 1)
        np.divide(shares[1], both, out=out[11])
        tables = (order[0], _CENTRED), (order[1], _CENTRED), (noise, _NOISY), (activity, _ACTIVE)
        for plane, (values, table) in enumerate(tables, 12):
            cv2.LUT(values, table, out[plane])
    # Without a temporary plane, and without tables: these take three times as long as arithmetic.
    spread, room = np.empty((2, *noise.shape), np.float32)
    np.multiply(noise, np.float32(3 / 8), out=spread)
    spread += 3
    own, one = cv2.split(frame), cv2.split(first)
    luma, plain, other = (cv2.cvtColor(each, cv2.COLOR_BGR2GRAY) for each in (frame, first, second))
    apart = list(map(cv2.absdiff, (*own, luma), (*one, other)))
    for plane, (seen, expected) in enumerate(zip((*own, luma), (*one, other), strict=True)):
        if plane < 3:  # (x − 128) / 64, exactly
            cv2.addWeighted(seen, 1 / 64, seen, 0, -2, out[plane], dtype=cv2.CV_32F)
        cv2.subtract(seen, expected, out[3 + plane], dtype=cv2.CV_32F)
        np.add(apart[plane], np.float32(16), out=room)
        np.divide(out[3 + plane], room, out=out[3 + plane])
    largest = reduce(cv2.max, apart[:3])
    cv2.LUT(luma, _LOGARITHMS, out[9])
    out[9] -= cv2.LUT(plain, _LOGARITHMS, room)
    np.clip(out[9], -1.5, 1.5, out=out[9])
    others = [reduce(cv2.max, cv2.split(cv2.absdiff(frame, one))) for one in (second, before)]
    for plane, by, size in ((7, largest, spread), (8, others[0], spread), (10, others[1], 8)):
        np.copyto(out[plane], by)
        np.divide(out[plane], np.add(out[plane], size, out=room), out=out[plane])
    return out


def enlarged(chances: Singles, luma: Bytes, small: Bytes) -> Singles:
    """Bring probabilities to the size of a frame, along its edges; its luma is given at both sizes.

    A guided filter (He, Sun, Tang 2013) at the working size, or at that of a frame hardly larger,
    says how a probability depends on luma around each pixel, as far as luma explains it there; the
    full luma then decides. Beside edges results may lie a little outside of [0, 1].
    """
    height, width = luma.shape
    if luma.size < _ENLARGED**2 * chances.size:
        way = cv2.INTER_AREA if luma.size < chances.size else cv2.INTER_LINEAR
        chances = np.asarray(cv2.resize(chances, (width, height), interpolation=way), np.float32)
        small = luma
    guide, fit, near = small.astype(np.float32) / 255, (_REACH, _REACH), (_NEAR, _NEAR)
    mean, chance = cv2.blur(guide, fit), cv2.blur(chances, fit)
    shared = cv2.blur(guide * chances, fit) - mean * chance
    slope = shared / (cv2.blur(guide * guide, fit) - mean * mean + np.float32(_FLAT))
    variance = cv2.blur(chances * chances, fit) - chance * chance + np.float32(_SURE)
    told = np.minimum(shared * slope / (_TOLD * variance), 1)  # else the answer is left as it is
    rest = cv2.blur((chance - slope * mean) * told, near) + (1 - cv2.blur(told, near)) * chances
    wide, rest = (
        np.asarray(cv2.resize(one, (width, height)), np.float32)
        for one in (cv2.blur(slope * told / 255, near), rest)
    )
    # In place, as new memory of this size costs more than the arithmetic.
    wide *= luma
    wide += rest
    return wide


def reaching(chances: Singles, luma: Bytes, small: Bytes, level: float) -> tuple[Part, Singles]:
    """Return the box around what can reach a level, and what is `enlarged` there."""
    (height, width), (tall, wide) = luma.shape, chances.shape
    left, top, across, down = cv2.boundingRect((chances >= level * _POSSIBLE).view(np.uint8))
    columns = _whole(left, left + across, wide, width)
    rows = _whole(top, top + down, tall, height)
    here, there = ((slice(*y), slice(*x)) for y, x in zip(rows, columns, strict=True))
    return there, enlarged(chances[here], luma[there], small[here])


def _whole(first: int, last: int, short: int, long: int) -> list[tuple[int, int]]:
    """Return the ends of a stretch and of its enlargement, where both are whole pixels."""
    step = short // math.gcd(short, long)
    first = max(first - _MARGIN, 0) // step * step
    last = min(-(-(last + _MARGIN) // step) * step, short)
    return [(first, last), (first * long // short, last * long // short)]
