"""Check paths, places in the input, times, rates, parts of the picture and amounts of memory."""

from __future__ import annotations

import math
import numbers
import operator
import os
import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from bgsub.errors import UsageError
from bgsub.rules import Rule
from bgsub.runtime.limits import check_folder, split_memory
from bgsub.video.selection import parse_position, parse_rate, parse_region, parse_step


class Text(Rule):
    """Any text."""

    metavar = "TEXT"

    def words(self) -> str:
        """Say it."""
        return "a text"

    def read(self, name: str, value: Any) -> str:
        """Check the text."""
        if not isinstance(value, str):
            self.refuse(name, value)
        return value


class File(Rule):
    """A path, stored as text; whether it can be read is found out when it is."""

    metavar = "FILE"

    def words(self) -> str:
        """Say it."""
        return "a path"

    def read(self, name: str, value: Any) -> str:
        """Check the path."""
        if not isinstance(value, (str, os.PathLike)):
            self.refuse(name, value)
        text = os.fsdecode(value)
        if not text or "\0" in text:
            self.refuse(name, repr(text))
        return text


@dataclass(frozen=True)
class FileOfKind(File):
    """A path whose name says the kind of file, such as ``.png`` or ``.svg``."""

    suffixes: tuple[str, ...]

    def words(self) -> str:
        """Say the endings."""
        return f"a name that ends with {' or '.join(self.suffixes)}"

    def read(self, name: str, value: Any) -> str:
        """Check the path."""
        text = super().read(name, value)
        if Path(text).suffix.lower() not in self.suffixes:
            raise UsageError(f"{name} {text}: the name must end with {' or '.join(self.suffixes)}")
        return text


class Folder(File):
    """A folder that files can be made in; another is an OutputError before any work."""

    metavar = "DIR"

    def read(self, name: str, value: Any) -> str:
        """Check the folder."""
        text = super().read(name, value)
        check_folder(Path(text), name)
        return text


@dataclass(frozen=True)
class Place(Rule):
    """A place in the input, or with `step` a distance, kept as it is written."""

    step: bool = False
    metavar = "POS"

    def words(self) -> str:
        """Say it."""
        return "a frame number, seconds or a time"

    def read(self, name: str, value: Any) -> str | int:
        """Check the position."""
        (parse_step if self.step else parse_position)(value, name)
        return value if isinstance(value, int) else str(value)


class Rate(Rule):
    """A number of frames a second, kept as text."""

    metavar = "RATE"

    def words(self) -> str:
        """Say it."""
        return 'a number of frames a second, such as 12.5 or "30000/1001"'

    def read(self, name: str, value: Any) -> str:
        """Check the rate."""
        if not isinstance(value, (str, int, float, Fraction)):
            self.refuse(name, value)
        return str(parse_rate(value, name))


@dataclass(frozen=True)
class Share(Rule):
    """A share above 0 and up to a half, as a fraction such as 1/1000 or a number such as 0.001."""

    metavar = "RATE"

    def words(self) -> str:
        """Say the rule."""
        return "a share such as 1/1000, above 0 and up to 1/2"

    def read(self, name: str, value: Any) -> float:
        """Check the number."""
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            self.refuse(name, value)
        if not 0.0 < float(value) <= 0.5:
            self.refuse(name, value)
        return float(value)

    def parse(self, name: str, text: str) -> float:
        """Read a fraction or a number."""
        try:
            share = float(Fraction(text))
        except (ValueError, ZeroDivisionError, OverflowError):
            self.refuse(name, text)
        if not 0.0 < share <= 0.5:
            self.refuse(name, text)
        return share


