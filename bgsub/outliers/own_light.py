"""Compare a frame with its background in the frame's own light and position.

A cloud, an exposure that adjusts and a camera that trembles change every pixel and are nobody. The
light of a frame against its background is a gain and an offset, the tremor a shift by a fraction of
a pixel; to first order all four are multiples of fixed pictures, which a regression that gives
outlying pixels no weight (Tukey's biweight) finds whatever a visitor covers. What lies outside of
the camera's range is clipped as the camera does. A pixel that the camera clips in the usual light
may be of any brightness beyond, and a gain does not foretell how bright it is in another light: it
has no part in the regression, and a residual there counts only as far as it exceeds the distance
of the background, in the frame's light, from the end of the range.

A shadow gives one part of the picture another gain. Where many pixels deviate, a gain of the
surroundings of every pixel is tried, and taken if it explains nearly all of them, and better or
more steadily than an offset of the surroundings does: on a shadow the texture of the ground is
darker by a factor, on an object it is another texture. Its soft edge does not count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from itertools import product
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.robustpca.spaces import Singles, combined

_WORKING_PIXELS = 320 * 240
_ROUNDS, _SETTLED, _CHOSEN_PIXELS = 5, 0.01, 3000
_BIWEIGHT, _NORMAL_MAD = 4.685, 0.6745
# Grey levels from an end of the camera's range at which noise and codecs leave what it clips.
_AT_END = 2

# A shadow: pixels beyond so many standard deviations, at least this share of the picture, of which
# a local gain leaves so little (mean square in variances). Either it leaves so much less than a
# local offset does, or the gains of the places vary so much less than their offsets.
_DEVIATES, _LEAST_SHARE = 4.0, 0.01
_LEFT_BY_GAIN, _STEADIER = 8.0, 0.6
_MOST, _LOOKED_AT = 20.0, 1000
_SURROUNDINGS, _GAINS = 15, (0.3, 3.0)
_EDGE, _EDGE_STEP = 7, 0.1
# The light of surroundings changes slowly: pictures above this size are halved for it.
_WHOLE_PIXELS = 43_000


def shrinking(height: int, width: int) -> int:
    """Return the whole number that pictures are shrunk by in both directions."""
    return max(1, round(math.sqrt(height * width / _WORKING_PIXELS)))


def shrink(picture: NDArray[Any], factor: int) -> Singles:
    """Shrink a picture by means over squares; a rest at the right and below is left out."""
    height, width = picture.shape[0] // factor, picture.shape[1] // factor
    whole = picture[: height * factor, : width * factor]
    if factor > 2 and whole.dtype == np.uint8:
        # Sums of whole numbers are exact in any order, and these take half of OpenCV's time.
        kind = np.uint16 if factor <= 16 else np.uint32
        rows = np.add.reduce(whole.reshape(height, factor, -1), axis=1, dtype=kind)
        total = sum(rows[:, i::factor] for i in range(factor))
        return np.asarray(total * np.float32(1 / factor**2), np.float32)
    if factor > 1:
        # Averaged in float32: whole grey levels would add the noise of rounding.
        whole = np.asarray(whole, dtype=np.float32)
        whole = cv2.resize(whole, (width, height), interpolation=cv2.INTER_AREA)
    return np.ascontiguousarray(whole, dtype=np.float32)


def shrink_inside(inside: NDArray[np.bool_] | None, shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Return the squares of which all pixels count, or the best ones if there are none."""
    factor = shrinking(*shape)
    if inside is None:
        return np.ones((shape[0] // factor, shape[1] // factor), dtype=np.bool_)
    share = shrink(inside.astype(np.uint8), factor)
    return np.asarray(share >= min(1.0, float(share.max())))


def at_ends(picture: NDArray[np.uint8], factor: int) -> Singles:
    """Share of the squares of a picture that lies at the lower and the upper end of the range."""
    marks = picture <= _AT_END, picture >= 255 - _AT_END
    return np.stack([shrink(one.view(np.uint8), factor) for one in marks])


class OwnLight:
    """Residuals of frames in their own light.

    Of a centre (h, w) in grey levels and components (k, h·w), nearly orthonormal rows, at the
    pixels `inside`. `clipped`, (2, h, w), is the share of every pixel of the background, which may
    be the mean of a square, that the camera clips at the lower and the upper end of its range.
    Every `step` pixels both ways are enough for a statistic of a picture: `chosen`, by index.
    """

    def __init__(
        self,
        center: Singles,
        components: Singles,
        inside: NDArray[np.bool_],
        clipped: Singles | None = None,
    ) -> None:
        self.inside, self._counts = inside, inside.astype(np.float32)
        self.clipped = np.zeros((2, *inside.shape), np.float32) if clipped is None else clipped
        self.center = center = np.asarray(center * inside, dtype=np.float32)
        # What each end of the range clips: where, its centre, and where only a part of it is.
        ends = [(one, np.flatnonzero(one)) for one in self.clipped.reshape(2, -1)]
        self._clips = [(at, center.ravel()[at], one[at] < 1.0) for one, at in ends]
        self.shadow = SweepingShadow(center, inside)
        self.components = components = np.asarray(components * inside.ravel(), dtype=np.float32)
        pictures = [center, np.ones_like(center)]
        # A gradient across the border of what counts would be that of the border.
        whole = cv2.erode(inside.astype(np.float32), np.ones((3, 3), np.uint8))
        for across, down in ((1, 0), (0, 1)):
            gradient = cv2.Scharr(center, -1, across, down) / 32 * whole
            pictures.append(np.asarray(gradient, dtype=np.float32))
        changes = np.stack(pictures).reshape(4, -1) * inside.ravel()
        # What the components have taken up already is not there to be found.
        norms = np.maximum(np.einsum("kp,kp->k", components, components), 1e-9)
        changes -= (changes @ components.T / norms) @ components
        self.step = max(1, round(float(np.sqrt(center.size / _CHOSEN_PIXELS))))
        chosen = np.zeros(center.shape, dtype=np.bool_)
        chosen[:: self.step, :: self.step] = True
        grids = chosen & inside & ~self.clipped.any(axis=0), chosen & inside, inside
        self.chosen = np.flatnonzero(next((one for one in grids if one.any()), inside))
        # The components too: a visitor or a shadow has pulled at the coefficients of the fit.
        self._changes: Singles = np.concatenate([changes.astype(np.float32), components])
        self._terms = np.ascontiguousarray(self._changes[:, self.chosen])
        self._chosen_center = center.ravel()[self.chosen]

    def regress(self, pictures: Singles, coefficients: Singles) -> Singles:
        """Find the light of m frames: multiples of gain, offset, shift, components, (m, 4 + k)."""
        fitted = np.pad(coefficients, ((0, 0), (len(self._terms) - coefficients.shape[1], 0)))
        difference = pictures.reshape(len(pictures), -1)[:, self.chosen] - self._chosen_center
        difference -= fitted @ self._terms
        return np.asarray(fitted + self._solve(difference), dtype=np.float32)

    def expected(self, change: Singles) -> Singles:
        """Return the background of a frame in the frame's light, (h, w), before any clipping."""
        background = (change @ self._changes).reshape(self.center.shape)
        background += self.center
        return background

    def moved(self, changes: Singles) -> Singles:
        """How far the components move every pixel of m frames, but for gain and offset."""
        moved = combined(changes[:, 4:], self._movements)
        return np.abs(moved, out=moved).reshape(-1, *self.center.shape)

    @cached_property
    def _movements(self) -> Singles:
        """What the components are beyond a gain and an offset, (k, h·w)."""
        light = np.stack([self.center.ravel(), self.inside.ravel()]).astype(np.float64)
        of_light = np.linalg.lstsq(light @ light.T, light @ self.components.T, rcond=None)[0]
        return np.asarray(self.components - of_light.T @ light, dtype=np.float32)

    def _solve(self, difference: Singles) -> Singles:
        """Regress the chosen pixels of frames, shape (m, pixels), on the terms robustly."""
        terms, middle = self._terms, difference.shape[1] // 2
        solution = np.zeros((len(difference), len(terms)), dtype=np.float32)
        left = difference - np.partition(difference, middle)[:, middle, None]
        running, before = np.arange(len(difference)), np.full((len(difference), 1), np.inf)
        for _ in range(_ROUNDS):
            scale = np.partition(np.abs(left), middle)[:, middle, None] / _NORMAL_MAD + 1e-2
            # Every frame ends by itself: its light is no matter of what it is regressed with.
            moves = (np.abs(scale - before) >= _SETTLED * before)[:, 0]
            if not moves.all():
                running, difference = running[moves], difference[moves]
                left, scale = left[moves], scale[moves]
            if not running.size:
                break
            before = scale
            weights = left / np.float32(_BIWEIGHT * scale)
            np.square(np.maximum(0.0, 1.0 - np.square(weights, out=weights)), out=weights)
            weighted = terms * weights[:, None, :]
            # One product of two matrices: one a frame would take three times as long.
            products = weighted.reshape(-1, terms.shape[1]) @ terms.T
            normal = products.reshape(running.size, len(terms), -1).astype(np.float64)
            diagonal = np.einsum("mii->mi", normal)
            diagonal += 1e-6 * diagonal + 1e-3
            target = (weighted @ difference[:, :, None]).astype(np.float64)
            solution[running] = np.linalg.solve(normal, target)[:, :, 0]
            left = difference - solution[running] @ terms
        return solution

    def residual(self, picture: Singles, expected: Singles) -> Singles:
        """x − x_b in the frame's light, 0 outside, (h, w)."""
        left = np.asarray(picture - np.clip(expected, 0.0, 255.0), dtype=np.float32)
        left *= self._counts
        flat, light = (each.reshape(-1, self.inside.size) for each in (left, expected))
        for end, (places, usual, in_part) in zip((0.0, 255.0), self._clips, strict=True):
            there, own = light.take(places, axis=1), flat.take(places, axis=1)
            unknown = np.abs(np.float32(end) - np.clip(there, 0.0, 255.0))
            # Of a square that is clipped in part, the light moves the rest of it alone.
            np.maximum(unknown, np.abs(there - usual) * in_part, out=unknown)
            flat[:, places] = own - np.clip(own, -unknown, unknown)
        return left


class SweepingShadow:
    """What shadows make of a scene."""

    def __init__(self, center: Singles, inside: NDArray[np.bool_]) -> None:
        self._center, self._inside = center, inside
        self._least = max(1, round(_LEAST_SHARE * np.count_nonzero(inside)))

    def candidates(self, residuals: Singles, noises: Singles) -> NDArray[np.int64]:
        """Return those of m pictures in which many pixels deviate; parameters as of `taken_out`."""
        found = _deviate(residuals, noises).reshape(len(residuals), -1)
        return np.flatnonzero(np.count_nonzero(found, axis=1) >= self._least)

    def taken_out(
        self, picture: Singles, expected: Singles, residual: Singles, noise: Singles
    ) -> Singles:
        """Return the residual without a shadow, or itself; the noise is its standard deviation."""
        deviates = np.flatnonzero(_deviate(residual, noise))
        if deviates.size < self._least:
            return residual
        lights = [_Light(ground, picture) for ground in (expected, self._center)]
        some = deviates[:: max(1, deviates.size // _LOOKED_AT)]
        if not _is_shadow(lights, residual, noise, some):
            return residual
        shadowless = residual
        for light in lights:
            for left in light.left_by_gain():
                shadowless = np.where(np.abs(left) < np.abs(shadowless), left, shadowless)
        # Where the gain of the surroundings changes is the soft edge of a shadow.
        gain = _gain(picture, np.maximum(self._center, 1.0), _EDGE)
        around = np.ones((_EDGE, _EDGE), np.uint8)
        edges = cv2.dilate(gain, around) - cv2.erode(gain, around) > _EDGE_STEP
        return np.asarray(shadowless * (self._inside & ~edges))


class _Light:
    """A picture's light against a background, from the surroundings of every pixel."""

    def __init__(self, ground: Singles, picture: Singles) -> None:
        self.ground, self.picture = ground, picture
        self.factor = 2 if picture.size > _WHOLE_PIXELS and min(picture.shape) > 1 else 1
        self.side = _SURROUNDINGS // self.factor
        size = picture.shape[1] // self.factor, picture.shape[0] // self.factor
        small, model = (
            np.asarray(cv2.resize(each, size, interpolation=cv2.INTER_AREA), np.float32)
            for each in (picture, ground)
        )
        model = np.maximum(model, 1.0)
        self.gain, self.added = _gain(small, model, self.side), small - model

    def at(self, some: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where gain and offset of some pixels are found, and those at their sides, (9, n)."""
        height, width = self.gain.shape
        rows, columns = np.divmod(some, self.picture.shape[1])
        rows = np.minimum(rows // self.factor, height - 1)
        columns = np.minimum(columns // self.factor, width - 1)
        half = self.side // 2
        sides = np.array(list(product((-half, 0, half), repeat=2)))[:, :, None]
        downs = np.clip(rows + sides[:, 0], 0, height - 1)
        rights = np.clip(columns + sides[:, 1], 0, width - 1)
        return rows * width + columns, downs * width + rights

    def left_by_gain(self) -> Iterator[Singles]:
        """What is left of a picture by the gain of the windows on all sides of every pixel."""
        half = _SURROUNDINGS // 2
        height, width = self.picture.shape
        gain = cv2.resize(self.gain, (width, height))
        around = cv2.copyMakeBorder(gain, half, half, half, half, cv2.BORDER_REPLICATE)
        for down, right in product((0, half, 2 * half), repeat=2):
            yield self.picture - around[down : down + height, right : right + width] * self.ground


def _is_shadow(
    lights: list[_Light], residual: Singles, noise: Singles, some: NDArray[np.int64]
) -> bool:
    """Whether gains of the surroundings explain pixels that deviate, and offsets do not."""
    by_gain = by_offset = np.abs(residual.ravel()[some])
    pixels, deviation = lights[0].picture.ravel()[some], noise.ravel()[some]
    there, sides = lights[0].at(some)  # as of the others
    for light in lights:
        left = np.abs(pixels - light.gain.ravel()[sides] * light.ground.ravel()[some])
        by_gain = np.minimum(by_gain, left.min(axis=0))
    left_by_gain = float(np.square(np.minimum(by_gain / deviation, _MOST)).mean())
    if left_by_gain >= _LEFT_BY_GAIN:  # as in most frames: offsets are not looked for
        return False
    steadier = False
    for light in lights:
        gain, offset = light.gain.ravel(), _mean(light.added, light.side).ravel()
        steadier |= _variation(gain[there] - 1.0) < _STEADIER * _variation(offset[there])
        left = np.abs(pixels - light.ground.ravel()[some] - offset[sides])
        by_offset = np.minimum(by_offset, left.min(axis=0))
    left_by_offset = float(np.square(np.minimum(by_offset / deviation, _MOST)).mean())
    return steadier or left_by_gain < _STEADIER * left_by_offset


def _deviate(residuals: Singles, noises: Singles) -> NDArray[np.bool_]:
    return np.asarray(np.abs(residuals) > np.float32(_DEVIATES) * noises)


def _gain(picture: Singles, model: Singles, side: int) -> Singles:
    """Gain of the surroundings of every pixel, (h, w)."""
    gain = _mean(picture * model, side) / _mean(model * model, side)
    return np.asarray(np.clip(gain, *_GAINS, out=gain), dtype=np.float32)


def _mean(picture: Singles, side: int) -> Singles:
    return np.asarray(cv2.boxFilter(picture, -1, (side, side)), dtype=np.float32)


def _variation(values: Singles) -> float:
    """Median deviation from the median, relative to the median."""
    middle = _median(values)
    return _median(np.abs(values - np.float32(middle))) / max(abs(middle), 1e-6)


def _median(values: Singles) -> float:
    """Upper median: the mean of two in the middle would take five times as long."""
    return float(np.partition(values, values.size // 2)[values.size // 2])
