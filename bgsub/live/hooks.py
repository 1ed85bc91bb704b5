"""Run a command of the user's at every event, without a shell and without waiting for it."""

from __future__ import annotations

import contextlib
import shlex
import subprocess
from typing import Any

from bgsub.errors import UsageError

_MOST = 4
"""Commands that run at the same time; of more, events have nothing run."""


class EventHook:
    """A command that is started with what has happened.

    Parameters
    ----------
    command : str
        Parted into arguments as a shell would, but no shell runs it. ``{event}``, ``{id}`` and
        ``{file}`` are replaced; the JSON line is its standard input.

    Attributes
    ----------
    left_out : int
        Events for which it was not started, as four of it were running or it could not be.

    Raises
    ------
    UsageError
        If it has no argument, or a quote is not closed.
    """

    def __init__(self, command: str) -> None:
        try:
            self._arguments = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"--on-event {command}: {error}") from error
        if not self._arguments:
            raise UsageError("--on-event: a command is needed")
        self._running: list[subprocess.Popen[bytes]] = []
        self.left_out = 0

    def start(self, line: str, facts: dict[str, Any]) -> None:
        """Start the command for an event."""
        self._running = [each for each in self._running if each.poll() is None]
        if len(self._running) >= _MOST:
            self.left_out += 1
            return
        values = {name: str(facts.get(name) or "") for name in ("event", "id", "file")}
        arguments = []
        for argument in self._arguments:
            for name, value in values.items():
                argument = argument.replace(f"{{{name}}}", value)  # noqa: PLW2901 - one after the other
            arguments.append(argument)
        try:
            process = subprocess.Popen(  # noqa: S603 - what the user asked for, without a shell
                arguments, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
            )
        except OSError:
            self.left_out += 1
            return
        self._running.append(process)
        with contextlib.suppress(OSError):  # a line is shorter than a pipe; nobody may read it
            if process.stdin is not None:
                process.stdin.write(line.encode())
                process.stdin.close()
