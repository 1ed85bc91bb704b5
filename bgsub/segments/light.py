"""Fit the light of one picture of a scene to that of another."""

from __future__ import annotations

import numpy as np

from bgsub.segments.blocks import Floats

_ROUNDS = 8


def fit_light(before: Floats, after: Floats) -> tuple[float, float]:
    """Fit gain and offset of one picture to another, robustly (Geman-McClure weights)."""
    gain, offset = 1.0, float(np.median(after - before))
    for _ in range(_ROUNDS):
        away = np.abs(after - gain * before - offset)
        weights = 1.0 / (1.0 + (away / (2.0 * max(float(np.median(away)), 0.5))) ** 2) ** 2
        total = float(weights.sum())
        mean_x, mean_y = float(weights @ before) / total, float(weights @ after) / total
        spread = float(weights @ (before - mean_x) ** 2)
        if spread > 1.0:
            gain = float(weights @ ((before - mean_x) * (after - mean_y))) / spread
            gain = min(max(gain, 0.05), 20.0)
        offset = mean_y - gain * mean_x
    return gain, offset
