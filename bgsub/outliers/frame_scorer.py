"""Two scores of a frame: its error as a whole, and the place that fits its background least.

The root of the sum over all pixels sees what is large: an object of 1 % of a still picture must
stand out by 15 grey levels to move it by 5 %. The second score looks at places: the mean of
|residual| / noise of the pixel over windows of 5×5, 11×11 and 21×21 pixels, against the median and
the spread of the same window in clean frames, at its highest. Both are taken in the frame's own
light (see `bgsub.outliers.own_light`) and relative to its own noise, and have a common scale (see
`bgsub.outliers.false_alarms`).

Pictures of more than 320×240 pixels are shrunk to about that size first, which averages noise and
leaves an object of a thousandth of the picture a window's size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.outliers.false_alarms import CleanLevel
from bgsub.outliers.own_light import OwnLight, Singles
from bgsub.outliers.scorer_size import shrinking
from bgsub.video.frames import Bytes

Floats = NDArray[np.float64]

BATCH = 8
"""Frames whose light is regressed at a time."""

_MARGIN = 2

# Things that move reach so much further, as a share of the shorter side, than they were seen to; a
# pixel is no steadier than this share of what moves most within that distance.
_REACH = 0.06
_OF_NEAR = 0.5

# A frame's noise and restlessness are taken for its own up to these factors of what is usual; a
# visitor who covers most of the picture is not.
_MOST_NOISE = 4.0
_MOST_RESTLESS = 2.0
_RESTLESS_QUANTILE = 0.8


def shrink(picture: NDArray[Any], factor: int) -> Singles:
    """Shrink a picture by means over squares; a rest at the right and below is left out."""
    height, width = picture.shape[0] // factor, picture.shape[1] // factor
    whole = picture[: height * factor, : width * factor]
    if factor > 1:
        # Averaged in float32: whole grey levels would add the noise of rounding.
        whole = cv2.resize(whole.astype(np.float32), (width, height), interpolation=cv2.INTER_AREA)
    return np.ascontiguousarray(whole, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Window:
    """What a window of one size usually shows.

    Attributes
    ----------
    side : int
    usual, spread : ndarray of float32, shape (h, w)
        Median and spread, in clean frames, of the mean of |residual| / noise around each pixel.
    restless : float
        Usual 80 % quantile over a picture of what exceeds `usual`, in spreads.
    level : CleanLevel
        Of the highest of these in a picture.
    """

    side: int
    usual: Singles
    spread: Singles
    restless: float
    level: CleanLevel


@dataclass(frozen=True, eq=False)
class FrameScorer:
    """Scores of frames against a scene.

    Attributes
    ----------
    light : OwnLight
        Of the shrunk scene.
    noise : ndarray of float32, shape (h, w)
        Standard deviation of the residual, in grey levels.
    usual_noise : float
        Usual median over a picture of |residual| / noise.
    windows : tuple of Window
    level : CleanLevel
        Of √r in the frame's own light and noise, grey levels.
    """

    light: OwnLight
    noise: Singles
    usual_noise: float
    windows: tuple[Window, ...]
    level: CleanLevel

    @cached_property
    def reach(self) -> Singles:
        """The noise that deviations of places are measured in, (h, w).

        What moves in the wind reaches further in a gust than in the frames that were looked at, so
        that a calm pixel beside it is not as steady as it seems.
        """
        return _reaching(self.noise)

    def scores(self, luma: Bytes, coefficients: Singles, left_out: Floats) -> Floats:
        """Score frames as a whole, and by the place that fits least.

        Parameters
        ----------
        luma : ndarray of uint8, shape (m, H, W)
        coefficients : ndarray of float32, shape (m, k)
            Of their backgrounds.
        left_out : ndarray of shape (m,)
            1 − leverage of frames that were fitted, 1 for others: residuals are divided by it.

        Returns
        -------
        ndarray of shape (m, 2)
        """
        factor = shrinking(*luma.shape[1:])
        pictures = np.stack([shrink(one, factor) * self.light.inside for one in luma])
        changes = self.light.regress(pictures, coefficients)
        measured = [
            measure(self, *one) for one in zip(pictures, changes, left_out.tolist(), strict=True)
        ]
        whole = self.level.scores(np.array([total for total, _ in measured]))
        places = np.array([highest for _, highest in measured])
        local = [
            window.level.scores(values)
            for window, values in zip(self.windows, places.T, strict=True)
        ]
        return np.column_stack([whole, np.max(local, axis=0)])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give everything but centre and components as arrays, for a file."""
        windows = self.windows
        return {
            "scorer_noise": self.noise,
            "scorer_sides": np.array([window.side for window in windows]),
            "scorer_usual": np.stack([window.usual for window in windows]),
            "scorer_spread": np.stack([window.spread for window in windows]),
            "scorer_places": np.array(
                [(w.restless, w.level.location, w.level.scale) for w in windows]
            ),
            "scorer_whole": np.array([self.usual_noise, self.level.location, self.level.scale]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], light: OwnLight) -> FrameScorer:
        """Make a scorer of what `arrays` gave, and of the scene's light."""
        shape, count = light.center.shape, arrays["scorer_sides"].size
        for name, wanted in (
            ("scorer_noise", shape),
            ("scorer_usual", (count, *shape)),
            ("scorer_spread", (count, *shape)),
            ("scorer_places", (count, 3)),
            ("scorer_whole", (3,)),
        ):
            if arrays[name].shape != wanted or not np.isfinite(arrays[name]).all():
                raise ValueError(name)
        usual_noise, *level = map(float, arrays["scorer_whole"])
        columns = ("scorer_sides", "scorer_usual", "scorer_spread", "scorer_places")
        windows = tuple(
            Window(
                int(side),
                usual.astype(np.float32),
                spread.astype(np.float32),
                float(place[0]),
                CleanLevel(float(place[1]), float(place[2])),
            )
            for side, usual, spread, place in zip(*(arrays[c] for c in columns), strict=True)
        )
        noise = arrays["scorer_noise"].astype(np.float32)
        return cls(light, noise, usual_noise, windows, CleanLevel(*level))


