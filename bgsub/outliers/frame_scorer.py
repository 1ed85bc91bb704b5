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
from bgsub.outliers.own_light import OwnLight
from bgsub.outliers.scorer_size import shrink, shrink_inside, shrinking
from bgsub.outliers.sweeping_shadow import Singles
from bgsub.outliers.windows import Window, highest
from bgsub.video.frames import Bytes

Floats = NDArray[np.float64]

BATCH = 8
"""Frames whose light is regressed at a time."""

_TOGETHER = 20_000
"""Pixels that are measured together, about: calls of small pictures take longer than arithmetic."""


# Things that move reach so much further, as a share of the shorter side, than they were seen to; a
# pixel is no steadier than this share of what moves most within that distance.
_REACH = 0.06
_OF_NEAR = 0.5

# A frame's noise is taken for its own up to this factor of what is usual; that of a visitor who
# covers most of the picture is not.
_MOST_NOISE = 4.0

# A grey level is 255 at most, and the noise it is measured in well above 1e-6.
_LARGEST = 1e9

_AS_IT_IS = CleanLevel(0.0, 1.0)


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
    place_level : CleanLevel
        Of the highest score of all windows: it is exceeded more often than that of any one.
    """

    light: OwnLight
    noise: Singles
    usual_noise: float
    windows: tuple[Window, ...]
    level: CleanLevel
    place_level: CleanLevel = _AS_IT_IS

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
        return self.scores_of(self.measure_frames(luma, coefficients, left_out))

    def measure_frames(self, luma: Bytes, coefficients: Singles, left_out: Floats) -> Floats:
        """Give √r and the highest value of each window of frames, shape (m, 1 + windows).

        In their own units; the parameters are those of `scores`.
        """
        factor = shrinking(*luma.shape[1:])
        pictures = np.stack([shrink(one, factor) for one in luma]) * self.light.inside
        changes = self.light.regress(pictures, coefficients)
        together = max(1, _TOGETHER // self.noise.size)
        parts = [slice(i, i + together) for i in range(0, len(luma), together)]
        return np.concatenate(
            [measure(self, pictures[part], changes[part], left_out[part]) for part in parts]
        )

    def scores_of(self, measured: Floats) -> Floats:
        """Give both scores of frames that `measure_frames` or learning has measured, (m, 2)."""
        whole = self.level.scores(measured[:, 0])
        local = self.place_level.scores(self.highest_of(measured[:, 1:]))
        return np.column_stack([whole, local])

    def highest_of(self, places: Floats) -> Floats:
        """Return the highest score of all windows, each by its own level, shape (m,)."""
        scores = [
            window.level.scores(values)
            for window, values in zip(self.windows, places.T, strict=True)
        ]
        return np.asarray(np.max(scores, axis=0))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give everything but centre and components as arrays, for a file."""
        windows = self.windows
        return {
            "scorer_noise": self.noise,
            "scorer_clipped": self.light.clipped,
            "scorer_sides": np.array([window.side for window in windows]),
            "scorer_factors": np.array([window.factor for window in windows]),
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
        """Make a scorer of what `arrays` gave, and of the scene's light."""
        shape, sides = light.center.shape, arrays["scorer_sides"]
        # Earlier versions laid windows of every size at all pixels of the picture.
        factors = arrays["scorer_factors"] if "scorer_factors" in arrays else np.ones_like(sides)
        kinds = {sides.dtype.kind, factors.dtype.kind}
        if sides.ndim != 1 or factors.shape != sides.shape or not kinds <= {"i", "u"}:
            raise ValueError("scorer_sides")
        if ((factors < 1) | (sides < factors) | (sides > min(shape))).any():
            raise ValueError("scorer_sides")
        shapes = [(shape[0] // factor, shape[1] // factor) for factor in factors.tolist()]
        sizes = [height * width for height, width in shapes]
        for name in ("scorer_usual", "scorer_spread"):
            if arrays[name].size != sum(sizes):
                raise ValueError(name)
        for name, expected in (
            ("scorer_noise", shape),
            ("scorer_places", (len(sizes), 3)),
            ("scorer_whole", (3,)),
        ):
            if arrays[name].shape != expected:
                raise ValueError(name)
        # Scores are divided by these.
        divisors = {
            "scorer_noise": arrays["scorer_noise"],
            "scorer_spread": arrays["scorer_spread"],
            "scorer_places": arrays["scorer_places"][:, ::2],
            "scorer_whole": arrays["scorer_whole"][::2],
        }
        for name in ("scorer_usual", *divisors):
            _check_levels(name, arrays[name])
        for name, values in divisors.items():
            if not (values > 0.0).all():
                raise ValueError(name)
        usual, spread = (
            np.split(arrays[name].astype(np.float32).ravel(), np.cumsum(sizes)[:-1])
            for name in ("scorer_usual", "scorer_spread")
        )
        usual_noise, *level = map(float, arrays["scorer_whole"])
        places = arrays["scorer_places"].reshape(-1, 3).tolist()
        windows = tuple(
            Window(
                int(sides[i]),
                int(factors[i]),
                usual[i].reshape(shapes[i]),
                spread[i].reshape(shapes[i]),
                restless,
                CleanLevel(location, scale),
            )
            for i, (restless, location, scale) in enumerate(places)
        )
        noise = arrays["scorer_noise"].astype(np.float32).reshape(shape)
        if "scorer_clipped" in arrays:  # not in models of earlier versions
            clipped = arrays["scorer_clipped"]
            _check_levels("scorer_clipped", clipped)
            if clipped.shape != (2, *shape) or ((clipped < 0.0) | (clipped > 1.0)).any():
                raise ValueError("scorer_clipped")
            clipped = clipped.astype(np.float32)
            light = OwnLight(light.center, light.components, light.inside, clipped)
        # Earlier versions had no level of the highest of all windows.
        local = arrays["scorer_local"] if "scorer_local" in arrays else np.array([0.0, 1.0])
        _check_levels("scorer_local", local)
        if local.shape != (2,) or local[1] <= 0.0:
            raise ValueError("scorer_local")
        return cls(light, noise, usual_noise, windows, CleanLevel(*level), CleanLevel(*local))


def _check_levels(name: str, values: NDArray[Any]) -> None:
    """Raise ValueError for what no frame measures, and would overflow in a sum over a frame."""
    # A comparison that NaN fails, in a type that holds the bound.
    if values.dtype.kind not in "fiu" or not (np.abs(values.astype(float)) <= _LARGEST).all():
        raise ValueError(name)


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


def own_residuals(
    scorer: FrameScorer, pictures: Singles, changes: Singles, left_out: Floats | Singles
) -> Singles:
    """Give |residual| of m frames in their own light and noise, grey levels, (m, h, w).

    Outside of the pixels that count the pictures must be 0: nothing there may matter, not even by
    its neighbours.
    """
    light = scorer.light
    expected = np.stack([light.expected(change) for change in changes])
    residuals = light.residual(pictures, expected)
    factors = _noise_factors(scorer, residuals)
    noises = scorer.noise * factors.astype(np.float32)[:, None, None]
    for i in light.shadow.candidates(residuals, noises).tolist():
        parts = pictures[i], expected[i], residuals[i], noises[i]
        shadowless = light.shadow.taken_out(*parts)
        if shadowless is not parts[2]:
            residuals[i] = shadowless
            factors[i] = _noise_factors(scorer, shadowless[None])[0]
    scale = (factors * left_out).astype(np.float32)
    np.abs(residuals, out=residuals)
    residuals /= scale[:, None, None]
    return residuals


def _noise_factors(scorer: FrameScorer, residuals: Singles) -> Floats:
    """Say how many times the usual noise m frames have, from 1 on."""
    medians = chosen_medians(scorer, residuals).astype(np.float64)
    return np.asarray(np.clip(medians / scorer.usual_noise, 1.0, _MOST_NOISE))


def chosen_medians(scorer: FrameScorer, residuals: NDArray[np.floating[Any]]) -> Singles:
    """Medians over m pictures of |residual| / noise, from some of their pixels, shape (m,)."""
    chosen = scorer.light.chosen
    values = np.abs(residuals.reshape(len(residuals), -1)[:, chosen])
    values /= scorer.noise.ravel()[chosen]
    middle = values.shape[1] // 2
    return np.asarray(np.partition(values, middle, axis=1)[:, middle])


def _reaching(noise: Singles) -> Singles:
    """Raise the noise of pixels near others that have much more of it, (h, w)."""
    side = 2 * max(1, round(_REACH * min(noise.shape))) + 1
    near = cv2.dilate(noise, np.ones((side, side), np.uint8))
    return np.asarray(np.maximum(noise, np.float32(_OF_NEAR) * near), dtype=np.float32)


def measure(
    scorer: FrameScorer, pictures: Singles, changes: Singles, left_out: Floats | Singles
) -> Floats:
    """Give √r and the highest value of each window of m frames, in their own units."""
    residuals = own_residuals(scorer, pictures, changes, left_out)
    # One by one: a sum is rounded in an order of its own.
    totals = [np.sqrt(flat @ flat) for flat in residuals.reshape(len(residuals), -1)]
    residuals /= scorer.reach
    places = [highest(residuals, window, scorer.light.step) for window in scorer.windows]
    return np.column_stack([totals, *places]).astype(np.float64)
