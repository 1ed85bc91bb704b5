"""Pictures of the README from the demo's results: ``python -m benchmarks.pictures RESULTS OUT``."""

from __future__ import annotations

import itertools
import shutil
import sys
from pathlib import Path

import cv2
import numpy as np

from bgsub.video.frames import Bytes
from bgsub.video.images import write_image
from bgsub.video.source import open_source

FRAMES = (300, 545, 628)
FACTOR = 2


def picture(video: Path, frame: int) -> Bytes:
    """One frame of a video, counted from 1, enlarged."""
    source = open_source(video)
    chosen = next(itertools.islice(iter(source), frame - 1, None))
    image = source.layout.to_bgr(chosen.data)
    colored = cv2.cvtColor(image, cv2.COLOR_GRAY2BGR) if image.ndim == 2 else image
    large = cv2.resize(colored, None, fx=FACTOR, fy=FACTOR, interpolation=cv2.INTER_CUBIC)
    return np.asarray(large, dtype=np.uint8)


def main(results: Path, out: Path) -> None:
    """Write water.png (a row a frame: input, background, foreground, mask) and water-errors.png."""
    videos = [Path("sample_videos/water.avi")]
    videos += [results / f"{name}.mp4" for name in ("background", "foreground", "mask")]
    rows = [np.hstack([picture(video, frame) for video in videos]) for frame in FRAMES]
    out.mkdir(exist_ok=True)
    write_image(out / "water.png", np.vstack(rows))
    shutil.copy(results / "errors.png", out / "water-errors.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
