"""Print docs/options.md: every option of a run, from where it is declared.

python -m benchmarks.option_tables > docs/options.md
"""

from __future__ import annotations

from bgsub.declared import Declared, declaration, declared_fields, default_in_words, flag
from bgsub.options import RunOptions, SourceOptions
from bgsub.rules import Switch

INTRODUCTION = """\
# Options

Made by `python -m benchmarks.option_tables > docs/options.md` from `bgsub/options.py`. The name in
Python is a field of `bgsub.RunOptions`, and for the section Input of `bgsub.SourceOptions`.
"""


def tables(*kinds: type[Declared]) -> str:
    """Give a Markdown table for each section of some classes, in the order of their fields."""
    sections: dict[str, list[str]] = {}
    for kind in kinds:
        for one in declared_fields(kind):
            declared, name = declaration(one), flag(one)
            names = ", ".join(f"`{each}`" for each in (declared.short, name) if each)
            value, default = (
                declared.rule.words(),
                "" if one.default is None else f"`{one.default}`",
            )
            if isinstance(declared.rule, Switch):
                names += f", `--no-{name[2:]}`" if one.default else ""
                value, default = "", "on" if one.default else "off"
            default = default_in_words(one) or default
            cells = (names, f"`{one.name}`", declared.help, value, default)
            sections.setdefault(declared.section, []).append(
                "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
            )
    head = "| option | in Python | what it does | value | default |\n|---|---|---|---|---|\n"
    return "\n\n".join(
        f"## {title}\n\n{head}" + "\n".join(rows) for title, rows in sections.items()
    )


def main() -> None:
    """Print the document."""
    print(f"{INTRODUCTION}\n{tables(SourceOptions, RunOptions)}")


if __name__ == "__main__":
    main()
