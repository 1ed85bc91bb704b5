"""Run a film: as one where it is short, or else segment by segment, joined at the end."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from bgsub.errors import BgsubError, InputError, OutputError
from bgsub.options import ProgressCallback, RunOptions
from bgsub.pipeline import run as pipeline
from bgsub.pipeline.directory import ResultsDirectory
from bgsub.pipeline.inputs import StrPath, no_progress, open_input
from bgsub.pipeline.manifest import Stopwatch
from bgsub.pipeline.outcome import RunResult
from bgsub.runtime.threads import keep_freed_memory
from bgsub.segments.bounds import AUTO_FRAMES
from bgsub.segments.plan import SegmentPlan, clear, divided, draft_plan, in_words, load_plan
from bgsub.segments.work import run_segments
from bgsub.video.source import Footage

notes = logging.getLogger("bgsub.notes")

Work = Callable[[SegmentPlan, Sequence[int]], None]
"""Runs the segments of these numbers, each into its folder, and raises when one fails."""


def run(
    footage: Footage,
    out: StrPath,
    options: RunOptions | None = None,
    *,
    progress: ProgressCallback | None = None,
    work: Work | None = None,
) -> RunResult:
    """Fit a video and write its results.

    Parameters
    ----------
    footage : path or ndarray
        A video file, folder of images, glob, printf pattern or .npy/.npz file; or the frames, as
        `bgsub.open_source` takes them.
    out : path
        The results directory.
    options : RunOptions, optional
        ``segment`` divides a long film, ``resume`` goes on with one that was stopped.
    progress : callable, optional
    work : callable, optional
        Runs segments; by default one after the other, here.

    Returns
    -------
    RunResult

    Raises
    ------
    BgsubError
        Of the kind that says what went wrong; nothing unfinished is left under a final name.
        Segments that were finished are kept for ``resume``.

    Notes
    -----
    Memory: within ``options.memory``, see `bgsub.fit.memory_plan`; of a film in segments that of
    the longest one. Masks that need no background are learned without a fit of the frames: no Gram
    matrix, so time and memory grow with the number of frames and not with its square.
    """
    options, progress = options or RunOptions(), progress or no_progress
    out = Path(out)
    watch = Stopwatch()
    keep_freed_memory()  # before any thread, also of the first look, has a pool of its own
    with watch.stage("plan"):
        plan = prepare(footage, out, options)
    if plan is None:
        return pipeline.run(footage, out, options, progress=progress)
    missing = plan.missing(out)
    if work is None:
        run_segments(footage, out, plan, missing, progress, jobs=options.jobs)
    else:
        work(plan, missing)
    return finish(out, plan, watch)


def prepare(footage: Footage, out: Path, options: RunOptions) -> SegmentPlan | None:
    """Make the plan of a film, or take the one that is there; None where it is one piece.

    Raises
    ------
    OutputError
        If the folder cannot be written, or holds what is not to be replaced.
    BgsubError
        As for `bgsub.open_source`.
    """
    if is_one_piece(footage, options):
        return None
    from bgsub.segments.join import joined_names

    with ResultsDirectory(out, joined_names(options), force=options.force):
        plan = _planned(footage, out, options)
    if len(plan.segments) < 2:
        return None
    announce(plan, out)
    return plan


def finish(out: Path, plan: SegmentPlan, watch: Stopwatch | None = None) -> RunResult:
    """Join the segments of a film, and remove them.

    Raises
    ------
    OutputError
        If a segment is missing, or the results cannot be written.
    """
    from bgsub.segments.join import join_segments, joined_names

    names, force = joined_names(plan.options), plan.options.force
    with ResultsDirectory(out, names, force=force) as results:
        result = join_segments(out, results, plan, watch or Stopwatch())
        clear(out)
    return result


def is_one_piece(footage: Footage, options: RunOptions) -> bool:
    """Say whether a film is run as one without a look at it, as far as its header tells.

    By default that is one of no more frames than `AUTO_FRAMES`, or one of which all are fitted.
    """
    if options.segment != "auto":
        return options.segment == "off"
    if options.fit_frames == "all":
        return True
    try:
        frames = open_input(footage, options).frames_estimate
    except BgsubError:  # is raised again, and said, by the run
        return True
    return frames is None or frames <= AUTO_FRAMES


def _planned(footage: Footage, out: Path, options: RunOptions) -> SegmentPlan:
    """Make a plan, or take the one that is there.

    Raises
    ------
    OutputError
        If segments of an earlier run are there that are not to be replaced, or not those of this
        input and these options.
    """
    earlier = _earlier(out)
    if earlier is not None and not (options.force or options.resume):
        done = len(earlier.segments) - len(earlier.missing(out))
        message = f"{out}: holds {done} of {len(earlier.segments)} segments of a run that stopped"
        raise OutputError(f"{message}; go on with --resume, or begin anew with --force")
    draft = draft_plan(footage, options)
    if earlier is not None and options.resume and earlier.fingerprint == draft.fingerprint:
        return replace(draft, segments=earlier.segments)
    if earlier is not None and not options.force:
        message = f"{out}: its segments are of another input, or were made with other options"
        raise OutputError(f"{message}; give the same, or begin anew with --force")
    if clear(out):
        notes.info("%s: removed the segments that a stopped run had left there", out)
    plan = divided(draft, footage)
    if len(plan.segments) > 1:
        plan.save(out)
    return plan


def _earlier(out: Path) -> SegmentPlan | None:
    try:
        return load_plan(out)
    except InputError:
        return None


def announce(plan: SegmentPlan, out: Path) -> None:
    """Say in one line where segments begin, and what is finished already."""
    total, name, missing = len(plan.segments), plan.identity["name"], plan.missing(out)
    notes.info("%s: %d segments, which begin at frame %s", name, total, in_words(plan.segments))
    if len(missing) < total:
        done = total - len(missing)
        notes.info("%s: %d of %d segments are finished already and are taken", out, done, total)
