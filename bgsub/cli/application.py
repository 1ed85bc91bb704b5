"""Find the command that is called, import it, and turn its errors into exit codes."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from bgsub.cli import messages
from bgsub.cli.help import program_epilog
from bgsub.cli.messages import Session
from bgsub.errors import Interrupted
from bgsub.version import __version__

#: Where each command is, and what the list of commands says of it without importing it.
COMMANDS = {
    "run": ("bgsub.cli.run:run_command", "Write background, foreground, masks and errors."),
    "join": ("bgsub.cli.join:join_command", "Put the results of bgsub run --part together."),
    "errors": (
        "bgsub.cli.errors:errors_command",
        "List which whole frames differ from the usual ones.",
    ),
    "events": (
        "bgsub.cli.events:events_command",
        "List when objects were in sight, or whole frames stood out.",
    ),
    "background": (
        "bgsub.cli.background:background_command",
        "Make a picture of the empty scene.",
    ),
    "clips": ("bgsub.cli.clips:clips_command", "Cut a film into clips, one for each event."),
    "objects": (
        "bgsub.cli.objects:objects_command",
        "Follow the objects in masks that exist already.",
    ),
    "export": (
        "bgsub.cli.export:export_command",
        "Write objects or events for other programs.",
    ),
    "feedback": (
        "bgsub.cli.feedback:feedback_command",
        "Remember what is no object, for runs to drop what is like it.",
    ),
    "report": ("bgsub.cli.report:report_command", "Make a web page of results."),
    "view": ("bgsub.cli.view:view_command", "Show results in a browser."),
    "info": ("bgsub.cli.info:info_command", "Describe an input and what a run would need."),
    "apply": ("bgsub.cli.apply:apply_command", "Use a saved model on new footage."),
    "compare": (
        "bgsub.cli.compare:compare_command",
        "Fit every method to the same frames and compare them.",
    ),
    "experiment": (
        "bgsub.cli.experiment:experiment_command",
        "Repeat the experiments of the TRPCA paper.",
    ),
    "watch": (
        "bgsub.cli.watch:watch_command",
        "Watch a live stream: report events as they happen, and save clips.",
    ),
    "methods": (
        "bgsub.cli.methods:methods_command",
        "List the methods of robust PCA.",
    ),
    "evaluate": ("bgsub.cli.evaluate:evaluate_command", "Compare masks with ground truth."),
}


class Application(click.Group):
    """The group of all commands, which are imported only when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import a command; None if there is none of this name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        command.short_help = COMMANDS[cmd_name][1]
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is called, or suggest the one that may be meant."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            close = difflib.get_close_matches(name, COMMANDS)
            meant = f" (did you mean {close[0]!r}?)" if close else ""
            message = f"no such command {name!r}{meant}"
            raise click.UsageError(message, ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Read the arguments before the command; --help and --version are answered here."""
        with _stdout_may_close():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Call the command, and flush its output."""
        with _stdout_may_close():
            try:
                result = super().invoke(ctx)
            except KeyboardInterrupt as error:
                # Click would turn it into an empty line and an Abort.
                raise Interrupted(str(error) or messages.INTERRUPTED) from error
            sys.stdout.flush()
            return result

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = False,
        **extra: Any,
    ) -> Any:
        """Run the program and exit; errors become one line on stderr and their exit code.

        With `standalone_mode` off, errors are raised as they are.
        """
        arguments = list(sys.argv[1:] if args is None else args)
        session = extra.setdefault("obj", Session())
        extra["windows_expand_args"] = windows_expand_args  # off: globs are for open_source

        def call() -> Any:
            return super(Application, self).main(
                arguments, prog_name or "bgsub", complete_var, standalone_mode=False, **extra
            )

        if not standalone_mode:
            return call()
        try:
            result = call()
            code = result if isinstance(result, int) else 0
            messages.work_is_done()
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the end of all errors
            # A usage error may come before the options are read.
            session.log_json = session.log_json or "--log-json" in arguments
            code = messages.log_error(error, session)
        sys.exit(code)


@contextlib.contextmanager
def _stdout_may_close() -> Iterator[None]:
    """End quietly when the reader of stdout has had enough, as `head` does."""
    try:
        yield
    except BrokenPipeError as error:
        messages.silence_stdout()
        raise click.exceptions.Exit(0) from error


@click.group(
    "bgsub",
    cls=Application,
    epilog=program_epilog(),
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="bgsub", message="%(prog)s %(version)s")
def cli() -> None:
    """Separate the background of a fixed camera's footage from what comes and goes.

    Robust PCA (TRPCA) learns the background, moving water and leaves included, even where people
    are in sight for up to half of the time. `bgsub events` lists when something was in sight,
    `bgsub errors` which frames as a whole differ from the usual ones.
    """
