"""Parse commands, call the library and print."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from bgsub import errors as kinds_of_errors
from bgsub.cli import messages
from bgsub.errors import BgsubError, Interrupted
from bgsub.version import __version__

__all__ = ["COMMANDS", "cli", "exit_code_table", "main"]

COMMANDS = {  # what the list of commands says of each, without importing it
    "run": "Write background, foreground, masks and errors.",
    "join": "Put the results of bgsub run --part together.",
    "errors": "List which whole frames differ from the usual ones.",
    "events": "List when objects were in sight, or whole frames stood out.",
    "background": "Make a picture of the empty scene.",
    "clips": "Cut a film into clips, one for each event.",
    "objects": "Follow the objects in masks that exist already.",
    "export": "Write objects or events for other programs.",
    "feedback": "Remember what is no object, for runs to drop what is like it.",
    "report": "Make a web page of results.",
    "view": "Show results in a browser.",
    "info": "Describe an input and what a run would need.",
    "apply": "Use a saved model on new footage.",
    "compare": "Fit every method to the same frames and compare them.",
    "experiment": "Repeat the experiments of the TRPCA paper.",
    "watch": "Watch a live stream: report events as they happen, and save clips.",
    "methods": "List the methods of robust PCA.",
    "evaluate": "Compare masks with ground truth.",
}
# Modules with several commands; any other one is called as its command. Each is NAME_command there.
_MODULES = {
    "run": ("join", "apply"),
    "results": ("events", "objects", "clips", "export", "feedback"),
    "page": ("report", "view"),
    "paper": ("compare", "methods", "experiment"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def exit_code_table() -> list[tuple[int, str]]:
    """List every exit code with its meaning, from the classes in `bgsub.errors`.

    >>> exit_code_table()[0]
    (0, 'done')
    """
    kinds = {
        kind.exit_code: kind.meaning
        for kind in vars(kinds_of_errors).values()
        if isinstance(kind, type) and issubclass(kind, BgsubError)
    }
    return [(0, "done"), *sorted(kinds.items())]


_EPILOG = (
    """Examples:
  bgsub run water.avi --k 10 --out results/    background, foreground, mask, errors
  bgsub events results/                        when was something in sight, and where?
  bgsub errors results/                        which whole frames differ from the usual?
  bgsub info water.avi                         what a run would need""",
    "Exit codes:\n" + "\n".join(f"  {code:3d}  {meaning}" for code, meaning in exit_code_table()),
    """\
Shell completion of commands, options and files: add the line to the start-up file of your shell
  bash   eval "$(_BGSUB_COMPLETE=bash_source bgsub)"
  zsh    eval "$(_BGSUB_COMPLETE=zsh_source bgsub)"
  fish   _BGSUB_COMPLETE=fish_source bgsub | source""",
)


class Application(click.Group):
    """The group of all commands, which are imported only when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import a command; None if there is none of this name."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"bgsub.cli.{_HOME.get(cmd_name, cmd_name)}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        command.short_help = COMMANDS[cmd_name]
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Call the command; click would turn Ctrl-C into an empty line and an Abort."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise Interrupted(str(error) or messages.INTERRUPTED) from error

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
        session = extra.setdefault("obj", messages.Session())
        extra |= {"windows_expand_args": windows_expand_args}  # off: globs are for open_source
        given = arguments, prog_name or "bgsub", complete_var, False
        if not standalone_mode:
            return super().main(*given, **extra)
        stdout = sys.stdout
        try:
            result = super().main(*given, **extra)
            code = result if isinstance(result, int) else 0
            sys.stdout.flush()
            messages.work_is_done()
        except (BrokenPipeError, SystemExit) as error:
            # The reader of stdout has had enough, as `head` has; click wraps it then, and exits.
            if isinstance(error, SystemExit) and sys.stdout is stdout:
                raise
            # Nothing may be written to such a stdout, not at Python's end either.
            with contextlib.suppress(OSError, ValueError):  # not a real file, as in tests
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 0
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the end of all errors
            # A usage error may come before the options are read.
            session.log_json = session.log_json or "--log-json" in arguments
            code = messages.log_error(error, session)
        sys.exit(code)


@click.group(
    "bgsub",
    cls=Application,
    commands={name: click.Command(name) for name in COMMANDS},  # which click suggests
    epilog="\n\n".join(f"\b\n{paragraph}" for paragraph in _EPILOG),  # which click must not wrap
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="bgsub", message="%(prog)s %(version)s")
def cli() -> None:
    """Separate the background of a fixed camera's footage from what comes and goes.

    Robust PCA (TRPCA) learns the background, moving water and leaves included, even where people
    are in sight for up to half of the time. `bgsub events` lists when something was in sight,
    `bgsub errors` which frames as a whole differ from the usual ones.
    """


def main() -> None:
    """Run `bgsub` on the arguments of the process, and exit with its code."""
    from bgsub.runtime import processes

    messages.prepare()
    processes.tune()
    messages.install()
    cli.main()
