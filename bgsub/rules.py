"""Check values: each rule says what a value must be, and reads Python, JSON and command lines."""

from __future__ import annotations

import math
import numbers
import operator
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from bgsub.errors import UsageError
from bgsub.runtime.limits import check_folder, split_memory
from bgsub.video.selection import parse_position, parse_rate, parse_region, parse_step

_WRONG = (ArithmeticError, TypeError, ValueError)


class Rule:
    """What a value must be, as a text what stands in messages behind "must be".

    Others override `_read`, which raises TypeError, ValueError or ArithmeticError for what is
    wrong, and `_parse` where values of the command line are no plain text.
    """

    meaning = ""  # the text, where it is always the same
    metavar = ""  # what stands for such a value in the help, unless an option says better

    def __str__(self) -> str:
        return self.meaning

    def read(self, name: str, value: Any) -> Any:
        """Check a value from Python or JSON; UsageError names option, value and rule in a line."""
        try:
            return self._read(name, value)
        except _WRONG:
            self.refuse(name, value)

    def parse(self, name: str, text: str) -> Any:
        """Check a value from the command line, as `read` does."""
        try:
            return self._parse(name, text)
        except _WRONG:
            self.refuse(name, text)

    def _read(self, _name: str, value: Any) -> Any:
        return value

    def _parse(self, name: str, text: str) -> Any:
        return self._read(name, text)

    def to_json(self, value: Any) -> Any:
        """Return a stored value as a plain JSON value that `read` accepts."""
        if isinstance(value, frozenset):
            return sorted(value)
        return [self.to_json(each) for each in value] if isinstance(value, tuple) else value

    def to_text(self, value: Any) -> Any:
        """Return a stored value as it is given on the command line, for the help."""
        return value

    def refuse(self, name: str, value: object) -> NoReturn:
        """Raise the UsageError that says the rule."""
        raise UsageError(f"{name} {value}: must be {self}")


@dataclass(frozen=True)
class Integer(Rule):
    """A whole number between bounds, both included; ``True`` and ``2.0`` are none."""

    least: int
    most: int | None = None
    metavar = "N"

    def __str__(self) -> str:
        upwards = " or more" if self.most is None else f" to {self.most}"
        return f"a whole number of {self.least}{upwards}"

    def _read(self, _name: str, value: Any) -> int:
        number = operator.index(value)
        if isinstance(value, bool) or not self.least <= number <= (self.most or number):
            raise ValueError(value)
        return number

    def _parse(self, name: str, text: str) -> int:
        return self._read(name, int(text))


