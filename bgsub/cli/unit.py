"""Do one unit of work for a worker of a cluster: ``python -m bgsub.cli.unit``.

A request comes on stdin as one line of JSON, a reply goes to stdout: what became of it, and what
was said. When stdin ends, whoever asked is gone, and the work is stopped.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import sys
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from bgsub.cli.jobs import Job, Work
from bgsub.cli.logs import Event, Session
from bgsub.cli.parallel import KeptSession, begin, do
from bgsub.cli.run_input import run_one
from bgsub.errors import UsageError
from bgsub.options import RunOptions
from bgsub.version import __version__

_SESSION = ("quiet", "verbose", "log_json", "debug")


class _UnitSession(KeptSession):
    """Keeps what is said; nobody sees progress here, or when a unit begins."""

    def put(self, line: str, event: Event) -> None:
        """Keep a line."""
        if event not in {"progress", "start"}:
            self.lines.append(line)


def request_for(
    job: Job, options: RunOptions, session: Session, number: int | None
) -> dict[str, Any]:
    """Make the request for an input, or for the segment of that number.

    Parameters
    ----------
    job : Job
        Its folder is that of the results of the film.
    """
    return {
        "version": __version__,
        "directory": os.getcwd(),
        "input": job.input,
        "out": str(job.out),
        "name": job.input,
        "place": (job.number, job.of),
        "segment": number,
        "options": options.to_json(),
        "session": {name: getattr(session, name) for name in _SESSION},
    }


def main() -> None:
    """Do what is asked for."""
    # Whatever a library prints is no reply.
    reply = os.dup(1)
    os.dup2(2, 1)
    request = json.loads(_line())
    begin(Connection(os.dup(0), writable=False))
    session = _UnitSession(**request["session"], bars=False)
    out, there = Path(request["out"]), Path(request["directory"])
    if there.is_dir():
        os.chdir(there)  # for all that was given by a relative path
    else:
        out = there / out
    number, of = request["place"]
    job = Job(request["name"], out, number, of)
    outcome, lines = do(job, functools.partial(_work, request), session, skip=None)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # all is done
    answer = {"status": outcome.status, "exit_code": outcome.exit_code, "lines": lines}
    with os.fdopen(reply, "w", encoding="utf-8") as file:
        file.write(json.dumps(answer) + "\n")
    sys.stderr.flush()
    os._exit(0)  # a thread waits for stdin


def _line() -> bytes:
    """Read a line, and nothing behind it."""
    line = b""
    while not line.endswith(b"\n"):
        more = os.read(0, 1 << 16)
        if not more:
            break
        line += more
    return line


def _work(request: Mapping[str, Any], job: Job, session: Session) -> None:
    if request["version"] != __version__:
        message = f"bgsub {__version__} is on this worker, and {request['version']} asks it"
        raise UsageError(f"{message}; install the same everywhere")
    if request["segment"] is not None:
        from bgsub.segments.run import run_segment

        run_segment(job.out, request["segment"], footage=request["input"], jobs=request["jobs"])
        return
    options = RunOptions.from_json(request["options"] | {"jobs": request["jobs"]})
    work: Work = functools.partial(run_one, options, None, 1)
    work(job, session)


if __name__ == "__main__":
    main()
