"""Lay out help texts: options in sections, examples line by line, the table of exit codes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from bgsub import errors

F = TypeVar("F", bound=Callable[..., Any])

_COMPLETION = """\
Shell completion of commands, options and files: add the line to the start-up file of your shell
  bash   eval "$(_BGSUB_COMPLETE=bash_source bgsub)"
  zsh    eval "$(_BGSUB_COMPLETE=zsh_source bgsub)"
  fish   _BGSUB_COMPLETE=fish_source bgsub | source"""


def exit_code_table() -> list[tuple[int, str]]:
    """List every exit code with its meaning, from the classes in `bgsub.errors`.

    Examples
    --------
    >>> exit_code_table()[0]
    (0, 'done')
    """
    kinds = {
        kind.exit_code: kind.meaning
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.BgsubError)
    }
    return [(0, "done"), *sorted(kinds.items())]


def examples(*lines: str) -> str:
    """Return an epilog of example commands, each on a line of its own."""
    return verbatim("Examples:\n" + "\n".join(f"  {line}" for line in lines))


def verbatim(text: str) -> str:
    """Mark each paragraph of a help text as one that click must not wrap."""
    return "\n\n".join(f"\b\n{paragraph}" for paragraph in text.split("\n\n"))


def program_epilog() -> str:
    """Return what stands at the end of ``bgsub --help``: examples, exit codes, shell completion."""
    codes = "\n".join(f"  {code:3d}  {meaning}" for code, meaning in exit_code_table())
    first_steps = (
        "Examples:\n"
        "  bgsub run water.avi --k 10 --out results/    background, foreground, mask, errors\n"
        "  bgsub events results/                        when was something in sight, and where?\n"
        "  bgsub errors results/                        which whole frames differ from the usual?\n"
        "  bgsub info water.avi                         what a run would need"
    )
    return verbatim(f"{first_steps}\n\nExit codes:\n{codes}\n\n{_COMPLETION}")


class Option(click.Option):
    """An option that says under which heading of the help it stands."""

    def __init__(self, *args: Any, section: str = "Options", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


class Command(click.Command):
    """A command whose help lists its options under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, section by section in the order of their first option."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and not isinstance(param, click.Argument):
                sections.setdefault(getattr(param, "section", "Messages"), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def option(section: str, *names: str, **settings: Any) -> Callable[[F], F]:
    """Return a decorator that adds an option under a heading of the help."""
    return click.option(*names, cls=Option, section=section, **settings)


def together(*decorators: Callable[[Any], Any]) -> Callable[[F], F]:
    """Join decorators into one that adds their options in the order they are listed."""

    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate
