"""Draw training crops: cut out of prepared examples, varied, with objects pasted into them."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.background.plates import LATER_UNIT, SPREAD_UNIT, count_colors
from bgsub.segmenter.network import features
from training import scenes
from training.made import h264, jpeg

Bytes = NDArray[np.uint8]
Singles = NDArray[np.float32]

SIDE = 192
"""Pixels of a crop's side."""

VARIATIONS = (
    "surges",
    "specks",
    "patches",
    "clocks",
    "casts",
    "faint",
    "far",
    "coded",
    "crowds",
    "glows",
    "sides",
    "negatives",
)
"""What may be done to a crop and is told of it, so that it can be left out."""

_FAR = 0.25
"""Share of crops that may show a place from further away, with smaller objects than it has."""

_IMAGES = ("frame", "before", "first", "second")


@dataclass
class Crop:
    """What is cut out of an example: images (4, h, w, 3), maps and truth, as float32."""

    images: Singles
    shares: Singles
    noise: Singles
    activity: Singles
    order: Singles
    truth: Bytes


@dataclass(frozen=True)
class Cutout:
    """An object cut out of a frame: colours (h, w, 3) and opacity (h, w)."""

    colors: Singles
    opacity: Singles


def mapped(path: Path) -> dict[str, Bytes]:
    """Return the arrays of a file of `numpy.savez` as parts of it, which processes share."""
    arrays = {}
    with zipfile.ZipFile(path) as archive, path.open("rb") as file:
        for member in archive.infolist():
            file.seek(member.header_offset + 26)
            file.seek(sum(struct.unpack("<HH", file.read(4))), 1)
            np.lib.format.read_magic(file)
            shape, _, kind = np.lib.format.read_array_header_1_0(file)
            array = np.memmap(path, kind, "r", file.tell(), shape)
            arrays[Path(member.filename).stem] = np.asarray(array)
    return arrays


def groups_of(path: Path) -> set[str]:
    """Return the groups of scenes that a prepared file is of, and whether it is real or made."""
    kind, name = path.stem.split("_", 1)
    names = [scenes.group_of(name)] if kind == "real" else name.split("_")[0].split("+")
    return {kind, *names}


@cache
def _read(path: Path) -> tuple[dict[str, Bytes], list[NDArray[np.int64]], list[Cutout]]:
    """Return the arrays of a prepared file, where its frames show objects, and these cut out."""
    arrays = mapped(path)
    where = [np.argwhere(one[::3, ::3] == scenes.OBJECT) * 3 for one in arrays["truth"]]
    cut = path.name.startswith("real_") and "flock" not in path.name
    return arrays, where, _cut_out(arrays) if cut else []


class Examples:
    """Prepared examples of some scenes and of made sequences, and the objects in them.

    Parameters
    ----------
    files : list of Path
        What `training.prepare` wrote.
    weights : list of float
        How often examples of each file are drawn.
    """

    def __init__(self, files: list[Path], weights: list[float]) -> None:
        read = [_read(file) for file in files]
        self._files = [arrays for arrays, _, _ in read]
        self._groups = [groups_of(file) for file in files]
        self.used: set[str] = set()
        """Groups of scenes, "real" and "made": what was drawn from since this was cleared."""
        self._weights = np.array(weights) / np.sum(weights)
        self._where = [where for _, where, _ in read]
        self.cutouts = [
            (groups, cut) for groups, (_, _, cut) in zip(self._groups, read, strict=True) if cut
        ]

    def draw(self, rng: np.random.Generator) -> Crop:
        """Cut a crop out of an example, around an object half of the time."""
        index = rng.choice(len(self._files), p=self._weights)
        file = self._files[index]
        self.used |= self._groups[index]
        which = int(rng.integers(len(file["truth"])))
        height, width = file["truth"].shape[1:]
        is_far = rng.random() < _FAR
        low, high = (0.2, 0.7) if is_far else (0.55, 1.6)
        scale = float(np.exp(rng.uniform(np.log(low), np.log(high)))) if rng.random() < 0.6 else 1.0
        tall = min(height, round(SIDE / scale))
        wide = min(width, round(SIDE / scale * (rng.uniform(0.85, 1.18) if scale != 1 else 1)))
        top, left = rng.integers(height - tall + 1), rng.integers(width - wide + 1)
        objects = self._where[index][which]
        if len(objects) and rng.random() < 0.5:
            y, x = objects[rng.integers(len(objects))]
            top = int(np.clip(y - tall * rng.uniform(0.1, 0.9), 0, height - tall))
            left = int(np.clip(x - wide * rng.uniform(0.1, 0.9), 0, width - wide))
        part = np.s_[which, top : top + tall, left : left + wide]
        size, rims, calm = (SIDE, SIDE), (0, 0, 0, 0), 1.0
        if is_far and scale < 1:
            self.used.add("far")
            size = min(SIDE, round(wide * scale)), min(SIDE, round(tall * scale))
            above, before = (int(rng.integers(SIDE - side + 1)) for side in reversed(size))
            rims = above, SIDE - size[1] - above, before, SIDE - size[0] - before
            calm = rng.uniform(scale, 1)  # means have less noise, unless neighbours share it
        way = cv2.INTER_AREA if tall > size[1] else cv2.INTER_LINEAR

        def cut(plane: Bytes) -> NDArray[np.uint8]:
            if plane.shape[:2] != size[::-1]:
                plane = np.asarray(cv2.resize(plane, size, interpolation=way), np.uint8)
            if any(rims):  # around a picture that is smaller lies what it mirrors
                plane = np.asarray(cv2.copyMakeBorder(plane, *rims, cv2.BORDER_REFLECT), np.uint8)
            return plane

        images = np.stack([cut(file[name][part]) for name in _IMAGES]).astype(np.float32)
        shares = np.stack([cut(one[part[1:]]) for one in file["shares"][which]])
        return Crop(
            images,
            shares.astype(np.float32) / 255,
            cut(file["noise"][part]).astype(np.float32) * np.float32(calm),
            cut(file["activity"][part]).astype(np.float32) * np.float32(calm),
            np.stack([cut(one[part[1:]]) for one in file["order"][which]]).astype(np.float32) - 128,
            cut(scenes.resized(file["truth"][part], size)),
        )


