"""Make the sample footage: water.avi and the exact masks of its walker.

Run from the repository's root::

    python -m sample_videos.make_water --out sample_videos --seed 7

The same seed gives the same frames. Needs numpy, OpenCV and PyAV only.
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from pathlib import Path
from typing import cast

import av
import cv2
import numpy as np
import numpy.typing as npt

from sample_videos.water_figure import LAST_FRAME, Walker
from sample_videos.water_scene import (
    HEIGHT,
    WIDTH,
    Array,
    Layer,
    as_array,
    paint_bank,
    paint_birch,
    paint_distance,
)
from sample_videos.water_waves import Water

RATE = 25
FRAMES = LAST_FRAME
SEED = 7
CRF = "17"
Image = npt.NDArray[np.uint8]


class Scene:
    """The whole scene; any frame can be rendered on its own, with or without the walker."""

    def __init__(self, seed: int = SEED) -> None:
        self._seed = seed
        self._distance = paint_distance(np.random.default_rng([seed, 1]))
        self._bank = paint_bank(np.random.default_rng([seed, 2]))
        self._trunk, self._twigs = paint_birch(np.random.default_rng([seed, 3]))
        self._water = Water(np.random.default_rng([seed, 4]))
        self._walker = Walker(np.random.default_rng([seed, 5]))
        rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH]
        radius = np.hypot((columns - WIDTH / 2) / WIDTH, (rows - HEIGHT / 2) / HEIGHT)
        self._vignette = as_array(1 - 0.12 * radius**2)[..., None]
        self._columns = as_array(columns / WIDTH)[..., None]

    def render(self, frame: int, walker: bool = True) -> tuple[Image, Image]:
        """Return frame ``frame`` (from 1): BGR (HEIGHT, WIDTH, 3) and mask (HEIGHT, WIDTH)."""
        time = frame / RATE
        image = self._water.render(time).over(self._distance)
        image = self._trunk.over(self._bank.over(image))
        mask = np.zeros((HEIGHT, WIDTH), np.uint8)
        found = self._walker.render(frame) if walker else None
        if found is not None:
            figure, shadow = found
            image = figure.over(as_array(image * (1 - 0.24 * shadow)))
            mask[figure.alpha[..., 0] >= 0.5] = 255
        image = _swayed(self._twigs, time).over(image)
        return self._expose(image, frame), mask

    def _light(self, time: float) -> Array:
        """Slow drift of the light: a change of the whole, and a thin cloud passing."""
        whole = 1 + 0.022 * np.sin(0.23 * time + 0.6) + 0.010 * np.sin(0.71 * time)
        cloud = 0.028 * np.sin(0.33 * time - 2.2 * self._columns)
        return as_array(whole + cloud)

    def _expose(self, image: Array, frame: int) -> Image:
        """Lens, light and sensor."""
        image = as_array(cv2.GaussianBlur(image, (0, 0), 0.45))
        image = as_array(255 * image * self._vignette * self._light(frame / RATE))
        rng = np.random.default_rng([self._seed, 6, frame])
        noise = as_array(rng.standard_normal(image.shape))
        noise = 0.7 * noise + 0.7 * as_array(rng.standard_normal((*image.shape[:2], 1)))
        image = as_array(image + noise * (0.6 + 0.09 * np.sqrt(np.maximum(image, 0))))
        rounded: Image = np.clip(np.round(image), 0, 255).astype(np.uint8)
        return np.ascontiguousarray(rounded[..., ::-1])


def _swayed(layer: Layer, time: float) -> Layer:
    """Shift the twigs by less than a pixel, more the lower they hang."""
    push = 0.6 * np.sin(1.9 * time) + 0.35 * np.sin(3.1 * time + 1.0)
    move = np.array([[1.0, 0.035 * push, 0.15 * push], [0.0, 1.0, 0.0]])
    premultiplied = np.concatenate([layer.color * layer.alpha, layer.alpha], -1)
    moved = as_array(cv2.warpAffine(premultiplied, move, (WIDTH, HEIGHT)))
    alpha = moved[..., 3:]
    return Layer(as_array(moved[..., :3] / np.maximum(alpha, 1e-6)), alpha)


class _Encoder:
    """One video file, one thread, so that the same frames give the same file."""

    def __init__(self, path: Path, codec: str, pixels: str, options: dict[str, str]) -> None:
        # "bitexact" leaves out the muxer's random identifiers.
        self._container = av.open(str(path), "w", container_options={"fflags": "bitexact"})
        added = self._container.add_stream(codec, rate=RATE, options=options)
        stream = cast("av.VideoStream", added)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, pixels
        stream.thread_count = 1
        stream.time_base = Fraction(1, RATE)
        self._stream, self._pixels, self._count = stream, pixels, 0

    def write(self, picture: Image) -> None:
        frame = av.VideoFrame.from_ndarray(picture, format=self._pixels)
        frame.pts = self._count
        self._count += 1
        self._container.mux(self._stream.encode(frame))

    def close(self) -> None:
        self._container.mux(self._stream.encode(None))
        self._container.close()


def make(out: Path, seed: int = SEED) -> None:
    """Write ``water.avi`` and ``water_masks.mkv`` into the directory ``out``."""
    scene = Scene(seed)
    # No B-frames: AVI keeps no presentation times, and some readers then miscount.
    x264 = {"crf": CRF, "preset": "veryslow", "bf": "0", "g": "50", "tune": "grain"}
    video = _Encoder(out / "water.avi", "libx264", "yuv420p", x264)
    masks = _Encoder(out / "water_masks.mkv", "ffv1", "gray", {"level": "3", "g": "50"})
    for number in range(1, FRAMES + 1):
        image, mask = scene.render(number)
        video.write(np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2YUV_I420), np.uint8))
        masks.write(mask)
    video.close()
    masks.close()


def main() -> None:
    """Read the command line and make the files."""
    parser = argparse.ArgumentParser(description="Make water.avi and water_masks.mkv.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="directory")
    parser.add_argument("--seed", type=int, default=SEED, help="seed of everything random")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    make(options.out, options.seed)


if __name__ == "__main__":
    main()
