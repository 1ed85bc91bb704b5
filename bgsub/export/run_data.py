"""Read what exports, clips and listings need of a folder of results."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import groupby, pairwise
from pathlib import Path

import cv2
import numpy as np

from bgsub.errors import InputError
from bgsub.evaluation.masks import open_masks
from bgsub.outliers.errors_table import read_csv
from bgsub.outliers.events import Event, find_events
from bgsub.page.result import frames_used
from bgsub.pipeline.results import MANIFEST, load_manifest, recorded_path
from bgsub.tracking.events import EventFilter, SceneEvent, read_events
from bgsub.tracking.tables import read_objects
from bgsub.tracking.tracker import Observation
from bgsub.video.frames import Bytes
from bgsub.video.images import Image
from bgsub.video.sink import find_written
from bgsub.video.source import image_files


@dataclass(frozen=True)
class RunData:
    """What a run found, and the film that it was found in.

    `path` is that of the film from here; `frames` is 0, and `rate` None, where they are not known.
    `region` is what the run looked at, x, y, width and height in pixels of the film, and
    `looked_at` the numbers of the frames, from 1. `fps` is the rate that was given for images and
    arrays, which do not say it. Without a `selection`, all events and objects are wanted.
    """

    folder: Path
    name: str
    path: str
    width: int
    height: int
    frames: int
    rate: Fraction | None
    region: tuple[int, int, int, int]
    fps: str | None = None
    looked_at: Sequence[int] = ()
    selection: EventFilter | None = None

    def objects(self) -> list[Observation]:
        """Read the selected objects of objects.csv, in order of time; InputError without one."""
        found = list(read_objects(self._output("objects.csv")))
        if self.selection is not None:
            found = self.selection.objects(found, self.events())
        return sorted(found, key=lambda each: (each.frame, each.track))

    def by_frame(self) -> dict[int, list[Observation]]:
        """Return the objects of each frame that has any, in order of time."""
        groups = groupby(self.objects(), lambda each: each.frame)
        return {frame: list(group) for frame, group in groups}

    def events(self) -> list[SceneEvent]:
        """Read events.json, or form the events of the selection; InputError if there is none."""
        if self.selection is None:
            return read_events(self._output("events.json"))
        objects = read_objects(self._output("objects.csv"))
        return self.selection.events(objects, self.frame_events())

    def frame_events(self) -> list[Event]:
        """Return the times in which whole frames stood out, where the run fitted them."""
        errors = self.folder / "errors.csv"
        return find_events(read_csv(errors)) if errors.is_file() else []

    @cached_property
    def images(self) -> list[str]:
        """The names of the images that are the film, if they are still there."""
        files = image_files(self.path)
        if not files or len(files) != self.frames:
            return []
        folder = os.path.commonpath([file.parent for file in files])
        return [file.relative_to(folder).as_posix() for file in files]

    def picture_name(self, frame: int) -> str:
        """Return the name of the picture of a frame, made up where a film holds them all."""
        return self.images[frame - 1] if self.images else f"{self.stem}_{frame:06d}.png"

    @property
    def step(self) -> int:
        """Frames from one that the run looked at to the next, but for gaps."""
        return min((two - one for one, two in pairwise(self.looked_at)), default=1)

    @property
    def stem(self) -> str:
        """Name of the film without its suffix; that of the folder where a pattern stands for it."""
        path = Path(self.path)
        return path.parent.name if any(sign in path.name for sign in "*?[%") else path.stem

    def masks(self) -> tuple[list[int], Iterator[Bytes]]:
        """Return the numbers of all frames, and their masks at the size of the film's pictures."""
        files = open_masks(str(self.folder))
        x, y, width, height = self.region

        def whole(small: Image) -> Bytes:
            mask = np.zeros((self.height, self.width), np.uint8)
            part = cv2.resize(small, (width, height), interpolation=cv2.INTER_NEAREST)
            mask[y : y + height, x : x + width] = np.where(part >= 128, 255, 0)
            return mask

        pictures = files.pictures.pick(range(len(files.pictures)))
        return files.numbers.tolist(), map(whole, pictures)

    def _output(self, name: str) -> Path:
        path, made = self.folder / name, self.folder / "objects"
        if path.is_file():
            return path
        advice = "run it again without --only"
        if (made / name).is_file():
            advice = f"give {made}, which has it"
        elif find_written(self.folder, "mask") is not None:
            advice = f"make it with `bgsub objects {self.folder}`, and give {made} instead"
        raise InputError(f"{self.folder}: its run wrote no {name}; {advice}")


def load_run(folder: Path) -> RunData:
    """Read the facts of a run from its run.json; InputError if there is none, or it is damaged."""
    manifest = load_manifest(folder)
    try:
        source, options = manifest["input"], manifest["options"]["source"]
        name, path = str(source["name"]), str(recorded_path(manifest, str(source["path"])))
        width, height = int(source["width"]), int(source["height"])
        frames, rate, fps = int(source["frames"] or 0), source.get("rate"), options.get("fps")
        rate, fps = None if rate is None else Fraction(str(rate)), None if fps is None else str(fps)
        table = folder / "errors.csv"
        numbers = read_csv(table).frames.tolist() if table.is_file() else frames_used(manifest)
        x, y, wide, high = map(int, options.get("roi") or (0, 0, width, height))
        region = x, y, wide, high
        return RunData(folder, name, path, width, height, frames, rate, region, fps, numbers)
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise InputError(f"{folder / MANIFEST}: is damaged ({error!r}); run bgsub again") from error
