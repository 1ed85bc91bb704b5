"""Read what an export needs from a folder of results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError
from bgsub.evaluation.mask_files import open_masks
from bgsub.outliers.errors_table import read_csv
from bgsub.pipeline.directory import MANIFEST
from bgsub.pipeline.manifest import load_manifest, recorded_path
from bgsub.tracking.event_files import read_events
from bgsub.tracking.events import SceneEvent
from bgsub.tracking.tables import read_objects
from bgsub.tracking.tracker import Observation
from bgsub.video.frames import Bytes


@dataclass(frozen=True)
class RunData:
    """What a run found, and the film that it was found in.

    Attributes
    ----------
    folder : Path
    name : str
        File name of the film.
    path : str
        Its path, from whatever folder this is.
    width, height : int
        Of its pictures in pixels.
    frames : int
        Their number.
    rate : Fraction or None
        Frames a second; None where that is not known.
    region : tuple of four ints
        x, y, width and height of what the run looked at, in pixels of the film.
    min_area : int or None
        Pixels of the smallest object, where it was given.
    """

    folder: Path
    name: str
    path: str
    width: int
    height: int
    frames: int
    rate: Fraction | None
    region: tuple[int, int, int, int]
    min_area: int | None = None

    def objects(self) -> list[Observation]:
        """Read objects.csv.

        Raises
        ------
        InputError
            If the run wrote none, or it is damaged.
        """
        return list(read_objects(self._output("objects.csv", "objects")))

    def events(self) -> list[SceneEvent]:
        """Read events.json.

        Raises
        ------
        InputError
            If the run wrote none, or it is damaged.
        """
        return read_events(self._output("events.json", "objects"))

    def frame_numbers_from_0(self) -> list[int]:
        """Give the frames that the run looked at, counted from 0."""
        table = self.folder / "errors.csv"
        if table.is_file():
            return [number - 1 for number in read_csv(table).frames.tolist()]
        return list(range(self.frames))

    def masks(self) -> tuple[list[int], Iterator[Bytes]]:
        """Give the numbers of all frames, and their masks at the size of the film's pictures.

        Raises
        ------
        InputError
            If the run wrote no mask, or it is damaged.
        """
        files = open_masks(str(self.folder))
        pictures = files.pictures.pick(range(len(files.pictures)))
        return files.numbers.tolist(), map(self._whole, pictures)

    def _whole(self, small: NDArray[np.uint8] | NDArray[np.uint16]) -> Bytes:
        """Put a mask of what the run looked at into a picture of the film's size."""
        x, y, width, height = self.region
        mask = np.zeros((self.height, self.width), np.uint8)
        part = cv2.resize(small, (width, height), interpolation=cv2.INTER_NEAREST)
        mask[y : y + height, x : x + width] = np.where(part >= 128, 255, 0)
        return mask

    def _output(self, name: str, output: str) -> Path:
        path = self.folder / name
        if not path.is_file():
            message = f"{self.folder}: its run wrote no {name}; make it with bgsub {output}"
            raise InputError(f"{message} {self.folder}")
        return path


def load_run(folder: Path) -> RunData:
    """Read the facts of a run from its run.json.

    Raises
    ------
    InputError
        If there is none, or it is damaged.
    """
    manifest = load_manifest(folder)
    try:
        source = manifest["input"]
        width, height = int(source["width"]), int(source["height"])
        roi = manifest["options"]["source"].get("roi") or (0, 0, width, height)
        rate, least = source.get("rate"), manifest["options"].get("min_area")
        return RunData(
            folder,
            str(source["name"]),
            str(recorded_path(manifest, str(source["path"]))),
            width,
            height,
            int(source["frames"] or 0),
            None if rate is None else Fraction(str(rate)),
            _four(roi),
            None if least is None else int(least),
        )
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        message = f"{folder / MANIFEST}: is damaged ({error!r}); run bgsub again"
        raise InputError(message) from error


def _four(numbers: Any) -> tuple[int, int, int, int]:
    x, y, width, height = (int(number) for number in numbers)
    return x, y, width, height


def by_frame(objects: list[Observation]) -> dict[int, list[Observation]]:
    """Give the objects of each frame that has any, in order of time."""
    ordered = sorted(objects, key=lambda each: (each.frame, each.track))
    return {frame: list(group) for frame, group in groupby(ordered, lambda each: each.frame)}
