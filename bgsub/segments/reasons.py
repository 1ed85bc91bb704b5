"""Say what a lasting change of a scene is: the camera moved, the light changed, or where it is."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.segments.blocks import Flags, Floats
from bgsub.segments.light import fit_light
from bgsub.wording import plural

_EXPLAINED = 0.6
"""Share of the differences that may be left where a displacement is what has changed."""

_LEAST_SHIFT = 0.3
"""Small pixels from which a picture is displaced."""

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
        way = round(float(np.hypot(*moved)) * width / columns)
        return f"the camera moved by {plural(way, 'pixel')}"
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
    """Give by how much the picture was displaced, in its small pixels; None if that is not it.

    The middle of the later picture is looked for in the earlier one by correlation, which does not
    depend on light. (cv2.phaseCorrelate finds smooth rooms badly, and writes its window into the
    pictures that it is given where their sides suit a fast Fourier transform.)
    """
    height, width = before.shape
    rows, columns = height // 4, width // 4
    if not rows or not columns:
        return None
    middle = np.ascontiguousarray(after[rows:-rows, columns:-columns])
    alike = _floats(cv2.matchTemplate(before, middle, cv2.TM_CCOEFF_NORMED))
    top, left = divmod(int(alike.argmax()), alike.shape[1])
    x = columns - left - _beside_peak(alike[top], left)
    y = rows - top - _beside_peak(alike[:, left], top)
    if np.hypot(x, y) < _LEAST_SHIFT:
        return None
    matrix = np.array([[1, 0, x], [0, 1, y]])
    shifted = _floats(
        cv2.warpAffine(before, matrix, (width, height), borderMode=cv2.BORDER_REPLICATE)
    )
    unmoved, moved = (each[rows:-rows, columns:-columns] for each in (before, shifted))
    # In all of it: a thing that was moved explains its own places, and nothing else does.
    return (
        (x, y) if _difference(moved, middle) < _EXPLAINED * _difference(unmoved, middle) else None
    )


def _floats(picture: NDArray[Any]) -> Floats:
    return np.asarray(picture, dtype=np.float32)


def _beside_peak(values: Floats, peak: int) -> float:
    """Give how far the top of the parabola through a peak and its neighbours is from it."""
    if not 0 < peak < values.size - 1:
        return 0.0
    before, at, behind = (float(value) for value in values[peak - 1 : peak + 2])
    bend = before - 2 * at + behind
    return 0.0 if bend >= 0 else 0.5 * (before - behind) / bend


def _difference(before: Floats, after: Floats) -> float:
    """Give the mean difference of two pictures, grey levels, but for their light."""
    gain, offset = fit_light(before.ravel(), after.ravel())
    return float(np.abs(after - gain * before - offset).mean())
