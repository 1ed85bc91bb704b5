"""Run the segments of one film in several processes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bgsub.cli.jobs import Job
from bgsub.cli.logs import Session
from bgsub.errors import BgsubError

if TYPE_CHECKING:
    from bgsub.segments.plan import SegmentPlan


def run_side_by_side(
    session: Session, job: Job, processes: int, plan: SegmentPlan, numbers: Sequence[int]
) -> None:
    """Run segments in so many processes; what is said of them comes in their order.

    Raises
    ------
    BgsubError
        If one failed, with its exit code; the others are done, and kept.
    """
    from bgsub.cli.parallel import attempt_side_by_side
    from bgsub.segments.plan import segment_folder

    label, total = f"{plan.identity['name']}, segment", len(numbers)
    jobs = [
        Job(f"{label} {number}", segment_folder(job.out, number), place, total)
        for place, number in enumerate(numbers, start=1)
    ]
    work = functools.partial(_run_one, job.input, job.out, min(processes, total))
    done = attempt_side_by_side(jobs, work, session, skip=None, processes=processes)
    failed = [outcome for outcome in done if outcome.status == "failed"]
    if failed:
        names = ", ".join(outcome.job.out.name.lstrip("0") for outcome in failed[:5])
        message = f"{len(failed)} of {total} segments failed ({names})"
        error = BgsubError(f"{message}; those that are finished are kept, --resume goes on")
        error.exit_code = failed[0].exit_code
        raise error


def _run_one(footage: str, out: Path, jobs: int, job: Job, session: Session) -> None:
    from bgsub.segments.run import run_segment

    run_segment(out, int(job.out.name), footage=footage, jobs=jobs)
