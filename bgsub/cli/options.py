"""Commands and their options, made from the declarations of `bgsub.options`, and their help."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from bgsub import options as ours
from bgsub.cli.messages import Session, reporting
from bgsub.errors import UsageError
from bgsub.options import Declaration, Declared, RunOptions, SourceOptions, declared_options
from bgsub.robustpca.competitors import METHODS
from bgsub.rules import Choice, File, FileOfKind, Folder, Integer, Number, Rule, Switch

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:  # it has a type parameter only since click 8.4
    ParamType = click.ParamType

F = TypeVar("F", bound=Callable[..., Any])
D = TypeVar("D", bound=Declared)


class ByRule(ParamType):
    """A value that a rule reads; what it refuses is a UsageError."""

    name = "value"

    def __init__(self, rule: Rule, *more: Any) -> None:
        super().__init__(*more)
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


# click's own types, which show bounds and choices in the help; the rule reads.
class _Range(ByRule, click.FloatRange):
    pass


class _Choice(ByRule, click.Choice[str]):
    pass


#: Whether a file can be read or written is for the library to find out, with its exit codes.
PATH = click.Path(readable=False)


def click_type(rule: Rule) -> ParamType:
    """Return the type of a rule, one of click's own where that shows the values in the help."""
    if isinstance(rule, Integer):
        return _Range(rule, rule.least, rule.most)
    if type(rule) is Number and (rule.least, rule.most) != (None, None):
        return _Range(rule, rule.least, rule.most, rule.open_least, rule.open_most)
    if isinstance(rule, Choice):
        return _Choice(rule, rule.names)
    return PATH if type(rule) in {File, Folder} else ByRule(rule)


