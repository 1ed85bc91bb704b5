"""Run one input, and say what was found."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING

from bgsub.cli.failures import INTERRUPTED
from bgsub.cli.interrupts import log_results, work_is_done
from bgsub.cli.jobs import Job
from bgsub.cli.logs import Session
from bgsub.cli.progress import make_progress, speed
from bgsub.errors import Interrupted
from bgsub.options import RunOptions

if TYPE_CHECKING:
    from bgsub.pipeline.outcome import RunResult


def run_one(
    options: RunOptions, digest: str | None, processes: int, job: Job, session: Session
) -> None:
    """Run one input; `digest` is the SHA-256 that a repeated input should have.

    Segments of the only input are run in so many processes.
    """
    from bgsub.cli.segments import run_side_by_side
    from bgsub.segments.plan import FOLDER
    from bgsub.segments.run import run

    work, began = functools.partial(run_side_by_side, session, job, processes), time.monotonic()
    try:
        with make_progress(session) as progress:
            result = run(
                job.input,
                job.out,
                options,
                progress=progress,
                work=work if processes > 1 else None,
            )
    except (KeyboardInterrupt, Interrupted) as error:
        if not (job.out / FOLDER).is_dir():
            raise
        message = f"{INTERRUPTED}; --resume goes on with the segments that are finished"
        raise Interrupted(message) from error
    found = result.manifest.get("input", {}).get("sha256")
    if digest and found and found != digest:
        session.log("warning", f"{job.input} is not the same file as in the run that was repeated")
    show_result(result, session, began)


def show_result(result: RunResult, session: Session, began: float | None = None) -> None:
    """Log what a run found, and its speed, where the monotonic time of its beginning is known."""
    if session.label is None:
        work_is_done()
    for warning in result.warnings:
        session.log("warning", warning)
    for finding in result.findings:
        session.log("finding", finding)
    for hint in result.hints:
        session.log("hint", hint)
    log_results(result.out, session)
    frames = result.manifest.get("frames", {}).get("used")
    if began is not None and frames:
        session.log("summary", speed(frames, time.monotonic() - began))
