"""Give frames their times in seconds, always increasing, whatever their timestamps do."""

from __future__ import annotations

import math
from fractions import Fraction

#: A step back in time by more than this is a new beginning of the clock, not a jittered timestamp.
RESTART_S = 1.0

#: A leap by more than this is no time that passed between two frames.
_LEAP_S = 10 * 86400.0


class Clock:
    """Gives each frame its time in seconds: 0 at the first, and always increasing.

    Parameters
    ----------
    rate : Fraction or None
        Frames a second where there are no timestamps.
    """

    def __init__(self, rate: Fraction | None) -> None:
        self._step = float(1 / rate) if rate else 0.04
        self._origin: float | None = None
        self._last: float | None = None
        self._stamped = self._seen_step = math.inf

    @property
    def end_s(self) -> float:
        """When the frame read last ends."""
        step = self._step if math.isinf(self._seen_step) else self._seen_step
        return 0.0 if self._last is None else self._last + step

    def read(self, stamp_s: float | None) -> float:
        """Give the time of the next frame from its timestamp in seconds, if it has one."""
        if stamp_s is None:
            time_s = self.end_s
        else:
            if self._origin is None:
                self._origin = stamp_s - self.end_s
            # Rates in headers may be twice those of the frames.
            if 0 < stamp_s - self._stamped < self._seen_step:
                self._seen_step = stamp_s - self._stamped
            self._stamped = stamp_s
            time_s = round(stamp_s - self._origin, 9)
            if self._last is not None and not self._last < time_s <= self._last + _LEAP_S:
                if abs(self._last - time_s) > RESTART_S:
                    self._origin = stamp_s - self.end_s
                    time_s = self.end_s
                else:
                    time_s = self._last + self._step / 2
        self._last = time_s = round(time_s, 9)
        return time_s
