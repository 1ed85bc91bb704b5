"""Compare a frame with its background in the frame's own light and position.

A cloud, an exposure that adjusts and a camera that trembles change every pixel and are nobody. The
light of a frame against its background is a gain and an offset, the tremor a shift by a fraction of
a pixel; to first order all four are multiples of fixed pictures, which a regression that gives
outlying pixels no weight (Tukey's biweight) finds whatever a visitor covers. What lies outside of
the camera's range is clipped as the camera does. A pixel that the camera clips in the usual light
may be of any brightness beyond, and a gain does not foretell how bright it is in another light: it
has no part in the regression, and a residual there counts only as far as it exceeds the distance
of the background, in the frame's light, from the end of the range.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.outliers.scorer_size import shrink
from bgsub.outliers.sweeping_shadow import Singles, SweepingShadow

_ROUNDS = 5
_BIWEIGHT = 4.685
_NORMAL_MAD = 0.6745
_SETTLED = 0.01
_CHOSEN_PIXELS = 3000

# Grey levels from an end of the camera's range at which noise and codecs leave what it clips.
_AT_END = 2


def at_ends(picture: NDArray[np.uint8], factor: int) -> Singles:
    """Share of the squares of a picture that lies at the lower and the upper end of the range.

    Parameters
    ----------
    picture : ndarray of uint8, shape (H, W)
    factor : int
        Side of the squares.

    Returns
    -------
    ndarray of float32, shape (2, H // factor, W // factor)
    """
    marks = picture <= _AT_END, picture >= 255 - _AT_END
    return np.stack([shrink(one.astype(np.uint8), factor) for one in marks])


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
    clipped : ndarray of float32, shape (2, h, w), or None
        Share of every pixel of the background, which may be the mean of a square, that the camera
        clips at the lower and the upper end of its range; None for none.

    Attributes
    ----------
    step : int
        Every so many pixels, in both directions, are enough for a statistic of a picture.
    chosen : ndarray of int
        These among the pixels that count, by their index.
    shadow : SweepingShadow
        Takes shadows out of residuals.
    """

    def __init__(
        self,
        center: Singles,
        components: Singles,
        inside: NDArray[np.bool_],
        clipped: Singles | None = None,
    ) -> None:
        self.inside = inside
        self.clipped = np.zeros((2, *inside.shape), np.float32) if clipped is None else clipped
        self._places = [np.flatnonzero(one) for one in self.clipped]
        self._mixed = [
            one.ravel()[places] < 1.0
            for one, places in zip(self.clipped, self._places, strict=True)
        ]
        self.center = center = np.asarray(center * inside, dtype=np.float32)
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
        self._changes = changes.astype(np.float32)
        self.step = max(1, round(float(np.sqrt(center.size / _CHOSEN_PIXELS))))
        chosen = np.zeros(center.shape, dtype=np.bool_)
        chosen[:: self.step, :: self.step] = True
        grids = chosen & inside & ~self.clipped.any(axis=0), chosen & inside, inside
        self.chosen = np.flatnonzero(next((one for one in grids if one.any()), inside))
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
        background = np.clip(expected, 0.0, 255.0)
        left = np.asarray((picture - background) * self.inside, dtype=np.float32)
        flat, light = (each.reshape(-1, self.inside.size) for each in (left, expected))
        for end, places, mixed in zip((0.0, 255.0), self._places, self._mixed, strict=True):
            there = light[:, places]
            unknown = np.abs(np.float32(end) - np.clip(there, 0.0, 255.0))
            # Of a square that is clipped in part, the light moves the rest of it alone.
            moved = np.abs(there - self.center.ravel()[places]) * mixed
            np.maximum(unknown, moved, out=unknown)
            flat[:, places] -= np.clip(flat[:, places], -unknown, unknown)
        return left
