"""Make tries, in processes that may die of them, and say which rule a try broke."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Self

DOCUMENTED = {0, 2, 3, 4, 5, 6, 7, 8, 130}
_PATIENCE_S = 120.0
_TRIES_OF_A_WORKER = 250
_LONGEST_LINE = 2500  # paths are long
_NOISE = ("Traceback", "unexpected error", "Warning:", "libpng", "Corrupt JPEG")


@dataclass
class Try:
    """A command, and what it leaves in a folder if it succeeds.

    Attributes
    ----------
    arguments : list of str
    out : Path or None
        The results directory that it is told, if any.
    """

    arguments: list[str]
    out: Path | None = None


@dataclass
class Ending:
    """How a try ended: exit code (negative for a signal), stderr, an exception that escaped."""

    code: int
    stderr: str = ""
    failure: str = ""
    hung: bool = False


@dataclass
class Crew:
    """Runs tries one after the other in a process that is replaced when it dies or grows old."""

    tree: Path
    process: subprocess.Popen[str] | None = None
    made: int = field(default=0)
    log: IO[bytes] = field(default_factory=tempfile.TemporaryFile)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end()
        self.log.close()

    def _end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def run(self, one: Try) -> Ending:
        """Make a try."""
        return self.ask(one.arguments)

    def ask(self, question: object) -> Ending:
        """Let the worker do what a line of JSON says."""
        if self.process is None or self.made >= _TRIES_OF_A_WORKER:
            self._end()
            self.process, self.made = start_worker(self.tree, self.log), 0
        self.made += 1
        worker = self.process
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write(json.dumps(question) + "\n")
        worker.stdin.flush()
        ready, _, _ = select.select([worker.stdout], [], [], _PATIENCE_S)
        line = worker.stdout.readline() if ready else ""
        if not line:
            hung = not ready
            where = self._where() if hung else ""
            code = worker.poll() if hung else worker.wait()
            self._end()
            return Ending(code or -9, where, hung=hung)
        return Ending(**json.loads(line))

    def _where(self) -> str:
        """Let a worker that hangs say where."""
        assert self.process is not None
        self.log.seek(0, os.SEEK_END)
        begin = self.log.tell()
        self.process.send_signal(signal.SIGUSR1)
        time.sleep(1.0)
        self.log.seek(begin)
        return self.log.read().decode(errors="replace")


def start_worker(tree: Path, log: IO[bytes]) -> subprocess.Popen[str]:
    """Start a process that runs the commands of a tree."""
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("worker.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        cwd=tree,
        env=environment(tree),
    )


def environment(tree: Path) -> dict[str, str]:
    """Give the environment in which the bgsub of a tree runs, on one thread."""
    return {**os.environ, "PYTHONPATH": str(tree), "OPENBLAS_NUM_THREADS": "1"}


def violations(one: Try, ending: Ending) -> list[str]:
    """Name the rules that a try broke."""
    if ending.hung:
        return [f"it hangs {ending.stderr}".rstrip()]
    broken = []
    if ending.code < 0:
        broken.append(f"killed by signal {-ending.code}")
    elif ending.code not in DOCUMENTED:
        broken.append(f"exit code {ending.code}")
    if ending.failure:
        broken.append(f"exception {ending.failure}")
    broken += [f"{word!r} on stderr" for word in _NOISE if word in ending.stderr]
    if any(len(line) > _LONGEST_LINE for line in ending.stderr.splitlines()):
        broken.append("a line without end on stderr")
    errors = [line for line in ending.stderr.splitlines() if line.startswith("bgsub: ")]
    if ending.code in {3, 4, 5, 7} and len(errors) != 1:
        broken.append(f"{len(errors)} lines of error")
    # Who interrupts a run when its results are in place already is told so.
    is_whole = ending.code == 130 and "but the results are complete, in " in ending.stderr
    code = 0 if is_whole else ending.code
    return broken + (left_behind(one.out, code) if one.out is not None else [])


def left_behind(out: Path, code: int) -> list[str]:
    """Say what is wrong with the folder that a run has ended in."""
    has_manifest = (out / "run.json").is_file()
    broken = []
    if code == 0 and not has_manifest:
        broken.append("exit code 0 without results")
    if code not in {0, 6, 8} and has_manifest:
        broken.append(f"exit code {code} with results")
    partial = [path.name for path in out.parent.glob(".bgsub-*")]
    partial += [path.name for path in out.glob(".bgsub-*")]
    return [*broken, f"left behind: {', '.join(partial)}"] if partial else broken