def _cut_out(file: dict[str, Bytes], most: int = 60) -> list[Cutout]:
    found: list[Cutout] = []
    for frame, truth in zip(file["frame"], file["truth"], strict=True):
        mask = (truth == scenes.OBJECT).astype(np.uint8)
        count, labels, boxes, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
        for label in range(1, count):
            x, y, width, height, area = boxes[label]
            if area < 60 or min(width, height) < 6:
                continue
            part = np.s_[y : y + height, x : x + width]
            found.append(
                Cutout(frame[part].astype(np.float32), (labels[part] == label).astype(np.float32))
            )
    step = max(1, len(found) // most)
    return found[::step]


def augmented(crop: Crop, examples: Examples, rng: np.random.Generator) -> tuple[Singles, Bytes]:
    """Vary a crop, and return the inputs of the network and the truth, (h, w)."""
    crop = _mirrored(crop, rng)
    if rng.random() < 0.35:
        examples.used.add("sides")
        crop = _rotated(crop, int(rng.integers(1, 4)))
    # In thermal film what is faint and even is an object, in colour film it is light.
    if rng.random() < 0.4:
        crop = replace(crop, images=np.repeat(crop.images.mean(-1, keepdims=True), 3, axis=-1))
    is_grey = bool(np.ptp(crop.images[2], axis=-1).max() < 1)
    if is_grey and rng.random() < 0.25:  # what is warm is dark in some thermal film
        examples.used.add("negatives")
        crop = replace(crop, images=255 - crop.images)
    if rng.random() < 0.3:
        crop = _furnished(crop, examples, rng)
    if rng.random() < 0.2:
        examples.used.add("surges")
        crop = _surging(crop, rng)
    if rng.random() < 0.5:
        for _ in range(rng.integers(1, 5)):
            crop = _pasted(crop, examples, rng, is_grey=is_grey)
    if rng.random() < 0.12:
        examples.used.add("specks")
        for _ in range(rng.integers(1, 5)):
            crop = _specked(crop, rng)
    if rng.random() < 0.15:
        examples.used.add("crowds")
        crop = _crowded(crop, examples, rng)
    if rng.random() < (0.4 if "crowds" in examples.used else 0.12):
        examples.used.add("glows")
        crop = _glowing(crop, rng)
    if rng.random() < 0.3:
        crop = _lit(crop, rng)
    if rng.random() < (0.08 if is_grey else 0.25):
        examples.used.add("patches")
        crop = _toned(crop, rng) if rng.random() < 0.3 else _patched(crop, rng)
    if rng.random() < 0.12:
        crop = _shaken(crop, rng)
    if rng.random() < 0.1:
        examples.used.add("clocks")
        crop = _stamped(crop, rng)
    crop = _recolored(crop, rng)
    crop = _noisy(crop, rng)
    if rng.random() < 0.12:
        crop = _stilled(crop, rng)
    if is_grey:  # with all that was put into it
        crop = replace(crop, images=np.repeat(crop.images.mean(-1, keepdims=True), 3, axis=-1))
    frame, before, first, second = np.clip(np.rint(crop.images), 0, 255).astype(np.uint8)
    if rng.random() < 0.2:
        examples.used.add("coded")
        frame, before, first, second = _coded([frame, before, first, second], rng)
    maps = (
        np.clip(np.rint(one), 0, 255).astype(np.uint8)
        for one in (255 * crop.shares, crop.noise, crop.activity, 128 + crop.order)
    )
    return features(frame, first, second, before, *maps), crop.truth


def _coded(pictures: list[Bytes], rng: np.random.Generator) -> list[Bytes]:
    """Let frames and hypotheses come from a small camera, whose codec is coarse."""
    size = 2 * round(SIDE / 2 / float(np.exp(rng.uniform(0, np.log(2.6)))))
    way = cv2.INTER_LINEAR if rng.random() < 0.5 else cv2.INTER_CUBIC
    frame, before, first, second = (
        np.asarray(cv2.resize(one, (size, size), interpolation=cv2.INTER_AREA), np.uint8)
        for one in pictures
    )
    if rng.random() < 0.5:
        frame, before = jpeg([frame, before], int(rng.integers(20, 90)))
    else:
        first, before, frame = h264([first, before, frame], int(rng.integers(20, 40)), 250)
    return [
        np.asarray(cv2.resize(one, (SIDE, SIDE), interpolation=way), np.uint8)
        for one in (frame, before, first, second)
    ]


def _mirrored(crop: Crop, rng: np.random.Generator) -> Crop:
    images, shares, order = crop.images, crop.shares, crop.order
    noise, activity, truth = crop.noise, crop.activity, crop.truth
    if rng.random() < 0.5:
        images, shares, order = images[:, :, ::-1], shares[:, :, ::-1], order[:, :, ::-1]
        noise, activity, truth = noise[:, ::-1], activity[:, ::-1], truth[:, ::-1]
    images, shares, order = images.copy(), shares.copy(), order.copy()
    if rng.random() < 0.1:  # the first frame, or one after a pause
        images[1] = images[0]
    if rng.random() < 0.05:
        images[3] = images[2]
        shares[1] = order[:] = 0
    if rng.random() < 0.25:  # in short films it tells little
        order[:] = 0
    elif rng.random() < 0.15:  # the film runs backwards
        order[0] = -order[0]
    return Crop(images, shares, noise.copy(), activity.copy(), order, truth.copy())


def _rotated(crop: Crop, quarters: int) -> Crop:
    """Turn a crop by quarters, as cameras above a place may be: which way is up tells nothing."""
    images = np.rot90(crop.images, quarters, (1, 2)).copy()
    maps = crop.shares, crop.noise, crop.activity, crop.order, crop.truth
    return Crop(images, *(np.rot90(one, quarters, (-2, -1)).copy() for one in maps))


def _shape(rng: np.random.Generator, height: int, width: int) -> Singles:
    """Draw a blob, an ellipse or a polygon."""
    kind = rng.random()
    if kind < 0.4:
        field = rng.standard_normal((height, width)).astype(np.float32)
        field = cv2.GaussianBlur(
            field, (0, 0), max(1.2, min(height, width) * rng.uniform(0.1, 0.3))
        )
        y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
        return (field / (field.std() + 1e-6) + 1.5 - 2.5 * (x * x + y * y) > 0).astype(np.float32)
    mask = np.zeros((height, width), np.float32)
    if kind < 0.75:
        axes = max(1, width // 2 - 1), max(1, height // 2 - 1)
        cv2.ellipse(mask, (width // 2, height // 2), axes, 0, 0, 360, 1, -1)
        return mask
    points = (rng.random((rng.integers(4, 9), 2)) * [width, height]).astype(np.int32)
    cv2.fillPoly(mask, [cv2.convexHull(points)], 1)
    return mask


def _object(examples: Examples, rng: np.random.Generator) -> Cutout:
    kind = rng.random()
    low, high = (
        (0.5 * SIDE, 1.3 * SIDE) if kind < 0.2 else (3, 14) if kind < 0.4 else (8, 0.4 * SIDE)
    )
    height = round(float(np.exp(rng.uniform(np.log(low), np.log(high)))))
    if examples.cutouts and rng.random() < 0.6:
        groups, kind = examples.cutouts[rng.integers(len(examples.cutouts))]
        examples.used |= groups
        one = kind[rng.integers(len(kind))]
        ratio = one.opacity.shape[1] / one.opacity.shape[0] * rng.uniform(0.8, 1.25)
        width = int(np.clip(height * ratio, 3, 1.4 * SIDE))
        colors = cv2.resize(one.colors, (width, height), interpolation=cv2.INTER_AREA)
        opacity = cv2.resize(one.opacity, (width, height), interpolation=cv2.INTER_AREA)
        if rng.random() < 0.5:
            colors, opacity = colors[:, ::-1], opacity[:, ::-1]
    else:
        width = int(np.clip(height * np.exp(rng.uniform(-1, 1)), 3, 1.4 * SIDE))
        opacity = _shape(rng, height, width)
        other = examples.draw(rng).images[0]
        colors = cv2.resize(other[rng.integers(SIDE // 2) :], (width, height))
        if rng.random() < 0.5:
            mean = colors.mean((0, 1))
            colors = mean + (colors - mean) * rng.uniform(0, 0.5)
    if rng.random() < 0.4:
        tint = rng.uniform(-40, 40, 3) * (rng.random() < 0.5)
        colors = colors * rng.uniform(0.4, 1.5) + tint + rng.uniform(-40, 40)
    if rng.random() < 0.08:  # darker than any shadow
        colors = colors * 0.1 + rng.uniform(2, 25)
    return Cutout(np.clip(colors, 0, 255).astype(np.float32), np.asarray(opacity, np.float32))


def _laid(one: Cutout, top: int, left: int, soft: float) -> tuple[Singles, Singles] | None:
    """Return opacity (h, w, 1) and colours (h, w, 3) of an object at a place of a crop."""
    height, width = one.opacity.shape
    y0, x0, y1, x1 = max(0, top), max(0, left), min(SIDE, top + height), min(SIDE, left + width)
    if y1 - y0 < 2 or x1 - x0 < 2:
        return None
    opacity, colors = np.zeros((SIDE, SIDE), np.float32), np.zeros((SIDE, SIDE, 3), np.float32)
    part = np.s_[y0 - top : y1 - top, x0 - left : x1 - left]
    opacity[y0:y1, x0:x1], colors[y0:y1, x0:x1] = one.opacity[part], one.colors[part]
    if soft > 0.3:
        full = cv2.GaussianBlur(opacity, (0, 0), soft)
        blurred = cv2.GaussianBlur(colors * opacity[..., None], (0, 0), soft)
        colors = blurred / np.maximum(full, 0.02)[..., None]
        opacity = full
    return opacity[..., None], colors


def _moved(plane: Singles, right: float, down: float) -> Singles:
    matrix = np.array([[1, 0, right], [0, 1, down]], np.float32)
    moved = np.asarray(cv2.warpAffine(plane, matrix, (SIDE, SIDE)), np.float32)
    return moved.reshape(plane.shape)


def _furnished(crop: Crop, examples: Examples, rng: np.random.Generator) -> Crop:
    """Put things, or a made ground, into the place itself: how odd a thing looks tells nothing.

    What is behind a frame is changed in the hypotheses as in the frame, with all their differences.
    """
    images = crop.images.copy()
    free = cv2.GaussianBlur((crop.truth != scenes.OBJECT).astype(np.float32), (0, 0), 0.7)
    open_ = np.stack([free, free, np.ones_like(free), np.ones_like(free)])[..., None]
    if rng.random() < 0.25:
        images += open_ * (_ground(rng) - images[2])
    for _ in range(rng.integers(0, 4)):
        one = _object(examples, rng)
        height, width = one.opacity.shape
        top = int(rng.uniform(-0.4 * height, SIDE - 0.6 * height))
        left = int(rng.uniform(-0.4 * width, SIDE - 0.6 * width))
        laid = _laid(one, top, left, rng.uniform(0, 1.3))
        if laid is not None:
            opacity, colors = laid
            images += open_ * opacity * (colors - images[2])
    return replace(crop, images=images)


def _text(rng: np.random.Generator) -> Callable[[float], str]:
    """Draw how a recorder writes the seconds since a film began."""
    begin, zone = float(rng.uniform(0, 3e8)), UTC
    day, clock = (
        rng.choice(["%Y-%m-%d", "%d/%m/%Y", "%b %d", ""]),
        rng.choice(["%H:%M:%S", "%M:%S"]),
    )
    name = rng.choice(["", "CAM 1", "NORTH", "22C"])
    rate = float(rng.choice([0, 0, 10, 25, 100]))

    def written(seconds: float) -> str:
        now = datetime.fromtimestamp(begin + seconds, zone)
        count = f"{int(seconds * rate) % 100:02d}" if rate else ""
        return " ".join(one for one in (name, now.strftime(f"{day} {clock}"), count) if one)

    return written


def _stamped(crop: Crop, rng: np.random.Generator) -> Crop:
    """Burn the time into the frames, as recorders do: digits that change are no objects.

    What is learned of the place where they are is what `bgsub.background.plates` makes of a sample
    of such frames.
    """
    written = _text(rng)
    long = float(np.exp(rng.uniform(np.log(8), np.log(40_000))))
    times = np.linspace(0, long, int(rng.integers(24, 100)))
    now = float(rng.uniform(0, long))
    moments = [now, max(now - 1 / float(rng.choice([1, 5, 25])), 0.0), *times.tolist()]
    tall, fine = rng.uniform(4, 15), 3  # drawn finer than it is seen
    font = int(rng.choice([*range(5)]))  # all of OpenCV's that are not written by hand
    size = fine * tall / cv2.getTextSize("0", font, 1, 1)[0][1]
    thick = max(1, round(fine * tall * rng.uniform(0.06, 0.16)))
    rim = round(fine * rng.uniform(0.3, 1.3)) if rng.random() < 0.5 else 0
    texts = [written(moment) for moment in moments]
    wide = max(cv2.getTextSize(text, font, size, thick)[0][0] for text in texts) + 4 * fine
    shape = min(SIDE, -(-wide // fine)), round(tall + 6)
    inks, rims = [], []
    for text in texts:
        for found, more in ((inks, 0), (rims, 2 * rim)):
            drawn = np.zeros((fine * shape[1], fine * shape[0]), np.uint8)
            at = 2 * fine, fine * (shape[1] - 3)
            cv2.putText(drawn, text, at, font, size, 255, thick + more, cv2.LINE_AA)
            found.append(cv2.resize(drawn, shape, interpolation=cv2.INTER_AREA) / 255)
    ink, box = np.stack(inks)[..., None], np.stack(rims)[..., None] * bool(rim)
    if not rim and rng.random() < 0.4:
        box = np.full_like(ink, rng.uniform(0.4, 1))
    light = rng.uniform(200, 255, 3) if rng.random() < 0.5 else np.full(3, rng.uniform(200, 255))
    dark = np.full(3, rng.uniform(0, 40))
    colors = (light, dark) if rng.random() < 0.8 else (dark, light)
    top = int(rng.choice([rng.integers(6), SIDE - shape[1] - rng.integers(6)]))
    top = int(rng.integers(SIDE - shape[1])) if rng.random() < 0.3 else top
    left = int(rng.integers(SIDE - shape[0] + 1))
    part = np.s_[top : top + shape[1], left : left + shape[0]]

    def stamped(pictures: Singles, which: slice) -> Singles:
        for color, opacity in zip(colors[::-1], (box[which], ink[which]), strict=True):
            pictures = pictures + opacity * (color - pictures)
        return pictures.astype(np.float32)

    images, shares, order = crop.images.copy(), crop.shares.copy(), crop.order.copy()
    noise, activity, truth = crop.noise.copy(), crop.activity.copy(), crop.truth.copy()
    grain = rng.standard_normal((len(times), *shape[::-1], 3)) * (noise[part] / 9)[..., None]
    seen = stamped(images[2][part] + grain, np.s_[2:])
    seen += rng.standard_normal(seen.shape) * rng.uniform(0, 2)  # of the codec
    sample = np.clip(np.rint(seen), 0, 255).astype(np.uint8).transpose(0, 3, 1, 2)
    plates = count_colors(np.ascontiguousarray(sample), times / long)
    images[:2, *part] = stamped(images[:2, *part], np.s_[:2])
    where = np.maximum(box, ink).max(axis=0)[..., 0] > 0.02
    images[2:, *part] = np.where(where[..., None], plates.colors, images[2:, *part])
    shares[:, *part] = np.where(where, plates.shares / np.float32(255), shares[:, *part])
    if order.any():
        order[:, *part] = np.where(where, plates.order.astype(np.float32) - 128, order[:, *part])
    noise[part] = np.where(where, plates.noise, noise[part])
    activity[part] = np.where(where, plates.activity, activity[part])
    over = np.maximum(box, ink)[0, ..., 0] > 0.3
    hidden = over & (truth[part] == scenes.OBJECT)
    clock = over | (where & (truth[part] == scenes.BACKGROUND))
    truth[part] = np.where(hidden, scenes.UNSCORED, np.where(clock, scenes.CLOCK, truth[part]))
    return Crop(images, shares, noise, activity, order, truth)


def _stilled(crop: Crop, rng: np.random.Generator) -> Crop:
    """Leave no noise where nothing is, as codecs do, or draw a bar that never changes."""
    images, shares = crop.images.copy(), crop.shares.copy()
    noise, activity, truth = crop.noise.copy(), crop.activity.copy(), crop.truth.copy()
    order = crop.order.copy()
    if rng.random() < 0.3:
        near = np.abs(images[:2] - images[2]).max(axis=(0, 3)) < rng.uniform(4, 12)
        calm = cv2.erode((near & (truth == scenes.BACKGROUND)).astype(np.uint8), np.ones((3, 3)))
        images[:2] = np.where(calm[None, ..., None] > 0, images[2], images[:2])
        return replace(crop, images=images, noise=np.where(calm > 0, 0, noise))
    wide = int(rng.integers(4, SIDE // 2))
    bar = [np.s_[:wide], np.s_[-wide:], np.s_[:, :wide], np.s_[:, -wide:]][rng.integers(4)]
    color = np.zeros(3) if rng.random() < 0.6 else rng.uniform(0, 255, 3)
    for image in images:
        image[bar] = color
    shares[0][bar], shares[1][bar], noise[bar], activity[bar] = 1, 0, 0, 0
    truth[bar] = scenes.BACKGROUND
    for one in order:
        one[bar] = 0
    return Crop(images, shares, noise, activity, order, truth)


def _ground(rng: np.random.Generator) -> Singles:
    """Draw a ground, (h, w, 3): a gradient, spots and grain, each of which may be weak."""
    y, x = np.mgrid[-1 : 1 : SIDE * 1j, -1 : 1 : SIDE * 1j].astype(np.float32)
    slope = rng.uniform(-40, 40, (2, 3)).astype(np.float32)
    ground = rng.uniform(40, 210, 3) + x[..., None] * slope[0] + y[..., None] * slope[1]
    for size, most in ((rng.uniform(5, 40), 30), (rng.uniform(0.6, 4), 25)):
        channels = 1 if rng.random() < 0.6 else 3
        spots = rng.standard_normal((SIDE, SIDE, channels)).astype(np.float32)
        spots = cv2.GaussianBlur(spots, (0, 0), size).reshape(SIDE, SIDE, channels)
        ground = ground + spots / (spots.std() + 1e-6) * rng.uniform(0, 1) ** 2 * most
    return np.clip(ground, 0, 255).astype(np.float32)


def _surging(crop: Crop, rng: np.random.Generator) -> Crop:
    """Let the place itself move, as water, leaves, smoke and rain do, before objects come.

    Noise, activity and second hypothesis become what they are at such places of real films: of a
    deviation of 7 grey levels about .75 and half of that, of more a smaller part; from 5 levels on
    a second colour is common.
    """
    y, x = np.mgrid[-1 : 1 : SIDE * 1j, -1 : 1 : SIDE * 1j].astype(np.float32)
    where, kind = np.ones((SIDE, SIDE), np.float32), rng.random()
    if kind < 0.4:  # up to a horizon
        slope, level = rng.uniform(-0.3, 0.3), rng.uniform(-0.8, 0.6)
        where = np.clip((y + slope * x - level) / rng.uniform(0.02, 0.5) + 0.5, 0, 1)
        where = where * (1 + rng.uniform(0, 2) * np.maximum(y - level, 0))
    elif kind < 0.8:
        where = np.clip(1.5 * _waves(rng, rng.uniform(8, 40)) + rng.uniform(-1, 1), 0, 1)
    if rng.random() < 0.5:
        where = where * np.exp(0.5 * _waves(rng, rng.uniform(4, 20)))
    free = cv2.GaussianBlur((crop.truth != scenes.OBJECT).astype(np.float32), (0, 0), 0.7)
    deviation = np.minimum(where * np.exp(rng.uniform(np.log(2), np.log(35))), 50)
    sizes = [float(np.exp(rng.uniform(np.log(0.5), np.log(7)))) for _ in range(rng.integers(1, 4))]
    stretch = float(np.exp(rng.uniform(0, 1.4)))
    skew = rng.uniform(-0.9, 0.9) if rng.random() < 0.6 else 0.0

    def pattern() -> Singles:
        sum_ = np.sum([_waves(rng, size, stretch) for size in sizes], 0) / len(sizes) ** 0.5
        if skew:
            sum_ = np.expm1(skew * np.clip(sum_, -3, 3)) / skew
        return np.asarray((sum_ - sum_.mean()) / (sum_.std() + 1e-6), np.float32)

    now, alike = pattern(), rng.uniform(0, 0.9)
    earlier = alike * _moved(now, *rng.uniform(-2, 2, 2)) + (1 - alike**2) ** 0.5 * pattern()
    tint = 1 + rng.uniform(-0.25, 0.25, 3) * (rng.random() < 0.6)
    tint = tint.astype(np.float32)
    images, shares, order = crop.images.copy(), crop.shares.copy(), crop.order.copy()
    for i, one in enumerate((now, earlier)):
        images[i] += ((free * deviation * one)[..., None]) * tint
    common = (deviation > rng.uniform(4, 9)) & (rng.random() < 0.8)
    common &= _waves(rng, rng.uniform(0.7, 3)) > rng.uniform(-1.5, 0.5)
    share = np.where(common, np.clip(0.02 + 0.008 * deviation * rng.uniform(0.5, 1.5), 0, 0.4), 0)
    share = share.astype(np.float32)
    images[3] += (common * 1.5 * deviation * pattern())[..., None] * tint
    shares[1] = np.where(common, share, shares[1])
    shares[0] = np.where(common, np.minimum(shares[0], 1 - 1.3 * share), shares[0])
    if order.any():
        for one in order:
            one[common] = (rng.uniform(5, 25) * _waves(rng, 0.7))[common]
    at_rest = rng.uniform(0.6, 1.1) * 0.8 * np.minimum(1, (7 / np.maximum(deviation, 1)) ** 0.5)
    added = 8 * at_rest * deviation
    return replace(
        crop,
        images=images,
        shares=shares,
        order=order,
        noise=np.minimum(np.hypot(crop.noise, added), 255).astype(np.float32),
        activity=np.minimum(np.hypot(crop.activity, added / 2), 255).astype(np.float32),
    )


def _waves(rng: np.random.Generator, size: float, stretch: float = 1.0) -> Singles:
    """Draw a smooth field of mean 0 and deviation 1, wider than high by a factor."""
    field = rng.standard_normal((SIDE, SIDE)).astype(np.float32)
    field = cv2.GaussianBlur(field, (0, 0), sigmaX=size * stretch, sigmaY=size)
    return np.asarray((field - field.mean()) / (field.std() + 1e-6), np.float32)


def _specked(crop: Crop, rng: np.random.Generator) -> Crop:
    """Paste an object of a few pixels that stands out from the noise, and moves or does not."""
    height = float(np.exp(rng.uniform(np.log(1.2), np.log(6))))
    width = height * float(np.exp(rng.uniform(-0.4, 1.0)))
    y, x = np.mgrid[:SIDE, :SIDE].astype(np.float32)
    at = rng.uniform(6, SIDE - 6, 2)
    far = ((x - at[0]) / width) ** 2 + ((y - at[1]) / height) ** 2
    opacity = np.clip(1.5 - far, 0, 1) if rng.random() < 0.5 else np.exp(-0.7 * far)
    opacity = opacity.astype(np.float32)
    inside = opacity > 0.5
    if not inside.any() or (crop.truth[inside] == scenes.OBJECT).any():
        return crop
    images, truth = crop.images.copy(), crop.truth.copy()
    off = crop.noise[inside].mean() / 8 * rng.uniform(3, 12) + rng.uniform(2, 10)
    color = images[2][inside].mean(0) + off * rng.choice([-1, 1]) * rng.uniform(0.8, 1.2, 3)
    right, down = rng.uniform(-3, 3, 2) * (rng.random() < 0.7)
    for i, alpha in enumerate((opacity, _moved(opacity, -right, -down))):
        images[i] += alpha[..., None] * (color - images[i])
    truth[(opacity > 0.3) & (truth != scenes.OBJECT)] = scenes.UNSCORED
    truth[inside] = scenes.OBJECT
    return replace(crop, images=images.astype(np.float32), truth=truth)


def _crowded(crop: Crop, examples: Examples, rng: np.random.Generator) -> Crop:
    """Paste things of one kind close to each other, as animals of a shoal: the place lies between.

    They stand out from it. Turned any way, they may touch, and hide each other in part.
    """
    one = _object(examples, rng)
    long = float(np.exp(rng.uniform(np.log(5), np.log(45))))
    high, wide = one.opacity.shape
    if rng.random() < 0.5:  # as slim as fish, mice and worms are
        wide = round(high * rng.uniform(0.12, 0.6))
    factor = long / max(high, wide)
    size = max(2, round(wide * factor)), max(2, round(high * factor))
    opacity = cv2.resize(one.opacity, size, interpolation=cv2.INTER_AREA)
    paint = cv2.resize(one.colors, size, interpolation=cv2.INTER_AREA)
    place = crop.images[2].mean((0, 1))
    if np.abs(paint.mean((0, 1)) - place).max() < 30:
        paint = paint + rng.uniform(30, 120) * rng.choice([-1, 1])
    paint = np.clip(paint, 0, 255).astype(np.float32)
    side = int(np.hypot(*size)) + 3
    images, truth = crop.images.copy(), crop.truth.copy()
    middle, spread = rng.uniform(0, SIDE, 2), long * rng.uniform(0.4, 2.5)
    soft, is_still = rng.uniform(0, 1.3), rng.random() < 0.2
    for _ in range(rng.integers(3, 14)):
        matrix = cv2.getRotationMatrix2D((size[0] / 2, size[1] / 2), rng.uniform(0, 360), 1)
        matrix[:, 2] += side / 2 - size[0] / 2, side / 2 - size[1] / 2
        alpha = cv2.warpAffine(opacity, matrix, (side, side))
        turned = cv2.warpAffine(paint, matrix, (side, side), borderMode=cv2.BORDER_REPLICATE)
        top, left = (middle + spread * rng.standard_normal(2) - side / 2).astype(int).tolist()
        laid = _laid(Cutout(turned, alpha), top, left, soft)
        if laid is None:
            continue
        over, colors = laid
        right, down = np.zeros(2) if is_still else rng.uniform(-0.4, 0.4, 2) * long
        images[0] += over * (colors - images[0])
        over_before, colors_before = (_moved(p, right, down) for p in (over, colors))
        images[1] += over_before * (colors_before - images[1])
        truth[over[..., 0] > 0.5] = scenes.OBJECT
    return replace(crop, images=images, truth=truth)


def _glowing(crop: Crop, rng: np.random.Generator) -> Crop:
    """Brighten or darken the place by spots softer than any object, most of them near objects.

    So do ripples and glare, the light that things reflect or take away around them, and what a
    codec or a filter against noise smears around what moves: a few levels, on a calm ground too.
    """
    y, x = np.mgrid[:SIDE, :SIDE].astype(np.float32)
    is_object = crop.truth == scenes.OBJECT
    places = np.argwhere(is_object)
    field = np.zeros((SIDE, SIDE), np.float32)
    if len(places) and rng.random() < 0.5:
        halo = cv2.GaussianBlur(is_object.astype(np.float32), (0, 0), rng.uniform(3, 12))
        field += halo / (halo.max() + 1e-6) * rng.choice([-1, 1])
    alike = rng.choice([-1, 1, 0])
    for _ in range(rng.integers(1, 9)):
        at = rng.uniform(0, SIDE, 2)
        if len(places) and rng.random() < 0.6:
            at = places[rng.integers(len(places))] + 12 * rng.standard_normal(2)
        tall, wide = np.exp(rng.uniform(np.log(3), np.log(14), 2))
        spot = np.exp(-0.5 * (((y - at[0]) / tall) ** 2 + ((x - at[1]) / wide) ** 2))
        field += spot.astype(np.float32) * (alike or rng.choice([-1, 1])) * rng.uniform(0.3, 1)
    levels = float(np.exp(rng.uniform(np.log(1.5), np.log(14))))
    tint = levels * (1 + rng.uniform(-0.2, 0.2, 3) * (rng.random() < 0.5)).astype(np.float32)
    images = crop.images.copy()
    images[0] += field[..., None] * tint
    images[1] += _moved(field, *rng.uniform(-4, 4, 2))[..., None] * tint * rng.uniform(0.3, 1)
    return replace(crop, images=images.astype(np.float32))


def _patched(crop: Crop, rng: np.random.Generator) -> Crop:
    """Let sun or the shadow of a cloud fall on a part of the place, whose texture it leaves."""
    kind = rng.random()
    if kind < 0.25:  # through windows
        field = np.zeros((SIDE, SIDE), np.float32)
        for _ in range(rng.integers(1, 4)):
            tall, wide = np.exp(rng.uniform(np.log(8), np.log(0.8 * SIDE), 2)).astype(int)
            laid = _laid(
                Cutout(np.zeros((tall, wide, 3), np.float32), _shape(rng, tall, wide)),
                int(rng.uniform(-0.4 * tall, SIDE - 0.6 * tall)),
                int(rng.uniform(-0.4 * wide, SIDE - 0.6 * wide)),
                0,
            )
            if laid is not None:
                field = np.maximum(field, laid[0][..., 0])
        field = 4 * field - 2
    elif kind < 0.5:  # what looks alike: a road, a wall
        luma = cv2.GaussianBlur(crop.images[2].mean(-1), (0, 0), rng.uniform(0.5, 4))
        y, x = rng.integers(SIDE, size=2)
        field = rng.uniform(8, 40) - np.abs(luma - luma[y, x])
        field = field / 10 + 0.7 * _waves(rng, 30)
    elif kind < 0.85:
        field = _waves(rng, rng.uniform(8, 45)) + rng.uniform(-1, 1)
    else:
        turn = rng.uniform(0, 2 * np.pi)
        y, x = np.mgrid[-1 : 1 : SIDE * 1j, -1 : 1 : SIDE * 1j]
        field = 4 * (np.cos(turn) * x + np.sin(turn) * y + rng.uniform(-0.8, 0.8))
    where = np.clip(field / float(np.exp(rng.uniform(np.log(0.02), np.log(2)))) + 0.5, 0, 1)
    where = cv2.GaussianBlur(where.astype(np.float32), (0, 0), rng.uniform(0.5, 3))[..., None]
    change = float(np.exp(rng.uniform(np.log(0.01), np.log(0.7))))
    light = np.exp(change * rng.choice([-1, 1], p=[0.35, 0.65]))
    light = light * (1 + min(0.05, 0.5 * change) * rng.uniform(-1, 1, 3)).astype(np.float32)
    images, truth = crop.images.copy(), crop.truth
    images[0] *= 1 + where * (light - 1)
    images[1] *= 1 + where * (light * rng.uniform(0.9, 1.1) ** (rng.random() < 0.3) - 1)
    if rng.random() < 0.2:  # it has been so before
        images[3] *= 1 + where * (light - 1)
    if light.mean() < 0.85:
        dark = (where[..., 0] > 0.5) & (truth == scenes.BACKGROUND)
        truth = np.where(dark, np.uint8(scenes.SHADOW), truth)
    return replace(crop, images=images, truth=truth)


def _toned(crop: Crop, rng: np.random.Generator) -> Crop:
    """Bend the tones of the frames, each colour's its own way, as sensors do while light grows."""
    levels = np.linspace(0, 255, 7)
    images, most = crop.images.copy(), rng.uniform(2, 14)
    both = rng.standard_normal(7) * most
    for channel in range(3):
        bent = both + rng.standard_normal(7) * most * rng.uniform(0, 0.6)
        curve = np.interp(np.arange(256), levels, bent).astype(np.float32)
        curve = cv2.GaussianBlur(curve[None], (0, 0), 12)[0]
        for i in range(2):
            at = np.clip(images[2, ..., channel], 0, 255).astype(np.uint8)
            images[i, ..., channel] += curve[at]
    return replace(crop, images=images)


def _pasted(
    crop: Crop, examples: Examples, rng: np.random.Generator, *, is_grey: bool = False
) -> Crop:
    """Paste an object, with its shadow, that moves, stands, has stood long, or has gone."""
    one = _object(examples, rng)
    height, width = one.opacity.shape
    top = int(rng.uniform(-0.4 * height, SIDE - 0.6 * height))
    left = int(rng.uniform(-0.4 * width, SIDE - 0.6 * width))
    laid = _laid(one, top, left, rng.uniform(0, 1.8 if is_grey else 1.3))
    if laid is None:
        return crop
    opacity, colors = laid
    images, shares, truth = crop.images.copy(), crop.shares.copy(), crop.truth.copy()
    noise, activity, order = crop.noise, crop.activity.copy(), crop.order.copy()
    inside = opacity[..., 0] > 0.5
    if not inside.any():
        return crop
    first = images[2]
    # What is close to the place's colours, or some noises beside them, hides its texture as well:
    # where that stays the light has changed.
    smooth = cv2.GaussianBlur(first, (0, 0), float(np.clip(0.2 * min(height, width), 1.5, 8)))
    mean = colors[inside].mean(0)
    if rng.random() < 0.35:
        examples.used.add("faint")
        if rng.random() < 0.5:
            colors = colors + (smooth - colors) * rng.uniform(0.3, 0.85)
        else:
            near = first[inside].mean(0)
            colors = (colors - mean) * rng.uniform(0.1, 1) + near + rng.uniform(-25, 25, 3)
    elif rng.random() < (0.5 if is_grey or height < 15 else 0.25 if height < 50 else 0.1):
        examples.used.add("faint")
        off = (noise[inside].mean() / 8 * rng.uniform(2, 8) + 3) * rng.choice([-1, 1])
        tint = 1.0 if is_grey else rng.uniform(0.6, 1.2, 3)
        colors = (colors - mean) * rng.uniform(0, 0.25) + smooth + off * tint
    colors = np.clip(colors, 0, 255).astype(np.float32)
    staying = rng.random()
    if staying < 0.4:
        # It stays, or stayed, for a share of the film: it is one of the hypotheses itself.
        # Of two colours the commoner one is the place, as a rule.
        share = rng.uniform(0.5, 0.8) if rng.random() < 0.2 else rng.uniform(0.03, 0.5)
        there = rng.random() < 0.5
        own = opacity[..., 0] > 0.35
        if order.any():
            order[:, own] = _visit(share, rng)[:, None] * (-1 if share > 0.5 else 1)
        place, place_share = images[2].copy(), shares[0].copy()
        shown = place * (1 - opacity) + opacity * colors
        if share > 0.5:
            images[3] = np.where(own[..., None], place, images[3])
            images[2] = shown
            shares[0] = np.where(own, share * rng.uniform(0.9, 1), shares[0])
            shares[1] = np.where(own, (1 - share) * place_share, shares[1])
        else:
            images[3] = np.where(own[..., None], shown, images[3])
            shares[1] = np.where(own, share, shares[1])
            shares[0] = np.where(own, (1 - share) * place_share, shares[0])
        if not there:
            return replace(crop, images=images, shares=shares, order=order)
        images[:2] = images[:2] * (1 - opacity) + opacity * colors
    else:
        right, down = rng.uniform(-8, 8), rng.uniform(-2.5, 2.5)
        if rng.random() < 0.25:
            right = down = 0.0
        if rng.random() < 0.55:
            cast = rng.random() < 0.5
            examples.used |= {"casts"} if cast else set()
            shade = _cast if cast else _shaded
            images, truth = shade(images, truth, one, (top, left), (right, down), rng)
        for i, step in ((0, 0.0), (1, -rng.uniform(0.6, 1.4))):
            alpha, paint = opacity, colors
            if step and (right or down):
                alpha, paint = (_moved(p, step * right, step * down) for p in (opacity, colors))
            images[i] = images[i] * (1 - alpha) + alpha * paint
        if rng.random() < 0.25:  # objects pass here often
            trail = np.maximum(opacity[..., 0], opacity[..., 0].max(1, keepdims=True))
            activity = np.maximum(activity, trail * rng.uniform(0, 120))
    # Half of a pixel decides: outlines that no truth scores grow.
    truth[inside] = scenes.OBJECT
    return Crop(images, shares, noise, activity, order, truth)


def _visit(share: float, rng: np.random.Generator) -> Singles:
    """Draw when somebody stays for a share of a film: its order beside the place, see `Plates`."""
    # In one visit, or in two; it ends with the film, begins with it, or neither.
    start = (1 - share) * rng.choice([0, 1, rng.random()], p=[0.3, 0.3, 0.4])
    time = np.linspace(0, 1, 101)
    there = (time >= start) & (time <= start + share)
    if rng.random() < 0.25:
        pause = rng.uniform(0, 1 - share)
        there = np.roll(there, int(100 * pause)) if rng.random() < 0.5 else there
        at = start + share * rng.uniform(0.2, 0.8)
        there = there & ~((time > at) & (time < at + 0.3 * share))
    if not there.any() or there.all():
        return np.zeros(2, np.float32)
    own, place = time[there], time[~there]
    later = LATER_UNIT * (own.mean() - place.mean())
    return np.array([later, SPREAD_UNIT * (place.std() - own.std())], np.float32)


def _shaded(
    images: Singles,
    truth: Bytes,
    one: Cutout,
    corner: tuple[int, int],
    move: tuple[float, float],
    rng: np.random.Generator,
) -> tuple[Singles, Bytes]:
    height, width = one.opacity.shape
    laid = _laid(
        one,
        corner[0] + int(height * rng.uniform(-0.1, 0.4)),
        corner[1] + int(width * rng.uniform(-0.8, 0.8)),
        0,
    )
    if laid is None:
        return images, truth
    shape = laid[0][..., 0]
    if rng.random() < 0.6:
        lean = np.array(
            [
                [1, rng.uniform(-0.6, 0.6), 0],
                [0, rng.uniform(0.4, 1.2), rng.uniform(0, 0.5) * height],
            ],
            np.float32,
        )
        shape = np.asarray(cv2.warpAffine(shape, lean, (SIDE, SIDE)), np.float32)
    shape = cv2.GaussianBlur(shape, (0, 0), rng.uniform(0.6, 4))
    depth = rng.uniform(0.1, 0.75) * rng.uniform(0.92, 1.08, 3).astype(np.float32)
    return _darkened(images, truth, shape, depth, move)


def _cast(
    images: Singles,
    truth: Bytes,
    one: Cutout,
    corner: tuple[int, int],
    move: tuple[float, float],
    rng: np.random.Generator,
) -> tuple[Singles, Bytes]:
    """Let an object cast its shadow on the ground: it begins where the object stands."""
    laid = _laid(one, *corner, 0)
    if laid is None:
        return images, truth
    foot = corner[0] + one.opacity.shape[0] * rng.uniform(0.93, 1)
    aside, towards = rng.uniform(-1.6, 1.6), rng.uniform(-0.5, 0.8)
    ground = np.array([[1, -aside, aside * foot], [0, -towards, foot * (1 + towards)]], np.float32)
    shape = np.asarray(cv2.warpAffine(laid[0][..., 0], ground, (SIDE, SIDE)), np.float32)
    shape = cv2.GaussianBlur(shape, (0, 0), float(np.exp(rng.uniform(np.log(0.3), np.log(3)))))
    # The sky lights it still, which is bluer than the sun.
    depth = rng.uniform(0.12, 0.65) * np.array([rng.uniform(0.8, 1.02), 1, rng.uniform(0.98, 1.06)])
    return _darkened(images, truth, shape, depth.astype(np.float32), move)


def _darkened(
    images: Singles, truth: Bytes, shape: Singles, depth: Singles, move: tuple[float, float]
) -> tuple[Singles, Bytes]:
    """Take a part of the light, of each colour, from where a shadow falls that moves."""
    images, shape = images.copy(), shape[..., None]
    for i, step in ((0, 0.0), (1, -1.0)):
        moved = _moved(shape, step * move[0], step * move[1]) if step else shape
        images[i] = images[i] * (1 - moved * depth)
    dark = (shape[..., 0] > 0.4) & (truth == scenes.BACKGROUND)
    return images, np.where(dark, np.uint8(scenes.SHADOW), truth)


def _lit(crop: Crop, rng: np.random.Generator) -> Crop:
    """Change the light of the frames against the hypotheses, smoothly."""
    cells = int(rng.integers(2, 6))
    spread = rng.uniform(0.02, 0.13) if rng.random() < 0.7 else rng.uniform(0.1, 0.3)
    field = 1 + rng.standard_normal((cells, cells)).astype(np.float32) * spread
    field = cv2.resize(field, (SIDE, SIDE), interpolation=cv2.INTER_CUBIC)[..., None]
    images = crop.images.copy()
    images[:2] *= np.clip(field, 0.3, 2.5)
    if rng.random() < 0.3:  # exposure that the fit of the light has missed
        power = rng.uniform(0.8, 1.25)
        images[:2] = 255 * (np.clip(images[:2], 0, 255) / 255) ** power * rng.uniform(0.9, 1.1, 3)
    if rng.random() < 0.3:
        images[1] *= rng.uniform(0.9, 1.1)
    return replace(crop, images=images)


def _shaken(crop: Crop, rng: np.random.Generator) -> Crop:
    """Displace the frames by parts of a pixel, as registration leaves them."""
    images = crop.images.copy()
    right, down = rng.uniform(-1.2, 1.2, 2)
    for i in range(2):
        images[i] = cv2.warpAffine(
            images[i],
            np.array([[1, 0, right], [0, 1, down]], np.float32),
            (SIDE, SIDE),
            borderMode=cv2.BORDER_REPLICATE,
        )
        if rng.random() < 0.5:
            right, down = rng.uniform(-1.2, 1.2, 2)
    return replace(crop, images=images)


def _recolored(crop: Crop, rng: np.random.Generator) -> Crop:
    images, factor = crop.images, 1.0
    if rng.random() < 0.35:
        images = images[..., rng.permutation(3)]
    kind = rng.random()
    if kind < 0.25:  # little contrast
        factor = rng.uniform(0.15, 1)
        images = (images - images.mean()) * factor + rng.uniform(60, 190)
    elif kind < 0.65:
        factor = rng.uniform(0.7, 1.4)
        images = images * (factor * rng.uniform(0.94, 1.06, 3)) + rng.uniform(-20, 20)
    if rng.random() < 0.2:
        images = 255 * (np.clip(images, 0, 255) / 255) ** rng.uniform(0.65, 1.5)
    return replace(
        crop,
        images=images.astype(np.float32),
        noise=crop.noise * factor,
        activity=crop.activity * factor,
    )


def _noisy(crop: Crop, rng: np.random.Generator) -> Crop:
    images = crop.images
    if rng.random() < 0.2:
        sigma = rng.uniform(0.3, 1.1)
        images = np.stack(
            [cv2.GaussianBlur(one, (0, 0), sigma) if i < 2 else one for i, one in enumerate(images)]
        )
    if rng.random() < 0.5:
        deviation = rng.uniform(0.3, 1) ** 2 * 7
        noise = rng.standard_normal((2, SIDE, SIDE, 3)).astype(np.float32) * deviation
        seen = 1.3
        if rng.random() < 0.4:
            noise, seen = np.repeat(noise.mean(-1, keepdims=True) * 1.7, 3, axis=-1), 0.8
        if rng.random() < 0.3:
            noise = np.stack([cv2.GaussianBlur(one, (0, 0), 0.8) for one in noise]) * 1.8
        images = images.copy()
        images[:2] += noise
        added = (8 * seen * deviation) ** 2
        crop = replace(
            crop,
            noise=np.sqrt(crop.noise**2 + added),
            activity=np.sqrt(crop.activity**2 + added / 4),
        )
    return replace(crop, images=images)
