"""Make the image directory numbered/: frame1.png … frame12.png, a morning that grows lighter.

Run from the repository's root::

    python -m sample_videos.make_numbered --out sample_videos/numbered --seed 7

Small views of the water scene, 20 video frames apart. Each is about eight grey levels brighter
in the mean than the one before, so that reading them in any other order shows at once.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import cv2
import numpy as np

from sample_videos.make_water import SEED, Image, Scene

COUNT = 12
SIZE = (48, 36)  # width, height
STEP = 20  # frames of the video
DUSK, NOON = 0.42, 1.05  # exposure of the first and of the last


def render(scene: Scene, number: int) -> Image:
    """Return picture ``number`` (from 1): BGR uint8 (36, 48, 3)."""
    image, _ = scene.render(number * STEP, walker=False)
    small = cv2.resize(image[4:124], SIZE, interpolation=cv2.INTER_AREA).astype(np.float32)
    part = (number - 1) / (COUNT - 1)
    warmth = (1 - part) * np.array((-0.08, 0.0, 0.10), np.float32)  # blue, green, red
    lit = small * (DUSK + (NOON - DUSK) * part) * (1 + warmth)
    return np.clip(np.round(lit), 0, 255).astype(np.uint8)


def make(out: Path, seed: int = SEED) -> None:
    """Write the pictures into the directory ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    scene = Scene(seed)
    for number in range(1, COUNT + 1):
        _, data = cv2.imencode(".png", render(scene, number), [cv2.IMWRITE_PNG_COMPRESSION, 9])
        (out / f"frame{number}.png").write_bytes(data.tobytes())


def main() -> None:
    """Read the command line and make the pictures."""
    parser = argparse.ArgumentParser(description="Make frame1.png … frame12.png.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "numbered")
    parser.add_argument("--seed", type=int, default=SEED, help="seed of everything random")
    options = parser.parse_args()
    make(options.out, options.seed)


if __name__ == "__main__":
    main()
