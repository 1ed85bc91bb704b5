"""Mend the stamps of packets, which may be missing, stand still, go back or leap."""

from __future__ import annotations

from fractions import Fraction

_LEAP_S = 5.0
"""Seconds by which stamps may run ahead of those before them, and of the clock on the wall."""


class StampMender:
    """Makes the stamps of a stream's packets increase, from 0 on.

    Parameters
    ----------
    time_base : Fraction
        Seconds of a tick.
    step : int
        Ticks from one picture to the next where stamps do not say.
    """

    def __init__(self, time_base: Fraction, step: int) -> None:
        self._base, self._step = time_base, max(step, 1)
        self._shift: int | None = None
        self._last: int | None = None
        self._seen_s = 0.0

    @property
    def shift_s(self) -> Fraction:
        """What is added to stamps at present, in seconds."""
        return (self._shift or 0) * self._base

    def mend(self, pts: int | None, dts: int | None, now_s: float) -> tuple[int, int, float | None]:
        """Give pts and dts of the next packet in order of decoding.

        Parameters
        ----------
        pts, dts : int or None
            As they came, in ticks.
        now_s : float
            On any clock that runs steadily: a pause of the stream is no leap.

        Returns
        -------
        pts, dts : int
        leap_s : float or None
            By how many seconds the stamps have jumped, where they have.
        """
        stamp = dts if dts is not None else pts
        leap: float | None = None
        if self._last is None or self._shift is None:
            self._shift = -(stamp or 0)
            mended = 0
        elif stamp is None:
            mended = self._last + self._step
        else:
            mended = stamp + self._shift
            ahead = float((mended - self._last) * self._base)
            if ahead < -_LEAP_S or ahead > _LEAP_S + (now_s - self._seen_s):
                leap = ahead
                self._shift -= mended - self._last - self._step
                mended = self._last + self._step
            elif mended <= self._last:
                mended = self._last + 1
        self._last, self._seen_s = mended, now_s
        shown = mended if pts is None or stamp is None else max(pts + self._shift, mended)
        return shown, mended, leap