class Rectangle(Rule):
    """A part of the picture: X, Y, width and height."""

    metavar = "X,Y,W,H"

    def words(self) -> str:
        """Say it."""
        return "X,Y,W,H in pixels"

    def read(self, name: str, value: Any) -> tuple[int, int, int, int]:
        """Check the rectangle, text or four numbers."""
        if not isinstance(value, str):
            try:
                value = tuple(operator.index(part) for part in value)
            except TypeError:
                self.refuse(name, value)
        region = parse_region(value, name)
        return region.x, region.y, region.width, region.height

    def to_json(self, value: Any) -> list[int]:
        """Give the four numbers."""
        return list(value)


class Segment(Rule):
    """A line from one point to another, with a name: (name, x1, y1, x2, y2)."""

    metavar = "X1,Y1,X2,Y2"

    def words(self) -> str:
        """Say what it consists of."""
        return "X1,Y1,X2,Y2 in pixels, two different points, or NAME:X1,Y1,X2,Y2"

    def read(self, name: str, value: Any) -> tuple[str, float, float, float, float]:
        """Check name and numbers, or read ``NAME:X1,Y1,X2,Y2``; the numbers name what has none."""
        parts = value
        if isinstance(value, str):
            label, _, coordinates = value.rpartition(":")
            parts = [label or coordinates, *coordinates.split(",")]
        try:
            label, *given = parts
            x1, y1, x2, y2 = (float(number) for number in given)
        except (TypeError, ValueError):
            self.refuse(name, value)
        is_finite = all(math.isfinite(number) for number in (x1, y1, x2, y2))
        if not isinstance(label, str) or not is_finite or (x1, y1) == (x2, y2):
            self.refuse(name, value)
        return label, x1, y1, x2, y2

    def to_json(self, value: Any) -> list[Any]:
        """Give name and numbers as a list."""
        return list(value)


class PictureSize(Rule):
    """Width and height of pictures, kept as it is written."""

    metavar = "WxH"

    def words(self) -> str:
        """Say it."""
        return "WIDTHxHEIGHT, such as 640x480"

    def read(self, name: str, value: Any) -> str:
        """Check the size."""
        if not isinstance(value, str) or not _SIZE.fullmatch(value):
            self.refuse(name, value)
        return value


_SIZE = re.compile(r"[1-9]\d{0,4}x[1-9]\d{0,4}", re.ASCII)


@dataclass(frozen=True)
class Duration(Rule):
    """A time such as ``30s``, ``10m`` or ``90``, stored in seconds.

    Parameters
    ----------
    zero : bool
        Whether it may be none at all.
    """

    zero: bool = False
    metavar = "TIME"

    def words(self) -> str:
        """Say it."""
        least = "of 0 or more" if self.zero else "above 0"
        return f"a time {least}, such as 30s or 10m"

    def read(self, name: str, value: Any) -> float:
        """Check a number of seconds, or read a time."""
        if isinstance(value, str):
            match = _TIME.fullmatch(value.strip())
            if match is None:
                self.refuse(name, value)
            seconds = float(match[1]) * SECONDS[match[2] or "s"]
        elif isinstance(value, bool) or not isinstance(value, numbers.Real):
            self.refuse(name, value)
        else:
            seconds = float(value)
        if not 0.0 <= seconds < math.inf or (seconds == 0.0 and not self.zero):
            self.refuse(name, value)
        return seconds

    def to_text(self, value: float) -> str:
        """Write seconds in the largest unit of which they are a whole number."""
        unit = next((u for u in "dhm" if value and value % SECONDS[u] == 0), "s")
        return f"{value / SECONDS[unit]:g}{unit}"


_TIME = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([smhd])?", re.ASCII)

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
"""Seconds of the units that times are given in."""


class Memory(Rule):
    """An amount of memory or a share of what is available, kept as it is written."""

    metavar = "AMOUNT"

    def words(self) -> str:
        """Say it."""
        return "an amount such as 600M or 4G, or a share such as 50%"

    def read(self, name: str, value: Any) -> str:
        """Check the amount."""
        try:
            split_memory(value)
        except (TypeError, ValueError):
            self.refuse(name, value)
        return str(value)
