"""The parts of the water scene that stay: sky, far shore, bank, path and a birch.

Everything is painted once, at a multiple of the final size, from a seeded generator, and reduced
to the final size. Pictures are float32 RGB in 0..1 (display values, not linear light); a layer is a
picture with a coverage in 0..1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]
WIDTH, HEIGHT = 160, 128
OVERSAMPLING = 4
HORIZON = 34.0  # row of the horizon; the camera looks level
WATERLINE = 36.5  # row at which the far shore meets the water


@dataclass(frozen=True)
class Layer:
    """A picture (h, w, 3) and its coverage (h, w, 1), both float32 in 0..1."""

    color: Array
    alpha: Array

    def over(self, image: Array) -> Array:
        """Return ``image`` (h, w, 3) with this layer laid over it."""
        return as_array(image + self.alpha * (self.color - image))


def as_array(values: Any) -> Array:
    """Return ``values`` as float32 (OpenCV and NumPy promote freely)."""
    return np.asarray(values, dtype=np.float32)


def fractal_noise(
    rng: np.random.Generator, shape: tuple[int, int], cell: tuple[float, float], octaves: int = 4
) -> Array:
    """Smooth noise of mean 0 and standard deviation 1; ``cell`` is the coarsest (rows, columns)."""
    height, width = shape
    total = np.zeros(shape, np.float32)
    for octave in range(octaves):
        rows = max(2, round(height / cell[0] * 2**octave) + 1)
        columns = max(2, round(width / cell[1] * 2**octave) + 1)
        grid = rng.standard_normal((min(rows, height), min(columns, width)))
        total += 0.55**octave * as_array(
            cv2.resize(as_array(grid), (width, height), interpolation=cv2.INTER_CUBIC)
        )
    return as_array((total - total.mean()) / total.std())


def reduce(picture: Array, factor: int = OVERSAMPLING) -> Array:
    """Average ``factor`` × ``factor`` blocks; a single channel stays three-dimensional."""
    size = (picture.shape[1] // factor, picture.shape[0] // factor)
    small = as_array(cv2.resize(picture, size, interpolation=cv2.INTER_AREA))
    return small if small.ndim == 3 else small[..., None]


def _mix(first: tuple[float, ...], second: tuple[float, ...], weight: Array) -> Array:
    """Blend two colours by a weight (h, w)."""
    low, high = as_array(first), as_array(second)
    return as_array(low + np.clip(weight, 0, 1)[..., None] * (high - low))


def _canvas() -> tuple[int, int]:
    return HEIGHT * OVERSAMPLING, WIDTH * OVERSAMPLING


def paint_distance(rng: np.random.Generator) -> Array:
    """Paint sky, hills in the haze and the wooded far shore: (HEIGHT, WIDTH, 3)."""
    shape = _canvas()
    s = OVERSAMPLING
    rows = np.broadcast_to(np.arange(shape[0], dtype=np.float32)[:, None] / s, shape)
    clouds = fractal_noise(rng, shape, (9.0 * s, 45.0 * s), 5)
    image = _mix((0.66, 0.74, 0.83), (0.87, 0.87, 0.85), as_array(rows / HORIZON))
    image += (0.022 * clouds * np.clip(1.1 - rows / HORIZON, 0, 1))[..., None]
    hill = 24.0 + 1.0 * fractal_noise(rng, shape, (4000.0, 45.0 * s), 3)[:1]
    image = Layer(_mix((0.62, 0.68, 0.74), (0.68, 0.72, 0.75), as_array((rows - 22) / 14)),
                  as_array(rows > hill)[..., None]).over(image)  # fmt: skip
    crown = 29.3 + 1.3 * fractal_noise(rng, shape, (4000.0, 24.0 * s), 6)[:1]
    leaves = fractal_noise(rng, shape, (2.5 * s, 4.0 * s), 3)
    trees = _mix((0.27, 0.33, 0.27), (0.40, 0.45, 0.36), as_array(0.4 + 0.30 * leaves))
    trees += (0.06 * np.clip((rows - 33) / 3, 0, 1))[..., None]
    image = Layer(trees, as_array(rows > crown)[..., None]).over(image)
    _paint_boathouse(image)
    strand = (rows > WATERLINE - 1.1) & (rows <= WATERLINE)
    image[strand] = as_array((0.58, 0.55, 0.46)) + 0.04 * leaves[strand][:, None]
    return reduce(image)


def _paint_boathouse(image: Array) -> None:
    """Paint a small pale house with a dark roof on the far shore, in place."""
    s = OVERSAMPLING
    left, right, top, bottom = 46 * s, 55 * s, round(31.5 * s), round(35.6 * s)
    cv2.rectangle(image, (left, top), (right, bottom), (0.74, 0.71, 0.66), -1)
    cv2.rectangle(image, (left + 3 * s, top + s), (left + 5 * s, bottom), (0.36, 0.33, 0.31), -1)
    roof = np.array([[left - s, top], [right + s, top], [(left + right) // 2, top - 3 * s]])
    cv2.fillPoly(image, [roof.astype(np.int32)], (0.48, 0.30, 0.26), cv2.LINE_AA)


def paint_bank(rng: np.random.Generator) -> Layer:
    """Paint the near bank: a gravel path in front and a fringe of grass towards the water."""
    shape = _canvas()
    s = OVERSAMPLING
    rows = np.broadcast_to(np.arange(shape[0], dtype=np.float32)[:, None] / s, shape)
    columns = np.arange(shape[1], dtype=np.float32) / s
    coarse = 90.0 + 2.6 * np.sin(columns / 31.0 + 0.9) + 0.045 * columns
    edge = as_array(coarse + 0.8 * fractal_noise(rng, (2, shape[1]), (2.0, 20.0 * s))[0])
    gravel = fractal_noise(rng, shape, (1.0 * s, 1.8 * s), 2)
    patches = fractal_noise(rng, shape, (9.0 * s, 40.0 * s), 3)
    color = _mix((0.60, 0.57, 0.51), (0.78, 0.74, 0.67), as_array(0.5 + 0.17 * gravel
                 + 0.15 * patches))  # fmt: skip
    verge = 107.0 + 1.5 * fractal_noise(rng, (2, shape[1]), (2.0, 30.0 * s))[0]
    soil = np.clip((verge - rows) / 3.5 + 0.5 * gravel, 0, 1)[..., None]
    color += soil * (as_array((0.36, 0.37, 0.27)) - color)
    alpha = as_array(np.clip((rows - edge) * s, 0, 1))
    _grow_grass(rng, color, alpha, edge, as_array(verge))
    return Layer(reduce(color), reduce(alpha))


def _grow_grass(
    rng: np.random.Generator, color: Array, alpha: Array, edge: Array, verge: Array
) -> None:
    """Draw blades of grass from the water's edge forward, the nearer ones over the farther."""
    s = OVERSAMPLING
    columns = rng.uniform(0, WIDTH, 6500)
    depth = np.sort(rng.uniform(0, 1.25, columns.size))
    clumps = fractal_noise(rng, (100, WIDTH), (22.0, 9.0), 3)
    for x, part in zip(columns, depth, strict=True):
        at = min(int(x * s), edge.size - 1)
        clump = float(clumps[min(int(part * 80), 99), int(x)])
        if clump < 3.4 * (part - 1.05) + rng.normal(0, 0.3) and part > 0.7:
            continue
        foot = edge[at] + 0.8 + part * (verge[at] - edge[at])
        length = (2.4 + 2.4 * min(part, 0.8)) * np.exp(rng.normal(0.0, 0.32) + 0.16 * clump)
        length *= 1.0 - 0.5 * np.clip((part - 0.75) / 0.4, 0, 1)
        lean = rng.normal(0.15, 0.33) * length
        tone = (0.50 + 0.85 * rng.uniform() ** 2) * (1 + 0.12 * clump) * (0.84 + 0.25 * part)
        _draw_blade(color, alpha, (x, foot), (x + lean, foot - length), (tone, rng.uniform()))
    for _ in range(70):
        x = float(rng.choice([14.0, 27.0, 119.0]) + rng.normal(0, 3.2)) % WIDTH
        foot = edge[int(x * s)] + rng.uniform(0.5, 4.0)
        tip = (x + rng.normal(0.5, 1.2), foot - rng.uniform(5, 11))
        _draw_blade(color, alpha, (x, foot), tip, (rng.uniform(0.55, 1.0), rng.uniform(0.2, 0.9)))


