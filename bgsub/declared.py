"""Declare an option as a dataclass field; make checks, docstrings and JSON from the declaration."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar, Self, TypeVar

from bgsub.errors import InputError, UsageError
from bgsub.rules import Rule

T = TypeVar("T", bound="type[Declared]")


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What is declared of an option besides its name, type and default.

    Attributes
    ----------
    section : str
        Heading in the help.
    rule : Rule
        What its values must be. Where the default is None, None is allowed too.
    help : str
        A sentence or two, for the command line and the docstring.
    metavar : str
        What stands for the value in the help.
    unset : str
        What the default means, in words, where its value does not say it.
    flag : str
        Name on the command line; made from the field's name if empty.
    short : str
        One-letter name on the command line, such as ``-j``.
    repeated : bool
        Whether ``--from-json`` takes it over from an earlier run.
    """

    section: str
    rule: Rule
    help: str
    metavar: str = ""
    unset: str = ""
    flag: str = ""
    short: str = ""
    repeated: bool = True


def option(section: str, default: Any, rule: Rule, text: str, **more: Any) -> Any:
    """Declare an option; `more` are attributes of `Declaration` that have a default."""
    declared = Declaration(section=section, rule=rule, help=text, **more)
    return field(default=default, metadata={"option": declared})


def declaration(one: Field[Any]) -> Declaration:
    """Give what is declared of a field that `option` made."""
    found: Declaration = one.metadata["option"]
    return found


def declared_fields(kind: type[Declared]) -> list[Field[Any]]:
    """List the fields of a class that `option` made, in their order."""
    return [one for one in fields(kind) if "option" in one.metadata]


def flag(one: Field[Any]) -> str:
    """Give the name of an option on the command line, such as ``--on-bad-frame``.

    The unit that a name ends with, as `stall_s` does, is left out: a value may bring its own.
    """
    return declaration(one).flag or f"--{one.name.removesuffix('_s').replace('_', '-')}"


def default_in_words(one: Field[Any]) -> str:
    """Say what the default of an option means where its value alone does not."""
    if isinstance(one.default, tuple) and one.default:
        return declaration(one).unset or ",".join(str(each) for each in one.default)
    return declaration(one).unset


def documented(kind: T) -> T:
    """Add the options of a class to its docstring, as numpydoc attributes."""
    lines = ["", "", "Attributes", "----------"]
    for one in declared_fields(kind):
        declared = declaration(one)
        words = default_in_words(one)
        default = f" Default: {words}." if words else ""
        text = textwrap.wrap(declared.help + default, 88)
        lines += [f"{one.name} : {one.type}", *(f"    {line}" for line in text)]
    kind.__doc__ = "\n".join([inspect.cleandoc(kind.__doc__ or ""), *lines[1:]])
    return kind


class Declared:
    """Base of options that check their values when they are made, and go to JSON and back.

    Raises
    ------
    UsageError
        For a value of a wrong type or out of range: one line that names the option and the rule.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]  # which all that derive from it have

    def __post_init__(self) -> None:
        """Check every value, and store it in its own type (a list becomes a tuple, say)."""
        for one in declared_fields(type(self)):
            value = getattr(self, one.name)
            if value is not None or one.default is not None:
                checked = declaration(one).rule.read(flag(one), value)
                object.__setattr__(self, one.name, checked)

    def as_given(self, name: str) -> str:
        """Give an option as it is written on the command line: ``--no-clean``, say."""
        (found,) = (flag(one) for one in declared_fields(type(self)) if one.name == name)
        off = isinstance(getattr(self, name), bool) and not getattr(self, name)
        return f"--no-{found.removeprefix('--')}" if off else found

    def changed(self) -> set[str]:
        """Return the names of the options that have another value than their default."""
        declared = declared_fields(type(self))
        return {one.name for one in declared if getattr(self, one.name) != one.default}

    def to_json(self) -> dict[str, Any]:
        """Give all options as plain JSON values."""
        plain = {}
        for one in declared_fields(type(self)):
            value = getattr(self, one.name)
            plain[one.name] = None if value is None else declaration(one).rule.to_json(value)
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """Make options from what `to_json` gave; what is missing has its default.

        Raises
        ------
        UsageError
            For a name that is no option, or a value of a wrong type or out of range.
        InputError
            If it is no mapping.
        """
        if not isinstance(plain, Mapping):
            raise InputError(
                f"is damaged: its options are {plain!r}, where an object with names is needed"
            )
        known = {one.name for one in fields(cls)}
        for name in plain:
            if name not in known:
                raise UsageError(f"option {name!r} is not known to this version of bgsub")
        return cls(**plain)
