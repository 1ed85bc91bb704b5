"""Cut objects out of one film, draw them over another, and change light, leaves and camera."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.footage import pictures, sequences, truths
from bgsub.evaluation.measures import FOREGROUND
from bgsub.video.frames import Bytes

Singles = NDArray[np.float32]

RATE = 25
_LEAST = 300
_NEAR = 12.0
"""Pixels over which a place is blurred, to which an object of little contrast is drawn near."""


class Drawn(NamedTuple):
    """A frame of a scene (h, w, 3) in grey levels, and how much of a pixel is an object's."""

    picture: Singles
    share: Singles


class Cut(NamedTuple):
    """The objects of a frame: their colours (h, w, 3), and how much of a pixel is theirs (h, w)."""

    colors: Singles
    share: Singles


Movement = Callable[[float], tuple[float, float, float]]
"""Pixels to the right and down, and degrees, by which a camera has moved before a frame."""


class Place(NamedTuple):
    """Where objects come to: factor, pixels to the right and down, and to the right a frame."""

    factor: float
    right: float
    down: float
    drift: float = 0.0


class Box(NamedTuple):
    """A part of a picture, in pixels: what of it is outside is left out."""

    left: int
    top: int
    right: int
    bottom: int


@lru_cache(maxsize=2)
def _of(data: Path, name: str) -> tuple[list[Bytes], dict[int, Bytes]]:
    """Read the frames of a sequence, and its truths by their index."""
    footage = next(one for one in sequences(data) if one.name == name)
    frames = list(pictures(footage.frames))
    known = truths(footage, np.arange(1, len(frames) + 1))
    return frames, {number - 1: truth for number, truth in known.items()}


def cuts(
    data: Path,
    name: str,
    frames: Sequence[int],
    size: tuple[int, int],
    place: Place,
    within: Box | None = None,
) -> list[Cut]:
    """Cut the objects out of some frames, or out of a part of them, and place them."""
    seen, known = _of(data, name)
    cuts = []
    for step, index in enumerate(frames):
        objects = _large(_inside(known[index] == FOREGROUND, within)).astype(np.float32)
        # What is drawn is a little smaller than the truth, or the place would come along.
        share = cv2.GaussianBlur(cv2.erode(objects, np.ones((3, 3))), (0, 0), 0.7)
        right = place.right + place.drift * step
        move = np.array([[place.factor, 0, right], [0, place.factor, place.down]])
        layers = (seen[index].astype(np.float32), share)
        colors, share = (cv2.warpAffine(one, move, size, flags=cv2.INTER_AREA) for one in layers)
        cuts.append(Cut(_float(colors), _float(share)))
    return cuts


def _inside(objects: NDArray[np.bool_], within: Box | None) -> NDArray[np.bool_]:
    if within is None:
        return objects
    part = np.s_[within.top : within.bottom, within.left : within.right]
    kept = np.zeros_like(objects)
    kept[part] = objects[part]
    return kept


