"""Check facts that a file records, by rules: texts, nulls, lists, and objects with names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bgsub.errors import UsageError
from bgsub.rules import Rule


@dataclass(frozen=True)
class Text(Rule):
    """A text, of a pattern if there is one."""

    pattern: str = r"[\s\S]*"
    meaning: str = "a text"

    def words(self) -> str:
        """Say it."""
        return self.meaning

    def read(self, name: str, value: Any) -> str:
        """Check the text."""
        if not isinstance(value, str) or re.fullmatch(self.pattern, value) is None:
            self.refuse(name, repr(value))
        return value


@dataclass(frozen=True)
class Nullable(Rule):
    """What another rule asks for, or null."""

    rule: Rule

    def words(self) -> str:
        """Say it."""
        return f"{self.rule.words()}, or null"

    def read(self, name: str, value: Any) -> Any:
        """Check the value."""
        return None if value is None else self.rule.read(name, value)


@dataclass(frozen=True)
class Facts(Rule):
    """An object whose values obey rules; further names are allowed.

    Attributes
    ----------
    rules : mapping of str to Rule
    optional : set of str
        Names that may be missing.
    """

    rules: Mapping[str, Rule]
    optional: frozenset[str] = frozenset()

    def words(self) -> str:
        """Say it."""
        return f"an object with {', '.join(self.rules)}"

    def read(self, name: str, value: Any) -> dict[str, Any]:
        """Check every value."""
        if not isinstance(value, dict):
            self.refuse(name, type(value).__name__)
        for each, rule in self.rules.items():
            inner = f"{name}.{each}" if name else each
            if each in value:
                rule.read(inner, value[each])
            elif each not in self.optional:
                raise UsageError(f"{inner} is missing: must be {rule.words()}")
        return value


@dataclass(frozen=True)
class ListOf(Rule):
    """A list whose items obey a rule, of a length if there is one."""

    rule: Rule
    length: int | None = None

    def words(self) -> str:
        """Say it."""
        number = "" if self.length is None else f" of {self.length}"
        return f"a list{number}, of which each is {self.rule.words()}"

    def read(self, name: str, value: Any) -> list[Any]:
        """Check every item."""
        if not isinstance(value, list) or self.length not in {None, len(value)}:
            self.refuse(name, type(value).__name__)
        return [self.rule.read(f"{name}[{index}]", item) for index, item in enumerate(value)]
