"""Print docs/options.md: every option of every command, from the commands and the declarations.

python -m benchmarks.option_tables > docs/options.md
"""

from __future__ import annotations

from collections.abc import Iterator

import click

from bgsub.cli import cli
from bgsub.cli.background import PlateOptions
from bgsub.cli.options import Option
from bgsub.evaluation import EvaluationOptions
from bgsub.export import ClipOptions
from bgsub.live.options import StreamOptions, WatchOptions
from bgsub.options import (
    Declaration,
    Declared,
    RunOptions,
    SourceOptions,
    declared_options,
)
from bgsub.outliers.events import EventOptions
from bgsub.paper.options import (
    CompareOptions,
    DigitOptions,
    MovedObjectOptions,
    SyntheticOptions,
    TimesOptions,
)
from bgsub.rules import Switch
from bgsub.tracking.place_options import ListingOptions, PlaceOptions

INTRODUCTION = """\
# Options

Made by `python -m benchmarks.option_tables > docs/options.md` from the commands themselves. The
options of `bgsub run` that have a name in Python are fields of `bgsub.RunOptions`, those of the
section Input of `bgsub.SourceOptions`. Other commands take some of these as well, as their `--help`
shows; what is listed below under their names is what they take besides.
"""

OTHERS: dict[str, tuple[type[Declared], ...]] = {
    "bgsub errors": (EventOptions,),
    "bgsub events": (ListingOptions, PlaceOptions),
    "bgsub clips": (ClipOptions,),
    "bgsub background": (PlateOptions,),
    "bgsub watch": (StreamOptions, WatchOptions, PlaceOptions),
    "bgsub evaluate": (EvaluationOptions,),
    "bgsub compare": (CompareOptions,),
    "bgsub experiment synthetic": (SyntheticOptions,),
    "bgsub experiment digits": (DigitOptions,),
    "bgsub experiment background": (TimesOptions,),
    "bgsub experiment moved-object": (MovedObjectOptions,),
}
"""Where the options of other commands are declared, by the commands' names."""

MESSAGES = "Messages"
"""Section of the options that all commands have."""

HEAD = "| option | in Python | what it does | value | default |\n|---|---|---|---|---|\n"


def row(one: Declaration) -> str:
    """Return the row of an option."""
    name = one.flag
    names = ", ".join(f"`{each}`" for each in (one.short, name) if each)
    value, default = str(one.rule), ""
    if one.default is not None:
        default = f"`{one.rule.to_text(one.default)}`"
    if isinstance(one.rule, Switch):
        names += f", `--no-{name[2:]}`" if one.default is not False else ""
        value, default = "", "on" if one.default else "off"
    cells = (names, f"`{one.name}`", one.help, value, one.default_in_words or default)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def click_row(one: click.Option) -> str:
    """Return the row of an option that only the command line has."""
    names = ", ".join(f"`{each}`" for each in (*one.opts, *one.secondary_opts))
    text, _, default = (one.help or "").partition("  [default: ")
    value, shown = "", default.removesuffix("]")
    if isinstance(one.type, click.Choice):
        value = f"one of {', '.join(one.type.choices)}"
    elif not one.is_flag and not one.count:
        value = one.make_metavar(click.Context(cli))
    if not shown:
        shown = ("on" if one.default is True else "off") if one.is_flag else ""
        shown = f"`{one.default}`" if one.show_default is True and not one.is_flag else shown
    cells = (names, "", text, value, shown)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def commands(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """Return a command, or those of a group, by name."""
    if not isinstance(command, click.Group):
        yield name, command
        return
    context = click.Context(command)
    for each in command.list_commands(context):
        inner = command.get_command(context, each)
        if inner is not None:
            yield from commands(f"{name} {each}", inner)


def options_of(command: click.Command) -> list[click.Option]:
    """List the options of a command, but the arguments."""
    return [one for one in command.params if isinstance(one, click.Option)]


def by_section(command: click.Command, *kinds: type[Declared]) -> dict[str, list[str]]:
    """Return the rows of a command's options by section, in the order of its help.

    Options of the same names and help as those of `bgsub run` are left out, unless `kinds` declare
    them.
    """
    declared = {one.flag: one for kind in kinds for one in declared_options(kind)}
    (of_run,) = (each for name, each in commands("bgsub", cli) if name == "bgsub run")
    known = set() if command is of_run else {(*one.opts, one.help) for one in options_of(of_run)}
    sections: dict[str, list[str]] = {}
    for one in options_of(command):
        field = declared.get(max(one.opts, key=len))
        section = one.section if isinstance(one, Option) else MESSAGES
        if field is not None or (*one.opts, one.help) not in known:
            line = row(field) if field is not None else click_row(one)
            sections.setdefault(section, []).append(line)
    return sections


def main() -> None:
    """Print the document."""
    parts = [f"{INTRODUCTION}\n## bgsub run"]
    for name, command in sorted(commands("bgsub", cli), key=lambda each: each[0] != "bgsub run"):
        if name == "bgsub run":
            sections = by_section(command, SourceOptions, RunOptions)
            parts += [f"### {title}\n\n{HEAD}" + "\n".join(sections[title]) for title in sections]
            continue
        found = by_section(command, *OTHERS.get(name, ()))
        if rows := [line for lines in found.values() for line in lines]:
            parts.append(f"## {name}\n\n{HEAD}" + "\n".join(rows))
    print("\n\n".join(parts))


if __name__ == "__main__":
    main()
