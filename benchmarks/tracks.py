"""Measure tracks on scenes whose tracks are known: IDF1 and MOTA, beside MOG2's masks.

python -m benchmarks.tracks [DATA]

The scenes are made here, unlike those of the sample: figures of three ellipses with a texture, over
a textured ground with noise and a slow change of light. With DATA, a folder with the film
``moved_object/moved_object.mp4``, small targets also cross its empty frames at several contrasts.
Needs motmetrics (`pip install '.[readers]'`). Boxes match from an IoU of .3: masks of targets of
4×4 pixels are a pixel wider on each side.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

import bgsub
from bgsub.segmenter.residual import default_min_area
from bgsub.tracking.recorder import ObjectRecorder, View
from bgsub.tracking.tables import read_objects
from bgsub.tracking.tracker import Observation

Frames = NDArray[np.uint8]
Boxes = list[dict[int, tuple[float, float, float, float]]]
Place = tuple[float, float] | None

RATE = 25.0
LEAST_IOU = 0.3


@dataclass
class Scene:
    """A film and the boxes of its objects, frame by frame."""

    name: str
    frames: Frames
    truth: Boxes


def ground(height: int, width: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw a textured ground."""
    layers = [rng.normal(0, 1, (height, width, 3)) for _ in range(3)]
    sigmas = (2, 7, 25)
    blurred = [cv2.GaussianBlur(one, (0, 0), s) * s for one, s in zip(layers, sigmas, strict=True)]
    texture = np.sum(blurred, axis=0)
    return np.asarray(120 + 22 * texture / texture.std())


def figure(width: int, height: int, rng: np.random.Generator) -> tuple[Frames, NDArray[np.bool_]]:
    """Draw somebody: head, body and legs, each with its colour and a texture."""
    picture = np.zeros((height, width, 3))
    inside = np.zeros((height, width), np.uint8)
    parts = [((0.5, 0.12), (0.22, 0.12)), ((0.5, 0.42), (0.48, 0.24)), ((0.5, 0.8), (0.34, 0.2))]
    for (cx, cy), (rx, ry) in parts:
        shape = np.zeros((height, width), np.uint8)
        center = (int(cx * width), int(cy * height))
        axes = (max(int(rx * width), 1), max(int(ry * height), 1))
        cv2.ellipse(shape, center, axes, 0, 0, 360, 255, -1)
        color = rng.choice([25, 60, 190, 230], 3) + rng.normal(0, 12, (height, width, 3))
        picture[shape > 0] = color[shape > 0]
        inside |= shape
    return np.clip(picture, 0, 255).astype(np.uint8), inside > 0


def film(
    name: str,
    count: int,
    size: tuple[int, int],
    objects: Sequence[tuple[Callable[[int], Place], tuple[Frames, NDArray[np.bool_]]]],
    seed: int,
    base: Frames | None = None,
) -> Scene:
    """Put figures on a ground; a place is that of their feet, None where they are not there."""
    rng = np.random.default_rng(seed)
    width, height = size
    still = ground(height, width, rng)
    frames = np.empty((count, height, width, 3), np.uint8)
    truth: Boxes = []
    for t in range(count):
        light = 1 + 0.04 * np.sin(t / 150)
        picture = still * light if base is None else base[t].astype(float)
        boxes = {}
        for number, (way, (look, inside)) in enumerate(objects, start=1):
            place = way(t)
            if place is None:
                continue
            h, w = inside.shape
            x, y = round(place[0] - w / 2), round(place[1] - h)
            left, top, right, bottom = max(x, 0), max(y, 0), min(x + w, width), min(y + h, height)
            if right - left < 2 or bottom - top < 2:
                continue
            own = np.s_[top - y : bottom - y, left - x : right - x]
            picture[top:bottom, left:right][inside[own]] = look[own][inside[own]]
            boxes[number] = (left, top, right - left, bottom - top)
        noise = 0 if base is not None else rng.normal(0, 2.5, picture.shape)
        frames[t] = np.clip(picture + noise, 0, 255)
        truth.append(boxes)
    return Scene(name, frames, truth)


def walk(x: float, y: float, vx: float, vy: float = 0.0, since: int = 0) -> Callable[[int], Place]:
    """Walk straight on from a frame on."""
    return lambda t: None if t < since else (x + vx * (t - since), y + vy * (t - since))


def scenes() -> Iterator[Scene]:
    """Make the scenes whose ground is drawn."""
    rng = np.random.default_rng(5)
    size = (320, 240)
    people = [figure(22, 52, rng) for _ in range(6)]
    yield film("one walker", 400, size, [(walk(-15, 150, 1.5, 0, 60), people[0])], 1)
    yield film(
        "five cross",
        600,
        size,
        [
            (walk(-15, 150, 1.4, 0, 40), people[0]),
            (walk(335, 160, -1.6, 0, 40), people[1]),
            (walk(-15, 200, 1.9, -0.1, 120), people[2]),
            (walk(335, 190, -1.2, 0.05, 90), people[3]),
            (walk(160, -5, 0.1, 0.9, 100), people[4]),
        ],
        2,
    )

    def stopping(t: int) -> Place:
        return (min(1.5 * (t - 100), 150) if t < 1700 else 150 + 1.5 * (t - 1700), 160.0)

    passer = walk(335, 168, -1.0, 0, 900)
    yield film("stops 60 s", 3600, (160, 120), [
        (lambda t: None if t < 100 else _half(stopping(t)), figure(11, 26, rng)),
        (lambda t: _half(passer(t)), figure(11, 26, rng)),
    ], 3)  # fmt: skip

    def pair(t: int, side: int) -> Place:
        if t < 40:
            return None
        apart = max(7.0, 45 - 0.5 * (t - 40)) + max(0, t - 220) * 0.6
        return (0.8 * (t - 40) - 40 + side * apart, 160.0 + 3 * side)

    both = [(lambda t, s=s: pair(t, s), people[4 + (s > 0)]) for s in (-1, 1)]
    yield film("merge and split", 460, size, both, 4)
    meeting = [(lambda t, s=s: _meet(t, s), people[i]) for i, s in enumerate((-1, 1))]
    yield film("meet and turn back", 500, size, meeting, 6)
    yield film("twenty insects", 1000, size, [(insect(i), beetle(i)) for i in range(20)], 7)


def _half(place: Place) -> Place:
    return None if place is None else (place[0] / 2, place[1] / 2)


def _meet(t: int, side: int) -> Place:
    s = t - 60
    if s < 0:
        return None
    way = min(s, 100) if s < 180 else 280 - s
    return (160 + side * (150 - 1.45 * way), 160.0)


def insect(seed: int) -> Callable[[int], Place]:
    """Wander about an arena, now and then resting."""
    rng = np.random.default_rng(100 + seed)
    place, heading = rng.uniform([30, 30], [290, 210]), rng.uniform(0, 6.3)
    way, rest = [], 0
    for _ in range(1000):
        rest = rest - 1 if rest else int(rng.integers(20, 80)) * int(rng.random() < 0.006)
        if not rest:
            heading += rng.normal(0, 0.12)
            step = 1.3 * np.array([np.cos(heading), np.sin(heading)])
            if not (15 < place[0] + step[0] < 305 and 15 < place[1] + step[1] < 225):
                heading += np.pi / 2
                step = np.zeros(2)
            place = place + step
        way.append((float(place[0]), float(place[1])))
    return lambda t: way[t]


def beetle(seed: int) -> tuple[Frames, NDArray[np.bool_]]:
    """Draw a dark spot of 7×7 pixels."""
    inside = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (7, 7)) > 0
    return np.full((7, 7, 3), 25 + seed, np.uint8), inside


def targets(data: Path) -> Iterator[Scene]:
    """Let targets of 4×4 pixels cross real film at several contrasts."""
    path = data / "moved_object" / "moved_object.mp4"
    if not path.exists():
        return
    shown = islice(bgsub.open_source(path, start=10), 590)
    base = np.stack([frame.layout.to_bgr(frame.data) for frame in shown])
    middle = np.median(base[::20], axis=0)
    for contrast in (10, 20, 40):
        frames, truth = base.copy(), []
        for t in range(len(frames)):
            boxes = {}
            for number, (y, start) in enumerate(((30, 100), (60, 200), (95, 300)), start=1):
                x = t - start
                if 0 <= x < 156:
                    here = np.s_[y : y + 4, x : x + 4]
                    sign = -1 if middle[here].mean() > 128 else 1
                    value = frames[t][here].astype(int) + sign * contrast
                    frames[t][here] = np.clip(value, 0, 255)
                    boxes[number] = (float(x), float(y), 4.0, 4.0)
            truth.append(boxes)
        yield Scene(f"4×4 at {contrast} levels", frames, truth)


