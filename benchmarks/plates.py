"""Measure pictures of the empty scene: bgsub background beside median, mean and mode.

python -m benchmarks.plates DATA

On real empty footage (moved_object 10-600, what waving_trees shows before its visitor, light_switch
lit and dark, and at a third of their size the frames of fall without a label and those of
brightness_change.avi) textured figures stand and move so that every place is seen in 20, 35, 50 or
80 % of the frames. The truth is the median of the footage without them. Then films with people who
stay, as they are: the truth of a pixel is the median of the frames in which its label says
background, where there are five of them at least. Printed: mean absolute error in grey levels, and
the share of pixels that are off by more than 20.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

import bgsub
from bgsub.pipeline.still import empty_scene
from bgsub.video.images import read_image

Frames = NDArray[np.uint8]
COUNT = 240
LABELS = 5
"""Labels of background that a pixel needs."""

UNSURE = 170
"""Labels from which on a pixel may be an object."""

PEOPLE = ("sits_down", "office_people", "board", "hall_and_monitor")


def footage(data: Path) -> dict[str, Frames]:
    """Read empty frames."""
    films = {
        "moved_object": (data / "moved_object" / "moved_object.mp4", 10, 1),
        "waving_trees": (data / "waving_trees" / "frames", 1, 1),
        "light_switch": (data / "light_switch" / "light_switch.mp4", 100, 3),
        "in the dark": (data / "light_switch" / "light_switch.mp4", 900, 3),
    }
    found = {}
    for name, (path, start, every) in films.items():
        shown = islice(bgsub.open_source(path, start=start), 0, COUNT * every, every)
        found[name] = np.stack([frame.layout.to_bgr(frame.data) for frame in shown])
    found["fall"] = _thirds(_unlabelled(data / "fall"))
    film = bgsub.open_source(data / "robustness" / "brightness_change.avi")
    found["brightness_change"] = _thirds(frame.layout.to_bgr(frame.data) for frame in film)
    return found


def _unlabelled(folder: Path) -> Iterator[Frames]:
    """Read the frames of which every pixel is labelled as background."""
    pictures = {path.stem[-6:]: path for path in (folder / "input").iterdir()}
    for path in sorted((folder / "groundtruth").glob("*.png")):
        if path.stem[-6:] in pictures and read_image(path).max() < UNSURE:
            yield np.asarray(read_image(pictures[path.stem[-6:]]), dtype=np.uint8)


def _thirds(frames: Iterable[Frames]) -> Frames:
    """Shrink frames to a third of their size."""
    third = (
        cv2.resize(frame, (frame.shape[1] // 3, frame.shape[0] // 3), interpolation=cv2.INTER_AREA)
        for frame in frames
    )
    return np.stack([np.asarray(frame, dtype=np.uint8) for frame in third])


def cover(frames: Frames, visible: float, seed: int = 0) -> Frames:
    """Let textured figures cover each place in a share of the frames, a stretch at a time."""
    rng = np.random.default_rng(seed)
    covered = frames.copy()
    count, height, width = frames.shape[:3]
    cell_h, cell_w = max(height // 5, 1), max(width // 8, 1)
    for top in range(0, height, cell_h):
        for left in range(0, width, cell_w):
            hidden = np.zeros(count, bool)
            while hidden.mean() < 1 - visible:
                begin, length = rng.integers(0, count), rng.integers(3, 15)
                stretch = slice(begin, begin + length)
                hidden[stretch] = True
                look = rng.integers(0, 255, 3) + rng.normal(0, 20, (cell_h, cell_w, 3))
                part = np.s_[stretch, top : top + cell_h, left : left + cell_w]
                shape = covered[part].shape[1:]
                covered[part] = np.clip(cv2.GaussianBlur(look, (0, 0), 1), 0, 255)[
                    : shape[0], : shape[1]
                ].astype(np.uint8)
    return covered


def mode(frames: Frames) -> Frames:
    """Return the most frequent level of each channel, in bins of 8 levels."""
    bins = np.stack([(frames // 8 == level).sum(axis=0) for level in range(32)])
    levels: Frames = (bins.argmax(axis=0) * 8 + 4).astype(np.uint8)
    return levels


WAYS: dict[str, Callable[[Frames], NDArray[np.float64] | Frames]] = {
    "bgsub": lambda frames: empty_scene(frames[..., ::-1])[0].picture,
    "median": lambda frames: np.median(frames, axis=0),
    "mean": lambda frames: frames.mean(axis=0),
    "mode": mode,
}


def labelled(folder: Path) -> tuple[Frames, NDArray[np.float64], NDArray[np.bool_]]:
    """Read frames and labels, and give the frames, the empty scene, and where that is known."""
    names = sorted((folder / "groundtruth").glob("*.png"))
    pictures = {path.stem[-6:]: path for path in (folder / "input").iterdir()}
    names = [path for path in names if path.stem[-6:] in pictures][-COUNT:]
    frames: Frames = np.stack([read_image(pictures[path.stem[-6:]]) for path in names])
    labels = [read_image(path) for path in names]
    empty = np.stack([(one if one.ndim == 2 else one[..., 0]) == 0 for one in labels])
    known = empty.sum(axis=0) >= LABELS
    shown = np.where(empty[:, known, None], frames[:, known].astype(np.float32), np.nan)
    truth = np.zeros(frames.shape[1:])
    truth[known] = np.nanmedian(shown, axis=0)
    return frames, truth, known


def row(frames: Frames, truth: NDArray[Any], known: NDArray[np.bool_]) -> str:
    """Measure all ways."""
    cells = []
    for way in WAYS.values():
        off = np.abs(np.asarray(way(frames), float) - truth)[known]
        cells.append(f"{off.mean():6.2f} {100 * (off.max(axis=1) > 20).mean():5.1f} %")
    return "  ".join(f"{cell:>14}" for cell in cells)


def main() -> None:
    """Print the table."""
    print(f"{'footage':17} {'seen':>5}  " + "  ".join(f"{name:>14}" for name in WAYS))
    for name, frames in footage(Path(sys.argv[1])).items():
        truth = np.median(frames, axis=0)
        known = np.ones(truth.shape[:2], bool)
        for visible in (0.2, 0.35, 0.5, 0.8):
            print(f"{name:17} {100 * visible:4.0f} %  {row(cover(frames, visible), truth, known)}")
    for name in PEOPLE:
        print(f"{name:24}  {row(*labelled(Path(sys.argv[1]) / name))}", flush=True)


if __name__ == "__main__":
    main()
