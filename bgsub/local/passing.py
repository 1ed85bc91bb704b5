"""Tell places that things pass, one like the other, from places that sway, wave or flicker."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.local.clean_frames import Singles, coarseness
from bgsub.local.layers import Layers
from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.local.regions import repeated

_AROUND = 15
"""Side in pixels of what is around a place: objects are as large, leaves and waves are smaller."""

_SOLID = np.ones((3, 3), np.uint8)
"""What covers a place has parts as large: thinner lines are edges that tremble, dots are noise."""

_LOCKED = 0.05
"""Share of chance below which it is always the same pixels that change: a lamp, a screen."""


def is_passed(
    layers: Layers, params: LocalParams = DEFAULTS, *, is_shaken: bool = False
) -> NDArray[np.bool_]:
    """Mark the places that are covered together with those around, by what moves on.

    Leaves and waves change the pixels around a place at any time, whether it shows its first layer
    or not. What passes covers them together: while the place is seen, they are too, but for the
    few frames in which an edge lies between. So a pixel is passed where those of 15×15 pixels that
    do not show their first layers while it shows its own are less than `LocalParams.passing_share`
    of those at all times. Where a camera shakes, edges change at any time, too: what is thinner
    than three pixels is not counted there. A lamp that flickers covers the same pixels every time,
    and no edge ever lies between: less than .05 is no passing.

    Parameters
    ----------
    layers : Layers
    params : LocalParams, optional
    is_shaken : bool, optional
        Whether the camera shakes, and frames were moved to their place.

    Returns
    -------
    ndarray of bool, shape (h, w)

    Notes
    -----
    O(n·h·w); of large pictures every other pixel down and across is looked at.
    """
    height, width = layers.labels.shape[1:]
    step = coarseness(height, width)
    share = _share_of_chance(np.ascontiguousarray(layers.labels[:, ::step, ::step]), is_shaken)
    passed = (share >= _LOCKED) & (share < params.passing_share)
    return repeated(passed, step, height, width)


def _share_of_chance(labels: NDArray[np.uint8], is_shaken: bool) -> Singles:
    """Share of pixels around that are away while one is not, by that at all times, (h, w)."""
    always, meanwhile, frames = (np.zeros(labels.shape[1:], np.float32) for _ in range(3))
    for shown in labels:
        _, away = cv2.threshold(shown, 0, 255, cv2.THRESH_BINARY)
        home = cv2.bitwise_not(away)
        covered = cv2.morphologyEx(away, cv2.MORPH_OPEN, _SOLID) if is_shaken else away
        around = cv2.blur(covered, (_AROUND, _AROUND))
        cv2.accumulate(around, always)
        cv2.accumulate(around, meanwhile, mask=home)
        cv2.accumulate(home, frames)
    frames /= 255 * len(labels)
    return np.asarray(meanwhile / np.maximum(frames * always, 1e-6), dtype=np.float32)
