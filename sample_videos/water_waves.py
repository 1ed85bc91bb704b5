"""The moving water: wave trains on a lake, seen in perspective, reflecting sky and far shore.

Every train obeys the dispersion of deep water, so that long waves travel faster than short ones.
Slopes are sums of cosines whose space part is computed once; a frame costs two matrix–vector
products and the shading.
"""

from __future__ import annotations

import cv2
import numpy as np

from sample_videos.water_scene import (
    HEIGHT,
    HORIZON,
    WATERLINE,
    WIDTH,
    Array,
    Layer,
    as_array,
    fractal_noise,
    reduce,
)

OVERSAMPLING = 2
FOCAL = 193.0  # pixels: 45 degrees over 160 pixels
CAMERA_HEIGHT = 3.2  # metres above the water
LAST_ROW = 100  # the bank hides everything below
GRAVITY = 9.81  # m/s²
SUN = (0.16, 0.56, 0.81)  # towards the sun: right, up, ahead
SWELLS = (  # wavelength in m, slope, heading in degrees from "towards the camera"
    (7.4, 0.034, -24.0),
    (5.1, 0.036, 31.0),
    (3.7, 0.034, -47.0),
    (2.6, 0.030, 12.0),
)
CHOP_TRAINS = 72
CHOP_SLOPE = 0.080  # root mean square


class Water:
    """The visible water surface; ``render(t)`` gives it as a layer of the final size."""

    def __init__(self, rng: np.random.Generator) -> None:
        s = OVERSAMPLING
        shape = (LAST_ROW * s, WIDTH * s)
        rows, columns = np.mgrid[0 : shape[0], 0 : shape[1]]
        rows, columns = (rows + 0.5) / s, (columns + 0.5) / s
        below = np.maximum(rows - HORIZON, 1.0)
        self._shape = shape
        self._ahead = as_array(FOCAL * CAMERA_HEIGHT / below)
        self._right = as_array((columns - WIDTH / 2) * self._ahead / FOCAL)
        away = np.stack([self._right, np.full(shape, -CAMERA_HEIGHT), self._ahead], -1)
        self._view = as_array(away / np.linalg.norm(away, axis=-1, keepdims=True))
        covered = as_array(np.clip((rows - WATERLINE) * s, 0, 1))
        padded = np.zeros((HEIGHT * s, WIDTH * s), np.float32)
        padded[: shape[0]] = covered
        self.alpha = reduce(padded, s)
        self._gusts = fractal_noise(rng, (256, 512), (40.0, 90.0), 3)
        self._lost = np.zeros(shape, np.float32)
        self._swell = self._trains(np.array(SWELLS), rng)
        self._chop = self._trains(_chop(rng), rng)

    def _trains(
        self, trains: np.ndarray, rng: np.random.Generator
    ) -> tuple[Array, Array, np.ndarray, np.ndarray]:
        """Space parts (pixels, 2 trains) of both slopes, angular frequencies and phases."""
        length, slope, heading = trains.T
        number = 2 * np.pi / length
        across, along = number * np.sin(np.radians(heading)), -number * np.cos(np.radians(heading))
        x, z = self._right.ravel(), self._ahead.ravel()
        pixel_x, pixel_z = x * 0 + z / FOCAL, z**2 / (FOCAL * CAMERA_HEIGHT)
        sideways, forward = [], []
        for a, b, k, amplitude in zip(across, along, number, slope, strict=True):
            # Waves smaller than a pixel average out; what is lost returns as roughness.
            kept = np.exp(-0.09 * ((a * pixel_x) ** 2 + (b * pixel_z) ** 2))
            self._lost += as_array(0.5 * amplitude**2 * (1 - kept**2)).reshape(self._shape)
            phase = np.remainder(a * x.astype(float) + b * z.astype(float), 2 * np.pi)
            for part in (np.cos(phase), np.sin(phase)):
                sideways.append(as_array(amplitude * kept * part * a / k))
                forward.append(as_array(amplitude * kept * part * b / k))
        frequency = np.sqrt(GRAVITY * number)
        phases = rng.uniform(0, 2 * np.pi, number.size)
        return np.stack(sideways, 1), np.stack(forward, 1), frequency, phases

    def _slopes(self, time: float) -> tuple[Array, Array]:
        total = [np.zeros(self._shape, np.float32), np.zeros(self._shape, np.float32)]
        gust_x = as_array(8.0 * self._right + 9.0 * time + 256) % 511
        gust_y = as_array(2.2 * self._ahead + 5.0 * time) % 255
        gust = cv2.remap(self._gusts, gust_x, gust_y, cv2.INTER_LINEAR)
        gain = 1 + 0.20 * np.clip(gust, -2, 2)
        for trains, strength in ((self._swell, 1.0), (self._chop, gain)):
            *space, frequency, phases = trains
            angle = frequency * time + phases
            weights = as_array(np.stack([np.cos(angle), np.sin(angle)], 1).ravel())
            for index, part in enumerate(space):
                total[index] += strength * (part @ weights).reshape(self._shape)
        return total[0], total[1]

    def render(self, time: float) -> Layer:
        """Return the water at ``time`` seconds: colour (HEIGHT, WIDTH, 3) and coverage."""
        slope_x, slope_z = self._slopes(time)
        normal = np.stack([-slope_x, np.ones_like(slope_x), -slope_z], -1)
        normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
        facing = np.einsum("ijk,ijk->ij", self._view, normal)
        mirrored = self._view - 2 * facing[..., None] * normal
        up = mirrored[..., 1] + 0.5 * np.sqrt(self._lost)
        fresnel = 0.03 + 0.97 * (1 - np.clip(-facing, 0, 1)) ** 5
        fresnel = np.clip(fresnel, 0, 0.92)[..., None]
        color = fresnel * _sky(as_array(up)) + (1 - fresnel) * as_array((0.43, 0.48, 0.47))
        spark = np.clip((mirrored @ as_array(SUN) - 0.969) / 0.024, 0, 1)
        color += (0.40 * spark**2)[..., None] * as_array((1.0, 0.97, 0.88))
        picture = np.zeros((HEIGHT * OVERSAMPLING, WIDTH * OVERSAMPLING, 3), np.float32)
        picture[: self._shape[0]] = np.clip(color, 0, 1.2)
        return Layer(reduce(picture, OVERSAMPLING), self.alpha)


def _chop(rng: np.random.Generator) -> np.ndarray:
    """Short wind waves: (trains, 3) of wavelength, slope and heading."""
    length = np.exp(rng.uniform(np.log(0.30), np.log(2.0), CHOP_TRAINS))
    slope = rng.uniform(0.6, 1.4, CHOP_TRAINS)
    slope *= CHOP_SLOPE * np.sqrt(2 / np.sum(slope**2))
    return np.stack([length, slope, rng.normal(-18.0, 38.0, CHOP_TRAINS)], 1)


def _sky(up: Array) -> Array:
    """Return what a mirrored ray sees: the wooded shore low down, then the sky, (h, w, 3)."""
    shore, low, high = (as_array(c) for c in (
        (0.36, 0.40, 0.35), (0.86, 0.86, 0.84), (0.58, 0.66, 0.76)))  # fmt: skip
    sky = low + np.clip(up / 0.55, 0, 1)[..., None] * (high - low)
    trees = np.clip((0.10 - up) / 0.15, 0, 1)[..., None]
    return as_array(sky + trees * (shore - sky))
