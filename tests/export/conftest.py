"""A run whose objects are known: two rectangles that pass each other."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from bgsub.export.run_data import RunData
from bgsub.tracking.events import SceneEvent, write_events
from bgsub.tracking.tables import ObjectsWriter
from bgsub.tracking.tracker import Observation

WIDTH, HEIGHT, FRAMES = 64, 48, 30


def boxes_at(frame):
    """Boxes by track: one to the right, one to the left a row below it."""
    boxes = {}
    if 5 <= frame <= 20:
        boxes[1] = (2 * frame, 10, 6, 8)
    if 8 <= frame <= 25 and frame not in {12, 13}:
        boxes[2] = (60 - 2 * frame, 30, 7, 9)
    return boxes


def mask_at(frame):
    mask = np.zeros((HEIGHT, WIDTH), np.uint8)
    for x, y, width, height in boxes_at(frame).values():
        mask[y : y + height, x : x + width] = 255
    return mask


class KnownRun(RunData):
    """Masks from memory."""

    def masks(self):
        numbers = list(range(1, FRAMES + 1))
        return numbers, map(mask_at, numbers)


@pytest.fixture
def objects():
    return [
        Observation(
            frame, (frame - 1) / 25, track, box, box[0] + 3, box[1] + 4, box[2] * box[3], 6.0, ""
        )
        for frame in range(1, FRAMES + 1)
        for track, box in boxes_at(frame).items()
    ]


@pytest.fixture
def run(tmp_path, objects):
    folder = tmp_path / "results"
    folder.mkdir()
    with (folder / "objects.csv").open("w") as file:
        writer = ObjectsWriter(file)
        for seen in objects:
            writer.add(seen)
    event = SceneEvent(1, "object", 5, 25, 0.16, 0.96, 10, 0.36, 111.0, (1, 2), (10, 10, 50, 29))
    write_events([event], folder)
    rate = Fraction(25)
    path = str(tmp_path / "a film.mp4")
    region = (0, 0, WIDTH, HEIGHT)
    looked_at = range(1, FRAMES + 1)
    return KnownRun(
        folder, "a film.mp4", path, WIDTH, HEIGHT, FRAMES, rate, region, looked_at=looked_at
    )


@pytest.fixture
def run_on_images(run, tmp_path):
    """The same run, of images that are files of their own."""
    folder = tmp_path / "shots"
    folder.mkdir()
    for number in range(FRAMES):
        (folder / f"DSC{number + 90}.jpg").touch()
    return replace(run, path=str(folder), name="shots", rate=None)
