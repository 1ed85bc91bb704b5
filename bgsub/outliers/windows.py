"""Look at the places of a picture: means over windows, against what each window usually shows."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.outliers.false_alarms import CleanLevel
from bgsub.outliers.scorer_size import shrink
from bgsub.outliers.sweeping_shadow import Singles

_MARGIN = 2
"""Pixels of the picture at its border that no window is laid at."""

# A frame's restlessness is taken for its own up to this factor of what is usual; a visitor who
# covers most of the picture is not.
_MOST_RESTLESS = 2.0
_RESTLESS_QUANTILE = 0.8


@dataclass(frozen=True, eq=False)
class Window:
    """What a window of one size usually shows.

    Attributes
    ----------
    side : int
        In pixels of the picture.
    factor : int
        The picture is shrunk by before windows are laid at every pixel.
    usual, spread : ndarray of float32, shape (h // factor, w // factor)
        Median and spread, in clean frames, of the mean of |residual| / noise in each window.
    restless : float
        Usual 80 % quantile over a picture of what exceeds `usual`, in spreads.
    level : CleanLevel
        Of the highest of these in a picture.
    """

    side: int
    factor: int
    usual: Singles
    spread: Singles
    restless: float
    level: CleanLevel


def windowed(deviations: Singles, side: int, factor: int) -> Singles:
    """Mean of a window around every pixel of a picture that is shrunk first."""
    size = side // factor
    small = shrink(deviations, factor)
    return np.asarray(cv2.boxFilter(small, -1, (size, size)), dtype=np.float32)


def excess(means: Singles, window: Window) -> Singles:
    """Say how far every window lies above its usual mean, in spreads, away from the margin.

    Of some pictures, shape (m, h, w). In the margin windows are half mirrored; in a tiny picture
    there is none.
    """
    width = _MARGIN // window.factor
    cut = tuple(
        slice(width, side - width) if side > 4 * width else slice(None) for side in means.shape[1:]
    )
    above = means[:, *cut] - window.usual[cut]
    above /= window.spread[cut]
    return np.asarray(above, dtype=np.float32)


def restlessness(above: Singles, window: Window, step: int) -> Singles:
    """Give what a fifth of the places of each of m pictures exceed, shape (m,)."""
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
