"""What a frame differs from its background by, in the frame's own light and position.

A cloud, an exposure that adjusts and a camera that trembles change every pixel and are nobody. The
light of a frame against its background is a gain and an offset, the tremor a shift by a fraction of
a pixel; to first order all four are multiples of fixed pictures, which a regression that gives
outlying pixels no weight (Tukey's biweight) finds whatever a visitor covers. What lies outside of
the camera's range is clipped as the camera does.

A shadow that sweeps over the scene gives one part of the picture another gain. Where many pixels
deviate, a gain of the surroundings of every pixel is tried, and taken if it explains nearly all of
them, and better or more steadily than an offset of the surroundings does: on a shadow the texture
of the ground is darker by a factor, on an object it is another texture. Its soft edge does not
count.
"""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import numpy as np
from numpy.typing import NDArray

Singles = NDArray[np.float32]

_ROUNDS = 5
_BIWEIGHT = 4.685
_NORMAL_MAD = 0.6745
_SETTLED = 0.01
_CHOSEN_PIXELS = 3000
_SHADOW_PIXELS = 1000

# A shadow: pixels beyond so many standard deviations, at least this share of the picture, of which
# a local gain leaves so little (mean square in variances). Either it leaves so much less than a
# local offset does, or the gains of the places vary so much less than their offsets.
_DEVIATES = 4.0
_SHADOW_SHARE = 0.01
_LEFT_BY_GAIN = 8.0
_STEADIER = 0.6
_MOST = 20.0
_SURROUNDINGS = 15
_EDGE, _EDGE_STEP = 7, 0.1
_GAINS = (0.3, 3.0)