@dataclass(frozen=True)
class Number(Rule):
    """A finite number within bounds, which are included unless they are open."""

    meaning: str
    least: float | None = None
    most: float | None = None
    open_least: bool = False
    open_most: bool = False
    metavar = "X"

    def _read(self, _name: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise TypeError(value)
        number = float(value)
        low = -math.inf if self.least is None else self.least
        high = math.inf if self.most is None else self.most
        is_outside = not low <= number <= high or not math.isfinite(number)
        if is_outside or (self.open_least and number == low) or (self.open_most and number == high):
            raise ValueError(value)
        return number

    def _parse(self, name: str, text: str) -> float:
        return self._read(name, float(text))


class _Share(Number):
    metavar = "RATE"

    def _parse(self, name: str, text: str) -> float:
        return self._read(name, float(Fraction(text)))


POSITIVE = Number("a number above 0", least=0, open_least=True)
FALSE_ALARMS = _Share("a share such as 1/1000, above 0 and up to 1/2", 0, 0.5, open_least=True)


@dataclass(frozen=True)
class Choice(Rule):
    """One of some names."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"one of {', '.join(self.names)}"

    def _read(self, _name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in self.names:
            raise ValueError(value)
        return value


class Switch(Rule):
    """On or off."""

    meaning = "true or false"

    def _read(self, _name: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise TypeError(value)
        return value


@dataclass(frozen=True)
class Or(Rule):
    """What another rule asks for, or a word; `words` says as what each is stored."""

    rule: Rule
    words: Mapping[str, str | None]

    def __str__(self) -> str:
        return ", or ".join([str(self.rule), *self.words])

    def _read(self, name: str, value: Any) -> Any:
        if isinstance(value, str) and value in self.words:
            return self.words[value]
        try:
            return self.rule.read(name, value)
        except UsageError:
            return self.refuse(name, value)

    def _parse(self, name: str, text: str) -> Any:
        word = text.strip().lower()
        if word in self.words:
            return self.words[word]
        try:
            return self.rule.parse(name, text)
        except UsageError:
            return self.refuse(name, text)


@dataclass(frozen=True)
class Several(Rule):
    """Values that each obey a rule; each is stored once."""

    rule: Rule
    kind: type[tuple[Any, ...]] | type[frozenset[Any]] = tuple
    least: int = 0  # how many there must be
    separator: str = ","  # on the command line
    metavar = "LIST"

    def __str__(self) -> str:
        parted = "commas" if self.separator == "," else f"{self.separator!r}"
        return f"{self.rule}, separated by {parted}"

    def _read(self, name: str, value: Any) -> Any:
        if isinstance(value, str) or not isinstance(value, Iterable):
            self.refuse(name, value)
        found = dict.fromkeys(self.rule.read(name, each) for each in value)
        if len(found) < self.least:
            raise UsageError(f"{name} is empty: must be {self}")
        return self.kind(found)

    def _parse(self, name: str, text: str) -> Any:
        if not text.strip():
            raise UsageError(f"{name} is empty: must be {self}")
        parts = text.split(self.separator)
        return self._read(name, [self.rule.parse(name, part.strip()) for part in parts])


@dataclass(frozen=True)
class Text(Rule):
    """A text, of a pattern if there is one."""

    pattern: str = r"[\s\S]*"
    meaning: str = "a text"
    metavar = "TEXT"

    def _read(self, _name: str, value: Any) -> str:
        if not isinstance(value, str) or re.fullmatch(self.pattern, value, re.ASCII) is None:
            raise ValueError(value)
        return value


# Width and height of pictures, kept as it is written.
PICTURE_SIZE = Text(r"[1-9]\d{0,4}x[1-9]\d{0,4}", "WIDTHxHEIGHT, such as 640x480")


class File(Rule):
    """A path, stored as text; whether it can be read is found out when it is."""

    meaning = "a path"
    metavar = "FILE"

    def _read(self, _name: str, value: Any) -> str:
        text = os.fsdecode(value)
        if isinstance(value, bytes) or not text or "\0" in text:
            raise ValueError(value)
        return text


@dataclass(frozen=True)
class FileOfKind(File):
    """A path whose name says the kind of file, such as ``.png`` or ``.svg``."""

    suffixes: tuple[str, ...]

    def __str__(self) -> str:
        return f"a name that ends with {' or '.join(self.suffixes)}"

    def _read(self, name: str, value: Any) -> str:
        text = super()._read(name, value)
        if Path(text).suffix.lower() not in self.suffixes:
            raise UsageError(f"{name} {text}: the name must end with {' or '.join(self.suffixes)}")
        return text


class Folder(File):
    """A folder that files can be made in; another is an OutputError before any work."""

    metavar = "DIR"

    def _read(self, name: str, value: Any) -> str:
        text = super()._read(name, value)
        check_folder(Path(text), name)
        return text


@dataclass(frozen=True)
class Position(Rule):
    """A place in the input, or with `step` a distance, kept as it is written."""

    step: bool = False
    meaning = "a frame number, seconds or a time"
    metavar = "POS"

    def _read(self, name: str, value: Any) -> str | int:
        (parse_step if self.step else parse_position)(value, name)
        return value if isinstance(value, int) else str(value)


class Rate(Rule):
    """A number of frames a second, kept as text."""

    meaning = 'a number of frames a second, such as 12.5 or "30000/1001"'
    metavar = "RATE"

    def _read(self, name: str, value: Any) -> str:
        if not isinstance(value, (str, int, float, Fraction)):
            raise TypeError(value)
        try:
            return str(parse_rate(value))
        except UsageError:
            self.refuse(name, value)


class Rectangle(Rule):
    """A part of the picture, text or four numbers: X, Y, width and height."""

    meaning = "X,Y,W,H in pixels"
    metavar = "X,Y,W,H"

    def _read(self, name: str, value: Any) -> tuple[int, int, int, int]:
        whole: Any = value if isinstance(value, str) else tuple(map(operator.index, value))
        region = parse_region(whole, name)
        return region.x, region.y, region.width, region.height


class Line(Rule):
    """A line from one point to another, with a name: (name, x1, y1, x2, y2)."""

    meaning = "X1,Y1,X2,Y2 in pixels, two different points, or NAME:X1,Y1,X2,Y2"
    metavar = "X1,Y1,X2,Y2"

    def _read(self, _name: str, value: Any) -> tuple[str, float, float, float, float]:
        if isinstance(value, str):  # the numbers name what has no name
            name, _, coordinates = value.rpartition(":")
            value = [name or coordinates, *coordinates.split(",")]
        name, *given = value
        x1, y1, x2, y2 = map(float, given)
        is_finite = all(map(math.isfinite, (x1, y1, x2, y2)))
        if not isinstance(name, str) or not is_finite or (x1, y1) == (x2, y2):
            raise ValueError(value)
        return name, x1, y1, x2, y2


SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}  # seconds of the units that times are given in
_TIME = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([smhd])?", re.ASCII)


@dataclass(frozen=True)
class Duration(Rule):
    """A time such as ``30s``, ``10m`` or ``90``, stored in seconds; 0 only where `zero` says so."""

    zero: bool = False
    metavar = "TIME"

    def __str__(self) -> str:
        return f"a time {'of 0 or more' if self.zero else 'above 0'}, such as 30s or 10m"

    def _read(self, _name: str, value: Any) -> float:
        if isinstance(value, str):
            match = _TIME.fullmatch(value.strip())
            value = float(match[1]) * SECONDS[match[2] or "s"] if match else math.nan
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise TypeError(value)
        seconds = float(value)
        if not 0.0 <= seconds < math.inf or (seconds == 0.0 and not self.zero):
            raise ValueError(value)
        return seconds

    def to_text(self, value: float) -> str:
        """Return seconds in the largest unit of which they are a whole number."""
        unit = next((u for u in "dhm" if value and value % SECONDS[u] == 0), "s")
        return f"{value / SECONDS[unit]:g}{unit}"


class Memory(Rule):
    """An amount of memory or a share of what is available, kept as it is written."""

    meaning = "an amount such as 600M or 4G, or a share such as 50%"
    metavar = "AMOUNT"

    def _read(self, _name: str, value: Any) -> str:
        split_memory(value)
        return str(value)


@dataclass(frozen=True)
class Nullable(Rule):
    """What another rule asks for, or null."""

    rule: Rule

    def __str__(self) -> str:
        return f"{self.rule}, or null"

    def _read(self, name: str, value: Any) -> Any:
        return None if value is None else self.rule.read(name, value)


@dataclass(frozen=True)
class Facts(Rule):
    """An object in a file whose values obey rules; further names are allowed."""

    rules: Mapping[str, Rule]
    optional: frozenset[str] = frozenset()  # names that may be missing

    def __str__(self) -> str:
        return f"an object with {', '.join(self.rules)}"

    def _read(self, name: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            self.refuse(name, type(value).__name__)
        for each, rule in self.rules.items():
            inner = f"{name}.{each}" if name else each
            if each in value:
                rule.read(inner, value[each])
            elif each not in self.optional:
                raise UsageError(f"{inner} is missing: must be {rule}")
        return value


@dataclass(frozen=True)
class ListOf(Rule):
    """A list whose items obey a rule, of a length if there is one."""

    rule: Rule
    length: int | None = None

    def __str__(self) -> str:
        number = "" if self.length is None else f" of {self.length}"
        return f"a list{number}, of which each is {self.rule}"

    def _read(self, name: str, value: Any) -> list[Any]:
        if not isinstance(value, list) or self.length not in {None, len(value)}:
            self.refuse(name, type(value).__name__)
        return [self.rule.read(f"{name}[{index}]", item) for index, item in enumerate(value)]
