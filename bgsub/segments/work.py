"""Run segments of a plan, in whatever process and on whatever machine."""

from __future__ import annotations

import gc
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bgsub.errors import OutputError
from bgsub.options import ProgressCallback
from bgsub.pipeline.directory import is_complete
from bgsub.pipeline.inputs import open_input
from bgsub.pipeline.run import run
from bgsub.pipeline.stretch import Stretch
from bgsub.runtime.limits import give_back
from bgsub.segments.plan import SegmentPlan, load_plan, segment_folder
from bgsub.video.source import Footage

notes = logging.getLogger("bgsub.notes")


def run_segments(
    footage: Footage,
    out: Path,
    plan: SegmentPlan,
    numbers: Sequence[int],
    progress: ProgressCallback,
    *,
    jobs: int = 1,
) -> None:
    """Run segments one after the other; progress counts the frames of all of them together.

    Raises
    ------
    BgsubError
        As for `bgsub.run`.
    """
    options = [plan.segment_options(number) for number in numbers]
    sizes = [open_input(footage, one).frames_estimate for one in options]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    of, before = len(plan.segments), 0
    for number in numbers:
        written = 0

        def of_film(
            stage: str, done: int, there: int | None, number: int = number, before: int = before
        ) -> None:
            nonlocal written
            # Only the last stage tells how much is left; the others are named beside it.
            written = done if stage in {"write", "errors"} else written
            within = f" of {there}" if there else ""
            detail = f"segment {number} of {of}, {stage} {done}{within}"
            progress(f"frames · {detail}", before + written, total)

        run_segment(out, number, plan=plan, footage=footage, jobs=jobs, progress=of_film)
        before += written
        notes.info("%s: segment %d of %d is finished", plan.identity["name"], number, of)


def run_segment(
    out: Path,
    number: int,
    *,
    plan: SegmentPlan | None = None,
    footage: Footage | None = None,
    jobs: int = 1,
    progress: ProgressCallback | None = None,
) -> None:
    """Run a segment into its folder; does nothing if its results are there.

    Its run.json is the sign that it is complete. Two processes may try the same segment: both write
    aside, and the first one that is ready puts its results in place.

    Parameters
    ----------
    out : Path
        The folder of results, with a plan.
    number : int
        Of the segment, from 1.
    plan : SegmentPlan, optional
        Read from the folder if not given.
    footage : path or ndarray, optional
        The film, where it is no file or has another path here.
    jobs : int
        Segments that are run at the same time on this machine, which share threads and memory.
    progress : callable, optional

    Raises
    ------
    BgsubError
        As for `bgsub.run`.
    """
    plan = load_plan(out) if plan is None else plan
    folder = segment_folder(out, number)
    if is_complete(folder):
        return
    options = replace(plan.segment_options(number), jobs=jobs)
    if footage is None:
        footage = str(plan.identity["absolute_path"])
    segment = plan.segments[number - 1]
    stretch = Stretch(plan.identity, segment.entry, segment.before, segment.after)
    try:
        run(footage, folder, options, progress=progress, stretch=stretch)
    except OutputError:
        if not is_complete(folder):  # or else somebody else was first
            raise
    finally:
        # What one segment has taken would be added to what the next one takes.
        gc.collect()
        give_back()
