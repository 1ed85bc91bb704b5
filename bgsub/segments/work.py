"""Run one segment of a plan, in whatever process and on whatever machine."""

from __future__ import annotations

import gc
from dataclasses import replace
from pathlib import Path

from bgsub.errors import OutputError
from bgsub.options import ProgressCallback
from bgsub.pipeline.directory import is_complete
from bgsub.pipeline.run import run
from bgsub.pipeline.stretch import Stretch
from bgsub.runtime.limits import give_back
from bgsub.segments.plan import SegmentPlan, load_plan, segment_folder
from bgsub.video.source import Footage


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
