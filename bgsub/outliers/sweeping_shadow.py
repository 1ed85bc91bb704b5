"""Take the shadow that sweeps over a scene out of what a frame differs from its background by.

A shadow gives one part of the picture another gain. Where many pixels deviate, a gain of the
surroundings of every pixel is tried, and taken if it explains nearly all of them, and better or
more steadily than an offset of the surroundings does: on a shadow the texture of the ground is
darker by a factor, on an object it is another texture. Its soft edge does not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import product

import cv2
import numpy as np
from numpy.typing import NDArray

Singles = NDArray[np.float32]

# A shadow: pixels beyond so many standard deviations, at least this share of the picture, of which
# a local gain leaves so little (mean square in variances). Either it leaves so much less than a
# local offset does, or the gains of the places vary so much less than their offsets.
_DEVIATES = 4.0
_LEAST_SHARE = 0.01
_LEFT_BY_GAIN = 8.0
_STEADIER = 0.6
_MOST = 20.0
_LOOKED_AT = 1000
_SURROUNDINGS = 15
_EDGE, _EDGE_STEP = 7, 0.1
_GAINS = (0.3, 3.0)

# The light of surroundings changes slowly: pictures above this size are halved for it.
_WHOLE_PIXELS = 43_000


class SweepingShadow:
    """What shadows make of a scene.

    Parameters
    ----------
    center : ndarray of float32, shape (h, w)
        m, grey levels.
    inside : ndarray of bool, shape (h, w)
        Pixels that count.
    """

    def __init__(self, center: Singles, inside: NDArray[np.bool_]) -> None:
        self._center, self._inside = center, inside
        self._least = max(1, round(_LEAST_SHARE * np.count_nonzero(inside)))

    @cached_property
    def _ground(self) -> _Ground:
        return _Ground(self._center)

    def candidates(self, residuals: Singles, noises: Singles) -> NDArray[np.int64]:
        """Give those of m pictures in which many pixels deviate; parameters as of `taken_out`."""
        found = _deviate(residuals, noises).reshape(len(residuals), -1)
        return np.flatnonzero(np.count_nonzero(found, axis=1) >= self._least)

    def taken_out(
        self, picture: Singles, expected: Singles, residual: Singles, noise: Singles
    ) -> Singles:
        """Give the residual with a shadow taken out, if it is one; otherwise the residual itself.

        Parameters
        ----------
        picture, expected, residual : ndarray of float32, shape (h, w)
        noise : ndarray of float32, shape (h, w)
            Standard deviation of the residual in this frame.
        """
        deviates = np.flatnonzero(_deviate(residual, noise))
        if deviates.size < self._least:
            return residual
        lights = [_Light(ground, picture) for ground in (_Ground(expected), self._ground)]
        some = deviates[:: max(1, deviates.size // _LOOKED_AT)]
        if not _is_shadow(lights, residual, noise, some):
            return residual
        shadowless = residual
        for light in lights:
            for left in light.left_by_gain():
                shadowless = np.where(np.abs(left) < np.abs(shadowless), left, shadowless)
        return np.asarray(shadowless * (self._inside & ~self._edges(picture)))

    def _edges(self, picture: Singles) -> NDArray[np.bool_]:
        """Mark where the gain of the surroundings changes: at the soft edge of a shadow."""
        model = np.maximum(self._center, 1.0)
        gain = _gain(picture, model, _mean(model * model, _EDGE), _EDGE)
        around = np.ones((_EDGE, _EDGE), np.uint8)
        return np.asarray(cv2.dilate(gain, around) - cv2.erode(gain, around) > _EDGE_STEP)


class _Ground:
    """A background whose surroundings' light is looked for in pictures."""

    def __init__(self, picture: Singles) -> None:
        self.picture = picture
        self.factor = 2 if picture.size > _WHOLE_PIXELS and min(picture.shape) > 1 else 1
        self.side = _SURROUNDINGS // self.factor
        self.small = np.maximum(_halved(picture, self.factor), 1.0)
        self.squares = _mean(self.small * self.small, self.side)


