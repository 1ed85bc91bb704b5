"""Say what a lasting change of a scene is: the camera moved, the light changed, or where it is."""

from __future__ import annotations

import cv2
import numpy as np

from bgsub.segments.blocks import Flags, Floats

_EXPLAINED = 0.6
"""Share of the differences that may be left where a displacement is what has changed."""

_MOST_PICTURE = 0.4
"""Share of the picture from which all of it has changed."""

_OTHER_LIGHT = 12.0
"""Grey levels by which the median must differ for it to be brighter or darker."""


def reason_of(before: Floats, after: Floats, mask: Flags, input_size: tuple[int, int]) -> str:
    """Say what has changed, and where.

    Parameters
    ----------
    before, after : ndarray of float32, shape (h, w)
        Small pictures of the scene.
    mask : ndarray of bool, shape (h, w)
        Pixels that have changed.
    input_size : tuple of int
        Width and height of the film, in the pixels of which places are given.
    """
    width, height = input_size
    rows, columns = mask.shape
    moved = _displacement(before, after)
    if moved is not None:
        return f"the camera moved by {np.hypot(*moved) * width / columns:.0f} pixels"
    levels = np.median(before), np.median(after)
    if mask.mean() >= _MOST_PICTURE:
        brighter = "brighter" if levels[1] > levels[0] else "darker"
        if abs(levels[1] - levels[0]) > _OTHER_LIGHT:
            return f"it became {brighter}"
        return "most of the picture changed"
    ys, xs = np.nonzero(mask)
    x, y = xs.min() / columns * width, ys.min() / rows * height
    right, bottom = (xs.max() + 1) / columns * width, (ys.max() + 1) / rows * height
    return f"a change at {x:.0f},{y:.0f},{right - x:.0f},{bottom - y:.0f}"


def _displacement(before: Floats, after: Floats) -> tuple[float, float] | None:
    """Give by how much the picture was displaced, in its small pixels; None if that is not it."""
    size = before.shape[1], before.shape[0]
    (x, y), _ = cv2.phaseCorrelate(before, after, cv2.createHanningWindow(size, cv2.CV_32F))
    if np.hypot(x, y) < 0.3:
        return None
    shifted = cv2.warpAffine(
        before, np.array([[1, 0, x], [0, 1, y]]), size, borderMode=cv2.BORDER_REPLICATE
    )
    # In all of it: a thing that was moved explains its own places, and nothing else does.
    left, were = float(np.abs(after - shifted).mean()), float(np.abs(after - before).mean())
    return (x, y) if left < _EXPLAINED * were else None
