"""Turn the rules of options into types of click; each mistake is one line that names the option."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bgsub.input_rules import File, FileOfKind, Folder
from bgsub.rules import Choice, Integer, Number, Rule

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:  # it has a type parameter only since click 8.4
    ParamType = click.ParamType


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
        ctx: click.Context | None,
    ) -> Any:
        """Read text of the command line, or a value that an earlier run has written."""
        name = max(param.opts, key=len) if param is not None else "value"
        return (self.rule.parse if isinstance(value, str) else self.rule.read)(name, value)


class _ReadByRule:
    """Let a rule read what one of click's own types would: the help and the shell have the type."""

    _by_rule: ByRule

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the value; what the rule refuses is a UsageError."""
        return self._by_rule.convert(value, param, ctx)


class _IntegerRange(_ReadByRule, click.IntRange):
    def __init__(self, rule: Integer) -> None:
        super().__init__(rule.least, rule.most)
        self._by_rule = ByRule(rule)


class _NumberRange(_ReadByRule, click.FloatRange):
    def __init__(self, rule: Number) -> None:
        super().__init__(rule.least, rule.most, min_open=rule.open_least, max_open=rule.open_most)
        self._by_rule = ByRule(rule)


class _Choice(_ReadByRule, click.Choice[str]):
    def __init__(self, rule: Choice) -> None:
        super().__init__(rule.names)
        self._by_rule = ByRule(rule)


#: Whether a file can be read or written is for the library to find out, with its exit codes.
PATH = click.Path(readable=False)


def click_type(rule: Rule) -> ParamType:
    """Give the type of a rule, one of click's own where that shows the values in the help."""
    if isinstance(rule, Integer):
        return _IntegerRange(rule)
    if isinstance(rule, Number) and (rule.least, rule.most) != (None, None):
        return _NumberRange(rule)
    if isinstance(rule, Choice):
        return _Choice(rule)
    return PATH if type(rule) in {File, Folder} else ByRule(rule)


PLOT = ByRule(FileOfKind((".png", ".svg")))