def _large(objects: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Leave out what is too small for a person or a car: a thing that was put down."""
    _, labels, stats, _ = cv2.connectedComponentsWithStats(objects.astype(np.uint8))
    kept = stats[:, cv2.CC_STAT_AREA] >= _LEAST
    kept[0] = False
    return np.asarray(kept[labels])


def film(path: Path, frames: range, size: tuple[int, int], *, top: float = 0.0) -> list[Singles]:
    """Read frames of a film in which nothing moves, cut from a height on to the shape of `size`."""
    across, down = size
    found = []
    for index, picture in enumerate(pictures(str(path))):
        if index in frames:
            high = round(picture.shape[1] * down / across)
            start = round(top * (picture.shape[0] - high))
            part = picture[start : start + high].astype(np.float32)
            found.append(cv2.resize(part, size, interpolation=cv2.INTER_AREA))
        elif index >= frames.stop:
            break
    return [np.asarray(one, np.float32) for one in found]


def emptied(data: Path, name: str, frames: range, *, top: int) -> list[Singles]:
    """Return frames from a row on, and where objects are, what is there when they are not."""
    seen, known = _of(data, name)
    chosen = np.stack([seen[i][top:] for i in frames]).astype(np.float32)
    reach = np.ones((31, 31))  # shadows, too
    wide = [cv2.dilate((known[i][top:] == FOREGROUND).astype(np.uint8), reach) for i in frames]
    hidden = np.stack(wide) > 0
    hidden &= ~hidden[::5].all(axis=0)
    stack = chosen[::5].copy()
    stack[hidden[::5]] = np.nan
    plate = np.nanmedian(stack, axis=0)
    noise = 1.48 * float(np.median(np.abs(chosen[0] - plate)[~hidden[0]]))
    random = np.random.default_rng(0)
    for picture, inside in zip(chosen, hidden, strict=True):
        grain = random.normal(0, noise, plate.shape)
        picture[inside] = (plate + grain)[inside]
    return list(chosen)


def back_and_forth(items: list[Any], count: int) -> list[Any]:
    """Show items forwards and backwards by turns."""
    there_and_back = [*items, *items[-2:0:-1]]
    return [there_and_back[i % len(there_and_back)] for i in range(count)]


def composed(films: list[Singles], cuts: list[Cut], contrast: float = 1.0) -> Iterator[Drawn]:
    """Draw objects over empty frames; they hide the place, with a share of their contrast."""
    for behind, cut in zip(films, cuts, strict=True):
        near = cv2.GaussianBlur(behind, (0, 0), _NEAR)
        colors = near + contrast * (cut.colors - near)
        picture = behind + cut.share[..., None] * (colors - behind)
        yield Drawn(_float(picture), cut.share)


def _field(random: np.random.Generator, shape: tuple[int, int], width: float) -> Singles:
    """Return a smooth field from -1 to 1."""
    field = cv2.GaussianBlur(random.normal(size=shape).astype(np.float32), (0, 0), width)
    return np.asarray(field / np.abs(field).max(), np.float32)


def clouded(frames: Iterable[Drawn]) -> Iterator[Drawn]:
    """Let the shadows of clouds drift over a scene: half of the light where it is darkest."""
    random = np.random.default_rng(1)
    sky: Singles | None = None
    for index, (picture, share) in enumerate(frames):
        height, width = share.shape
        if sky is None:
            sky = _field(random, (height, 4 * width), width / 6)
        light = 0.75 + 0.25 * sky[:, index : index + width]
        yield Drawn(picture * light[..., None], share)


def trembling(reach: float, degrees: float = 0.0) -> Movement:
    """Tremble by up to so many pixels and degrees."""
    phases = np.random.default_rng(2).uniform(0, 2 * np.pi, 5)

    def movement(index: float) -> tuple[float, float, float]:
        angles = 2 * np.pi * index / RATE * np.array([1.3, 3.1, 1.7, 4.3, 2.3]) + phases
        waves = np.sin(angles)
        right, down = 2 * waves[0] + waves[1], 2 * waves[2] + waves[3]
        return reach / 3 * right, reach / 3 * down, degrees * waves[4]

    return movement


def knocked(index: float) -> tuple[float, float, float]:
    """Stand still, but for a knock of 5 and 4 pixels after 5 seconds."""
    return (0, 0, 0) if index < 5 * RATE else (5, -4, 0)


def drifting(index: float) -> tuple[float, float, float]:
    """Sink to the side by 8 pixels in 10 seconds."""
    return 8 * index / (10 * RATE), 0, 0


def moved(frames: Iterable[Drawn], movement: Movement) -> Iterator[Drawn]:
    """Let the camera move; the picture is turned about its middle."""
    for index, (picture, share) in enumerate(frames):
        right, down, degrees = movement(index)
        height, width = share.shape
        move = cv2.getRotationMatrix2D((width / 2, height / 2), degrees, 1)
        move[:, 2] += np.array([right, down])
        yield Drawn(
            *(
                _float(cv2.warpAffine(one, move, (width, height), borderMode=cv2.BORDER_REFLECT))
                for one in (picture, share)
            )
        )


def gusty(films: list[Singles], cuts: list[Cut]) -> Iterator[Drawn]:
    """Let gusts go through the trees of `_road`, by up to 4 pixels."""
    random = np.random.default_rng(3)
    height, width = cuts[0].share.shape
    fields = [_field(random, (height, width), 10) for _ in range(4)]
    rows, columns = np.indices((height, width))
    trees = columns / (0.45 * width) + rows / (0.5 * height) < 1  # the corner above the fence
    soft = cv2.GaussianBlur(trees.astype(np.float32), (0, 0), 4)
    bent = []
    for index, picture in enumerate(films):
        time = 2 * np.pi * index / RATE
        strength = 4 * max(0.0, np.sin(time / 4)) ** 2 * soft
        swing = np.cos(1.1 * time), np.sin(1.1 * time)
        right = columns + strength * (fields[0] * swing[0] + fields[1] * swing[1])
        down = rows + strength * (fields[2] * swing[0] + fields[3] * swing[1])
        moved = cv2.remap(picture, _float(right), _float(down), cv2.INTER_LINEAR)
        bent.append(_float(moved))
    return composed(bent, cuts)


def shaded(films: list[Singles], cuts: list[Cut]) -> Iterator[Drawn]:
    """Lay soft shadows of objects on the ground, to the right: they leave .55 of the light."""
    ground = []
    for behind, cut in zip(films, cuts, strict=True):
        shadow = np.zeros_like(cut.share)
        outlines, _ = cv2.findContours(
            (cut.share >= 0.5).astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE
        )
        for x, y, wide, high in map(cv2.boundingRect, outlines):
            foot = y + high
            one = np.zeros_like(shadow)
            one[y:foot, x : x + wide] = cut.share[y:foot, x : x + wide]
            # A point at height z above the foot falls .8 z to the right of it, and .25 z above.
            lie = np.array([[1, -0.8, 0.8 * foot], [0, 0.25, 0.75 * foot]])
            fallen = cv2.warpAffine(one, lie, (shadow.shape[1], shadow.shape[0]))
            shadow = np.maximum(shadow, _float(fallen))
        light = 1 - 0.45 * _float(cv2.GaussianBlur(shadow, (0, 0), 1.5))
        ground.append(_float(behind * light[..., None]))
    return composed(ground, cuts)


def warm(films: list[Singles], cuts: list[Cut]) -> Iterator[Drawn]:
    """Show a scene as a thermal camera does: grey, soft, noisy, objects 6 to 20 levels above it."""
    random = np.random.default_rng(4)
    columns = random.normal(0, 1.5, (1, films[0].shape[1]))
    for behind, cut in zip(films, cuts, strict=True):
        grey = 0.4 * cv2.GaussianBlur(behind.mean(axis=2), (0, 0), 2.0)
        near = cv2.GaussianBlur(grey, (0, 0), _NEAR) + 6 + 0.06 * cut.colors.mean(axis=2)
        share = cv2.GaussianBlur(cut.share, (0, 0), 1.5)
        noise = random.normal(0, 2.0, grey.shape)
        picture = 60 + grey + share * (near - grey) + noise + columns
        yield Drawn(_float(np.repeat(picture[..., None], 3, axis=2)), cut.share)


def _float(values: Any) -> Singles:
    return np.asarray(values, dtype=np.float32)
