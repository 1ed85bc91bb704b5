"""Write the command that repeats a run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import Field
from typing import Any

from bgsub.declared import Declared, declaration, declared_fields, flag
from bgsub.options import DEFAULT_OUTPUTS, EXTRA_OUTPUTS, OUTPUTS, RunOptions
from bgsub.rules import Switch


def command_line(manifest: Mapping[str, Any]) -> str | None:
    """Write the command that repeats a run from the folder that it was called in.

    Parameters
    ----------
    manifest : mapping
        Its run.json.

    Returns
    -------
    str or None
        None where the input was an array, which no command can be given.
    """
    path = manifest["input"]["path"]
    if path is None:
        return None
    options = RunOptions.from_json({**manifest["options"], "temp": None})
    command = manifest.get("command", "run")
    words = ["bgsub", command]
    if command == "apply":
        words.append(_operand(str(manifest.get("model", "model.npz"))))
    words.append(_operand(str(path)))
    for one, value in changed_options(options.source) + changed_options(options):
        words += output_words(value) if one.name == "outputs" else _option(one, value)
    return shlex.join([*words, "--out", "again/"])


def changed_options(options: Declared) -> list[tuple[Field[Any], Any]]:
    """List the options that differ from their defaults, with their values, in their order."""
    return [
        (one, getattr(options, one.name))
        for one in declared_fields(type(options))
        if declaration(one).repeated and getattr(options, one.name) != one.default
    ]


def _operand(path: str) -> str:
    """Keep a path from being taken for an option."""
    return f"./{path}" if path.startswith("-") else path


def output_words(chosen: frozenset[str]) -> list[str]:
    """Choose outputs: what is written besides by its own option, anything else by a list."""
    if chosen >= DEFAULT_OUTPUTS:
        extra = [name for name in OUTPUTS if name in chosen & EXTRA_OUTPUTS]
        return [f"--{'save-scores' if name == 'scores' else name}" for name in extra]
    return ["--only", ",".join(name for name in OUTPUTS if name in chosen)]


def _option(one: Field[Any], value: Any) -> list[str]:
    name, rule = flag(one), declaration(one).rule
    if isinstance(rule, Switch):
        return [name if value else f"--no-{name.removeprefix('--')}"]
    if one.name == "line":
        lines = (f"{label}:{','.join(f'{x:g}' for x in ends)}" for label, *ends in value)
        return [name, "; ".join(lines)]
    if isinstance(value, tuple):
        return [name, ",".join(str(each) for each in value)]
    return [name, str(value)]