def ours(scene: Scene) -> list[Observation]:
    """Follow objects with default options."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "film.npy", scene.frames[..., ::-1])  # RGB
        options = bgsub.RunOptions(outputs=frozenset({"objects"}))
        bgsub.run(Path(folder) / "film.npy", Path(folder) / "out", options)
        return list(read_objects(Path(folder) / "out" / "objects.csv"))


def of_mog2(scene: Scene) -> list[Observation]:
    """Follow objects of MOG2's masks, opened and without specks, with the same tracker."""
    height, width = scene.frames.shape[1:3]
    subtractor = cv2.createBackgroundSubtractorMOG2(detectShadows=True)
    view = View((width, height), (0, 0, width, height), (width, height))
    found: list[Observation] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.closing(ObjectRecorder(Path(folder), view, rate=RATE)) as recorder,
    ):
        for t, frame in enumerate(scene.frames):
            mask = (subtractor.apply(frame) == 255).astype(np.uint8) * 255
            mask = cv2.medianBlur(mask, 5).astype(np.uint8)
            least = default_min_area(height, width)
            regions = [one for one in recorder.detect(mask, picture=frame) if one.area >= least]
            for objects in recorder.add(t + 1, t / RATE, regions, frame):
                found += objects
        for objects in recorder.end_tracks():
            found += objects
    return found


def apart(true: list[tuple[float, ...]], found: list[tuple[float, ...]]) -> NDArray[np.float64]:
    """1 - IoU of each true box with each that was found; NaN from too little of it."""
    one, two = (np.array(boxes, float).reshape(-1, 4) for boxes in (true, found))
    low = np.maximum(one[:, None, :2], two[None, :, :2])
    high = np.minimum((one[:, :2] + one[:, 2:])[:, None], (two[:, :2] + two[:, 2:])[None])
    both = np.prod(np.clip(high - low, 0, None), axis=2)
    areas = np.prod(one[:, 2:], axis=1)[:, None] + np.prod(two[:, 2:], axis=1)[None]
    iou = both / np.maximum(areas - both, 1e-9)
    return np.where(iou >= LEAST_IOU, 1 - iou, np.nan)


def measure(scene: Scene, objects: list[Observation]) -> dict[str, float]:
    """Compare tracks with the true ones."""
    import motmetrics

    accumulator = motmetrics.MOTAccumulator(auto_id=True)
    by_frame: dict[int, list[Observation]] = {}
    for seen in objects:
        by_frame.setdefault(seen.frame, []).append(seen)
    for t, boxes in enumerate(scene.truth):
        here = by_frame.get(t + 1, [])
        distances = apart(list(boxes.values()), [seen.box for seen in here])
        accumulator.update(list(boxes), [seen.track for seen in here], distances)
    names = ["idf1", "mota", "num_switches", "num_unique_objects", "precision", "recall"]
    table = motmetrics.metrics.create().compute(accumulator, metrics=names)
    return {name: float(table[name].iloc[0]) for name in names}


def main() -> None:
    """Print the table."""
    print(f"{'scene':22} {'IDF1':>6} {'MOTA':>6} {'switches':>8} {'tracks':>7}   of MOG2's masks")
    made = list(scenes()) + (list(targets(Path(sys.argv[1]))) if len(sys.argv) > 1 else [])
    for scene in made:
        begun = time.perf_counter()
        own = ours(scene)
        seconds = time.perf_counter() - begun
        mine, other = measure(scene, own), measure(scene, of_mog2(scene))
        tracks = f"{len({s.track for s in own})}/{mine['num_unique_objects']:.0f}"
        print(
            f"{scene.name:22} {mine['idf1']:6.3f} {mine['mota']:6.3f} {mine['num_switches']:8.0f} "
            f"{tracks:>7}   IDF1 {other['idf1']:.3f} MOTA {other['mota']:.3f}   {seconds:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
