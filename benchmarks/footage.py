"""Sequences with a truth in a folder: their frames, and their truths by the frames' numbers.

The folder holds one per sequence: ``groundtruth`` beside ``input`` (CDnet, SBI), or one hand-drawn
mask ``b00247.png`` beside ``frames`` or a video (Wallflower).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.evaluation.masks import MaskFiles, classify, match, open_truth
from bgsub.evaluation.measures import UNSCORED
from bgsub.video.frames import Bytes
from bgsub.video.source import open_source


@dataclass(frozen=True)
class Footage:
    """A sequence: its footage and its truth, as `bgsub evaluate` takes them."""

    name: str
    frames: str
    truth: str


def sequences(data: Path) -> Iterator[Footage]:
    """Sequences below a folder that have a truth."""
    for folder in sorted(path for path in data.iterdir() if path.is_dir()):
        if (folder / "groundtruth").is_dir():
            yield Footage(folder.name, str(folder / "input"), str(folder))
        elif list(folder.glob("b[0-9]*.png")):
            videos = sorted(folder.glob("*.mp4"))
            frames = folder / "frames" if not videos else videos[0]
            yield Footage(folder.name, str(frames), str(folder / "b*.png"))


def pictures(path: str) -> Iterator[Bytes]:
    """Frames in blue, green and red."""
    for frame in open_source(path):
        picture = frame.layout.to_bgr(frame.data)
        colored = picture if picture.ndim == 3 else cv2.cvtColor(picture, cv2.COLOR_GRAY2BGR)
        yield np.asarray(colored, dtype=np.uint8)


def truths(footage: Footage, numbers: NDArray[np.int64]) -> dict[int, Bytes]:
    """Return the truths of frames of some numbers, by them: see `bgsub.evaluation.measures`."""
    truth = open_truth(footage.truth)
    # Only the numbers of the masks count: there are no files of them.
    masks = MaskFiles(footage.frames, truth.pictures, numbers)
    pairs = match(masks, truth, footage=footage.frames, common=True)
    found = [classify(one, footage.truth) for one in truth.pictures.pick(pairs.truths.tolist())]
    if truth.roi is not None:
        found = [np.where(truth.roi, one, np.uint8(UNSCORED)) for one in found]
    return dict(zip(numbers[pairs.masks].tolist(), found, strict=True))
