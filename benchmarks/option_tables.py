"""Print docs/options.md: every option, from where it is declared.

python -m benchmarks.option_tables > docs/options.md
"""

from __future__ import annotations

from dataclasses import Field
from typing import Any

from bgsub.comparison.result import CompareOptions
from bgsub.declared import Declared, declaration, declared_fields, default_in_words, flag
from bgsub.evaluation.options import EvaluationOptions
from bgsub.experiments.options import (
    DigitOptions,
    MovedObjectOptions,
    SyntheticOptions,
    TimesOptions,
)
from bgsub.export.options import ClipOptions
from bgsub.live.options import StreamOptions, WatchOptions
from bgsub.options import RunOptions
from bgsub.outliers.event_options import EventOptions
from bgsub.pipeline.plate_options import PlateOptions
from bgsub.rules import Switch
from bgsub.source_options import SourceOptions
from bgsub.tracking.place_options import ListingOptions, PlaceOptions

INTRODUCTION = """\
# Options

Made by `python -m benchmarks.option_tables > docs/options.md` from where they are declared. The
options of `bgsub run` are fields of `bgsub.RunOptions` in Python, those of the section Input of
`bgsub.SourceOptions`. `--help` of a command says which of them it takes.
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
"""What other commands take besides, by their names."""

HEAD = "| option | in Python | what it does | value | default |\n|---|---|---|---|---|\n"


def row(one: Field[Any]) -> str:
    """Give the row of an option."""
    declared, name = declaration(one), flag(one)
    names = ", ".join(f"`{each}`" for each in (declared.short, name) if each)
    value, default = declared.rule.words(), ""
    if one.default is not None:
        default = f"`{declared.rule.to_text(one.default)}`"
    if isinstance(declared.rule, Switch):
        names += f", `--no-{name[2:]}`" if one.default is not False else ""
        value, default = "", "on" if one.default else "off"
    cells = (names, f"`{one.name}`", declared.help, value, default_in_words(one) or default)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def by_section(*kinds: type[Declared]) -> dict[str, list[str]]:
    """Give the rows of some classes by section, in the order of their fields."""
    sections: dict[str, list[str]] = {}
    for kind in kinds:
        for one in declared_fields(kind):
            sections.setdefault(declaration(one).section, []).append(row(one))
    return sections


def main() -> None:
    """Print the document."""
    parts = [f"{INTRODUCTION}\n## bgsub run"]
    for title, rows in by_section(SourceOptions, RunOptions).items():
        parts.append(f"### {title}\n\n{HEAD}" + "\n".join(rows))
    for command, kinds in OTHERS.items():
        rows = [line for lines in by_section(*kinds).values() for line in lines]
        parts.append(f"## {command}\n\n{HEAD}" + "\n".join(rows))
    print("\n\n".join(parts))


if __name__ == "__main__":
    main()
