"""Read and write positions in a video: frames, seconds, ``HH:MM:SS.mmm``."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

from bgsub.errors import UsageError

_FRAME = re.compile(r"(\d+)f?")
_SECONDS = re.compile(r"(\d+\.?\d*|\.\d+)([smh])")
_UNITS = {"s": 1, "m": 60, "h": 3600}
_CLOCK = re.compile(r"(?:(\d+):)?(\d+):(\d+(?:\.\d*)?)")
_FORMS = 'a frame number ("250"), seconds ("12.5s") or a time ("00:01:12.500")'


@dataclass(frozen=True)
class Position:
    """A place in a video or a distance within it, in frames or in seconds: exactly one is set."""

    frame: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if (self.frame is None) == (self.seconds is None):
            raise ValueError("a position is either a frame or a number of seconds")

    def __str__(self) -> str:
        return str(self.frame) if self.seconds is None else f"{self.seconds:.15g}s"


def parse_position(value: str | int | Position, name: str = "position") -> Position:
    """Read a position.

    Parameters
    ----------
    value : str, int or Position
        A frame number counted from 1 (``250`` or ``250f``), seconds (``12.5s``), minutes (``10m``),
        hours (``2h``) or a clock time (``HH:MM:SS.mmm`` or ``MM:SS.mmm``).
    name : str
        What the value is called in the error.

    Returns
    -------
    Position

    Raises
    ------
    UsageError
        If it is none of these, or frame 0.

    Examples
    --------
    >>> parse_position("250")
    Position(frame=250, seconds=None)
    >>> parse_position("00:01:12.5").seconds
    72.5
    """
    position = _parse(value, name)
    if position.frame == 0:
        raise UsageError(f"{name} {value}: frames are counted from 1")
    return position


def parse_step(value: str | int | Position, name: str = "step") -> Position:
    """Read a distance between frames: the same forms, more than nothing.

    Raises
    ------
    UsageError
        If it is none of the forms, or zero.
    """
    step = _parse(value, name)
    if not (step.frame or step.seconds):
        raise UsageError(f'{name} {value}: must be 1 frame at least, or more than "0s"')
    return step


def _parse(value: str | int | Position, name: str) -> Position:
    if isinstance(value, Position):
        return value
    text = str(value).strip()
    if match := _FRAME.fullmatch(text):
        return Position(frame=int(match[1]))
    if match := _SECONDS.fullmatch(text):
        return Position(seconds=float(match[1]) * _UNITS[match[2]])
    if match := _CLOCK.fullmatch(text):
        hours, minutes, seconds = int(match[1] or 0), int(match[2]), float(match[3])
        if seconds < 60 and (match[1] is None or minutes < 60):
            return Position(seconds=hours * 3600 + minutes * 60 + seconds)
    raise UsageError(f"{name} {value!r} is not understood; give {_FORMS}")


def parse_rate(value: str | float | Fraction, name: str = "fps") -> Fraction:
    """Read a number of frames a second.

    Raises
    ------
    UsageError
        If it is none, or not between 0.0001 and 100,000.

    Examples
    --------
    >>> parse_rate("12.5"), parse_rate("30000/1001")
    (Fraction(25, 2), Fraction(30000, 1001))
    """
    message = f'{name} {value}: must be a number of frames a second, such as 12.5 or "30000/1001"'
    try:
        rate = Fraction(str(value).strip()) if len(str(value)) < 40 else Fraction(0)
    except (ValueError, ZeroDivisionError) as error:
        raise UsageError(message) from error
    if isinstance(value, bool) or not Fraction(1, 10_000) <= rate <= 100_000:
        raise UsageError(message)
    return rate


def format_time(seconds: float) -> str:
    """Write a time as ``HH:MM:SS.mmm``.

    Examples
    --------
    >>> format_time(72.5)
    '00:01:12.500'
    """
    if not math.isfinite(seconds):
        raise ValueError(f"{seconds} is not a time")
    sign = "-" if seconds < 0 else ""
    whole, milliseconds = divmod(round(abs(seconds) * 1000), 1000)
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    return f"{sign}{hours:02d}:{minute:02d}:{second:02d}.{milliseconds:03d}"
