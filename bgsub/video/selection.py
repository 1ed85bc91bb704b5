"""Select frames by start, end and step, a part of the picture, or a sample of frames."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from bgsub.errors import UsageError

# Options are read before anything heavy is imported.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_TIME_TOLERANCE = 1e-6  # of timestamps, which are rounded: a frame this much early is on time
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

    def __str__(self) -> str:
        return str(self.frame) if self.seconds is None else f"{self.seconds:.15g}s"


def parse_position(value: str | int | Position, name: str = "position") -> Position:
    """Read ``250f``, ``12.5s`` or ``[HH:]MM:SS.mmm``; UsageError, which says `name`."""
    position = _parse(value, name)
    if position.frame == 0:
        raise UsageError(f"{name} {value}: frames are counted from 1")
    return position


def parse_step(value: str | int | Position, name: str = "step") -> Position:
    """Read a distance between frames: the same forms, more than nothing; UsageError otherwise."""
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


def parse_rate(value: str | float | Fraction) -> Fraction:
    """Read frames a second, from 0.0001 to 100,000; UsageError otherwise."""
    message = f'fps {value}: must be a number of frames a second, such as 12.5 or "30000/1001"'
    try:
        rate = Fraction(str(value).strip()) if len(str(value)) < 40 else Fraction(0)
    except (ValueError, ZeroDivisionError) as error:
        raise UsageError(message) from error
    if isinstance(value, bool) or not Fraction(1, 10_000) <= rate <= 100_000:
        raise UsageError(message)
    return rate


def format_time(seconds: float) -> str:
    """Write a time as ``HH:MM:SS.mmm``."""
    sign = "-" if seconds < 0 else ""
    whole, milliseconds = divmod(round(abs(seconds) * 1000), 1000)
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    return f"{sign}{hours:02d}:{minute:02d}:{second:02d}.{milliseconds:03d}"


@dataclass(frozen=True)
class Selection:
    """The frames from `start` to `end`, both included, that lie `every` apart."""

    start: Position | None = None
    end: Position | None = None
    every: Position | None = None

    @classmethod
    def parse(
        cls,
        start: str | int | Position | None = None,
        end: str | int | Position | None = None,
        every: str | int | Position | None = None,
    ) -> Selection:
        """Read the three as people write them; UsageError also if `end` lies before `start`."""
        first = None if start is None else parse_position(start, "start")
        last = None if end is None else parse_position(end, "end")
        if first is not None and last is not None:
            pairs = ((first.frame, last.frame), (first.seconds, last.seconds))
            if any(one is not None and two is not None and two < one for one, two in pairs):
                raise UsageError(f"end {last} lies before start {first}: no frame is between them")
        return cls(first, last, None if every is None else parse_step(every, "every"))

    @property
    def is_everything(self) -> bool:
        """Whether no frame is left out."""
        return self.start is None and self.end is None and self.every is None

    def estimate(self, frames: int | None, rate: Fraction | None) -> int | None:
        """Estimate how many of an input's frames are selected, from its rate; None if unknown."""
        given = (self.start, self.end, self.every)
        if rate is None and any(one is not None and one.seconds is not None for one in given):
            return None

        def steps(position: Position, rounded: Callable[[float], int], tolerance: float) -> int:
            seconds = position.seconds or 0.0
            return position.frame or rounded(seconds * float(rate or 0) + tolerance)

        first, last, step = 1, math.inf if frames is None else frames, 1
        if self.start is not None:
            shift = self.start.seconds is not None
            first = max(1, shift + steps(self.start, math.ceil, -1e-6))
        if self.end is not None:
            shift = self.end.seconds is not None
            last = min(last, shift + steps(self.end, math.floor, 1e-6))
        if self.every is not None:
            step = max(1, steps(self.every, math.ceil, -1e-6))
        return None if math.isinf(last) else max(0, int((last - first) // step) + 1)

    def __str__(self) -> str:
        parts = (("start", self.start), ("end", self.end), ("every", self.every))
        return " ".join(f"{name} {value}" for name, value in parts if value is not None)


class Picker:
    """Decides in one pass over an input, frame by frame in order, which are selected."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._last: tuple[int, float] | None = None

    def is_past(self, number: int, time_s: float) -> bool:
        """Return whether this frame and all later ones lie behind the selection's end."""
        end = self._selection.end
        if end is None:
            return False
        if end.frame is not None:
            return number > end.frame
        return time_s > (end.seconds or 0.0) + _TIME_TOLERANCE

    def wants(self, number: int, time_s: float) -> bool:
        """Return whether this frame is selected."""
        start, every = self._selection.start, self._selection.every
        if self.is_past(number, time_s) or _is_less(start, number, time_s):
            return False
        last_number, last_s = self._last or (-math.inf, -math.inf)
        if _is_less(every, number - last_number, time_s - last_s):
            return False
        self._last = number, time_s
        return True


def _is_less(limit: Position | None, frames: float, seconds: float) -> bool:
    """Return whether a frame, or a distance between two, does not reach a position."""
    if limit is None:
        return False
    if limit.frame is not None:
        return frames < limit.frame
    return seconds < (limit.seconds or 0.0) - _TIME_TOLERANCE


class Region(NamedTuple):
    """A rectangle of pixels: its left upper corner, width and height."""

    x: int
    y: int
    width: int
    height: int

    def __str__(self) -> str:
        return f"{self.x},{self.y},{self.width},{self.height}"


def parse_region(value: str | tuple[int, int, int, int], name: str = "roi") -> Region:
    """Read a region of interest, ``X,Y,W,H`` in pixels; UsageError otherwise."""
    try:
        x, y, width, height = value.split(",") if isinstance(value, str) else value
        region = Region(int(x), int(y), int(width), int(height))
    except (TypeError, ValueError) as error:
        message = f"{name} {value!r} is not understood; give X,Y,W,H in pixels (10,20,64,48)"
        raise UsageError(message) from error
    if region.x < 0 or region.y < 0 or region.width < 1 or region.height < 1:
        raise UsageError(f"{name} {region}: X and Y must be 0 or more, W and H 1 or more")
    return region


def sample_rows(n_frames: int, n_sample: int, seed: int) -> NDArray[np.int64]:
    """Draw one frame at random from each of equal stretches; all frames where they are no more."""
    import numpy as np

    if n_sample >= n_frames:
        return np.arange(n_frames)
    edges = np.arange(n_sample + 1) * n_frames // n_sample
    return np.asarray(np.random.default_rng(seed).integers(edges[:-1], edges[1:]), dtype=np.int64)