def _draw_blade(
    color: Array,
    alpha: Array,
    root: tuple[float, float],
    tip: tuple[float, float],
    tint: tuple[float, float],
) -> None:
    """Draw one blade of grass; ``tint`` is its brightness and how dry it is."""
    s = OVERSAMPLING
    tone, dry = tint
    paint = (
        tone * (0.33 + 0.30 * dry),
        tone * (0.40 + 0.20 * dry),
        tone * (0.24 + 0.15 * dry),
    )
    line = (round(root[0] * s), round(root[1] * s)), (round(tip[0] * s), round(tip[1] * s))
    cv2.line(color, *line, paint, 2, cv2.LINE_AA)
    cv2.line(alpha, *line, 1.0, 2, cv2.LINE_AA)


def paint_birch(rng: np.random.Generator) -> tuple[Layer, Layer]:
    """Paint a birch at the right edge: its trunk, and the leafy twigs that sway a little."""
    shape = _canvas()
    s = OVERSAMPLING
    rows, columns = np.mgrid[0 : shape[0], 0 : shape[1]].astype(np.float32) / s
    axis = 146.0 + 1.5 * np.sin(rows / 30.0)
    half = 3.6 + 0.016 * rows + 2.4 * np.clip((rows - 106) / 9, 0, 1) ** 2
    across = as_array((columns - axis) / half)
    bark = fractal_noise(rng, shape, (2.2 * s, 16.0 * s), 3)
    color = _mix((0.74, 0.71, 0.66), (0.20, 0.18, 0.17), as_array((bark - 0.75) * 2))
    color *= (0.70 + 0.30 * across - 0.12 * across**2)[..., None]
    color *= (1 - 0.35 * np.clip((rows - 92) / 22, 0, 1))[..., None]
    alpha = as_array((np.abs(across) < 1) & (rows < 114.5 + 0.8 * bark))
    trunk = Layer(reduce(color), reduce(alpha))
    color, alpha = np.zeros((*shape, 3), np.float32), np.zeros(shape, np.float32)
    for _ in range(9):
        _hang_twig(rng, color, alpha)
    return trunk, Layer(reduce(color), reduce(alpha))


