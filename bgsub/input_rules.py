"""Check paths, places in the input, rates, parts of the picture and amounts of memory."""

from __future__ import annotations

import math
import operator
import os
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from bgsub.errors import UsageError
from bgsub.rules import Rule
from bgsub.runtime.limits import check_folder, split_memory
from bgsub.video.selection import parse_region
from bgsub.video.timecode import parse_position, parse_rate, parse_step


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


class Drawing(File):
    """A path whose name says the format of a drawing, ``.png`` or ``.svg``."""

    def read(self, name: str, value: Any) -> str:
        """Check the path."""
        text = super().read(name, value)
        if Path(text).suffix.lower() not in {".png", ".svg"}:
            raise UsageError(f"{name} {text}: the name must end with .png or .svg")
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
