"""What masks of local models are made with, where no background is wanted beside them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bgsub.local.model import LocalModel
from bgsub.video.frames import Layout


@dataclass(frozen=True, eq=False)
class MaskModel:
    """What masks of local models are made with, where nothing else is wanted.

    Attributes
    ----------
    layout, pixel_mask, ignored, local
        As in `BackgroundModel`.
    threshold, cutoff : float
        Never reached: there is no residual, and no frame is an outlier.
    """

    layout: Layout
    pixel_mask: NDArray[np.bool_] | None
    ignored: NDArray[np.bool_] | None
    local: LocalModel
    threshold: float = math.inf
    cutoff: float = math.inf

    @property
    def inside(self) -> NDArray[np.bool_] | None:
        """Pixels that can be foreground, shape (h, w); None for all."""
        return pixels_inside(self.pixel_mask, self.ignored)


def pixels_inside(
    pixel_mask: NDArray[np.bool_] | None, ignored: NDArray[np.bool_] | None
) -> NDArray[np.bool_] | None:
    """Pixels that can be foreground: those of the fit that are not ignored; None for all."""
    if ignored is None:
        return pixel_mask
    return ~ignored if pixel_mask is None else pixel_mask & ~ignored
