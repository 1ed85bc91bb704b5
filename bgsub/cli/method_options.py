"""Lists of names and numbers, as the commands about several methods take them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from bgsub.cli.values import ParamType
from bgsub.errors import UsageError


class NamesOf(ParamType):
    """Some of the names that are known, with commas between them.

    Parameters
    ----------
    known : iterable of str
    kind : str
        What they are, for messages.
    """

    name = "list"

    def __init__(self, known: Iterable[str], kind: str) -> None:
        self.known = tuple(known)
        self.kind = kind

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,  # noqa: ARG002 - click's signature
    ) -> tuple[str, ...]:
        """Read the names, each once; raises UsageError."""
        if isinstance(value, tuple):
            return value
        names = [part.strip().lower() for part in value.split(",") if part.strip()]
        for name in names:
            if name not in self.known:
                message = (
                    f"{_option(param)}: {name!r} is no {self.kind}; "
                    f"choose from {','.join(self.known)}"
                )
                raise UsageError(message)
        if not names:
            raise UsageError(f"{_option(param)}: name at least one {self.kind}")
        return tuple(dict.fromkeys(names))


class NumberList(ParamType):
    """Numbers that obey a rule, with commas between them.

    Parameters
    ----------
    kind : {int, float}
    rule : str
        What each must be, in words.
    least, below : float
        Each is at least the one and less than the other.
    """

    name = "list"

    def __init__(
        self, kind: type[int] | type[float], rule: str, least: float, below: float
    ) -> None:
        self.kind = kind
        self.rule = rule
        self.least = least
        self.below = below

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,  # noqa: ARG002
    ) -> tuple[float, ...]:
        """Read the numbers, each once; raises UsageError."""
        if isinstance(value, tuple):
            return value
        parts = [part.strip() for part in value.split(",") if part.strip()]
        try:
            numbers = [self.kind(part) for part in parts]
        except (ValueError, OverflowError):
            numbers = []
        if not numbers or not all(self.least <= number < self.below for number in numbers):
            message = f"{_option(param)} {value}: must be {self.rule}, with commas between them"
            raise UsageError(message)
        return tuple(dict.fromkeys(numbers))


def _option(param: click.Parameter | None) -> str:
    return max(param.opts, key=len) if param is not None else "value"


NUMBERS = NumberList(int, "whole numbers of 1 or more", 1, float("inf"))
SHARES = NumberList(float, "shares of 0 or more, below 0.5", 0.0, 0.5)
