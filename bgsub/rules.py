"""Check values that people give: each rule knows its words, reads text and plain JSON values.

Those of paths, places in the input, times, rates and amounts are in `bgsub.input_rules`.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

from bgsub.errors import UsageError


class Rule:
    """What a value must be.

    Attributes
    ----------
    metavar : str
        What stands for such a value in the help, unless an option says better.
    """

    metavar = ""

    def words(self) -> str:
        """Say it, as it stands in a message after "must be"."""
        raise NotImplementedError

    def read(self, name: str, value: Any) -> Any:
        """Check a value from Python or JSON, and give it in the type that is stored.

        Raises
        ------
        UsageError
            One line that names the option, the value and the rule.
        """
        raise NotImplementedError

    def parse(self, name: str, text: str) -> Any:
        """Check a value from the command line; raises UsageError as `read` does."""
        return self.read(name, text)

    def to_json(self, value: Any) -> Any:
        """Give a stored value as a plain JSON value that `read` accepts."""
        return value

    def to_text(self, value: Any) -> Any:
        """Write a stored value as it is given on the command line, for the help."""
        return value

    def refuse(self, name: str, value: object) -> NoReturn:
        """Raise the UsageError that says the rule."""
        raise UsageError(f"{name} {value}: must be {self.words()}")


@dataclass(frozen=True)
class Integer(Rule):
    """A whole number between bounds, both included; ``True`` and ``2.0`` are none."""

    least: int
    most: int | None = None
    metavar = "N"

    def words(self) -> str:
        """Say the bounds."""
        upper = " or more" if self.most is None else f" to {self.most}"
        return f"a whole number of {self.least}{upper}"

    def read(self, name: str, value: Any) -> int:
        """Check the number."""
        try:
            number = self.least - 1 if isinstance(value, bool) else operator.index(value)
        except TypeError:
            self.refuse(name, value)
        if number < self.least or (self.most is not None and number > self.most):
            self.refuse(name, value)
        return number

    def parse(self, name: str, text: str) -> int:
        """Read the number."""
        try:
            number = int(text)
        except ValueError:
            self.refuse(name, text)
        return self.read(name, number)


@dataclass(frozen=True)
class Number(Rule):
    """A finite number within bounds, which are included unless they are open."""

    rule: str
    least: float | None = None
    most: float | None = None
    open_least: bool = False
    open_most: bool = False
    metavar = "X"

    def words(self) -> str:
        """Say the rule."""
        return self.rule

    def read(self, name: str, value: Any) -> float:
        """Check the number."""
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            self.refuse(name, value)
        try:
            number = float(value)
        except OverflowError:
            self.refuse(name, value)
        low, high = self.least, self.most
        too_low = low is not None and (number <= low if self.open_least else number < low)
        too_high = high is not None and (number >= high if self.open_most else number > high)
        if not math.isfinite(number) or too_low or too_high:
            self.refuse(name, value)
        return number

    def parse(self, name: str, text: str) -> float:
        """Read the number."""
        try:
            return self.read(name, float(text))
        except (UsageError, ValueError):
            self.refuse(name, text)


POSITIVE = Number("a number above 0", least=0, open_least=True)


@dataclass(frozen=True)
class Choice(Rule):
    """One of some names."""

    names: tuple[str, ...]

    def words(self) -> str:
        """Say the names."""
        return f"one of {', '.join(self.names)}"

    def read(self, name: str, value: Any) -> str:
        """Check the name."""
        if not isinstance(value, str) or value not in self.names:
            self.refuse(name, value)
        return value


class Switch(Rule):
    """On or off."""

    def words(self) -> str:
        """Say it."""
        return "true or false"

    def read(self, name: str, value: Any) -> bool:
        """Check the value."""
        if value is not True and value is not False:
            self.refuse(name, value)
        return bool(value)


@dataclass(frozen=True)
class OrAuto(Rule):
    """What another rule asks for, or the word ``auto``.

    Parameters
    ----------
    rule : Rule
    auto : str, optional
        What is stored for the word.
    """

    rule: Rule
    auto: str | None = "auto"

    def words(self) -> str:
        """Say the other rule, and auto."""
        return f"{self.rule.words()}, or auto"

    def read(self, name: str, value: Any) -> Any:
        """Check the value."""
        if isinstance(value, str) and value == "auto":
            return self.auto
        try:
            return self.rule.read(name, value)
        except UsageError:
            self.refuse(name, value)

    def parse(self, name: str, text: str) -> Any:
        """Read the value."""
        if text.strip().lower() == "auto":
            return self.auto
        try:
            return self.rule.parse(name, text)
        except UsageError:
            self.refuse(name, text)


@dataclass(frozen=True)
class Or(Rule):
    """What either of two rules asks for; the first one that accepts a value reads it."""

    one: Rule
    other: Rule

    def words(self) -> str:
        """Say both."""
        return f"{self.one.words()}, or {self.other.words()}"

    def read(self, name: str, value: Any) -> Any:
        """Check the value."""
        return self._first(name, value, lambda rule: rule.read(name, value))

    def parse(self, name: str, text: str) -> Any:
        """Read the value."""
        return self._first(name, text, lambda rule: rule.parse(name, text))

    def _first(self, name: str, value: object, take: Callable[[Rule], Any]) -> Any:
        try:
            return take(self.one)
        except UsageError:
            pass
        try:
            return take(self.other)
        except UsageError:
            self.refuse(name, value)


@dataclass(frozen=True)
class Several(Rule):
    """Values that each obey a rule; each is stored once.

    Parameters
    ----------
    rule : Rule
    kind : {tuple, frozenset}
        What they are stored in.
    least : int
        How many there must be.
    separator : str
        What parts them on the command line.
    """

    rule: Rule
    kind: type[tuple[Any, ...]] | type[frozenset[Any]] = tuple
    least: int = 0
    separator: str = ","
    metavar = "LIST"

    def words(self) -> str:
        """Say the rule of each."""
        parted = "commas" if self.separator == "," else f"{self.separator!r}"
        return f"{self.rule.words()}, separated by {parted}"

    def read(self, name: str, value: Any) -> Any:
        """Check the values, any iterable of them."""
        if isinstance(value, str) or not isinstance(value, Iterable):
            self.refuse(name, value)
        found = dict.fromkeys(self.rule.read(name, each) for each in value)
        if len(found) < self.least:
            raise UsageError(f"{name} is empty: must be {self.words()}")
        return self.kind(found)

    def parse(self, name: str, text: str) -> Any:
        """Read the values, with separators between them."""
        if not text.strip():
            raise UsageError(f"{name} is empty: must be {self.words()}")
        parts = [part.strip() for part in text.split(self.separator)]
        return self.read(name, [self.rule.parse(name, part) for part in parts])

    def to_json(self, value: Any) -> list[Any]:
        """Give the values as a list, sorted where they have no order."""
        plain = [self.rule.to_json(each) for each in value]
        return sorted(plain) if self.kind is frozenset else plain


def check_areas(least: int | None, most: int | None, scale: float = 1.0) -> None:
    """Raise UsageError for a smallest area of objects that is above the largest.

    The largest is in pixels of the input, the smallest in pixels of that size times `scale`.
    """
    if least is not None and most is not None and least > most * scale**2:
        there = "" if scale == 1 else f" ({round(least / scale**2)} pixels of the input)"
        message = f"--min-area {least}{there} is more than --max-area {most}"
        message = f"{message}, so that no object is left"
        raise UsageError(f"{message}; lower the one or raise the other")
