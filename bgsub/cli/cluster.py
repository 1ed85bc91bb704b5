"""Let a cluster do the inputs of a batch and their segments: ``bgsub run --scheduler``.

A worker starts ``python -m bgsub.cli.cluster`` for each unit of work. A request comes on stdin as
one line of JSON, a reply goes to stdout: what became of it, and what was said. When stdin ends,
whoever asked is gone, and the work is stopped.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgsub.cli import messages
from bgsub.cli.jobs import (
    KILLED,
    Job,
    KeptSession,
    Outcome,
    Recipe,
    Work,
    begin,
    do,
    is_done,
    run_one,
    show_result,
    summarize,
)
from bgsub.cli.messages import Event, Session, write_line
from bgsub.errors import BatchError, BgsubError, Interrupted, OutputError, UsageError
from bgsub.options import RunOptions
from bgsub.version import __version__

if TYPE_CHECKING:
    from bgsub.cluster.pool import Pool, Task
    from bgsub.segments.plan import SegmentPlan


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
        "directory": os.getcwd(),  # noqa: PTH109 - text
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


_MODULE = "bgsub.cli.cluster"

# Exit codes of what may succeed on another machine, or a moment later.
_PASSING = {BgsubError.exit_code, OutputError.exit_code}

# Network file systems show the files of other machines after some seconds.
_PATIENCE_S = 10.0


@dataclass
class _Film:
    """A job, and what of it is left.

    Attributes
    ----------
    plan : SegmentPlan or None
        None where it is one piece.
    waiting : set of int
        Numbers of the segments that are not done, 0 for a film in one piece.
    failed : list of (int, int)
        Segment and exit code of those that failed.
    """

    job: Job
    plan: SegmentPlan | None
    waiting: set[int]
    failed: list[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True)
class _Unit:
    """A film, the number of a segment of it (0 for all), and how often it was tried."""

    film: _Film
    number: int
    tries: int = 1

    @property
    def name(self) -> str:
        """What messages call it."""
        given = self.film.job.input
        return f"{given}, segment {self.number}" if self.number else given


class ClusterRun:
    """One call of ``bgsub run --scheduler``."""

    def __init__(self, pool: Pool, options: RunOptions, session: Session) -> None:
        self._pool, self._options, self._session = pool, options, session
        self._outcomes: list[Outcome] = []

    def do(self, jobs: Sequence[Job], skip: Recipe | None) -> None:
        """Do all jobs, join what is in segments, and sum up."""
        from bgsub.cluster.pool import NoWorkersError

        try:
            films = [film for job in jobs if (film := self._prepared(job, skip)) is not None]
            self._work(films)
        except (KeyboardInterrupt, Interrupted) as error:
            raise Interrupted(f"{messages.INTERRUPTED}; {self._so_far(jobs)}") from error
        except NoWorkersError as error:
            message = f"{error}; {self._so_far(jobs)}"
            if any(outcome.status != "failed" for outcome in self._outcomes):
                raise BatchError(message) from error
            raise NoWorkersError(message) from error
        order = {job: place for place, job in enumerate(jobs)}
        outcomes = sorted(self._outcomes, key=lambda outcome: order[outcome.job])
        if len(jobs) > 1:
            summarize(outcomes, self._session)
        elif outcomes[0].status == "failed":
            raise click.exceptions.Exit(outcomes[0].exit_code)  # what is wrong was said

    def _so_far(self, jobs: Sequence[Job]) -> str:
        """Return how much is done as the run ends early."""
        self._session.input = self._session.label = None
        done = sum(outcome.status != "failed" for outcome in self._outcomes)
        advice = "--skip-existing (--resume with --segment) goes on from there"
        return f"{done} of {len(jobs)} inputs were finished, {advice}"

    def _prepared(self, job: Job, skip: Recipe | None) -> _Film | None:
        """Look for results that are there, and divide the film; None if nothing is left to do."""
        from bgsub.segments.run import prepare

        with self._session.about(job.input, label=job.label):
            try:
                if skip is not None and is_done(job, self._session, skip):
                    self._outcomes.append(Outcome(job, "skipped"))
                    return None
                plan = prepare(job.input, job.out, self._options)
            except Interrupted:
                raise
            except Exception as error:  # noqa: BLE001 - one bad input must not stop the others
                code = messages.log_error(error, self._session)
                self._outcomes.append(Outcome(job, "failed", code))
                return None
        film = _Film(job, plan, {0} if plan is None else set(plan.missing(job.out)))
        if not film.waiting:
            self._finish(film)
            return None
        return film

    def _work(self, films: Sequence[_Film]) -> None:
        """Let workers do all units, some of them again."""
        units = [_Unit(film, number) for film in films for number in sorted(film.waiting)]
        while units:
            again = []
            for place, reply in self._pool.do([self._task(unit) for unit in units]):
                unit = units[place]
                if self._is_passing(reply) and unit.tries < _tries():
                    again.append(_Unit(unit.film, unit.number, unit.tries + 1))
                    continue
                self._take(unit, reply)
            units = again

    def _task(self, unit: _Unit) -> Task:
        from bgsub.cluster.pool import Task, do_in_child

        film = unit.film
        job, segments = film.job, film.plan.segments if film.plan else ()
        place = (unit.number, len(segments)) if unit.number else (job.number, job.of)
        request = request_for(job, self._options, self._session, unit.number or None)
        request |= {"name": unit.name, "place": place}
        return Task(do_in_child, (_MODULE, request, self._pool.slots()), "bgsub-run")

    def _is_passing(self, reply: Any) -> bool:
        """Return whether another try may succeed."""
        if not isinstance(reply, dict):
            return False
        if "died" in reply:
            return int(reply["died"]) <= 0  # or it ended by itself, and would again
        return reply["exit_code"] in _PASSING

    def _take(self, unit: _Unit, reply: Any) -> None:
        """Say what became of a unit; finish its film if it was the last one."""
        film = unit.film
        code = self._say(unit, reply)
        film.waiting.discard(unit.number)
        if code:
            film.failed.append((unit.number, code))
        if not film.waiting:
            self._finish(film)

    def _say(self, unit: _Unit, reply: Any) -> int:
        """Say what a unit has said, and give its exit code."""
        session = self._session
        if isinstance(reply, dict) and "died" not in reply:
            for line in reply["lines"]:
                write_line(line)
            if reply["status"] == "failed" or self._arrives(unit):
                return int(reply["exit_code"])
            message = f"{unit.film.job.out}: a worker has put its results elsewhere"
            error: BaseException = OutputError(f"{message}; give an --out that all workers see")
        elif isinstance(reply, dict):
            tail = f" ({reply['last_line'][:200]})" if reply["last_line"] else ""
            if reply["died"] > 0:
                message = f"the process that was to work on it failed to start or broke{tail}"
                error = BgsubError(f"{message}; check the Python and the bgsub of the workers")
            else:
                error = BgsubError(KILLED.replace("; ", f", {unit.tries} times{tail}; ", 1))
        else:
            error = _in_words(reply)
        with session.about(unit.film.job.input, label=unit.name):
            code = messages.log_error(error, session)
        session.input = session.label = None
        return code

    def _arrives(self, unit: _Unit) -> bool:
        """Wait until the results of a unit are seen here."""
        from bgsub.pipeline.results import is_complete
        from bgsub.segments.plan import segment_folder

        job, number = unit.film.job, unit.number
        folder = segment_folder(job.out, number) if number else job.out
        until = time.monotonic() + _PATIENCE_S
        while not is_complete(folder):
            if time.monotonic() > until:
                return False
            time.sleep(0.1)
        return True

    def _finish(self, film: _Film) -> None:
        """Join the segments of a film, and note what became of it."""
        from bgsub.segments.run import finish

        job, session = film.job, self._session
        if film.failed:
            code = film.failed[0][1]
            if film.plan is not None:
                self._name_failures(film, film.plan)
        else:
            code = 0
            with session.about(job.input, label=job.label):
                try:
                    if film.plan is not None:
                        show_result(finish(job.out, film.plan), session)
                except Interrupted:
                    raise
                except Exception as error:  # noqa: BLE001 - the others go on
                    code = messages.log_error(error, session)
            session.input = session.label = None
        self._outcomes.append(Outcome(job, "failed" if code else "done", code))

    def _name_failures(self, film: _Film, plan: SegmentPlan) -> None:
        names = ", ".join(str(number) for number, _ in film.failed[:5])
        message = f"{len(film.failed)} of {len(plan.segments)} segments failed ({names})"
        advice = "those that are finished are kept, --resume goes on"
        with self._session.about(film.job.input, label=film.job.label):
            self._session.log("error", f"{message}; {advice}")


def _tries() -> int:
    from bgsub.cluster.pool import TRIES

    return TRIES


def _in_words(error: BaseException) -> BaseException:
    """Say what is wrong with a worker that could not even begin."""
    if isinstance(error, (ImportError, AttributeError)):
        message = f"a worker cannot import bgsub, or has another one ({error})"
        return BgsubError(f"{message}; install the same bgsub on all workers")
    return error


if __name__ == "__main__":
    main()