def _hang_twig(rng: np.random.Generator, color: Array, alpha: Array) -> None:
    """Draw one hanging twig with its leaves, in place."""
    s = OVERSAMPLING
    x, y = rng.uniform(104, 160), -2.0
    drift = rng.uniform(-0.45, 0.1)
    for _ in range(int(rng.integers(14, 34))):
        step = np.array([x + drift + rng.normal(0, 0.25), y + 0.95])
        line = (round(x * s), round(y * s)), (round(step[0] * s), round(step[1] * s))
        cv2.line(color, *line, (0.20, 0.17, 0.13), 2, cv2.LINE_AA)
        cv2.line(alpha, *line, 1.0, 2, cv2.LINE_AA)
        for _ in range(3):
            tone = rng.uniform(0.55, 1.15)
            center = (round((x + rng.normal(0, 1.5)) * s), round((y + rng.normal(0, 0.8)) * s))
            axes = (round(rng.uniform(0.7, 1.2) * s), round(rng.uniform(0.35, 0.7) * s))
            angle = rng.uniform(30, 150)
            leaf = (0.34 * tone, 0.41 * tone, 0.22 * tone)
            cv2.ellipse(color, center, axes, angle, 0, 360, leaf, -1, cv2.LINE_AA)
            cv2.ellipse(alpha, center, axes, angle, 0, 360, 1.0, -1, cv2.LINE_AA)
        x, y = float(step[0]), float(step[1])
