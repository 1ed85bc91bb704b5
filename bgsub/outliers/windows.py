"""Look at the places of a picture: means over windows, against what each window usually shows."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

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

    In the margin windows are half mirrored; in a tiny picture there is none.
    """
    width = _MARGIN // window.factor
    cut = tuple(
        slice(width, side - width) if side > 4 * width else slice(None) for side in means.shape
    )
    return (means[cut] - window.usual[cut]) / window.spread[cut]


def restlessness(above: Singles, window: Window, step: int) -> float:
    """Give what a fifth of the places of a picture exceed."""
    step = max(1, step // window.factor)
    values = above[::step, ::step].ravel()
    rank = int(_RESTLESS_QUANTILE * (values.size - 1))
    return float(np.partition(values, rank)[rank])


def highest(deviations: Singles, window: Window, step: int) -> float:
    """Highest value of a picture, relative to how restless the picture is as a whole."""
    above = excess(windowed(deviations, window.side, window.factor), window)
    factor = min(max(restlessness(above, window, step) / window.restless, 1.0), _MOST_RESTLESS)
    return float(above.max()) / factor
