"""Let a cluster do the inputs of a batch and their segments: ``bgsub run --scheduler``."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from bgsub.cli import jobs as work_of
from bgsub.cli.jobs import Job, Outcome, Work
from bgsub.cli.messages import Session, log_error
from bgsub.errors import BgsubError, Interrupted, OutputError

if TYPE_CHECKING:
    from bgsub.cluster.pool import Pool
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


def on_cluster(pool: Pool, jobs: Sequence[Job], work: Work, session: Session) -> Iterator[Outcome]:
    """Let workers do jobs, some of them again, and join what is in segments.

    Yields what became of each as it is ready; NoWorkersError if nobody works any more.
    """
    from bgsub.cluster.pool import TRIES, do_in_child

    films: list[_Film] = []
    for job in jobs:
        found = _prepared(job, work, session)
        if isinstance(found, Outcome):
            yield found
        elif found.waiting:
            films.append(found)
        else:
            yield _finished(found, session)

    def task(unit: _Unit) -> tuple[Any, ...]:
        segment = (unit.film.job.input, unit.number) if unit.number else None
        own = replace(work, skip=False, segment=segment)
        request = work_of.request_for(unit.job, own, session, unseen=True)
        return do_in_child, work_of.MODULE, request, pool.slots()

    units = [_Unit(film, number) for film in films for number in sorted(film.waiting)]
    while units:
        again = []
        for place, reply in pool.do([task(unit) for unit in units]):
            unit, film = units[place], units[place].film
            if _is_passing(reply) and unit.tries < TRIES:
                again.append(replace(unit, tries=unit.tries + 1))
                continue
            film.waiting.discard(unit.number)
            if code := _say(unit, reply, session):
                film.failed[unit.number] = code
            if not film.waiting:
                yield _finished(film, session)
        units = again


def _prepared(job: Job, work: Work, session: Session) -> _Film | Outcome:
    """Look for results that are there, and divide the film."""
    from bgsub.segments.run import prepare

    with session.about(job.input, label=job.label):
        try:
            if work.skip and work_of.is_done(job, work, session):
                return Outcome(job, "skipped")
            plan = prepare(job.input, job.out, work.options)
        except Interrupted:
            raise
        except Exception as error:  # noqa: BLE001 - one bad input must not stop the others
            return Outcome(job, "failed", log_error(error, session))
    return _Film(job, plan, {0} if plan is None else set(plan.missing(job.out)))


def _say(unit: _Unit, reply: Any, session: Session) -> int:
    """Log what a unit reported, and return its exit code."""
    job = unit.job
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
        return log_error(reply, session)


def _finished(film: _Film, session: Session) -> Outcome:
    """Join the segments of a film, and return what became of it."""
    from bgsub.segments.run import finish

    job, code = film.job, next(iter(film.failed.values()), 0)
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
    return Outcome(job, "failed" if code else "done", code)


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
