"""Make film sequences with known truth, from which backgrounds are learned as in use.

Run as a module from the root of the repository: ``python -m training.made --show sheet.png``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from training import scenes

Bytes = NDArray[np.uint8]
Singles = NDArray[np.float32]
Look = tuple[Singles, Singles]
"""Colours, (h, w, 3), and opacity, (h, w), of an object."""
Area = tuple[slice, slice]

SIZES = [(240, 320)] * 8 + [(208, 368), (288, 256), (240, 304), (256, 288), (272, 272)]
"""Working sizes: heights and widths."""

CLIPS = {
    "cars": "clips/cars_640x360.avi",
    "vtest": "clips/vtest.mp4",
    "shop": "clips/shop.avi",
    "traffic": "speed/traffic_camera_1280x720.mp4",
}
"""Recordings without truth, of which only the plate is used."""

CLIP_GROUPS = {"cars": "roads", "traffic": "roads", "shop": "rooms", "vtest": "people"}
"""The groups of scenes that they are left out with."""

_LOOSE = {"fog_traffic", "ocean", "rain", "zodiac", "flock", "chopper"}
"""Scenes whose masks are drawn loosely: of their objects only the outlines are used."""


@dataclass
class Target:
    """A frame to be masked, with the one before it, and its truth (values of `training.scenes`)."""

    before: Bytes
    frame: Bytes
    truth: Bytes


@dataclass
class Made:
    """A made film: a sample of its frames in order, and its targets."""

    frames: Bytes
    targets: list[Target]
    facts: dict[str, object]


@dataclass
class Cutout:
    """An object cut out of a film by its true mask, or out of clip art."""

    colors: Bytes
    opacity: Bytes
    scene: str
    index: int
    colored: bool = True


class Sources:
    """Places, objects and textures to make films of.

    Parameters
    ----------
    data : Path or None
        Folder of the scenes.
    names : list of str
        Scenes to use, of `training.scenes.names` and `CLIPS`; others leave no trace.
    pictures : Path or None
        Folder of ``photos/`` and of ``shapes/`` (PNG with opacity); see ``SOURCES.md``.
    """

    def __init__(self, data: Path | None, names: list[str], pictures: Path | None = None) -> None:
        self.plates: list[Bytes] = []
        self.moving: list[tuple[Bytes, Bytes]] = []
        """Empty stretches: runs of three frames, (k, 3, h, w, 3), and a long one, (k, h, w, 3)."""
        self.photos: list[Bytes] = []
        self.cutouts: dict[str, list[Cutout]] = {}
        self.shapes: list[Cutout] = []
        if data is not None:
            for name in names:
                self._read_clip(data / CLIPS[name]) if name in CLIPS else self._read(data, name)
        if pictures is not None:
            for file in sorted((pictures / "photos").glob("*")):
                photo = cv2.imread(str(file), cv2.IMREAD_COLOR)
                if photo is not None:
                    self.photos.append(np.asarray(photo, np.uint8))
            for file in sorted((pictures / "shapes").glob("*.png")):
                shape = cv2.imread(str(file), cv2.IMREAD_UNCHANGED)
                if shape is not None and shape.ndim == 3 and shape.shape[2] == 4:
                    bgr, alpha = (
                        np.ascontiguousarray(a, np.uint8) for a in np.split(shape, [3], 2)
                    )
                    self.shapes.append(Cutout(bgr, alpha[..., 0], "clip art", 0))
        rng = np.random.default_rng(0)
        white = rng.standard_normal((640, 700, 3)).astype(np.float32)
        tiles = [white] + [_blur(white, sigma) for sigma in (0.5, 0.8, 1.2)]
        self.noise = [tile / tile.std() for tile in tiles]

    def _read_clip(self, path: Path) -> None:
        video = cv2.VideoCapture(str(path))
        length = int(video.get(cv2.CAP_PROP_FRAME_COUNT))
        step, frames = max(1, length // 31), []
        for index in range(length):
            if not video.grab():
                break
            if index % step == 0:
                frames.append(_reduced(np.asarray(video.retrieve()[1], np.uint8)))
        if frames:
            self.plates.append(_median(frames))

    def _read(self, data: Path, name: str) -> None:
        film = scenes.Film(data, name)
        picks = np.unique(np.linspace(0, len(film) - 1, min(41, len(film))).astype(int))
        if name != "toscana":  # six frames, people in each
            self.plates.append(_median([_reduced(film[int(i)]) for i in picks]))
        empty = scenes.empty(name, 10**6, len(film))
        if len(empty) >= 40:
            starts = np.linspace(1, len(empty) - 2, min(60, len(empty) // 3)).astype(int)
            runs = [[_reduced(film[empty[i + k]]) for k in (-1, 0, 1)] for i in starts]
            begin = empty[len(empty) // 3]
            long = [_reduced(film[begin + k]) for k in range(min(40, len(empty) // 2))]
            self.moving.append((np.stack([np.stack(run) for run in runs]), np.stack(long)))
        wanted = list(scenes.truths(data, name, film))
        few = np.unique(np.linspace(0, len(wanted) - 1, min(40, len(wanted))).astype(int))
        found = [c for i in few for c in _cut(film[wanted[i][0]], *wanted[i][::-1], name)]
        if found and name != "flock":
            self.cutouts[name] = found

    def place(self, rng: Generator) -> Bytes:
        """Return a picture of an empty place."""
        if self.plates and (not self.photos or rng.random() < 0.7):
            return self.plates[rng.integers(len(self.plates))]
        if self.photos:
            photo = self.photos[rng.integers(len(self.photos))]
            area = _window(rng, photo.shape[:2], photo.shape[:2], rng.uniform(0.3, 0.9))
            return photo[area]
        return _invented(rng, 240, 320).astype(np.uint8)

    def texture(self, rng: Generator, height: int, width: int) -> Singles:
        """Return a piece of some picture, scaled to a size."""
        source = self.place(rng)
        if self.photos and rng.random() < 0.5:
            source = self.photos[rng.integers(len(self.photos))]
        area = _window(rng, source.shape[:2], (height, width), rng.uniform(0.05, 0.6))
        piece = _resize(source[area], height, width).astype(np.float32)
        if rng.random() < 0.4:
            mean = piece.mean((0, 1))
            piece = mean + (piece - mean) * np.float32(rng.uniform(0, 0.5))
        return piece

    def looks(self, rng: Generator, crowd: str) -> list[Look]:
        """Return looks of an object: one, or some that follow each other as it moves.

        Parameters
        ----------
        rng : Generator
        crowd : str
            "any", or "upright" for objects as tall as people.
        """
        kind = rng.random()
        if self.cutouts and kind < 0.55:
            names = list(self.cutouts)
            bank = self.cutouts[names[rng.integers(len(names))]]
            first = bank[rng.integers(len(bank))]
            ratio = np.divide(*first.opacity.shape)
            near = [c for c in bank if 0.75 < np.divide(*c.opacity.shape) / ratio < 1.33]
            near.sort(key=lambda c: (abs(c.index - first.index), c.opacity.size))
            chosen = sorted(near[: int(rng.integers(1, 6))], key=lambda c: c.index)
        elif self.shapes and kind < 0.75:
            chosen = [self.shapes[rng.integers(len(self.shapes))]]
        else:
            shapes = _invented_shape(rng, crowd)
            fill = self.texture(rng, *shapes[0].shape)
            return [(fill, shape) for shape in shapes]
        looks = [(c.colors.astype(np.float32), c.opacity.astype(np.float32) / 255) for c in chosen]
        if not chosen[0].colored or rng.random() < 0.25:
            fill = self.texture(rng, *looks[0][1].shape)
            looks = [(_resize(fill, *a.shape), a) for _, a in looks]
        if rng.random() < 0.5:
            looks = [(np.ascontiguousarray(c[:, ::-1]), a[:, ::-1].copy()) for c, a in looks]
        return looks


def _blur(image: Singles, sigma: float) -> Singles:
    return np.asarray(cv2.GaussianBlur(image, (0, 0), sigma), np.float32)


def _resize(image: NDArray[np.generic], height: int, width: int) -> Singles:
    smaller = height * width < image.shape[0] * image.shape[1]
    way = cv2.INTER_AREA if smaller else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(image, (width, height), interpolation=way))  # type: ignore[call-overload]


def _median(frames: list[Bytes]) -> Bytes:
    stack = np.stack(frames)
    return np.partition(stack, len(stack) // 2, axis=0)[len(stack) // 2]


def _reduced(frame: Bytes) -> Bytes:
    scale = 400 / frame.shape[1]
    if scale >= 1:
        return frame
    return np.asarray(_resize(frame, round(frame.shape[0] * scale), 400), np.uint8)


def _window(rng: Generator, shape: tuple[int, ...], like: tuple[int, ...], share: float) -> Area:
    """Return a random window of an aspect, whose longer side has a share of what is possible."""
    scale = min(shape[0] / like[0], shape[1] / like[1]) * share
    height, width = (min(max(2, int(scale * v)), s) for v, s in zip(like, shape, strict=False))
    y, x = rng.integers(shape[0] - height + 1), rng.integers(shape[1] - width + 1)
    return np.s_[y : y + height, x : x + width]


def _cut(frame: Bytes, truth: Bytes, index: int, name: str) -> Iterator[Cutout]:
    """Yield the objects of a frame, without those that its border cuts unless they are close."""
    mask = (truth == scenes.OBJECT).astype(np.uint8)
    if mask.shape != frame.shape[:2]:
        return
    count, labels, boxes, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
    height, width = mask.shape
    for label in range(1, count):
        x, y, w, h, area = (int(v) for v in boxes[label])
        cut = x <= 1 or y <= 1 or x + w >= width - 1 or y + h >= height - 1
        if area < 60 or min(w, h) < 7 or (cut and area < 0.1 * mask.size):
            continue
        box = np.s_[y : y + h, x : x + w]
        opacity = (labels[box] == label).astype(np.uint8) * 255
        scale = min(1.0, 200 / max(h, w))
        small = (max(2, round(h * scale)), max(2, round(w * scale)))
        yield Cutout(
            np.asarray(_resize(frame[box], *small), np.uint8),
            np.asarray(_resize(opacity, *small), np.uint8),
            name,
            index,
            name not in _LOOSE,
        )


def _invented(rng: Generator, height: int, width: int) -> Singles:
    """Return a place of smooth fields and some plain shapes."""
    place = np.full((height, width, 3), rng.uniform(50, 200), np.float32)
    for cells, size in ((3, 40), (9, 20), (40, 8)):
        grey = (
            rng.standard_normal((cells, cells, 1)) * size
            + rng.standard_normal((cells, cells, 3)) * size / 4
        )
        wide = cv2.resize(grey.astype(np.float32), (width, height), interpolation=cv2.INTER_CUBIC)
        place += wide * np.float32(rng.uniform(0, 1))
    for _ in range(rng.integers(0, 12)):
        points = (rng.random(2) + rng.normal(0, 0.2, (4, 2))) * [width, height]
        hull = cv2.convexHull(points.astype(np.int32))
        cv2.fillPoly(place, [hull], [float(v) for v in rng.uniform(20, 230) + rng.normal(0, 15, 3)])
    return np.clip(place, 5, 250)


def _invented_shape(rng: Generator, crowd: str) -> list[Singles]:
    """Return outlines of one object: a walker, a four-legged animal, a vehicle, a blob or a box."""
    kind = rng.choice(
        ["walker", "animal", "car", "blob", "ellipse", "box"], p=[0.3, 0.15, 0.15, 0.2, 0.1, 0.1]
    )
    kind = "walker" if crowd == "upright" else kind
    side, stout, shapes = 96, rng.uniform(0.7, 1.4), []
    phases = np.arange(6 if kind in {"walker", "animal"} else 1) / 6 * 2 * np.pi
    hull = cv2.convexHull((rng.random((9, 2)) * [140, side]).astype(np.int32))
    ragged = _blur(rng.standard_normal((side, 140)).astype(np.float32), rng.uniform(8, 25))
    for phase in phases:
        mask, swing = np.zeros((side, 140), np.float32), np.sin(phase)
        if kind == "walker":
            thick, cx = int(9 * stout), 70
            cv2.circle(mask, (cx, 9), 8, 1.0, -1)
            cv2.ellipse(mask, (cx, 35), (int(12 * stout), 21), 0, 0, 360, 1.0, -1)
            for sign in (-1, 1):
                foot = (int(cx + sign * swing * 18), 94)
                cv2.line(mask, (cx, 50), foot, 1.0, thick)
                cv2.line(mask, (cx, 22), (int(cx - sign * swing * 20), 50), 1.0, max(3, thick - 3))
        elif kind == "animal":
            cv2.ellipse(mask, (70, 45), (48, int(18 * stout)), 0, 0, 360, 1.0, -1)
            cv2.ellipse(mask, (122, 28), (15, 11), 20, 0, 360, 1.0, -1)
            cv2.line(mask, (105, 40), (120, 28), 1.0, 14)
            cv2.line(mask, (24, 42), (4, int(30 + 8 * swing)), 1.0, 5)
            for x, sign in ((35, 1), (43, -1), (95, 1), (103, -1)):
                cv2.line(mask, (x, 50), (int(x + sign * swing * 12), 93), 1.0, 8)
        elif kind == "car":
            cv2.rectangle(mask, (3, 45), (136, 82), 1.0, -1)
            roof = np.array([[25, 46], [45, 18], [100, 18], [122, 46]], np.int32)
            cv2.fillPoly(mask, [roof], 1.0)  # type: ignore[call-overload]
            for x in (32, 108):
                cv2.circle(mask, (x, 80), 14, 1.0, -1)
        elif kind == "blob":
            yy, xx = np.mgrid[-1:1:96j, -1:1:140j]
            mask[ragged / ragged.std() + 1.4 - 2.6 * (xx**2 + yy**2) > 0] = 1
        elif kind == "ellipse":
            cv2.ellipse(mask, (70, 48), (int(46 * stout), 46), 0, 0, 360, 1.0, -1)
        else:
            cv2.fillPoly(mask, [hull], 1.0)  # type: ignore[call-overload]
        shapes.append(mask)
    used = np.max(shapes, axis=0) > 0
    if not used.any():  # a blob may come out as nothing
        return _invented_shape(rng, crowd)
    ys, xs = np.flatnonzero(used.any(1)), np.flatnonzero(used.any(0))
    return [m[ys[0] : ys[-1] + 1, xs[0] : xs[-1] + 1].copy() for m in shapes]


@dataclass
class Actor:
    """An object on its way: times in frames with position (of its foot) and height in pixels."""

    t: NDArray[np.float64]
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    height: NDArray[np.float64]
    colors: str
    crowd: str = "any"
    phase: float = 0.0
    sway: float = 0.0
    looks: list[Look] = field(default_factory=list)
    scaled: dict[tuple[int, int], Look] = field(default_factory=dict)

    def at(self, time: float) -> tuple[float, float, float]:
        """Return foot's x, foot's y and height at a time."""
        x, y, h = (float(np.interp(time, self.t, v)) for v in (self.x, self.y, self.height))
        return x + self.sway * np.sin(time * 0.37 + self.phase), y, h

    def look(self, time: float, height: float) -> Look:
        """Return its look at a time, scaled to a height; colours are multiplied by opacity."""
        gone = np.abs(np.diff(self.x)) + np.abs(np.diff(self.y))
        way = float(np.interp(time, self.t, np.concatenate([[0], np.cumsum(gone)])))
        step = way / max(2.0, 0.12 * height) + 0.02 * time + self.phase
        which = int(step) % len(self.looks)
        colors, opacity = self.looks[which]
        h = max(2, round(height))
        w = max(2, round(height * opacity.shape[1] / opacity.shape[0]))
        if (which, h) not in self.scaled:
            both = np.dstack([colors * opacity[..., None], opacity])
            both = _resize(both, h, w)
            self.scaled[which, h] = both[..., :3], both[..., 3]
        return self.scaled[which, h]


class _Director:
    """Draws the objects of a film and their ways."""

    def __init__(self, rng: Generator, length: int, size: tuple[int, int], thermal: bool) -> None:
        self.rng, self.length, (self.h, self.w) = rng, length, size
        p = [0.1, 0.36, 0.14, 0.12, 0.28] if not thermal else [0.1, 0.3, 0.06, 0.04, 0.5]
        self.kind = str(rng.choice(["empty", "few", "busy", "close", "tiny"], p=p))
        self.hidden = self.kind != "empty" and rng.random() < 0.15
        self.perspective = rng.uniform(0.2, 1) if rng.random() < 0.6 else 1.0
        self.faint = rng.random() < (0.65 if thermal else 0.35 if self.kind == "tiny" else 0.12)

    def actors(self) -> list[Actor]:
        """Return all objects of the film."""
        rng = self.rng
        if self.kind == "empty":
            return []
        if self.kind == "busy":
            actors = self._traffic()
        else:
            most = {"few": 4, "close": 3, "tiny": 9}[self.kind]
            actors = [self._one() for _ in range(rng.integers(1, most))]
        if self.hidden:
            actors.append(self._stay(rng.uniform(0.6, 0.95)))
        return actors

    def _height(self) -> float:
        rng = self.rng
        low, high = {"tiny": (3, 20), "close": (0.6 * self.h, 1.5 * self.h)}.get(
            self.kind, (14, 0.75 * self.h)
        )
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    def _colors(self) -> str:
        if self.faint and self.rng.random() < 0.8:
            return "faint"
        kinds = ["own", "near", "dark", "light", "plain", "shifted"]
        return str(self.rng.choice(kinds, p=[0.35, 0.2, 0.14, 0.06, 0.1, 0.15]))

    def _inside(self) -> tuple[float, float]:
        return self.rng.uniform(0.1, 0.9) * self.w, self.rng.uniform(0.3, 1.0) * self.h

    def _outside(self, size: float, y: float) -> tuple[float, float]:
        side = self.rng.random()
        if side < 0.4:
            return -0.8 * size, y + self.rng.normal(0, 0.1) * self.h
        if side < 0.8:
            return self.w + 0.8 * size, y + self.rng.normal(0, 0.1) * self.h
        return self.rng.uniform(0, self.w), -2.0 if side < 0.88 else self.h + size + 2

    def _actor(
        self, points: list[tuple[float, float, float]], size: float, **more: object
    ) -> Actor:
        """Return an object that goes by (time, x, y); nearer ones, lower down, are larger."""
        t, x, y = (np.array(v, float) for v in zip(*points, strict=True))
        depth = self.perspective + (1 - self.perspective) * np.clip(y / self.h, 0, 1)
        height = np.maximum(size * depth, 2.5) * self.rng.uniform(0.97, 1.03, len(t))
        if self.rng.random() < 0.1:
            height = height * np.linspace(self.rng.uniform(0.5, 1), 1, len(t))
        colors = str(more.pop("colors", None) or self._colors())
        sway = self.rng.uniform(0, 1.5) if self.rng.random() < 0.4 else 0.0
        crowd = "upright" if self.rng.random() < 0.3 else "any"
        return Actor(t, x, y, height, colors, crowd, self.rng.uniform(0, 9), min(sway, 0.1 * size))

    def _duration(self, way: float) -> float:
        if self.rng.random() < 0.5:
            speed = np.exp(self.rng.uniform(np.log(0.5), np.log(14)))
            return float(np.clip(way / speed, 5, 0.9 * self.length))
        return float(self.rng.uniform(0.08, 0.5) * self.length)

    def _one(self) -> Actor:
        how = self.rng.random()
        if how < 0.3:
            return self._cross()
        if how < 0.45:
            return self._wander()
        return self._stay(self.rng.uniform(0.05, 0.48))

    def _cross(self) -> Actor:
        size, (mx, my) = self._height(), self._inside()
        (ax, ay), (bx, by) = self._outside(size, my), self._outside(size, my)
        if (ax < 0) == (bx < 0) and self.rng.random() < 0.8:
            bx = self.w - ax
        lasts = self._duration(abs(ax - mx) + abs(bx - mx))
        start = self.rng.uniform(-0.5 * lasts, self.length - 0.5 * lasts)
        middle = start + lasts * self.rng.uniform(0.4, 0.6)
        return self._actor([(start, ax, ay), (middle, mx, my), (start + lasts, bx, by)], size)

    def _wander(self) -> Actor:
        rng, size, (x, y) = self.rng, self._height(), self._inside()
        count = int(rng.integers(4, 14))
        begin = rng.uniform(0, 0.6) * self.length
        t = np.sort(begin + rng.uniform(0, rng.uniform(0.1, 0.5), count) * self.length)
        step = rng.uniform(0.05, 0.7) * size + rng.uniform(0, 0.08) * self.w
        xs = np.clip(x + np.cumsum(rng.normal(0, step, count)), 0, self.w)
        ys = np.clip(y + np.cumsum(rng.normal(0, step / 3, count)), 0.1 * self.h, 1.1 * self.h)
        return self._actor(list(zip(t, xs, ys, strict=True)), size)

    def _stay(self, share: float) -> Actor:
        """Return an object that rests for a share of the film: comes, is there first, or is put."""
        rng, size, (x, y) = self.rng, self._height(), self._inside()
        rest, (ax, ay), (bx, by) = (
            share * self.length,
            self._outside(size, y),
            self._outside(size, y),
        )
        come, go = self._duration(abs(x - ax)), self._duration(abs(x - bx))
        come, go = min(come, 0.3 * self.length), min(go, 0.3 * self.length)
        how = rng.random()
        if how < 0.25:  # there from the start
            points = [(-1.0, x, y), (rest, x, y)]
            points += [(rest + go, bx, by)] if rng.random() < 0.7 else []
        elif how < 0.5:  # put down, for a time or until the end
            start = self.length - rest if rng.random() < 0.6 else rng.uniform(0, self.length - rest)
            points = [(start, x, y), (start + rest + 1, x, y)]
        else:
            start = rng.uniform(0, self.length - rest)
            points = [
                (start - come, ax, ay),
                (start, x, y),
                (start + rest, x, y),
                (start + rest + go, bx, by),
            ]
        return self._actor(points, size)

    def _traffic(self) -> list[Actor]:
        rng, actors = self.rng, []
        for _ in range(rng.integers(1, 4)):
            size, (_, y) = self._height() * 0.6 + 6, self._inside()
            (ax, ay), (bx, by) = self._outside(size, y), self._outside(size, y)
            if (ax < 0) == (bx < 0):
                bx = self.w - ax
            lasts = self._duration(self.w)
            gap = lasts / rng.uniform(0.7, 3)
            t = -lasts
            while t < self.length and len(actors) < 400:
                dx, dy = rng.normal(0, 0.02 * self.w), rng.normal(0, 0.03 * self.h)
                ways = [(t, ax, ay + dy), (t + lasts * rng.uniform(0.8, 1.2), bx + dx, by + dy)]
                actors.append(self._actor(ways, size * rng.uniform(0.7, 1.3)))
                t += gap * rng.exponential(1.0) + 0.2 * gap
        return actors


def _dress(rng: Generator, actor: Actor, sources: Sources, place: Singles, sigma: float) -> None:
    """Choose the looks of an object and colour them for the place where it rests longest."""
    looks = sources.looks(rng, actor.crowd)
    longest = int(np.argmax(np.diff(actor.t))) if len(actor.t) > 1 else 0
    h = int(actor.height[longest])
    x = int(np.clip(actor.x[longest], 4, place.shape[1] - 4))
    y = int(np.clip(actor.y[longest], 4, place.shape[0]))
    around = place[max(0, y - max(h, 4)) : y, max(0, x - max(2, h // 3)) : x + max(2, h // 3)]
    ground = around.reshape(-1, 3)
    ground = ground.mean(0) if len(ground) else np.full(3, 120.0, np.float32)
    own = np.concatenate([c[a > 0.5] for c, a in looks])
    mean = own.mean(0) if len(own) else np.zeros(3, np.float32)
    contrast, shift = 1.0, np.zeros(3)
    match actor.colors:
        case "near":
            contrast = rng.uniform(0.1, 0.8)
            shift = ground - mean + rng.normal(0, 12, 3) + rng.normal(0, 10)
        case "dark":
            contrast, level = rng.uniform(0.05, 0.3), rng.uniform(3, 40)
            shift = level + rng.normal(0, 3, 3) - mean
        case "light":
            contrast = rng.uniform(0.1, 0.6)
            shift = np.maximum(ground + rng.uniform(30, 90), 200) - mean
        case "plain":
            contrast = rng.uniform(0, 0.1)
            shift = rng.uniform(10, 240, 3) * 0.4 + rng.uniform(10, 240) * 0.6 - mean
        case "shifted":
            contrast = rng.uniform(0.5, 1.4)
            shift = rng.normal(0, 25) + rng.normal(0, 20, 3)
        case "faint":
            contrast = rng.uniform(0, 0.15)
            over = rng.uniform(3, 10) + sigma * rng.uniform(0.3, 1.2)
            shift = ground - mean + rng.choice([-1, 1], p=[0.4, 0.6]) * over
    actor.looks = [
        (np.clip(mean + (c - mean) * contrast + shift, 0, 255).astype(np.float32), a)
        for c, a in looks
    ]


@dataclass
class _Shade:
    """Shadows or reflections on the floor of a film."""

    kind: str
    slant: float
    length: float
    soft: float
    light: Singles

    @staticmethod
    def draw(rng: Generator) -> _Shade:
        kind = str(rng.choice(["none", "cast", "blob", "reflection"], p=[0.3, 0.45, 0.12, 0.13]))
        length = rng.uniform(0.15, 1.1) * (1 if rng.random() < 0.6 else -1)
        if kind == "reflection":
            length = -rng.uniform(0.5, 1)
        light = rng.uniform(0.25, 0.9) ** rng.uniform(0.9, 1.1, 3)
        return _Shade(
            kind, rng.uniform(-1.3, 1.3), length, rng.uniform(0.5, 3), light.astype(np.float32)
        )

    def cast(self, scene: Singles, truth: Bytes, look: Look, x: float, y: float) -> None:
        """Darken a scene where an object's shadow falls, or mirror the object."""
        colors, opacity = look
        h, w = opacity.shape
        slant = 0.0 if self.kind == "reflection" else self.slant
        if self.kind == "blob":
            opacity = np.zeros((h, w), np.float32)
            cv2.ellipse(
                opacity,
                (w // 2, int(h * 0.93)),
                (max(1, int(w * 0.45)), max(1, h // 7)),
                0,
                0,
                360,
                1.0,
                -1,
            )
            matrix = np.array([[1, 0, x - w / 2], [0, 1, y - h]])
        else:
            matrix = np.array(
                [[1, -slant, x - w / 2 + slant * h], [0, self.length, y - self.length * h]]
            )
        corners = matrix @ np.array([[0, w, 0, w], [0, 0, h, h], [1, 1, 1, 1]])
        pad = 2 * self.soft + 2
        box = _clipped(*(corners.min(1) - pad), *(corners.max(1) + pad), scene.shape)
        if box is None:
            return
        area, (left, top) = box
        matrix[:, 2] -= [left, top]
        size = (area[1].stop - left, area[0].stop - top)
        dark = _blur(np.asarray(cv2.warpAffine(opacity, matrix, size), np.float32), self.soft)[
            ..., None
        ]
        part = scene[area]
        if self.kind == "reflection":
            mirrored = cv2.warpAffine(colors, matrix, size)
            share = 0.6 * (1 - float(self.light.mean()))
            part += share * (_blur(np.asarray(mirrored, np.float32), self.soft) - dark * part)
        else:
            part *= 1 - dark * (1 - self.light)
        truth[area][dark[..., 0] > 0.35] = scenes.SHADOW


def _clipped(
    x0: float, y0: float, x1: float, y1: float, shape: tuple[int, ...]
) -> tuple[Area, tuple[int, int]] | None:
    left, top = max(0, int(np.floor(x0))), max(0, int(np.floor(y0)))
    right, bottom = min(shape[1], int(np.ceil(x1))), min(shape[0], int(np.ceil(y1)))
    if right - left < 1 or bottom - top < 1:
        return None
    return np.s_[top:bottom, left:right], (left, top)


def _put(
    scene: Singles,
    truth: Bytes,
    look: Look,
    x: float,
    y: float,
    smear: tuple[float, float],
    least: float,
) -> None:
    """Draw an object with its foot at (x, y), smeared by its motion; half of a pixel decides."""
    h, w = look[1].shape
    pad = 2 + int(max(abs(smear[0]), abs(smear[1])))
    box = _clipped(x - w / 2 - pad, y - h - pad, x + w / 2 + pad, y + pad, scene.shape)
    if box is None:
        return
    area, (left, top) = box
    matrix = np.array([[1, 0, x - w / 2 - left], [0, 1, y - h - top]])
    size = (area[1].stop - left, area[0].stop - top)
    colors = np.asarray(cv2.warpAffine(look[0], matrix, size), np.float32)
    opacity = np.asarray(cv2.warpAffine(look[1], matrix, size), np.float32)
    if np.hypot(*smear) > 1.5:
        kernel = np.zeros((2 * pad + 1, 2 * pad + 1), np.float32)
        a, b = (tuple(round(pad + sign * v / 2) for v in smear) for sign in (-1, 1))
        cv2.line(kernel, a, b, 1.0)
        kernel /= kernel.sum()
        colors, opacity = (
            np.asarray(cv2.filter2D(v, -1, kernel, borderType=cv2.BORDER_CONSTANT), np.float32)
            for v in (colors, opacity)
        )
    part, marks = scene[area], truth[area]
    drawn = part * (1 - opacity[..., None]) + colors
    inside = opacity > 0.5
    is_tiny = not inside.any()
    if is_tiny:
        inside = opacity > max(0.3, 0.8 * float(opacity.max()))
    change = np.abs(drawn - part).max(2)[inside].mean() if inside.any() else 0.0
    scene[area] = drawn
    is_seen = change >= least
    if is_tiny or not is_seen:
        marks[(opacity > 0.12) & (marks != scenes.OBJECT)] = scenes.UNSCORED
    marks[inside] = scenes.OBJECT if is_seen else scenes.UNSCORED


def _fields(rng: Generator, count: int, cells: tuple[int, int]) -> Singles:
    return rng.standard_normal((count, *cells)).astype(np.float32)


def _wave(rng: Generator, count: int) -> tuple[Singles, Singles]:
    return rng.uniform(0.05, 1.5, count).astype(np.float32), rng.uniform(0, 6.3, count).astype(
        np.float32
    )


class _Light:
    """Light of a film at each time: gain of channels, and of places where it is uneven."""

    def __init__(self, rng: Generator, length: int, thermal: bool) -> None:
        self.rng, self.length = rng, length
        odd = rng.random(6) < (
            [0.5, 0.25, 0.15, 0.0, 0.2, 0.1] if thermal else [0.5, 0.3, 0.16, 0.17, 0.25, 0.2]
        )
        self.flicker = rng.uniform(0.002, 0.05) if odd[0] else 0.0
        self.drift = rng.normal(0, 0.15, 4) if odd[1] else np.zeros(4)
        self.cloud = rng.uniform(0.05, 0.3) if odd[2] else 0.0
        self.switch = bool(odd[3])
        self.exposure = rng.uniform(0.2, 0.9) if odd[4] else 0.0
        self.gamma = rng.uniform(-0.25, 0.25) if odd[5] else 0.0
        self.band = rng.uniform(0.005, 0.03) if rng.random() < 0.08 else 0.0
        self.fields = _fields(rng, 2, (4, 9))
        self.speed = (
            rng.uniform(0.5, 6) / length if rng.random() < 0.6 else rng.uniform(0.001, 0.05)
        )
        self.states: list[Singles] = []
        self.changes = [0.0, float(length)]
        if self.switch:
            dark = np.exp(rng.uniform(np.log(0.12), np.log(0.8))) * rng.uniform(0.8, 1.2, 3)
            slope = rng.normal(0, 0.3, (6, 8, 1)).cumsum(1) * 0.3 * rng.uniform(0, 1)
            slope += rng.normal(0, 0.25) * np.linspace(-1, 1, 6)[:, None, None]
            other = (dark * np.exp(np.clip(slope - slope.mean(), -1, 1))).astype(np.float32)
            plain = np.ones((6, 8, 3), np.float32)
            self.states = [plain, np.clip(other, 0.05, 1.25)]
            if rng.random() < 0.5:
                self.states.reverse()
            cuts = (
                [rng.uniform(0.16, 0.84)]
                if rng.random() < 0.6
                else [rng.uniform(0.1, 0.4), rng.uniform(0.56, 0.9)]
            )
            self.changes = [0.0, *(float(c * length) for c in cuts), float(length)]

    def names(self) -> list[str]:
        """Return which kinds of change there are."""
        kinds = ("flicker", "cloud", "switch", "exposure", "gamma", "band")
        found = [kind for kind in kinds if getattr(self, kind)]
        return found + (["drift"] if self.drift.any() else [])

    def at(self, time: float) -> Singles:
        """Return gains at a time, of shape (3,) where they are alike everywhere, or (6, 8, 3)."""
        share = time / self.length
        slow = self.drift[:3] * 0.2 + self.drift[3]
        gain = np.exp(
            slow * np.sin(2.2 * share + self.drift[0] * 9) + self.rng.normal(0, self.flicker + 1e-9)
        )
        light = gain.astype(np.float32)
        if self.switch:
            part = int(np.searchsorted(self.changes, time, "right")) - 1
            light = self.states[part % 2] * light
        if self.cloud:
            place = time * self.speed
            i, mix = int(place) % 9, np.float32(place % 1)
            moved = (
                np.roll(self.fields[0], i, 1) * (1 - mix) + np.roll(self.fields[0], i + 1, 1) * mix
            )
            wide = cv2.resize(moved, (8, 6), interpolation=cv2.INTER_LINEAR)
            light = light * np.exp(self.cloud * np.asarray(wide, np.float32))[..., None]
        return np.asarray(light, np.float32)


class _Place:
    """The empty place of a film and what moves in it: leaves, water, flags, monitors, rain."""

    def __init__(
        self,
        rng: Generator,
        sources: Sources,
        shape: tuple[int, int],
        thermal: bool,
        length: int,
        grey: bool,
    ) -> None:
        self.rng, self.shape, self.length = rng, shape, length
        h, w = shape
        self.flip, self.grey = rng.random() < 0.5, grey
        self.runs = self.long = None
        self.lut = (
            (255 * (np.arange(256) / 255) ** rng.uniform(0.7, 1.4) * rng.uniform(0.7, 1.1))
            .clip(0, 255)
            .astype(np.uint8)
        )
        self.tint = rng.normal(1, 0.06, 3).astype(np.float32)
        self.base = "thermal" if thermal else "plate"
        if sources.moving and not thermal and rng.random() < 0.22:
            self.base = "film"
            self.runs, self.long = sources.moving[rng.integers(len(sources.moving))]
            picture = self.long[0]
        else:
            picture = sources.place(rng)
        self.area = _window(rng, picture.shape[:2], shape, rng.uniform(0.6, 1.0))
        self.thermal = (
            (rng.uniform(2, 12), rng.uniform(0.08, 0.45), rng.uniform(50, 190)) if thermal else None
        )
        self.plate = self._seen(picture)
        kinds = ["leaves", "water", "flag", "monitor", "rain", "smoke"]
        chance = np.array([0.3, 0.14, 0.06, 0.06, 0.06, 0.06]) * (0.7 if thermal else 1)
        self.moves = [
            str(k)
            for k, c in zip(kinds, chance, strict=True)
            if rng.random() < c and self.base != "film"
        ]
        self.boxes = {kind: self._box(kind) for kind in self.moves}
        self.low = {kind: _fields(rng, 6, (int(rng.integers(5, 22)),) * 2) for kind in self.moves}
        self.waves = {kind: _wave(rng, 6) for kind in self.moves}
        self.amount = {
            kind: float(np.exp(rng.uniform(np.log(0.5), np.log(6)))) for kind in self.moves
        }
        if "monitor" in self.moves:
            area = self.boxes["monitor"]
            size = (area[0].stop - area[0].start, area[1].stop - area[1].start)
            self.screens = [sources.texture(rng, *size) for _ in range(int(rng.integers(2, 6)))]
            self.pace = length / rng.integers(3, 40)
        if "rain" in self.moves:
            drops = _blur(
                (rng.random((h + 200, w + 200)) < rng.uniform(0.001, 0.006)).astype(np.float32), 0.6
            )
            kernel = np.eye(int(rng.integers(3, 16)), dtype=np.float32)
            kernel[:, 1:] = 0 if rng.random() < 0.5 else kernel[:, 1:]
            kernel[:, 0] = 1 if not kernel[1, 1] else kernel[:, 0]
            drops = np.asarray(cv2.filter2D(drops, -1, kernel), np.float32)
            self.drops = np.clip(drops * rng.uniform(0.3, 1.2), 0, 0.8)[..., None]

    def _seen(self, picture: Bytes) -> Singles:
        picture = picture[self.area]
        picture = np.ascontiguousarray(picture[:, ::-1]) if self.flip else picture
        place = _resize(self.lut[picture], *self.shape).astype(np.float32)
        place = np.minimum(place * self.tint, 252)
        if self.grey:
            place = np.repeat(place.mean(2, keepdims=True), 3, 2)
        if self.thermal:
            sigma, contrast, level = self.thermal
            place = _blur(place, sigma)
            place = (place - place.mean()) * np.float32(contrast) + np.float32(level)
        return place

    def _box(self, kind: str) -> Area:
        h, w = self.shape
        most = {"leaves": 1.0, "water": 1.0, "flag": 0.35, "monitor": 0.3}.get(kind, 1.0)
        bh, bw = (max(12, int(self.rng.uniform(0.3 * most, most) * v)) for v in (h, w))
        if kind == "water":
            return np.s_[h - bh : h, 0:w]
        if kind in {"rain", "smoke"}:
            return np.s_[0:h, 0:w]
        y, x = self.rng.integers(h - bh + 1), self.rng.integers(w - bw + 1)
        return np.s_[y : y + bh, x : x + bw]

    def at(self, time: float, run: int, step: int) -> Singles:
        """Return the empty place at a time; a film shows a frame of a run, or of the long one."""
        if self.runs is not None and self.long is not None:
            last = len(self.long) - 1
            back = last - abs(last - int(time) % (2 * last))
            scene = self._seen(
                self.long[back] if run < 0 else self.runs[run % len(self.runs), step]
            )
        else:
            scene = self.plate.copy()
        for kind in self.moves:
            if kind != "rain":
                self._move(scene, kind, time)
        return scene

    def _move(self, scene: Singles, kind: str, time: float) -> None:
        area, low, (speed, phase) = self.boxes[kind], self.low[kind], self.waves[kind]
        part = scene[area]
        h, w = part.shape[:2]
        if kind == "monitor":
            screen = self.screens[int(time / self.pace) % len(self.screens)]
            part[:] = screen * np.float32(self.rng.uniform(0.93, 1.07))
            return
        swing = (low * np.sin(speed * time + phase)[:, None, None]).astype(np.float32)
        if kind == "smoke":
            soft = cv2.resize(np.asarray(swing.sum(0)), (w, h), interpolation=cv2.INTER_CUBIC)
            part += np.float32(3 * self.amount[kind]) * np.asarray(soft, np.float32)[..., None]
            return
        gust = self.amount[kind] * (0.3 + abs(np.sin(0.011 * time * speed[0] + phase[1])))
        both = np.dstack([swing[:3].sum(0), swing[3:].sum(0)]) * np.float32(gust)
        edge = np.minimum(1, np.minimum(*np.ogrid[0:4:5j, 0:4:5j])) * np.minimum(
            1, np.minimum(*np.ogrid[4:0:5j, 4:0:5j])
        )
        wide = np.asarray(cv2.resize(both, (w, h), interpolation=cv2.INTER_CUBIC), np.float32)
        wide *= np.asarray(cv2.resize(edge.astype(np.float32), (w, h)), np.float32)[..., None]
        yy, xx = np.mgrid[0:h, 0:w].astype(np.float32)
        if kind in {"flag", "water"}:
            ripple = np.sin(
                (xx if kind == "flag" else yy) * (0.15 + 0.2 * speed[2])
                - 0.8 * time
                + 3 * wide[..., 0]
            )
            wide[..., 1] += np.float32(gust * 0.7) * ripple
        part[:] = cv2.remap(
            part,
            xx + wide[..., 0],
            yy + wide[..., 1],
            cv2.INTER_LINEAR,
            borderMode=cv2.BORDER_REFLECT_101,
        )
        if kind == "water":
            part *= (1 + np.float32(0.02 * gust) * ripple)[..., None]
            if speed[3] > 1.0:
                glints = self.rng.random((h // 2 + 1, w // 2 + 1)).astype(np.float32) > 0.985
                part += (
                    50
                    * np.asarray(cv2.resize(glints.astype(np.float32), (w, h)), np.float32)[
                        ..., None
                    ]
                )

    def rain(self, scene: Singles) -> None:
        """Let rain or snow fall before everything."""
        if "rain" in self.moves:
            y, x = self.rng.integers(200, size=2)
            h, w = scene.shape[:2]
            drops = self.drops[y : y + h, x : x + w]
            scene += drops * (225 - scene)


class _Camera:
    """Motion of a camera, its blur, noise and coding."""

    def __init__(self, rng: Generator, length: int, size: tuple[int, int], thermal: bool) -> None:
        self.rng, self.length, self.size = rng, length, size
        how = rng.random()
        self.motion = (
            "still" if how < 0.72 else "shake" if how < 0.87 else "knock" if how < 0.94 else "drift"
        )
        self.amount = (
            float(np.exp(rng.uniform(np.log(0.3), np.log(4)))) if self.motion == "shake" else 0.0
        )
        self.turn = rng.uniform(0, 0.4) if rng.random() < 0.5 else 0.0
        self.knock = rng.normal(0, 5, 2) if self.motion in {"knock", "drift"} else np.zeros(2)
        self.when = rng.uniform(0, 1) if rng.random() < 0.7 else rng.uniform(0, 0.1)
        self.margin = (
            int(min(24, 3 * self.amount + np.abs(self.knock).max() + 3))
            if self.motion != "still"
            else 0
        )
        self.hand = np.zeros(3)
        self.blur = rng.uniform(0.3, 1.2) if rng.random() < 0.6 else 0.0
        self.sigma = float(
            np.exp(rng.uniform(np.log(0.3), np.log(6 if rng.random() < 0.3 else 2.5)))
        )
        self.sigma = rng.uniform(1.5, 7) if thermal else self.sigma
        self.shot = rng.uniform(0, 1) if rng.random() < 0.5 else 0.0
        self.grain = int(rng.integers(4))
        self.rows = rng.uniform(0, 1.5) if thermal and rng.random() < 0.4 else 0.0
        self.stretch = rng.uniform(0, 0.04) if thermal and rng.random() < 0.5 else 0.0
        self.fog = rng.uniform(0.2, 0.6) if rng.random() < 0.08 and not thermal else 1.0
        self.native = float(rng.choice([1, 0.5, 0.75], p=[0.72, 0.18, 0.1]))
        kinds = ["none", "jpeg", "h264"]
        self.coder = str(rng.choice(kinds, p=[0.4, 0.25, 0.35]))
        self.quality = (
            int(rng.integers(30, 93)) if self.coder == "jpeg" else int(rng.integers(18, 39))
        )

    def matrix(self, time: float) -> NDArray[np.float64] | None:
        """Return where the film's frame lies in the larger place at a time."""
        if self.motion == "still":
            return None
        share = time / self.length
        if self.motion == "shake":
            fresh = self.rng.normal(0, [self.amount, self.amount, self.turn])
            self.hand = 0.4 * self.hand + 0.9 * fresh
            dx, dy, angle = np.clip(self.hand, -3 * self.amount, 3 * self.amount)
        else:
            far = float(share >= self.when) if self.motion == "knock" else share
            (dx, dy), angle = self.knock * far, 0.0
        h, w = self.size
        matrix = np.asarray(cv2.getRotationMatrix2D((w / 2, h / 2), angle, 1.0))
        matrix[:, 2] += matrix[:, :2] @ np.full(2, -self.margin) + [dx, dy]
        return matrix

    def record(self, scene: Singles, noise: list[Singles]) -> Bytes:
        """Return what the sensor gives, coded as single pictures where that is drawn."""
        rng = self.rng
        if self.blur:
            scene = _blur(scene, self.blur)
        if self.native != 1:
            h, w = (int(v * self.native) // 2 * 2 for v in self.size)
            scene = _resize(scene, h, w)
        if self.fog < 1:
            scene = scene * np.float32(self.fog) + np.float32(170 * (1 - self.fog))
        if self.stretch:
            scene = (scene - 128) * np.float32(1 + rng.normal(0, self.stretch)) + np.float32(
                128 + rng.normal(0, 60 * self.stretch)
            )
        h, w = scene.shape[:2]
        tile = noise[self.grain]
        y, x = rng.integers(tile.shape[0] - h + 1), rng.integers(tile.shape[1] - w + 1)
        grain = tile[y : y + h, x : x + w] * np.float32(self.sigma)
        if self.shot:
            grain *= np.sqrt(0.2 + np.maximum(scene, 0) * np.float32(self.shot / 80))
        scene = scene + grain
        if self.rows:
            scene += rng.normal(0, self.rows, (h, 1, 1)).astype(np.float32)
        return np.clip(np.rint(scene), 0, 255).astype(np.uint8)

    def coded(self, frames: list[Bytes]) -> list[Bytes]:
        """Return the frames after coding, at the film's size."""
        if self.coder == "jpeg":
            frames = jpeg(frames, self.quality)
        elif self.coder == "h264":
            frames = h264(frames, self.quality, int(self.rng.choice([12, 50, 250])))
        if self.native != 1:
            way = cv2.INTER_LINEAR if self.grain % 2 else cv2.INTER_CUBIC
            frames = [
                np.asarray(cv2.resize(f, self.size[::-1], interpolation=way), np.uint8)
                for f in frames
            ]
        return frames


def jpeg(frames: list[Bytes], quality: int) -> list[Bytes]:
    """Return frames as JPEG codes them, in colour."""
    setting = [cv2.IMWRITE_JPEG_QUALITY, quality]
    coded = [cv2.imencode(".jpg", frame, setting)[1] for frame in frames]
    return [np.asarray(cv2.imdecode(one, 1), np.uint8) for one in coded]


def h264(frames: list[Bytes], crf: int, keys: int) -> list[Bytes]:
    """Return frames as x264 codes them."""
    import av

    coder = av.CodecContext.create("libx264", "w")
    coder.height, coder.width = frames[0].shape[:2]
    coder.pix_fmt, coder.time_base, coder.thread_count = "yuv420p", Fraction(1, 25), 1
    coder.options = {"crf": str(crf), "preset": "veryfast", "g": str(keys)}
    reader = av.CodecContext.create("h264", "r")
    reader.thread_count = 1
    packets = []
    for index, frame in enumerate(frames):
        picture = av.VideoFrame.from_ndarray(frame, format="bgr24")
        picture.pts = index
        packets += coder.encode(picture)
    packets += coder.encode(None)
    read = [p for packet in packets for p in reader.decode(packet)] + reader.decode(None)
    return [picture.to_ndarray(format="bgr24") for picture in read]


def make(rng: Generator, sources: Sources) -> Made:
    """Make a film.

    Parameters
    ----------
    rng : Generator
        What it is drawn from; the same state gives the same film.
    sources : Sources

    Returns
    -------
    Made
    """
    size = SIZES[rng.integers(len(SIZES))]
    thermal = rng.random() < 0.17
    grey = thermal or rng.random() < 0.15
    short = rng.random() < 0.3
    count = int(rng.integers(20, 41)) if short else int(rng.integers(45, 101))
    length = count if short else int(np.exp(rng.uniform(np.log(count), np.log(5000))))
    camera = _Camera(rng, length, size, thermal)
    margin = camera.margin
    shape = (size[0] + 2 * margin, size[1] + 2 * margin)
    place = _Place(rng, sources, shape, thermal, length, grey)
    light = _Light(rng, length, thermal)
    director = _Director(rng, length, shape, thermal)
    actors = director.actors()
    shade = _Shade.draw(rng)
    shutter = rng.uniform(0, 0.8) if rng.random() < 0.6 else 0.0

    sample = np.unique(np.linspace(0, length - 1, count).round().astype(int))
    wanted = _wanted(rng, actors, length, light.changes[1:-1])
    seconds = {t - 1: (number, 0) for number, t in enumerate(wanted)}
    seconds |= {t: (number, 1) for number, t in enumerate(wanted)}
    before = {max(t - 1, 0) for t in wanted}
    times = sorted({int(t) for t in sample} | before | set(wanted))
    runs = 0 if place.runs is None else len(place.runs)
    usual = float(place.plate.mean())

    frames, marks, hidden = [], {}, np.zeros(size, np.int32)
    for time in times:
        run = -1 if short or not runs else int(time / length * runs)
        scene = place.at(time, run, seconds.get(time, (0, 1))[1])
        truth = np.zeros(shape, np.uint8)
        now = light.at(time)
        least = _least(camera, float(now.mean()))
        _stage(
            rng, actors, time, (scene, truth), place, sources, shade, shutter, camera.sigma, least
        )
        if grey:
            scene = np.repeat(scene.mean(2, keepdims=True), 3, 2)
        if light.exposure:
            now = now * np.float32((usual / max(float(scene.mean()), 1)) ** light.exposure)
        scene *= (
            now
            if now.ndim == 1
            else np.asarray(cv2.resize(now, shape[::-1], interpolation=cv2.INTER_CUBIC))
        )
        if light.gamma:
            power = float(np.exp(light.gamma * np.sin(5 * time / length + usual)))
            scene = 255 * np.asarray(cv2.pow(np.clip(scene, 0, 255) / 255, power), np.float32)
        if light.band:
            rows = np.arange(shape[0])[:, None, None] * 0.05 + 2.1 * time
            scene *= (1 + light.band * np.sin(rows)).astype(np.float32)
        place.rain(scene)
        matrix = camera.matrix(time)
        if matrix is not None:
            scene = np.asarray(cv2.warpAffine(scene, matrix, size[::-1]), np.float32)
            truth = np.asarray(
                cv2.warpAffine(truth, matrix, size[::-1], flags=cv2.INTER_NEAREST), np.uint8
            )
        picture = camera.record(scene, sources.noise)
        if grey:
            picture = np.repeat(picture[..., 1:2], 3, 2)
        frames.append(picture)
        marks[time] = truth
        hidden += truth == scenes.OBJECT
    at = dict(zip(times, camera.coded(frames), strict=True))
    if grey:
        at = {t: np.repeat(f[..., 1:2], 3, 2) for t, f in at.items()}
    targets = [Target(at[max(t - 1, 0)], at[t], marks[t]) for t in wanted]
    facts: dict[str, object] = {
        "base": place.base, "size": size, "length": length, "sample": len(sample), "grey": grey,
        "objects": director.kind, "actors": len(actors), "faint": director.faint,
        "hidden": director.hidden,
        "hidden_share": round(float((hidden > len(times) / 2).mean()), 3),
        "shade": shade.kind, "light": light.names(), "moves": place.moves, "motion": camera.motion,
        "shift": round(camera.amount or float(np.abs(camera.knock).max()), 2),
        "noise": round(camera.sigma, 2), "fog": round(camera.fog, 2), "native": camera.native,
        "coder": camera.coder, "quality": camera.quality,
    }  # fmt: skip
    return Made(np.stack([at[int(t)] for t in sample]), targets, facts)


def _least(camera: _Camera, gain: float) -> Callable[[float], float]:
    """Return, by an object's height, the contrast in the scene below which it cannot be seen."""
    noise = camera.sigma * np.sqrt(1 + camera.shot)
    return lambda height: (
        (0.7 + noise * (0.3 if height > 14 else 0.7)) / max(gain * camera.fog, 0.05)
    )


def _wanted(rng: Generator, actors: list[Actor], length: int, changes: list[float]) -> list[int]:
    """Return frames to be masked: mostly with objects, some after them or a change of light."""
    wanted: set[int] = set()
    for _ in range(int(rng.integers(6, 11))):
        how, time = rng.random(), rng.uniform(0, length)
        if actors and how < 0.75:
            actor = actors[rng.integers(len(actors))]
            first, last = max(0.0, actor.t[0]), min(length - 1.0, actor.t[-1])
            time = rng.uniform(first, last) if last > first else time
            if how < 0.1:
                time = last + rng.uniform(0, 0.1) * length
        elif changes and how > 0.9:
            time = changes[rng.integers(len(changes))] + rng.integers(0, 6)
        wanted.add(int(np.clip(time, 1, length - 2)))
    while len(wanted) < 6:
        wanted.add(int(rng.integers(1, length - 1)))
    return sorted(wanted)


def _stage(
    rng: Generator,
    actors: list[Actor],
    time: float,
    view: tuple[Singles, Bytes],
    place: _Place,
    sources: Sources,
    shade: _Shade,
    shutter: float,
    sigma: float,
    least: Callable[[float], float],
) -> None:
    """Draw the objects of a time, the farther ones first, and before them what they cast."""
    present = sorted((a for a in actors if a.t[0] <= time <= a.t[-1]), key=lambda a: a.at(time)[1])
    scene, truth = view
    drawn = []
    for actor in present:
        x, y, height = actor.at(time)
        if not (
            -2 * height < x < scene.shape[1] + 2 * height and -2 < y < scene.shape[0] + 2 * height
        ):
            continue
        if not actor.looks:
            _dress(rng, actor, sources, place.plate, sigma)
        before = actor.at(time - 1)
        smear = ((x - before[0]) * shutter, (y - before[1]) * shutter)
        drawn.append((actor, actor.look(time, height), x, y, height, smear))
    for actor, look, x, y, _, _ in drawn:
        if shade.kind != "none" and actor.colors != "faint":
            shade.cast(scene, truth, look, x, y)
    for _, look, x, y, height, smear in drawn:
        _put(scene, truth, look, x, y, smear, least(height))


def _save(path: Path, made: Made) -> None:
    targets = made.targets
    columns = {k: np.stack([getattr(t, k) for t in targets]) for k in ("before", "frame", "truth")}
    np.savez(path, frames=made.frames, facts=np.array(str(made.facts)), **columns)


def _sheet(films: list[Made]) -> Bytes:
    """Return a picture of films, one a row: the first frame, and targets with truths."""
    colors = np.array([(0, 0, 0), (255, 255, 255), (160, 80, 0), (0, 0, 200)], np.uint8)
    rows = []
    for made in films:
        tiles = [made.frames[0]]
        for target in made.targets[:: max(1, len(made.targets) // 4)][:4]:
            tiles += [target.frame, colors[target.truth]]
        rows.append(
            np.hstack(
                [
                    np.asarray(cv2.resize(t, (176, 132), interpolation=cv2.INTER_AREA), np.uint8)
                    for t in tiles
                ]
            )
        )
    return np.vstack(rows)


def main() -> None:
    """Show made films, or write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--scenes", default=",".join([*scenes.names(), *CLIPS]))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--show", type=Path)
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    sources = Sources(arguments.data, arguments.scenes.split(","), arguments.pictures)
    films = []
    for number in range(arguments.count):
        made = make(np.random.default_rng([arguments.seed, number]), sources)
        print(number, made.facts, flush=True)
        if arguments.show:
            films.append(made)
        if arguments.out:
            arguments.out.mkdir(parents=True, exist_ok=True)
            _save(arguments.out / f"made_{arguments.seed}_{number:05d}.npz", made)
    if arguments.show:
        cv2.imwrite(str(arguments.show), _sheet(films))


if __name__ == "__main__":
    main()
