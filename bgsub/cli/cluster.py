"""Let a cluster do the inputs of a batch and their segments: ``bgsub run --scheduler``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import click

from bgsub.cli import jobs as work_of
from bgsub.cli.jobs import Job, Outcome, Work
from bgsub.cli.messages import INTERRUPTED, Session, log_error
from bgsub.errors import BatchError, BgsubError, Interrupted, OutputError

if TYPE_CHECKING:
    from bgsub.cluster.pool import Pool, Task
    from bgsub.segments.plan import SegmentPlan

# Exit codes of what may succeed on another machine, or a moment later.
_PASSING = {BgsubError.exit_code, OutputError.exit_code}

# Network file systems show the files of other machines after some seconds.
_PATIENCE_S = 10.0


@dataclass
class _Film:
    """A job, and what of it is left."""

    job: Job
    plan: SegmentPlan | None  # None where it is one piece
    waiting: set[int]  # segments that are not done, 0 for a film in one piece
    failed: dict[int, int] = field(default_factory=dict)  # segments and their exit codes


@dataclass(frozen=True)
class _Unit:
    """A film, the number of a segment of it (0 for all), and how often it was tried."""

    film: _Film
    number: int
    tries: int = 1

    @property
    def job(self) -> Job:
        """The job of its film, or a part of it, under the name that messages call it."""
        film = self.film
        if not self.number or film.plan is None:
            return film.job
        name = f"{film.job.input}, segment {self.number}"
        return Job(name, film.job.out, self.number, len(film.plan.segments))


class ClusterRun:
    """One call of ``bgsub run --scheduler``."""

    def __init__(self, pool: Pool, work: Work, session: Session) -> None:
        self._pool, self._work, self._session = pool, work, session
        self._outcomes: list[Outcome] = []

    def do(self, jobs: Sequence[Job]) -> None:
        """Do all jobs, join what is in segments, and sum up."""
        from bgsub.cluster.pool import NoWorkersError

        try:
            films = [film for job in jobs if (film := self._prepared(job)) is not None]
            self._do_units(films)
        except (KeyboardInterrupt, Interrupted) as error:
            raise Interrupted(f"{INTERRUPTED}; {self._so_far(jobs)}") from error
        except NoWorkersError as error:
            message = f"{error}; {self._so_far(jobs)}"
            some_are_done = any(outcome.status != "failed" for outcome in self._outcomes)
            raise (BatchError if some_are_done else NoWorkersError)(message) from error
        outcomes = sorted(self._outcomes, key=lambda outcome: jobs.index(outcome.job))
        if len(jobs) > 1:
            work_of.summarize(outcomes, self._session)
        elif outcomes[0].status == "failed":
            raise click.exceptions.Exit(outcomes[0].exit_code)  # what is wrong was said

    def _so_far(self, jobs: Sequence[Job]) -> str:
        """Return how much is done as the run ends early."""
        self._session.input = self._session.label = None
        done = sum(outcome.status != "failed" for outcome in self._outcomes)
        advice = "--skip-existing (--resume with --segment) goes on from there"
        return f"{done} of {len(jobs)} inputs were finished, {advice}"

    def _prepared(self, job: Job) -> _Film | None:
        """Look for results that are there, and divide the film; None if nothing is left to do."""
        from bgsub.segments.run import prepare

        with self._session.about(job.input, label=job.label):
            try:
                if self._work.skip and work_of.is_done(job, self._work, self._session):
                    self._outcomes.append(Outcome(job, "skipped"))
                    return None
                plan = prepare(job.input, job.out, self._work.options)
            except Interrupted:
                raise
            except Exception as error:  # noqa: BLE001 - one bad input must not stop the others
                code = log_error(error, self._session)
                self._outcomes.append(Outcome(job, "failed", code))
                return None
        film = _Film(job, plan, {0} if plan is None else set(plan.missing(job.out)))
        if not film.waiting:
            self._finish(film)
            return None
        return film

    def _do_units(self, films: Sequence[_Film]) -> None:
        """Let workers do all units, some of them again."""
        from bgsub.cluster.pool import TRIES

        units = [_Unit(film, number) for film in films for number in sorted(film.waiting)]
        while units:
            again = []
            for place, reply in self._pool.do([self._task(unit) for unit in units]):
                unit = units[place]
                if _is_passing(reply) and unit.tries < TRIES:
                    again.append(replace(unit, tries=unit.tries + 1))
                    continue
                unit.film.waiting.discard(unit.number)
                if code := self._say(unit, reply):
                    unit.film.failed[unit.number] = code
                if not unit.film.waiting:
                    self._finish(unit.film)
            units = again

    def _task(self, unit: _Unit) -> Task:
        from bgsub.cluster.pool import Task, do_in_child

        segment = (unit.film.job.input, unit.number) if unit.number else None
        work = replace(self._work, skip=False, segment=segment)
        request = work_of.request_for(unit.job, work, self._session, unseen=True)
        return Task(do_in_child, (work_of.MODULE, request, self._pool.slots()), "bgsub-run")

    def _say(self, unit: _Unit, reply: Any) -> int:
        """Log what a unit reported, and return its exit code."""
        job, session = unit.job, self._session
        if isinstance(reply, dict):
            outcome = work_of.outcome_of(job, reply, session, f", {unit.tries} times")
            if outcome.status == "failed" or _arrives(unit):
                return outcome.exit_code
            message = f"{job.out}: a worker has put its results elsewhere"
            reply = OutputError(f"{message}; give an --out that all workers see")
        elif isinstance(reply, (ImportError, AttributeError)):
            message = f"a worker cannot import bgsub, or has another one ({reply})"
            reply = BgsubError(f"{message}; install the same bgsub on all workers")
        with session.about(unit.film.job.input, label=job.input):
            code = log_error(reply, session)
        session.input = session.label = None
        return code

    def _finish(self, film: _Film) -> None:
        """Join the segments of a film, and note what became of it."""
        from bgsub.segments.run import finish

        job, session = film.job, self._session
        code = next(iter(film.failed.values()), 0)
        with session.about(job.input, label=job.label):
            try:
                if film.plan is not None and film.failed:
                    total = len(film.plan.segments)
                    session.log("error", work_of.segments_failed([*film.failed], total))
                elif film.plan is not None:
                    work_of.show_result(finish(job.out, film.plan), session)
            except Interrupted:
                raise
            except Exception as error:  # noqa: BLE001 - the others go on
                code = log_error(error, session)
        session.input = session.label = None
        self._outcomes.append(Outcome(job, "failed" if code else "done", code))


def _arrives(unit: _Unit) -> bool:
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


def _is_passing(reply: Any) -> bool:
    """Return whether another try may succeed."""
    if not isinstance(reply, dict):
        return False
    if "died" in reply:
        return int(reply["died"]) <= 0  # or it ended by itself, and would again
    return reply["exit_code"] in _PASSING