class Option(click.Option):
    """An option that says under which heading of the help it stands."""

    def __init__(self, *args: Any, section: str = "Options", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


def option(
    section: str, names: str, text: str, rule: Rule | None = None, **more: Any
) -> Callable[[F], F]:
    """Return a decorator that adds an option under a heading of the help.

    `names` are as the help shows them, such as ``-o --out DIR``, and then the parameter's name if
    it is another one; without a word for the value it is a flag. A value is a path unless there is
    a rule. `more` are settings of `click.Option`.
    """
    parts = names.split()
    metavar = next((part for part in parts if part[0] != "-" and not part.islower()), None)
    settings: dict[str, Any] = {"is_flag": True}
    if metavar or rule:
        settings = {"type": click_type(rule or File()), "metavar": metavar}
    settings |= {"show_default": "default" in more and "[default: " not in text}
    decls = [part for part in parts if part != metavar]
    return click.option(*decls, cls=Option, section=section, help=text, **settings | more)


def together(*decorators: Callable[[Any], Any]) -> Callable[[F], F]:
    """Join decorators into one that adds their options in the order they are listed."""
    return lambda function: reduce(lambda done, add: add(done), reversed(decorators), function)


def _declared_option(one: Declaration, title: str) -> Callable[[Any], Any]:
    name, words = one.flag, one.default_in_words
    default = one.default if one.default is None else one.rule.to_text(one.default)
    settings: dict[str, Any] = {"default": None if words else default}
    if not isinstance(one.rule, Switch):
        metavar = one.metavar or one.rule.metavar or None
        settings |= {"is_flag": False, "type": click_type(one.rule), "metavar": metavar}
    elif one.default is not False:
        name = f"{name}/--no-{name.removeprefix('--')}"
    shown = words or (one.default is not None and one.default is not False)
    names = f"{one.short} {name} {one.name}"
    return option(title or one.section, names, one.help, show_default=shown, **settings)


def named(*names: str, kind: type[Declared] = RunOptions, section: str = "") -> Callable[[F], F]:
    """Add the options of these names, under a heading of the help or under their own."""
    by_name = {one.name: one for one in declared_options(kind)}
    return together(*(_declared_option(by_name[name], section) for name in names))


def section(
    title: str, *, kind: type[Declared] = RunOptions, without: Iterable[str] = ()
) -> Callable[[F], F]:
    """Add all options of a section of a class but some."""
    names = [one.name for one in declared_options(kind) if one.section == title]
    return named(*(name for name in names if name not in without), kind=kind)


def out_option(
    text: str, names: str = "-o --out DIR", *, required: bool = True, rule: Rule | None = None
) -> Callable[[F], F]:
    """Add --out, where a command writes to."""
    return option("Results", names, text, rule, required=required)


def format_option(choices: tuple[str, ...], text: str) -> Callable[[F], F]:
    """Add --format, in which a command prints its table; the first choice is the default."""
    return option("Results", "--format form", text, Choice(choices), default=choices[0])


def plot_option(text: str) -> Callable[[F], F]:
    """Add --plot, which draws to a file."""
    return option("Results", "--plot FILE", text, FileOfKind((".png", ".svg")))


source_options = section("Input", kind=SourceOptions)
fit_options = section("Fit")
resource_options = named("threads", "memory", "temp")
_EXTRAS = {
    "preview": "Write preview.mp4 too: input, background, foreground and mask side by side.",
    "overlay": "Write overlay.mp4 too: the input with boxes and numbers of the objects.",
    "spectrum": "Write spectrum.png too: a plot of how --k auto chose.",
    "save-scores": "Write scores.mkv too (or PNG images): how far each pixel is from the "
    "background, in 16 bits. `bgsub evaluate --scores` finds the best threshold.",
    "heatmap": "Write heatmap.png and heatmap.npy too: the share of frames in which each pixel was "
    "foreground, over the empty scene.",
    "activity": "Write activity.csv too: the share of foreground, the objects and the events of "
    "every minute, of --regions too.",
    "report": "Write report.html too, a page to look at in a browser, and input.mp4, which it "
    "shows.",
}
output_options = together(
    named("outputs"),
    *(
        option(
            "Output",
            f"--{typed}/--no-{typed} {typed.removeprefix('save-')}",
            text,
            default=None,
            show_default=False,
        )
        for typed, text in _EXTRAS.items()
    ),
    section("Output", without=["outputs"]),
)
event_format_option = format_option(
    ("table", "csv", "json", "frames", "ffmpeg"),
    "frames: one frame number a line; ffmpeg: a filter that keeps only the events.",
)
table_options = together(
    out_option("Folder for tables, figures and run.json."),
    format_option(
        ("table", "csv", "json", "markdown", "latex"),
        "Format of the table on stdout; the CSV file is written in any case.",
    ),
    named("force", section="Results"),
)


_message_options = [
    Option(
        names.split(),
        section="Messages",
        help=text,
        count="-v" in names,
        is_flag="-v" not in names,
        is_eager=True,  # so that a mistake in any other option is reported as they say
        expose_value=False,
        callback=lambda ctx, own, value: setattr(ctx.ensure_object(Session), own.name, value),
    )
    for names, text in (
        ("-q --quiet", "Print errors only."),
        ("-v --verbose", "Print more; -vv even more."),
        ("--log-json", "Write one JSON object a line to stderr, for progress and errors as well."),
        ("--debug", "Print the traceback of an error."),
    )
]


class Command(click.Command):
    """A command with options of messages, whose help lists its options under headings.

    Its function gets the session first. Log records and Python's warnings are shown meanwhile.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += _message_options

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


def argument(name: str, metavar: str, **settings: Any) -> Callable[[F], F]:
    """Return a decorator that adds an argument, a path."""
    return click.argument(name, metavar=metavar, **{"type": PATH, **settings})


def run_options(params: Mapping[str, Any]) -> RunOptions:
    """Make the options of a run from a command's parameters; what is missing has its default."""
    outputs = params.get("outputs") or ours.DEFAULT_OUTPUTS
    for extra in ours.EXTRA_OUTPUTS & params.keys():
        if params[extra] is not None:
            outputs = outputs | {extra} if params[extra] else outputs - {extra}
    if not outputs:
        raise UsageError("--only: no output is left; name at least one")
    source = chosen(SourceOptions, params)
    return chosen(RunOptions, {**params, "source": source, "outputs": outputs})


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
    left_out = {one.name for one in declared_options(RunOptions) if not one.repeated}
    return {n: v for n, v in defaults.items() if v is not None and n not in left_out}


def typed_options() -> set[str]:
    """Return the names of the options that stand on the command line of the running command."""
    context = click.get_current_context()
    names = {param.name or "" for param in context.command.params}
    return {n for n in names if context.get_parameter_source(n) is ParameterSource.COMMANDLINE}


_OF_FIT = "k support_fraction lam n_init tol max_iter reweight"
_OF_TRPCA = {"n_init", "tol", "max_iter", "reweight"}
_OF_MASKS = "sensitivity shadows fill_holes min_area clean still_objects"
_OF_OBJECTS = "max_area min_track max_gap regions line feedback"


def name_idle(options: RunOptions, session: Session) -> None:
    """Log one warning that names all typed options without effect; the run goes on without them."""
    from bgsub.pipeline.inputs import needs_fit, needs_masks, needs_objects

    typed, written, method = typed_options(), options.outputs, f"--method {options.method}"
    masks, known = needs_masks(options), METHODS[options.method].parameters
    of_others = set() if options.method == "trpca" else _OF_TRPCA
    of_others = of_others | ({"support_fraction"} if "--support-fraction" not in known else set())
    of_others = of_others | ({"lam"} if "--lambda" not in known else set())
    videos, shown = {"background", "foreground", "mask", "scores"}, {"foreground", "preview"}
    rules = (
        (needs_fit(options), "such masks need no fit", _OF_FIT),
        (masks or "foreground" in written, "no mask is made", "model threshold"),
        (masks, "no mask is made", _OF_MASKS),
        (needs_objects(options), "no object is followed", _OF_OBJECTS),
        (written & videos, "no video is written that can have another", "format"),
        (written & shown, "no foreground is shown", "foreground"),
        ("plot" in written, "nothing is plotted", "plot_format"),
    )
    idle = dict.fromkeys(typed & of_others, f"with {method}")
    if options.mask_model != "local":
        reason = method if options.threshold is None else "--threshold"
        reason = "--model paper" if options.model == "paper" else reason
        idle |= dict.fromkeys(ours.OF_LOCAL & typed, f"with {reason}")
    for has_effect, reason, names in rules:
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
