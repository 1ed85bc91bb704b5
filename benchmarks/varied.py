"""Variants of real scenes whose truth is known: for ``benchmarks.masks --varied``.

Each is what another camera could have given of the same scene: smaller, slower, shorter, darker,
noisier, compressed, without colour, trembling, in a hand, nearer, upside down, or a negative. A
rule that holds on a scene by luck falls on some of them, while a method that is fair to all loses
no more than footage does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np

from benchmarks.compositing import RATE, Movement, trembling
from benchmarks.footage import Footage, pictures, truths
from benchmarks.scenes import LOSSLESS, Codec, write, x264
from bgsub.evaluation.measures import BACKGROUND, FOREGROUND, UNSCORED
from bgsub.video.frames import Bytes
from bgsub.video.source import open_source

_LEVELS = np.zeros(3, np.uint8)
_LEVELS[[BACKGROUND, FOREGROUND, UNSCORED]] = 0, 255, 170
"""How CDnet writes what a pixel of the truth is."""


class Seen(NamedTuple):
    """A frame (h, w, 3), the class of its pixels (h, w) if known, and its number from 0."""

    picture: Bytes
    truth: Bytes | None
    at: int

    def drawn(self, change: Callable[[Bytes, int, int], object]) -> Seen:
        """Change picture and truth alike: with the interpolation and the border that suit each."""
        moved = np.asarray(change(self.picture, cv2.INTER_AREA, 0), np.uint8)
        if self.truth is None:
            return self._replace(picture=moved)
        truth = np.asarray(change(self.truth, cv2.INTER_NEAREST, UNSCORED), np.uint8)
        return self._replace(picture=moved, truth=truth)

    def valued(self, levels: object) -> Seen:
        """Return it other levels, rounded."""
        rounded = np.clip(np.rint(np.asarray(levels)), 0, 255).astype(np.uint8)
        return self._replace(picture=rounded)


def _half_size(seen: Seen) -> Seen:
    high, wide = seen.picture.shape[:2]
    return seen.drawn(lambda one, way, _: cv2.resize(one, (wide // 2, high // 2), None, 0, 0, way))


def _doubled(seen: Seen) -> Seen:
    high, wide = seen.picture.shape[:2]
    return seen.drawn(
        lambda one, way, _: cv2.resize(
            one,
            (2 * wide, 2 * high),
            None,
            0,
            0,
            way if way == cv2.INTER_NEAREST else cv2.INTER_CUBIC,
        )
    )


def _trimmed(seen: Seen) -> Seen:
    return seen.drawn(lambda one, *_: one[8:-8, 8:-8].copy())


def _cropped(seen: Seen) -> Seen:
    high, wide = seen.picture.shape[:2]
    top, left = round(0.15 * high), round(0.15 * wide)
    return seen.drawn(lambda one, *_: one[top : high - top, left : wide - left].copy())


def _shaken(movement: Movement, exposure: float, seen: Seen) -> Seen:
    """Let the camera move, while a frame is exposed, too, for a share of the time to the next."""
    high, wide = seen.picture.shape[:2]

    def change(one: Bytes, way: int, outside: int) -> object:
        times = seen.at + exposure * np.array([0, 0.5, 1])
        moves = []
        for right, down, degrees in map(movement, times):
            move = cv2.getRotationMatrix2D((wide / 2, high / 2), degrees, 1)
            move[:, 2] += np.array([right, down])
            moves.append(move)
        if outside:
            return cv2.warpAffine(one, moves[1], (wide, high), flags=way, borderValue=outside)
        border = cv2.BORDER_REFLECT
        if not exposure:
            return cv2.warpAffine(one, moves[1], (wide, high), borderMode=border)
        exact = one.astype(np.float32)
        shown = [cv2.warpAffine(exact, each, (wide, high), borderMode=border) for each in moves]
        return np.clip(np.rint(np.mean(shown, axis=0)), 0, 255)

    return seen.drawn(change)


def _noisy(seen: Seen) -> Seen:
    random = np.random.default_rng(seen.at)
    grey = bool((np.ptp(seen.picture, axis=2) == 0).all())
    shape = (*seen.picture.shape[:2], 1 if grey else 3)
    return seen.valued(seen.picture + random.normal(0, 3, shape))


def _sunlit(seen: Seen) -> Seen:
    """Let light fall on two parts of the scene for half a second of each, or a shadow."""
    number, frame = divmod(seen.at, 25)
    if frame < 12:
        return seen
    random = np.random.default_rng(number)
    high, wide = seen.picture.shape[:2]
    light = np.ones((high, wide), np.float32)
    for _ in range(2):
        part = np.zeros((high, wide), np.float32)
        corner = random.uniform(0, 0.75, 2) * (wide, high)
        sides = random.uniform((0.1, 0.15), (0.35, 0.4)) * (wide, high)
        window = corner + sides * np.array([(0, 0), (1, 0), (1.2, 1), (0.2, 1)])
        cv2.fillPoly(part, [window.astype(np.int32)], (1.0,))
        soft = cv2.GaussianBlur(part, (0, 0), wide / 200)
        change = np.exp(random.uniform(np.log(0.03), np.log(0.3))) * random.choice([-1, 1])
        light *= 1 + change * soft
    return seen.valued(seen.picture * light[..., None])


class Variant(NamedTuple):
    """How it is made: of which frames, by what change of each, with which codec, how many a second.

    Frames are those from a share of the film on, or after so many frames, to another share, and
    every so many.
    """

    change: Callable[[Seen], Seen] = lambda seen: seen
    first: float = 0.0
    last: float = 1.0
    step: int = 1
    codec: Codec = LOSSLESS
    rate: float = RATE
    later: int = 0


VARIANTS = {
    "same": Variant(),
    "half_size": Variant(_half_size),
    "second": Variant(step=2, rate=RATE / 2),
    "third": Variant(step=3),
    "first_half": Variant(last=0.5),
    "last_half": Variant(first=0.5),
    "mirrored": Variant(lambda seen: seen.drawn(lambda one, *_: cv2.flip(one, 1))),
    "upside": Variant(lambda seen: seen.drawn(lambda one, *_: cv2.flip(one, -1))),
    "turned": Variant(
        lambda seen: seen.drawn(lambda one, *_: cv2.rotate(one, cv2.ROTATE_90_CLOCKWISE))
    ),
    "negative": Variant(lambda seen: seen.valued(255 - seen.picture)),
    "dim": Variant(lambda seen: seen.valued(0.7 * seen.picture)),
    "gamma": Variant(lambda seen: seen.valued(255 * (seen.picture / 255) ** 1.3)),
    "noisy": Variant(_noisy),
    "crf20": Variant(codec=x264(20)),
    "crf30": Variant(codec=x264(30)),
    "grey": Variant(codec=Codec("ffv1", "gray", {})),
    "trembling": Variant(partial(_shaken, trembling(1.5), 0.0)),
    "handheld": Variant(partial(_shaken, trembling(6, degrees=1), 0.5), codec=x264(28)),
    "cropped": Variant(_cropped),
    "sunlit": Variant(_sunlit),
}
# What should change nothing: F of each scene is to stay within some hundredths.
SLIGHT = {
    "same": Variant(),
    "later_1": Variant(later=1),
    "later_5": Variant(later=5),
    "later_20": Variant(later=20),
    "half_size": Variant(_half_size),
    "double": Variant(_doubled),
    "mirrored": VARIANTS["mirrored"],
    "trimmed": Variant(_trimmed),
    "gain": Variant(lambda seen: seen.valued(0.9 * seen.picture)),
}
VARIANTS |= SLIGHT
"""All by name. Every third frame keeps the rate of all, as folders of thinned frames do."""


def make(footage: Footage, variant: str, folder: Path) -> Footage | None:
    """Write a variant of a sequence below a folder; None where no frame of it has a truth."""
    total = sum(1 for _ in open_source(footage.frames))
    known = truths(footage, np.arange(1, total + 1))
    way = VARIANTS[variant]
    start, end = round(way.first * total) + way.later, round(way.last * total)
    inside = [number - 1 for number in known if start < number <= end]
    if not inside:
        return None
    # The first of the frames with a truth is kept, as some scenes have one alone.
    start += (min(inside) - start) % way.step
    wanted = range(start, end, way.step)

    def frames() -> Iterator[tuple[Bytes, Bytes | None]]:
        order = count()
        for index, picture in enumerate(pictures(footage.frames)):
            if index in wanted:
                seen = way.change(Seen(picture, known.get(index + 1), next(order)))
                yield seen.picture, None if seen.truth is None else _LEVELS[seen.truth]

    # Grey film stays grey without loss, where a camera's file would have planes of no colour.
    codec = way.codec
    if codec is LOSSLESS and not open_source(footage.frames).layout.is_color:
        codec = VARIANTS["grey"].codec
    return write(folder / footage.name, frames(), codec, way.rate)