class _Light:
    """A picture's light against a background, from the surroundings of every pixel."""

    def __init__(self, ground: _Ground, picture: Singles) -> None:
        self.ground, self.picture = ground, picture
        small = _halved(picture, ground.factor)
        self.gain = _gain(small, ground.small, ground.squares, ground.side)
        self.offset = _mean(small - ground.small, ground.side)

    def at(self, some: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Give where gain and offset of some pixels are found, and those at their sides, (9, n)."""
        height, width = self.gain.shape
        rows, columns = np.divmod(some, self.picture.shape[1])
        rows = np.minimum(rows // self.ground.factor, height - 1)
        columns = np.minimum(columns // self.ground.factor, width - 1)
        half = self.ground.side // 2
        sides = np.array(list(product((-half, 0, half), repeat=2)))[:, :, None]
        downs = np.clip(rows + sides[:, 0], 0, height - 1)
        rights = np.clip(columns + sides[:, 1], 0, width - 1)
        return rows * width + columns, downs * width + rights

    def left_by_gain(self) -> Iterator[Singles]:
        """Give what is left of a picture by the gain of the windows on all sides of every pixel."""
        half = _SURROUNDINGS // 2
        height, width = self.picture.shape
        gain = cv2.resize(self.gain, (width, height)) if self.ground.factor > 1 else self.gain
        around = cv2.copyMakeBorder(gain, half, half, half, half, cv2.BORDER_REPLICATE)
        for down, right in product((0, half, 2 * half), repeat=2):
            there = around[down : down + height, right : right + width]
            yield self.picture - there * self.ground.picture


def _is_shadow(
    lights: list[_Light], residual: Singles, noise: Singles, some: NDArray[np.int64]
) -> bool:
    """Say whether gains of the surroundings explain pixels that deviate, and offsets do not."""
    by_gain = by_offset = np.abs(residual.ravel()[some])
    steadier = False
    there, sides = lights[0].at(some)  # as of the others
    for light in lights:
        gain, offset = light.gain.ravel(), light.offset.ravel()
        steadier |= _variation(gain[there] - 1.0) < _STEADIER * _variation(offset[there])
        pixels, own = light.picture.ravel()[some], light.ground.picture.ravel()[some]
        by_gain = np.minimum(by_gain, np.abs(pixels - gain[sides] * own).min(axis=0))
        by_offset = np.minimum(by_offset, np.abs(pixels - own - offset[sides]).min(axis=0))
    deviation = noise.ravel()[some]
    left_by_gain, left_by_offset = (
        float(np.square(np.minimum(left / deviation, _MOST)).mean())
        for left in (by_gain, by_offset)
    )
    steadier |= left_by_gain < _STEADIER * left_by_offset
    return left_by_gain < _LEFT_BY_GAIN and steadier


def _deviate(residuals: Singles, noises: Singles) -> NDArray[np.bool_]:
    return np.asarray(np.abs(residuals) > np.float32(_DEVIATES) * noises)


def _gain(picture: Singles, model: Singles, squares: Singles, side: int) -> Singles:
    """Gain of the surroundings of every pixel, (h, w)."""
    gain = _mean(picture * model, side) / squares
    return np.asarray(np.clip(gain, *_GAINS, out=gain), dtype=np.float32)


def _mean(picture: Singles, side: int) -> Singles:
    return np.asarray(cv2.boxFilter(picture, -1, (side, side)), dtype=np.float32)


def _halved(picture: Singles, factor: int) -> Singles:
    if factor == 1:
        return picture
    height, width = picture.shape
    return np.asarray(
        cv2.resize(picture, (width // 2, height // 2), interpolation=cv2.INTER_AREA), np.float32
    )


def _variation(values: Singles) -> float:
    """Median deviation from the median, relative to the median."""
    middle = _median(values)
    return _median(np.abs(values - np.float32(middle))) / max(abs(middle), 1e-6)


def _median(values: Singles) -> float:
    """Upper median: the mean of two in the middle would take five times as long."""
    return float(np.partition(values, values.size // 2)[values.size // 2])
