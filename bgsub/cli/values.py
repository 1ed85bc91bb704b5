"""Turn the rules of options into types of click; each mistake is one line that names the option."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from bgsub.input_rules import File, FileOfKind, Folder
from bgsub.rules import Choice, Integer, Number, Rule

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:  # it has a type parameter only since click 8.4
    ParamType = click.ParamType


class IntegerRange(click.IntRange):
    """An integer in a range; click would call what is none "not a valid integer range"."""

    name = "integer"


class _FiniteRange(click.FloatRange):
    """A number in a range; click's own type takes "nan" and "inf" for one."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the number, or fail as click does."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class ByRule(ParamType):
    """A value that a rule reads; what it refuses is a UsageError.

    Parameters
    ----------
    rule : Rule
    """

    name = "value"

    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,  # noqa: ARG002 - click's signature
    ) -> Any:
        """Read text of the command line, or a value that an earlier run has written."""
        name = max(param.opts, key=len) if param is not None else "value"
        return (self.rule.parse if isinstance(value, str) else self.rule.read)(name, value)


#: Whether a file can be read or written is for the library to find out, with its exit codes.
PATH = click.Path(readable=False)


def click_type(rule: Rule) -> ParamType:
    """Give click's own type where it says the same as the rule, and one that asks it elsewhere."""
    if isinstance(rule, Integer):
        return IntegerRange(rule.least, rule.most)
    if isinstance(rule, Number) and (rule.least, rule.most) != (None, None):
        return _FiniteRange(
            rule.least, rule.most, min_open=rule.open_least, max_open=rule.open_most
        )
    if isinstance(rule, Choice):
        return click.Choice(rule.names)
    return PATH if type(rule) in {File, Folder} else ByRule(rule)


PLOT = ByRule(FileOfKind((".png", ".svg")))
