"""Start processes that help, before it is known whether anybody wants one, too."""

from __future__ import annotations

import atexit
import contextlib
import subprocess
import sys
from collections.abc import Sequence
from typing import BinaryIO, cast

from bgsub.runtime.messages import Modules, send
from bgsub.runtime.signals import held_back_in_children

_PROGRAM = "import sys; sys.path[:] = sys.argv[1:]; from bgsub.runtime.helping import main; main()"


def start_process(modules: Modules) -> subprocess.Popen[bytes] | None:
    """Start a process that imports modules, where the system lets us."""
    if not sys.executable or hasattr(sys, "frozen"):
        return None  # no interpreter, or a program that holds one and would begin again
    command = [sys.executable, "-P", "-c", _PROGRAM, *sys.path]
    try:
        # A terminal sends Ctrl-C to all processes: this one decides what it means.
        with held_back_in_children("SIGINT", "SIGHUP"):
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
    except OSError:  # no memory, or no process more
        return None
    with contextlib.suppress(OSError):
        send(cast("BinaryIO", process.stdin), modules)
    return process


class Ahead:
    """A process that was started before anybody knew whether it would be wanted.

    The first `Helpers` with its modules takes it; otherwise it ends with this process.
    """

    def __init__(self) -> None:
        self._modules: Modules | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, modules: Sequence[str]) -> None:
        """Start it, in place of one before; it imports modules meanwhile."""
        self.end()
        self._modules = Modules(tuple(modules))
        self._process = start_process(self._modules)

    def take(self, modules: Modules) -> subprocess.Popen[bytes] | None:
        """Give the process to whoever wants one with its modules; nobody else gets it."""
        if self._process is not None and self._process.poll() is not None:
            self.end()
        if self._process is None or modules != self._modules:
            return None
        process, self._process = self._process, None
        return process

    def end(self) -> None:
        """End it, if nobody has taken it."""
        process, self._process = self._process, None
        if process is not None:
            end_process(process)


ahead = Ahead()
atexit.register(ahead.end)


def end_process(process: subprocess.Popen[bytes]) -> None:
    """End a process, whatever it computes."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            cast("BinaryIO", pipe).close()
