"""Commands and their options, made from the declarations of `bgsub.options`, and their help."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, fields
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from bgsub.cli.messages import Session, reporting
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

F = TypeVar("F", bound=Callable[..., Any])
D = TypeVar("D", bound=Declared)


class Option(click.Option):
    """An option that says under which heading of the help it stands."""

    def __init__(self, *args: Any, section: str = "Options", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


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


def _message_options() -> list[Option]:
    """Return --quiet --verbose --log-json --debug, which the session takes."""

    def note(ctx: click.Context, param: click.Parameter, value: Any) -> None:
        setattr(ctx.ensure_object(Session), param.name or "", value)

    told = (
        (("-q", "--quiet"), "Print errors only."),
        (("-v", "--verbose"), "Print more; -vv even more."),
        (
            ("--log-json",),
            "Write one JSON object a line to stderr, for progress and errors as well.",
        ),
        (("--debug",), "Print the traceback of an error."),
    )
    return [
        Option(
            names,
            section="Messages",
            help=text,
            count="-v" in names,
            is_flag="-v" not in names,
            is_eager=True,  # so that a mistake in any other option is reported as they say
            expose_value=False,
            callback=note,
        )
        for names, text in told
    ]


class Command(click.Command):
    """A command with options of messages, whose help lists its options under headings.

    Its function gets the session first. Log records and Python's warnings are shown meanwhile.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += _message_options()

    def invoke(self, ctx: click.Context) -> Any:
        """Call the function."""
        session = ctx.ensure_object(Session)
        if session.quiet and session.verbose:
            raise UsageError("--quiet and --verbose contradict each other; give one of them")
        with reporting(session):
            return ctx.invoke(self.callback or print, session, **ctx.params)

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


def examples(*lines: str) -> str:
    r"""Return an epilog of example commands, which click must not wrap (``\b``)."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def command(
    name: str, *lines: str, group: click.Group | None = None, **settings: Any
) -> Callable[[Callable[..., Any]], click.Command]:
    """Return a decorator that makes a command of a function, with example lines in its help."""
    make = click.command if group is None else group.command
    return make(name, cls=Command, epilog=examples(*lines), **settings)


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


class _IntegerRange(ByRule, click.IntRange):
    """Click's own type, which shows the bounds in the help; the rule reads the value."""

    def __init__(self, rule: Integer) -> None:
        click.IntRange.__init__(self, rule.least, rule.most)
        self.rule = rule


class _NumberRange(ByRule, click.FloatRange):
    def __init__(self, rule: Number) -> None:
        bounds = {"min_open": rule.open_least, "max_open": rule.open_most}
        click.FloatRange.__init__(self, rule.least, rule.most, **bounds)
        self.rule = rule


class _Choice(ByRule, click.Choice[str]):
    def __init__(self, rule: Choice) -> None:
        click.Choice.__init__(self, rule.names)
        self.rule = rule


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

_EXTRAS = {
    "preview": "Write preview.mp4 too: input, background, foreground and mask side by side.",
    "overlay": "Write overlay.mp4 too: the input with boxes and numbers of the objects.",
    "spectrum": "Write spectrum.png too: a plot of how --k auto chose.",
    "scores": "Write scores.mkv too (or PNG images): how far each pixel is from the background, in "
    "16 bits. `bgsub evaluate --scores` finds the best threshold.",
    "heatmap": "Write heatmap.png and heatmap.npy too: the share of frames in which each pixel was "
    "foreground, over the empty scene.",
    "activity": "Write activity.csv too: the share of foreground, the objects and the events of "
    "every minute, of --regions too.",
    "report": "Write report.html too, a page to look at in a browser, and input.mp4, which it "
    "shows.",
}


def _extra_option(name: str) -> Callable[[Any], Any]:
    typed = "save-scores" if name == "scores" else name
    switch = f"--{typed}/--no-{typed}"
    return option("Output", switch, name, default=None, help=_EXTRAS[name])


output_options = together(
    named("outputs"), *map(_extra_option, _EXTRAS), section("Output", without=["outputs"])
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
    """Return the names of the options that stand on the command line of the running command."""
    context = click.get_current_context(silent=True)
    names = [] if context is None else [param.name or "" for param in context.command.params]
    typed = ParameterSource.COMMANDLINE
    return {name for name in names if context and context.get_parameter_source(name) is typed}


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


def name_idle(options: RunOptions, session: Session) -> None:
    """Log one warning that names all typed options without effect; the run goes on without them.

    What an earlier run was given (--from-json) may be superfluous.
    """
    from bgsub.pipeline.inputs import needs_fit, needs_masks, needs_objects

    typed, written = typed_options(), options.outputs
    rules: tuple[tuple[str, bool, str], ...] = (
        (
            "k support_fraction lam n_init tol max_iter reweight",
            needs_fit(options),
            "such masks need no fit",
        ),
        ("model threshold", needs_masks(options) or "foreground" in written, "no mask is made"),
        (
            "sensitivity shadows fill_holes min_area clean still_objects",
            needs_masks(options),
            "no mask is made",
        ),
        (
            "max_area min_track max_gap regions line feedback",
            needs_objects(options),
            "no object is followed",
        ),
        (
            "format",
            bool(written & {"background", "foreground", "mask", "scores"}),
            "no video is written that can have another",
        ),
        ("foreground", bool(written & {"foreground", "preview"}), "no foreground is shown"),
        ("plot_format", "plot" in written, "nothing is plotted"),
    )
    idle = {name: f"with {reason}" for name, reason in options.without_effect(typed).items()}
    for names, has_effect, reason in rules:
        if not has_effect:
            told = f"with --only {','.join(sorted(written))}, for {reason}"
            idle |= dict.fromkeys(typed.intersection(names.split()), told)
    parts = []
    for reason in dict.fromkeys(idle[name] for name in sorted(idle)):
        given = [options.as_given(name) for name in sorted(idle) if idle[name] == reason]
        verb = "has" if len(given) == 1 else "have"
        parts.append(f"{', '.join(given)} {verb} no effect {reason}")
    if parts:
        session.log("warning", "; ".join(parts))


def preamble(command: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return what run.json begins with, whatever the command."""
    from bgsub.pipeline import manifest as manifests
    from bgsub.pipeline.manifest import SCHEMA_VERSION
    from bgsub.version import __version__

    return {
        "schema_version": SCHEMA_VERSION,
        "bgsub_version": __version__,
        "command": command,
        "options": options,
        "seed": options.get("seed"),
        "versions": manifests.versions(),
    }