class OwnLight:
    """Residuals of frames in their own light.

    Parameters
    ----------
    center : ndarray of float32, shape (h, w)
        m, grey levels.
    components : ndarray of float32, shape (k, h·w)
        U, nearly orthonormal rows.
    inside : ndarray of bool, shape (h, w)
        Pixels that count.

    Attributes
    ----------
    step : int
        Every so many pixels, in both directions, are enough for a statistic of a picture.
    chosen : ndarray of int
        These among the pixels that count, by their index.
    """

    def __init__(self, center: Singles, components: Singles, inside: NDArray[np.bool_]) -> None:
        self.inside = inside
        self.center = center = np.asarray(center * inside, dtype=np.float32)
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
        self._changes = changes.astype(np.float32)
        self.step = max(1, round(float(np.sqrt(center.size / _CHOSEN_PIXELS))))
        chosen = np.zeros(center.shape, dtype=np.bool_)
        chosen[:: self.step, :: self.step] = True
        self.chosen = np.flatnonzero((chosen & inside) if (chosen & inside).any() else inside)
        # The components too: a visitor or a shadow has pulled at the coefficients of the fit.
        self._changes = np.concatenate([self._changes, components])
        self._terms = np.ascontiguousarray(self._changes[:, self.chosen])
        self._chosen_center = center.ravel()[self.chosen]

    def regress(self, pictures: Singles, coefficients: Singles) -> Singles:
        """Find the light of frames: multiples of gain, offset, shift and components.

        Parameters
        ----------
        pictures : ndarray of float32, shape (m, h, w)
        coefficients : ndarray of float32, shape (m, k)
            Of the frames' backgrounds by the fit, which are corrected.

        Returns
        -------
        ndarray of float32, shape (m, 4 + k)
            What `expected` takes.
        """
        fitted = np.pad(coefficients, ((0, 0), (len(self._terms) - coefficients.shape[1], 0)))
        difference = pictures.reshape(len(pictures), -1)[:, self.chosen] - self._chosen_center
        difference -= fitted @ self._terms
        return np.asarray(fitted + self._solve(difference), dtype=np.float32)

    def expected(self, change: Singles) -> Singles:
        """Give the background of a frame in the frame's light, (h, w), before any clipping."""
        background = (change @ self._changes).reshape(self.center.shape)
        background += self.center
        return background

    def _solve(self, difference: Singles) -> Singles:
        """Regress the chosen pixels of frames, shape (m, pixels), on the terms robustly."""
        terms, middle = self._terms, difference.shape[1] // 2
        solution = np.zeros((len(difference), len(terms)), dtype=np.float32)
        left = difference - np.partition(difference, middle)[:, middle, None]
        before: NDArray[np.floating] | None = None
        for _ in range(_ROUNDS):
            scale = np.partition(np.abs(left), middle)[:, middle, None] / _NORMAL_MAD + 1e-2
            if before is not None and (np.abs(scale - before) < _SETTLED * before).all():
                break
            before = scale
            weights = left / np.float32(_BIWEIGHT * scale)
            np.square(np.maximum(0.0, 1.0 - np.square(weights, out=weights)), out=weights)
            weighted = terms * weights[:, None, :]
            # One product of two matrices: one a frame would take three times as long.
            products = weighted.reshape(-1, terms.shape[1]) @ terms.T
            normal = products.reshape(*solution.shape, -1).astype(np.float64)
            diagonal = np.einsum("mii->mi", normal)
            diagonal += 1e-6 * diagonal + 1e-3
            target = (weighted @ difference[:, :, None]).astype(np.float64)
            solution = np.linalg.solve(normal, target)[:, :, 0].astype(np.float32)
            left = difference - solution @ terms
        return solution

    def residual(self, picture: Singles, expected: Singles) -> Singles:
        """x − x_b in the frame's light, 0 outside, (h, w)."""
        return np.asarray((picture - np.clip(expected, 0.0, 255.0)) * self.inside)

    def without_shadow(
        self, picture: Singles, expected: Singles, residual: Singles, noise: Singles
    ) -> Singles:
        """Give the residual with a shadow taken out, if it is one; otherwise the residual itself.

        Parameters
        ----------
        picture, expected, residual : ndarray of float32, shape (h, w)
        noise : ndarray of float32, shape (h, w)
            Standard deviation of the residual in this frame.
        """
        deviates = np.flatnonzero(np.abs(residual) > _DEVIATES * noise)
        if deviates.size < _SHADOW_SHARE * np.count_nonzero(self.inside):
            return residual
        models = [(model, *_local_light(picture, model)) for model in (expected, self.center)]
        some = deviates[:: max(1, deviates.size // _SHADOW_PIXELS)]
        places = list(_one_sided(some, picture.shape))
        by_gain = by_offset = residual.ravel()[some]
        pixels, steadier = picture.ravel()[some], False
        for model, gain, offset in models:
            own = model.ravel()[some]
            gains, offsets = gain.ravel()[some], offset.ravel()[some]
            steadier |= _variation(gains - 1.0) < _STEADIER * _variation(offsets)
            for place in places:
                by_gain = _smaller(by_gain, pixels - gain.ravel()[place] * own)
                by_offset = _smaller(by_offset, pixels - own - offset.ravel()[place])
        variance = np.square(noise.ravel()[some])
        left_by_gain, left_by_offset = (
            float(np.minimum(np.square(left) / variance, _MOST**2).mean())
            for left in (by_gain, by_offset)
        )
        steadier |= left_by_gain < _STEADIER * left_by_offset
        if left_by_gain >= _LEFT_BY_GAIN or not steadier:
            return residual
        everywhere = np.arange(picture.size)
        shadowless, pixels = residual.ravel(), picture.ravel()
        for model, gain, _ in models:
            for place in _one_sided(everywhere, picture.shape):
                left = pixels - gain.ravel()[place] * model.ravel()
                shadowless = _smaller(shadowless, left)
        kept = self.inside & ~_edges(picture, self.center)
        return np.asarray(shadowless.reshape(picture.shape) * kept)


def _local_light(
    picture: Singles, model: Singles, side: int = _SURROUNDINGS
) -> tuple[Singles, Singles]:
    """Gain, and offset instead of a gain, of the surroundings of every pixel."""
    size, model = (side, side), np.maximum(model, 1.0)
    gain = cv2.boxFilter(picture * model, -1, size) / cv2.boxFilter(model * model, -1, size)
    offset = cv2.boxFilter(picture - model, -1, size)
    return np.asarray(np.clip(gain, *_GAINS), np.float32), np.asarray(offset, np.float32)


def _one_sided(pixels: NDArray[np.int64], shape: tuple[int, ...]) -> Iterator[NDArray[np.int64]]:
    """Give the middles of the windows that have pixels at a side or a corner, and around them."""
    half = _SURROUNDINGS // 2
    rows, columns = np.divmod(pixels, shape[1])
    for down in (-half, 0, half):
        row = np.clip(rows + down, 0, shape[0] - 1) * shape[1]
        for right in (-half, 0, half):
            yield row + np.clip(columns + right, 0, shape[1] - 1)


def _smaller(one: Singles, other: Singles) -> Singles:
    return np.asarray(np.where(np.abs(other) < np.abs(one), other, one), dtype=np.float32)


def _variation(values: Singles) -> float:
    """Median deviation from the median, relative to the median."""
    middle = np.median(values)
    return float(np.median(np.abs(values - middle)) / max(abs(float(middle)), 1e-6))


def _edges(picture: Singles, center: Singles) -> NDArray[np.bool_]:
    """Where the gain of the surroundings changes: at the edge of a shadow, which is soft."""
    gain, _ = _local_light(picture, center, _EDGE)
    around = np.ones((_EDGE, _EDGE), np.uint8)
    return np.asarray(cv2.dilate(gain, around) - cv2.erode(gain, around) > _EDGE_STEP)