def scene_light(
    center: Singles, components: Singles, shape: tuple[int, int], inside: NDArray[np.bool_] | None
) -> OwnLight:
    """Shrink a scene to the size that scores are made at.

    Parameters
    ----------
    center, components : ndarray of float32, shape (H·W,), (k, H·W)
        Of the luma.
    shape : tuple of int
        H, W.
    inside : ndarray of bool, shape (H, W), or None
        Pixels that count; None for all.
    """
    factor = shrinking(*shape)
    small = shrink(center.reshape(shape), factor)
    planes = [shrink(one.reshape(shape), factor).ravel() for one in components]
    return OwnLight(
        small,
        np.stack(planes) if planes else np.zeros((0, small.size), np.float32),
        shrink_inside(inside, shape),
    )


def shrink_inside(inside: NDArray[np.bool_] | None, shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Give the squares all pixels of which count, or the best ones if there are none."""
    factor = shrinking(*shape)
    if inside is None:
        return np.ones((shape[0] // factor, shape[1] // factor), dtype=np.bool_)
    share = shrink(inside.astype(np.uint8), factor)
    return np.asarray(share >= min(1.0, float(share.max())))


def own_residual(
    scorer: FrameScorer, picture: Singles, change: Singles, left_out: float
) -> Singles:
    """Give |residual| of a frame in its own light and noise, grey levels, (h, w).

    Outside of the pixels that count the picture must be 0: nothing there may matter, not even by
    its neighbours.
    """
    light = scorer.light
    expected = light.expected(change)
    residual = light.residual(picture, expected)
    factor = _noise_factor(scorer, residual)
    shadowless = light.without_shadow(picture, expected, residual, scorer.noise * factor)
    if shadowless is not residual:
        factor = _noise_factor(scorer, shadowless)
    return np.asarray(np.abs(shadowless) / np.float32(factor * left_out))


def _noise_factor(scorer: FrameScorer, residual: Singles) -> float:
    """How many times the usual noise a frame has, from 1 on."""
    return min(max(chosen_median(scorer, residual) / scorer.usual_noise, 1.0), _MOST_NOISE)


def chosen_median(scorer: FrameScorer, residual: NDArray[np.floating[Any]]) -> float:
    """Median over a picture of |residual| / noise, from some of its pixels."""
    chosen = scorer.light.chosen
    values = np.abs(residual.ravel()[chosen]) / scorer.noise.ravel()[chosen]
    return float(np.partition(values, values.size // 2)[values.size // 2])


def _reaching(noise: Singles) -> Singles:
    """Raise the noise of pixels near others that have much more of it, (h, w)."""
    side = 2 * max(1, round(_REACH * min(noise.shape))) + 1
    near = cv2.dilate(noise, np.ones((side, side), np.uint8))
    return np.asarray(np.maximum(noise, np.float32(_OF_NEAR) * near), dtype=np.float32)


def measure(
    scorer: FrameScorer, picture: Singles, change: Singles, left_out: float
) -> tuple[float, list[float]]:
    """Give √r and the highest value of each window of a frame, in their own units."""
    residual = own_residual(scorer, picture, change, left_out)
    flat = residual.ravel()
    deviations = residual / scorer.reach
    step = scorer.light.step
    places = [
        highest(excess(deviations, window), window.restless, step) for window in scorer.windows
    ]
    return float(np.sqrt(flat @ flat)), places


def windowed(deviations: Singles, side: int) -> Singles:
    """Mean of a window around every pixel."""
    return np.asarray(cv2.boxFilter(deviations, -1, (side, side)), dtype=np.float32)


def excess(deviations: Singles, window: Window) -> Singles:
    """How far every window lies above its usual mean, in spreads, away from the margin."""
    above = (windowed(deviations, window.side) - window.usual) / window.spread
    return above[margin(above.shape)]


def margin(shape: Sequence[int]) -> tuple[slice, ...]:
    """Cut off the margin, where windows are half mirrored, unless the picture is tiny."""
    return tuple(slice(_MARGIN, -_MARGIN) if side > 4 * _MARGIN else slice(None) for side in shape)


def restlessness(above: Singles, step: int) -> float:
    """What a fifth of the places of a picture exceed."""
    values = above[::step, ::step].ravel()
    rank = int(_RESTLESS_QUANTILE * (values.size - 1))
    return float(np.partition(values, rank)[rank])


def highest(above: Singles, usual: float, step: int) -> float:
    """Highest value of a picture, relative to how restless the picture is as a whole."""
    factor = min(max(restlessness(above, step) / usual, 1.0), _MOST_RESTLESS)
    return float(above.max()) / factor
