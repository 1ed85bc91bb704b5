"""Two scores of a frame: its error as a whole, and the place that fits its background least.

The root of the sum over all pixels sees what is large: an object of 1 % of a still picture must
stand out by 15 grey levels to move it by 5 %. The second score looks at places: the mean of
|residual| / noise of the pixel over windows of 5×5 pixels of the picture, of its half and of its
quarter, against the median and the spread of the same window in clean frames, at its highest. Both
are taken in the frame's own light (see `bgsub.outliers.own_light`) and relative to its own noise,
and have a common scale (see `bgsub.outliers.false_alarms`).

Pictures of more than 320×240 pixels are shrunk to about that size first, which averages noise and
leaves an object of a thousandth of the picture a window's size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.outliers.false_alarms import CleanLevel
from bgsub.outliers.own_light import OwnLight, shrink, shrink_inside, shrinking
from bgsub.robustpca.spaces import Floats, Singles
from bgsub.video.frames import Bytes

BATCH = 8  # frames whose light is regressed at a time
# Pixels measured together, about: with fewer, threads wait for each other's calls of NumPy.
_TOGETHER = 80_000
# Clean frames from which levels are estimated, and those among them that the noise is of.
LEVEL_FRAMES, NOISE_FRAMES = 192, 96
# Pictures of the shrunk size, in float32: those that pass together, twice, and those that a thread
# has at a time.
_PASSING_PICTURES, _WORKING_PICTURES = 16, 16

# Things that move reach so much further, as a share of the shorter side, than they were seen to; a
# pixel is no steadier than this share of what moves most within that distance. What moves as the
# components say is foretold to no better than the last share of how far it moved from the centre.
_REACH, _OF_NEAR, _UNFORETOLD = 0.05, 0.5, 0.15

# A frame's noise, and its restlessness (what a fifth of its places exceed), are taken for its own
# up to these factors of what is usual; those of a visitor who covers most of the picture are not.
_MOST_NOISE, _MOST_RESTLESS, _RESTLESS_QUANTILE = 4.0, 2.0, 0.8

# A grey level is 255 at most, and the noise it is measured in well above 1e-6.
_LARGEST, _ABOVE_0 = 1e9, float(np.finfo(np.float32).tiny)
AS_IT_IS = CleanLevel(0.0, 1.0)
_MARGIN = 2  # pixels of the picture at its border that no window is laid at
# Windows are of so many pixels a side, of the picture shrunk by these factors.
_WINDOW_SIDE, _WINDOW_FACTORS = 5, (1, 2, 4)


def window_sizes(height: int, width: int) -> list[tuple[int, int]]:
    """Return the sides of windows in pixels of a picture, with what it is shrunk by for each."""
    sizes = [(_WINDOW_SIDE * factor, factor) for factor in _WINDOW_FACTORS]
    return [size for size in sizes if size[0] <= min(height, width)] or [(1, 1)]


@dataclass(frozen=True, eq=False)
class Window:
    """What windows of one size, at every pixel of the picture shrunk by a factor, usually show.

    Median and spread, (h // factor, w // factor), are of the mean of |residual| / noise in clean
    frames. Of what exceeds the median, in spreads, `restless` is the usual 80 % quantile over a
    picture, and `level` that of the highest in a picture.
    """

    side: int
    factor: int
    usual: Singles
    spread: Singles
    restless: float
    level: CleanLevel


@dataclass(frozen=True, eq=False)
class FrameScorer:
    """Scores of frames against a scene, shrunk to (h, w).

    `noise` is the standard deviation of the residual in grey levels, `usual_noise` the usual median
    over a picture of |residual| / noise, `level` that of √r, and `place_level` that of the highest
    score of all windows, which is exceeded more often than that of any one.
    """

    light: OwnLight
    noise: Singles
    usual_noise: float
    windows: tuple[Window, ...]
    level: CleanLevel
    place_level: CleanLevel = AS_IT_IS

    @cached_property
    def reach(self) -> Singles:
        """The noise that deviations of places are measured in, (h, w).

        What moves in the wind reaches further in a gust than in the frames that were looked at, so
        that a calm pixel beside it is not as steady as it seems.
        """
        near = np.float32(_OF_NEAR) * _highest_near(self.noise)
        return np.asarray(np.maximum(self.noise, near), dtype=np.float32)

    def certainty(self, changes: Singles) -> Singles:
        """Share of the noise in the uncertainty of every pixel of m frames, (m, h, w).

        Components follow cloth and leaves to first order, as far as these moved in the fitted
        frames. How far a frame moved in a gust its coefficients tell, which no visitor pulls at.
        """
        shares, squares = self.light.moved(changes), np.square(self.noise, dtype=np.float64)
        for one in shares:
            near = np.float32(_UNFORETOLD) * _highest_near(one)
            # To the bit what `np.hypot` makes of single precision, in two fifths of the time.
            length = squares + np.square(near, dtype=np.float64)
            np.divide(self.noise, np.sqrt(length, out=length).astype(np.float32), out=one)
        return shares

    def measure_frames(self, luma: Bytes, coefficients: Singles, left_out: Floats) -> Floats:
        """Measure √r and the highest value of each window of m frames, (m, 1 + windows).

        In their own units, of their backgrounds' coefficients (m, k). Residuals are divided by
        `left_out`, (m,): 1 − leverage of frames that were fitted, 1 for others.
        """
        factor = shrinking(*luma.shape[1:])
        pictures = np.stack([shrink(one, factor) for one in luma]) * self.light.inside
        changes = self.light.regress(pictures, coefficients)
        deviations = (
            deviate(self, pictures[part], changes[part], left_out[part])
            for part in together(len(luma), self.noise.size)
        )
        return np.concatenate([measure(self, *one) for one in deviations])

    def scores_of(self, measured: Floats) -> Floats:
        """Score frames, as measured, as a whole and by the place that fits least, (m, 2)."""
        whole = self.level.scores(measured[:, 0])
        local = self.place_level.scores(self.highest_of(measured[:, 1:]))
        return np.column_stack([whole, local])

    def highest_of(self, places: Floats) -> Floats:
        """Return the highest score of all windows, each by its own level, shape (m,)."""
        pairs = zip(self.windows, places.T, strict=True)
        return np.asarray(np.max([one.level.scores(values) for one, values in pairs], axis=0))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything but centre and components as arrays, for a file."""
        windows = self.windows
        return {
            "scorer_noise": self.noise,
            "scorer_clipped": self.light.clipped,
            "scorer_usual": np.concatenate([window.usual.ravel() for window in windows]),
            "scorer_spread": np.concatenate([window.spread.ravel() for window in windows]),
            "scorer_places": np.array(
                [(w.restless, w.level.location, w.level.scale) for w in windows]
            ),
            "scorer_whole": np.array([self.usual_noise, self.level.location, self.level.scale]),
            "scorer_local": np.array([self.place_level.location, self.place_level.scale]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], light: OwnLight) -> FrameScorer:
        """Make a scorer of what `arrays` gave; ValueError names an array that no scorer gives."""
        shape = light.center.shape
        sizes = window_sizes(shape[0], shape[1])
        shapes = [(shape[0] // factor, shape[1] // factor) for _, factor in sizes]
        ends = np.cumsum([height * width for height, width in shapes]).tolist()

        def read(name: str, expected: tuple[int, ...], *least: float) -> NDArray[Any]:
            values = arrays[name]
            if values.dtype.kind not in "fiu" or values.shape != expected:
                raise ValueError(name)
            wide = values.astype(float)  # holds the bounds; NaN fails the comparison
            if not ((np.array(least) <= wide) & (wide <= _LARGEST)).all():
                raise ValueError(name)
            return wide

        noise = read("scorer_noise", shape, _ABOVE_0).astype(np.float32)
        clipped = read("scorer_clipped", (2, *shape), 0.0).astype(np.float32)
        if (clipped > 1.0).any():
            raise ValueError("scorer_clipped")
        usual = read("scorer_usual", (ends[-1],), 0.0).astype(np.float32)
        spread = read("scorer_spread", (ends[-1],), _ABOVE_0).astype(np.float32)
        places = read("scorer_places", (len(sizes), 3), _ABOVE_0, -_LARGEST, _ABOVE_0)
        whole = read("scorer_whole", (3,), _ABOVE_0, -_LARGEST, _ABOVE_0).tolist()
        local = read("scorer_local", (2,), -_LARGEST, _ABOVE_0).tolist()
        windows = tuple(
            Window(*size, one.reshape(at), other.reshape(at), restless, CleanLevel(*level))
            for size, at, one, other, (restless, *level) in zip(
                *(sizes, shapes, np.split(usual, ends[:-1]), np.split(spread, ends[:-1])),
                places.tolist(),
                strict=True,
            )
        )
        light = OwnLight(light.center, light.components, light.inside, clipped)
        return cls(light, noise, whole[0], windows, CleanLevel(*whole[1:]), CleanLevel(*local))


def scene_light(
    center: Singles, components: Singles, shape: tuple[int, int], inside: NDArray[np.bool_] | None
) -> OwnLight:
    """Shrink the luma of a scene, (H·W,) and (k, H·W), to the size that scores are made at."""
    factor = shrinking(*shape)
    small = shrink(center.reshape(shape), factor)
    planes = np.array([shrink(one.reshape(shape), factor) for one in components], np.float32)
    planes = planes.reshape(len(components), small.size)
    return OwnLight(small, planes, shrink_inside(inside, shape))


def together(count: int, pixels: int) -> list[slice]:
    """Cut so many frames of a number of pixels into those that are measured at a time."""
    step = max(1, _TOGETHER // pixels)
    return [slice(start, start + step) for start in range(0, count, step)]


def deviate(
    scorer: FrameScorer, pictures: Singles, changes: Singles, left_out: Floats | Singles
) -> tuple[list[float], Singles]:
    """Compute √r of m frames in their own light and noise, and |residual| in units of `reach`.

    Pictures are 0 outside of the pixels that count: there nothing matters, not even to neighbours.
    """
    light = scorer.light
    expected = np.stack([light.expected(change) for change in changes])
    residuals = light.residual(pictures, expected)
    certainty = scorer.certainty(changes)
    factors = _noise_factors(scorer, residuals * certainty)
    noises = scorer.noise * factors.astype(np.float32)[:, None, None]
    for i in light.shadow.candidates(residuals, noises).tolist():
        parts = pictures[i], expected[i], residuals[i], noises[i]
        shadowless = light.shadow.taken_out(*parts)
        if shadowless is not parts[2]:
            residuals[i] = shadowless
            factors[i] = _noise_factors(scorer, (shadowless * certainty[i])[None])[0]
    np.abs(residuals, out=residuals)
    residuals *= certainty / (factors * left_out).astype(np.float32)[:, None, None]
    # One by one: a sum is rounded in an order of its own.
    totals = [float(np.sqrt(flat @ flat)) for flat in residuals.reshape(len(residuals), -1)]
    residuals /= scorer.reach
    return totals, residuals


def _noise_factors(scorer: FrameScorer, residuals: Singles) -> Floats:
    """How many times the usual noise m frames have, from 1 on."""
    medians = chosen_medians(scorer, residuals).astype(np.float64)
    return np.asarray(np.clip(medians / scorer.usual_noise, 1.0, _MOST_NOISE))


def chosen_medians(scorer: FrameScorer, residuals: NDArray[np.floating[Any]]) -> Singles:
    """Medians over m pictures of |residual| / noise, from some of their pixels, shape (m,)."""
    chosen = scorer.light.chosen
    values = np.abs(residuals.reshape(len(residuals), -1).take(chosen, axis=1))
    values /= scorer.noise.ravel()[chosen]
    middle = values.shape[1] // 2
    return np.asarray(np.partition(values, middle, axis=1)[:, middle])


def _highest_near(picture: Singles) -> Singles:
    """Highest value within reach of every pixel, (h, w)."""
    side = 2 * max(1, round(_REACH * min(picture.shape))) + 1
    return np.asarray(cv2.dilate(picture, np.ones((side, side), np.uint8)), dtype=np.float32)


def measure(scorer: FrameScorer, totals: list[float], deviations: Singles) -> Floats:
    """Return √r and the highest value of each window of m frames, in their own units."""
    places = [highest(deviations, window, scorer.light.step) for window in scorer.windows]
    return np.column_stack([totals, *places]).astype(np.float64)


def windowed(deviations: Singles, side: int, factor: int) -> Singles:
    """Mean of a window around every pixel of a picture that is shrunk first."""
    size = side // factor
    small = shrink(deviations, factor)
    return np.asarray(cv2.boxFilter(small, -1, (size, size)), dtype=np.float32)


def excess(means: Singles, window: Window) -> Singles:
    """How far every window lies above its usual mean, in spreads, without the margin, (m, h, w)."""
    width = _MARGIN // window.factor
    cut = tuple(
        slice(width, side - width) if side > 4 * width else slice(None) for side in means.shape[1:]
    )
    above = means[:, *cut] - window.usual[cut]
    above /= window.spread[cut]
    return np.asarray(above, dtype=np.float32)


def restlessness(above: Singles, window: Window, step: int) -> Singles:
    """What a fifth of the places of each of m pictures exceed, shape (m,)."""
    step = max(1, step // window.factor)
    values = above[:, ::step, ::step].reshape(len(above), -1)
    rank = int(_RESTLESS_QUANTILE * (values.shape[1] - 1))
    return np.asarray(np.partition(values, rank, axis=1)[:, rank])


def highest(deviations: Singles, window: Window, step: int) -> NDArray[np.float64]:
    """Highest value of each of m pictures, relative to how restless it is as a whole, (m,)."""
    means = np.stack([windowed(one, window.side, window.factor) for one in deviations])
    above = excess(means, window)
    restless = restlessness(above, window, step).astype(np.float64) / window.restless
    factors = np.clip(restless, 1.0, _MOST_RESTLESS)
    return np.asarray(above.reshape(len(above), -1).max(axis=1) / factors)


def scorer_bytes(pixels: int, n_frames: int, k: int, threads: int) -> tuple[int, int]:
    """Count the bytes of learning a scorer: while frames pass, and at its end."""
    factor = shrinking(1, pixels)
    small = pixels // factor**2
    pictures = min(n_frames, LEVEL_FRAMES) * small * (1 if factor == 1 else 2)
    sums = 4 * (2 * (k + 1) + 1 + _PASSING_PICTURES) * small
    places = min(n_frames, NOISE_FRAMES) * small * (4 + 4)
    light = 4 * (2 * k + 6 + 4) * small
    # Small pictures are measured several at a time, in some eight arrays of their size.
    working = 4 * threads * (_WORKING_PICTURES * max(small, _TOGETHER // 2) + pixels)
    return pictures + sums + working, pictures + sums + places + light + working
