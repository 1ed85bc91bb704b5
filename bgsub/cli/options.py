"""Declare the options of commands by those of `bgsub.options`; each mistake is one line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, fields
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from bgsub.cli.help import F, option, together
from bgsub.errors import UsageError
from bgsub.options import (
    DEFAULT_OUTPUTS,
    EXTRA_OUTPUTS,
    Declared,
    RunOptions,
    SourceOptions,
    declaration,
    declared_fields,
    default_in_words,
    flag,
)
from bgsub.rules import Choice, File, FileOfKind, Folder, Integer, Number, Rule, Switch

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:  # it has a type parameter only since click 8.4
    ParamType = click.ParamType


class ByRule(ParamType):
    """A value that a rule reads; what it refuses is a UsageError."""

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
    """Return the type of a rule, one of click's own where that shows the values in the help."""
    if isinstance(rule, Integer):
        return _IntegerRange(rule)
    if type(rule) is Number and (rule.least, rule.most) != (None, None):
        return _NumberRange(rule)
    if isinstance(rule, Choice):
        return _Choice(rule)
    return PATH if type(rule) in {File, Folder} else ByRule(rule)


PLOT = ByRule(FileOfKind((".png", ".svg")))


D = TypeVar("D", bound=Declared)

_FORMATS = ("table", "csv", "json", "markdown", "latex")


def named(*names: str, kind: type[Declared] = RunOptions, section: str = "") -> Callable[[F], F]:
    """Add the options of these names, under a heading of the help or under their own."""
    by_name = {one.name: one for one in declared_fields(kind)}
    return together(*(_click_option(by_name[name], section) for name in names))


def section(
    title: str, *, kind: type[Declared] = RunOptions, without: Iterable[str] = ()
) -> Callable[[F], F]:
    """Add all options of a section of a class but some."""
    names = [one.name for one in declared_fields(kind) if declaration(one).section == title]
    return named(*(name for name in names if name not in without), kind=kind)


def out_option(
    text: str, *, metavar: str = "DIR", required: bool = True, kind: ParamType = PATH
) -> Callable[[F], F]:
    """Add --out, where a command writes to."""
    return option(
        "Results", "-o", "--out", type=kind, required=required, metavar=metavar, help=text
    )


def format_option(choices: Iterable[str], text: str) -> Callable[[F], F]:
    """Add --format, in which a command prints its table; the first choice is the default."""
    choices = tuple(choices)
    return option(
        "Results",
        "--format",
        "form",
        type=click_type(Choice(choices)),
        default=choices[0],
        show_default=True,
        help=text,
    )


def _click_option(one: Field[Any], title: str) -> Callable[[Any], Any]:
    declared, name, words = declaration(one), flag(one), default_in_words(one)
    default = one.default if one.default is None else declared.rule.to_text(one.default)
    settings: dict[str, Any] = {"default": None if words else default}
    if not isinstance(declared.rule, Switch):
        metavar = declared.metavar or declared.rule.metavar or None
        settings |= {"type": click_type(declared.rule), "metavar": metavar}
    elif one.default is not False:
        name = f"{name}/--no-{name.removeprefix('--')}"
    else:
        settings["is_flag"] = True
    shown = words or (one.default is not None and one.default is not False)
    return option(
        title or declared.section,
        *([declared.short] if declared.short else []),
        name,
        one.name,
        show_default=shown,
        help=declared.help,
        **settings,
    )


source_options = section("Input", kind=SourceOptions)
fit_options = section("Fit")
resource_options = named("threads", "memory", "temp")

output_options = together(
    named("outputs"),
    option(
        "Output",
        "--preview/--no-preview",
        default=None,
        help="Write preview.mp4 too: input, background, foreground and mask side by side.",
    ),
    option(
        "Output",
        "--overlay/--no-overlay",
        default=None,
        help="Write overlay.mp4 too: the input with boxes and numbers of the objects.",
    ),
    option(
        "Output",
        "--spectrum/--no-spectrum",
        default=None,
        help="Write spectrum.png too: a plot of how --k auto chose.",
    ),
    option(
        "Output",
        "--save-scores/--no-save-scores",
        "scores",
        default=None,
        help="Write scores.mkv too (or PNG images): how far each pixel is from the background, in "
        "16 bits. `bgsub evaluate --scores` finds the best threshold.",
    ),
    option(
        "Output",
        "--heatmap/--no-heatmap",
        default=None,
        help="Write heatmap.png and heatmap.npy too: the share of frames in which each pixel was "
        "foreground, over the empty scene.",
    ),
    option(
        "Output",
        "--activity/--no-activity",
        default=None,
        help="Write activity.csv too: the share of foreground, the objects and the events of every "
        "minute, of --regions too.",
    ),
    option(
        "Output",
        "--report/--no-report",
        default=None,
        help="Write report.html too, a page to look at in a browser, and input.mp4, which it "
        "shows.",
    ),
    section("Output", without=["outputs"]),
)

event_format_option = format_option(
    ("table", "csv", "json", "frames", "ffmpeg"),
    "frames: one frame number a line; ffmpeg: a filter that keeps only the events.",
)

table_options = together(
    out_option("Folder for tables, figures and run.json."),
    format_option(_FORMATS, "Format of the table on stdout; the CSV file is written in any case."),
    named("force", section="Results"),
)


def run_options(params: Mapping[str, Any]) -> RunOptions:
    """Put the values of a command's parameters together; what is missing has its default.

    Parameters
    ----------
    params : mapping
        Parameters of a command by name; those that are no option of a run are ignored.
    """
    given = {name: value for name, value in params.items() if value is not None}
    outputs = given.get("outputs", DEFAULT_OUTPUTS)
    for extra in EXTRA_OUTPUTS & given.keys():
        outputs = outputs | {extra} if given[extra] else outputs - {extra}
    if not outputs:
        raise UsageError("--only: no output is left; name at least one")
    given |= {"source": chosen(SourceOptions, given), "outputs": outputs}
    return chosen(RunOptions, given)


def typed_options() -> set[str]:
    """Names of the options that stand on the command line of the command that runs."""
    context = click.get_current_context(silent=True)
    if context is None:
        return set()
    names = {one.name for one in context.command.params if isinstance(one, click.Option)}
    return {
        name
        for name in names
        if name and context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }


def chosen(kind: type[D], params: Mapping[str, Any]) -> D:
    """Make options of a class from a command's parameters; None has its default."""
    names = {one.name for one in fields(kind)}
    given = {name: value for name, value in params.items() if name in names and value is not None}
    return kind(**given)


def as_defaults(options: RunOptions) -> dict[str, Any]:
    """Return a run's options as defaults of the command's parameters, by name.

    Those that are not to be repeated stay behind: that an earlier run replaced results is no leave
    to replace more, and `jobs` is about the batch that the run was in.
    """
    plain = options.to_json()
    defaults = {**plain.pop("source"), **plain}
    for one in declared_fields(RunOptions):
        if not declaration(one).repeated:
            del defaults[one.name]
    return {name: value for name, value in defaults.items() if value is not None}
