"""Run several inputs one after the other or side by side, and sum up those that fail."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from bgsub.cli import failures
from bgsub.cli.jobs import Job, Outcome, Recipe, Work, attempt, do_job
from bgsub.cli.logs import Session
from bgsub.errors import BatchError, EmptySelectionError, InputError, Interrupted
from bgsub.files import check_plain

_NAMED_FAILURES = 10


def read_list(name: str) -> list[str]:
    """Read inputs from a list, one path a line; blank lines and lines that begin with # are not.

    Parameters
    ----------
    name : str
        A text file, or ``-`` for stdin. Relative paths are relative to the working directory.

    Raises
    ------
    InputError
        If the list cannot be read.
    EmptySelectionError
        If no path is in it.
    """
    if name == "-":
        data = sys.stdin.buffer.read()
    else:
        check_plain(name)
        try:
            data = Path(name).read_bytes() if _is_text(Path(name)) else b"\0"
        except OSError as error:
            message = f"{name}: the list of inputs cannot be read ({error.strerror})"
            raise InputError(message) from error
    if b"\0" in data:
        message = f"{name}: is binary data and no list of inputs; give a video without --from-file"
        raise InputError(message)
    # As the system decodes file names, so that any name survives.
    lines = [os.fsdecode(line).strip() for line in data.removeprefix(b"\xef\xbb\xbf").splitlines()]
    paths = [line for line in lines if line and not line.startswith("#")]
    if not paths:
        where = "stdin" if name == "-" else name
        message = f"{where}: the list names no input; write one path a line"
        raise EmptySelectionError(message)
    return paths


def _is_text(path: Path) -> bool:
    """Check whether a file may be a list; a film given by mistake is not read to its end."""
    with path.open("rb") as file:
        return b"\0" not in file.read(1 << 16)


def run_batch(
    jobs: Sequence[Job], work: Work, session: Session, *, skip: Recipe | None, processes: int = 1
) -> None:
    """Do all jobs; where there are several, one that fails does not stop the others.

    Parameters
    ----------
    jobs : sequence of Job
    work : callable
        Does one job, and raises when it fails.
    session : Session
    skip : Recipe, optional
        Leave jobs alone whose complete results are there, if they were made so.
    processes : int
        Jobs that are done side by side; what is said of them comes in the order of the jobs.

    Raises
    ------
    BatchError
        At the end, if some of several jobs failed; a job that is alone raises its own error.
    Interrupted
        If the batch was stopped.
    """
    if len(jobs) == 1:
        do_job(jobs[0], work, session, skip=skip)
        return
    outcomes: list[Outcome] = []
    try:
        if processes > 1:
            from bgsub.cli.parallel import attempt_side_by_side

            done = attempt_side_by_side(jobs, work, session, skip=skip, processes=processes)
        else:
            done = (attempt(job, work, session, skip=skip) for job in jobs)
        outcomes.extend(done)
    except (KeyboardInterrupt, Interrupted) as error:
        session.input = session.label = None
        message = f"{failures.INTERRUPTED}; {len(outcomes)} of {len(jobs)} inputs were finished"
        raise Interrupted(f"{message}, --skip-existing goes on from there") from error
    summarize(outcomes, session)


def summarize(outcomes: Sequence[Outcome], session: Session) -> None:
    """Say how a batch ended; raises BatchError if some of it failed."""
    failed = [outcome.job.input for outcome in outcomes if outcome.status == "failed"]
    skipped = sum(outcome.status == "skipped" for outcome in outcomes)
    done = len(outcomes) - len(failed) - skipped
    if not failed:
        left = f", {skipped} skipped" if skipped else ""
        session.log("summary", f"{len(outcomes)} inputs: {done} done{left}")
        return
    names = ", ".join(failed[:_NAMED_FAILURES])
    if len(failed) > _NAMED_FAILURES:
        names += f" and {len(failed) - _NAMED_FAILURES} more"
    message = f"{len(failed)} of {len(outcomes)} inputs failed: {names}"
    raise BatchError(message)
