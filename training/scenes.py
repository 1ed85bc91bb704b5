"""Scenes with true masks: where their frames and truths are, and which kind each is of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

BACKGROUND, OBJECT, SHADOW, UNSCORED, CLOCK = range(5)
"""Values of truths."""

GROUPS = {
    "roads": ["highway", "highway_shadows", "abandoned_box", "fog_traffic", "rain"],
    "rooms": ["bootstrap", "hall_and_monitor", "office_people"],
    "lights": ["light_switch", "daylight", "sleeper", "moved_object", "bright"],
    "people": ["board", "sits_down", "toscana", "people_in_shade", "bmc_video003"],
    "nature": ["waving_trees", "fall", "ocean", "chopper", "flock", "zodiac", "water_surface_75"],
    "thermal": ["thermal_settling", "thermal_grass", "thermal_drift"],
}
"""Scenes by origin and kind: what is chosen is chosen on groups that a network has not seen."""

_SINGLE = {
    "waving_trees": ("waving_trees/frames", "waving_trees/b00247.png", 247),
    "bootstrap": ("bootstrap/frames", "bootstrap/b00299.png", 299),
    "light_switch": ("light_switch/light_switch.mp4", "light_switch/b01865.png", 1865),
    "sleeper": ("sleeper/sleeper.mp4", "sleeper/b00489.png", 489),
    "daylight": ("daylight/daylight.mp4", "daylight/b01850.png", 1850),
    "moved_object": ("moved_object/moved_object.mp4", "moved_object/b00985.png", 985),
}
"""Scenes with one true mask: frames, mask and the index of its frame."""

_NONE = {
    "water_surface_75": "water_surface_75/frames",
    "bright": "robustness/brightness_change.avi",
}

_EMPTY = {
    "waving_trees": [(0, 240)],
    "light_switch": [(0, 780), (850, 1840), (2250, 2700)],
    "daylight": [(0, 1790), (1960, 3030), (3290, 4700), (4980, 5890)],
    "sleeper": [(515, 910), (1520, 2110)],
    "moved_object": [(0, 630), (1510, 1740)],
    "water_surface_75": [(0, 6)],
    "bright": [(0, 59)],
}
"""Stretches of frames that show no object, from 0."""


def names() -> list[str]:
    """Return the names of all scenes."""
    return [name for group in GROUPS.values() for name in group]


def group_of(name: str) -> str:
    """Return the group of a scene."""
    return next(group for group, members in GROUPS.items() if name in members)


class Film:
    """Frames of a scene by their index.

    Parameters
    ----------
    data : Path
        Folder of the scenes.
    name : str
    """

    def __init__(self, data: Path, name: str) -> None:
        source = _SINGLE[name][0] if name in _SINGLE else _NONE.get(name, f"{name}/input")
        path = data / source
        self._frames: list[Bytes] | None = None
        self._files: list[Path] = []
        if path.is_file():
            self._frames, video = [], cv2.VideoCapture(str(path))
            while (read := video.read())[0]:
                self._frames.append(np.asarray(read[1], np.uint8))
        else:
            self._files = _images(path)

    def __len__(self) -> int:
        return len(self._files) if self._frames is None else len(self._frames)

    def __getitem__(self, index: int) -> Bytes:
        index = min(max(index, 0), len(self) - 1)
        if self._frames is not None:
            return self._frames[index]
        return np.asarray(cv2.imdecode(np.fromfile(self._files[index], np.uint8), 1), np.uint8)

    @property
    def numbers(self) -> list[int]:
        """Numbers in the names of the files."""
        return [_number(file) for file in self._files]


def truths(data: Path, name: str, film: Film) -> Iterator[tuple[int, Bytes]]:
    """Yield indices of frames and their truths, (h, w), of the values above."""
    if name in _SINGLE:
        _, mask, index = _SINGLE[name]
        yield index, np.where(_grey(data / mask) > 127, OBJECT, BACKGROUND).astype(np.uint8)
        return
    if name in _NONE:
        return
    at = {number: i for i, number in enumerate(film.numbers)}
    roi = data / name / "ROI.bmp"
    region = _grey(roi) > 127 if roi.exists() else None
    for file in _images(data / name / "groundtruth"):
        number = _number(file)
        if number not in at or (name == "highway" and not 470 <= number <= 1700):
            continue
        values = _grey(file)
        truth = np.full(values.shape, BACKGROUND, np.uint8)
        truth[values == 255] = OBJECT
        truth[values == 50] = SHADOW
        truth[(values == 85) | (values == 170)] = UNSCORED
        if region is not None and region.shape == truth.shape:
            truth[~region] = UNSCORED
        yield at[number], truth


def resized(truth: Bytes, size: tuple[int, int]) -> Bytes:
    """Return a truth at a size, (width, height): most of a pixel decides.

    Half of one, and an object that is smaller than a pixel, are not scored.
    """
    if truth.shape == size[::-1]:
        return truth.copy()
    way = cv2.INTER_AREA if truth.shape[0] > size[1] else cv2.INTER_LINEAR
    kinds = [(truth == kind).astype(np.float32) for kind in range(CLOCK + 1)]
    parts = np.stack([cv2.resize(one, size, interpolation=way) for one in kinds])
    found, own = parts.argmax(axis=0).astype(np.uint8), parts[OBJECT]
    near = cv2.dilate((found == OBJECT).astype(np.uint8), np.ones((3, 3), np.uint8))
    found[(np.abs(own - 0.5) < 0.02) | ((own > 0.2) & (near == 0))] = UNSCORED
    return found


def empty(name: str, count: int, length: int) -> list[int]:
    """Return indices of frames that show no object, spread evenly."""
    indices = [i for a, b in _EMPTY.get(name, []) for i in range(a, min(b, length))]
    picks = np.linspace(0, len(indices) - 1, min(count, len(indices))).round().astype(int)
    return [indices[i] for i in picks]


def _images(folder: Path) -> list[Path]:
    kinds = {".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff"}
    files = [file for file in folder.iterdir() if file.suffix.lower() in kinds]
    return sorted(files, key=_number)


def _number(file: Path) -> int:
    return int("".join(char for char in file.stem if char.isdigit()) or 0)


def _grey(file: Path) -> Bytes:
    return np.asarray(cv2.imdecode(np.fromfile(file, np.uint8), 0), np.uint8)
