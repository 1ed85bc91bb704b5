"""Predict where an object will be: a Kalman filter of constant velocity for its centre."""

from __future__ import annotations

import math

_STEP = 0.12
"""Standard deviation of the change of velocity in a frame, in sizes of the object a frame."""

_MEASURED = 0.06
"""Standard deviation of a measured centre, in sizes of the object: outlines breathe."""

_LEAST = 0.4
"""Least standard deviation of a measured centre in pixels."""


class Motion:
    """Centre and velocity of an object, each axis by itself.

    The state of an axis is (p, v) with the covariance [[a, b], [b, c]]; both axes share it, for
    they are measured together and with the same noise.

    Parameters
    ----------
    x, y : float
        First measured centre in pixels.
    size : float
        Size of the object in pixels, the scale of both noises.
    """

    def __init__(self, x: float, y: float, size: float) -> None:
        self.x, self.y = x, y
        self.vx = self.vy = 0.0
        noise = self._noise(size)
        # Of the velocity nothing is known but that objects rarely move by their own size a frame.
        self._a, self._b, self._c = noise, 0.0, (0.5 * size) ** 2 + 1.0

    @staticmethod
    def _noise(size: float) -> float:
        return (_MEASURED * size + _LEAST) ** 2

    @property
    def speed(self) -> float:
        """Pixels a frame."""
        return math.hypot(self.vx, self.vy)

    @property
    def spread(self) -> float:
        """Standard deviation of the centre along one axis, in pixels."""
        return math.sqrt(self._a)

    def predict(self, frames: float, size: float) -> None:
        """Move on by so many frames."""
        self.x += frames * self.vx
        self.y += frames * self.vy
        step = (_STEP * size + 0.05) ** 2
        self._a += frames * (2 * self._b + frames * self._c) + step * frames**3 / 3
        self._b += frames * self._c + step * frames**2 / 2
        self._c += step * frames

    def correct(self, x: float, y: float, size: float, trust: float = 1.0) -> None:
        """Take in a measured centre; `trust` below 1 makes its noise larger."""
        total = self._a + self._noise(size) / max(trust, 1e-3) ** 2
        gain_p, gain_v = self._a / total, self._b / total
        off_x, off_y = x - self.x, y - self.y
        self.x += gain_p * off_x
        self.y += gain_p * off_y
        self.vx += gain_v * off_x
        self.vy += gain_v * off_y
        self._c -= gain_v * self._b
        self._b *= 1 - gain_p
        self._a *= 1 - gain_p
