"""Run a video in segments, in whatever process and on whatever machine."""

from __future__ import annotations

import contextlib
import gc
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bgsub.errors import BgsubError, InputError, OutputError
from bgsub.fit.memory import MemoryNeed
from bgsub.options import ProgressCallback, RunOptions, no_progress
from bgsub.pipeline import run as pipeline
from bgsub.pipeline.inputs import Stretch, StrPath, load_for, memory_need, open_input
from bgsub.pipeline.outcome import RunResult
from bgsub.pipeline.results import ResultsDirectory, Stopwatch, input_identity, is_complete
from bgsub.runtime.limits import give_back
from bgsub.runtime.threads import Workers, keep_freed_memory
from bgsub.segments import plan as plans
from bgsub.segments.plan import Segment, SegmentPlan, load_plan, segments_of
from bgsub.video.seek import glimpse
from bgsub.video.source import Footage

notes = logging.getLogger("bgsub.notes")
# Runs the segments of these numbers, each into its folder, and raises when one fails.
Work = Callable[[SegmentPlan, Sequence[int]], None]


def run_segments(
    footage: Footage,
    out: Path,
    plan: SegmentPlan,
    numbers: Sequence[int],
    progress: ProgressCallback,
    *,
    jobs: int = 1,
) -> None:
    """Run segments one after the other; progress counts the frames of all of them together."""
    options = [plan.segment_options(number) for number in numbers]
    sizes = [open_input(footage, one).frames_estimate for one in options]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    of, before, written, current = len(plan.segments), 0, 0, 0

    def of_film(stage: str, done: int, there: int | None) -> None:
        nonlocal written
        # Only the last stage tells how much is left; the others are named beside it.
        written = done if stage in {"write", "errors"} else written
        within = f" of {there}" if there else ""
        detail = f"segment {current} of {of}, {stage} {done}{within}"
        progress(f"frames · {detail}", before + written, total)

    for current in numbers:
        written = 0
        run_segment(out, current, plan=plan, footage=footage, jobs=jobs, progress=of_film)
        before += written
        notes.info("%s: segment %d of %d is finished", plan.identity["name"], current, of)


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

    Two processes may try the same segment: both write aside, and the first one that is ready puts
    its results in place. The plan is read from the folder if it is not given; footage is given
    where it is no file or has another path here; `jobs` segments are run at the same time on this
    machine.
    """
    plan = load_plan(out) if plan is None else plan
    folder = plans.segment_folder(out, number)
    if is_complete(folder):
        return
    options = replace(plan.segment_options(number), jobs=jobs)
    footage = str(plan.identity["absolute_path"]) if footage is None else footage
    segment = plan.segments[number - 1]
    stretch = Stretch(plan.identity, segment.entry, segment.before, segment.after)
    try:
        pipeline.run(footage, folder, options, progress=progress, stretch=stretch)
    except OutputError:
        if not is_complete(folder):  # or else somebody else was first
            raise
    finally:
        # What one segment has taken would be added to what the next one takes.
        gc.collect()
        give_back()


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
    Memory: within ``options.memory``, see `bgsub.fit.memory`; of a film in segments that of
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
    if work is None:
        run_segments(footage, out, plan, plan.missing(out), progress, jobs=options.jobs)
    else:
        work(plan, plan.missing(out))
    return finish(out, plan, watch)


def prepare(footage: Footage, out: Path, options: RunOptions) -> SegmentPlan | None:
    """Make the plan of a video, or take the one that is there; None where it is one piece.

    OutputError if the folder cannot be written, or holds segments of an earlier run that are not to
    be replaced, or not those of this input and these options.
    """
    if is_one_piece(footage, options):
        return None
    from bgsub.segments.join import joined_names

    with ResultsDirectory(out, joined_names(options), force=options.force):
        earlier = None
        with contextlib.suppress(InputError):
            earlier = load_plan(out)
        if earlier is not None and not (options.force or options.resume):
            of, done = len(earlier.segments), len(earlier.segments) - len(earlier.missing(out))
            message = f"{out}: holds {done} of {of} segments of a run that stopped"
            raise OutputError(f"{message}; go on with --resume, or begin anew with --force")
        plan = SegmentPlan(input_identity(footage), options)
        if earlier is not None and options.resume and earlier.fingerprint == plan.fingerprint:
            plan = replace(plan, segments=earlier.segments)
        elif earlier is not None and not options.force:
            raise _other_segments(out, "begin anew with --force")
        else:
            if plans.clear(out):
                notes.info("%s: removed the segments that a stopped run had left there", out)
            plan = replace(plan, segments=segments_of(footage, options))
            if len(plan.segments) > 1:
                plan.save(out)
    if len(plan.segments) < 2:
        return None
    announce(plan, out)
    return plan


def _other_segments(out: Path, advice: str) -> OutputError:
    message = f"{out}: its segments are of another input, or were made with other options"
    return OutputError(f"{message}; give the same, or {advice}")


def common_plan(footage: str, out: Path, options: RunOptions) -> SegmentPlan:
    """Return the plan of a video that all its parts follow: the first one that is made.

    It is kept in the folder of results if the video is divided. OutputError if that holds segments
    of another video or other options, or cannot be written.
    """
    path = out / plans.FOLDER / plans.PLAN
    if not path.exists():
        plan = SegmentPlan(input_identity(footage), options, segments_of(footage, options))
        if len(plan.segments) < 2:
            return plan
        segments = any(entry.name.isdigit() for entry in path.parent.glob("*"))
        if segments and not path.exists():
            message = f"{path.parent}: holds segments without a plan"
            raise OutputError(f"{message}; remove it, and run all parts again")
        if plan.save(out):
            return plan
    # The video is compared by name and size: its contents were read for the plan.
    earlier, film = load_plan(out), Path(footage)
    is_same = replace(earlier, options=options).fingerprint == earlier.fingerprint
    is_same = is_same and (film.name or film.resolve().name) == earlier.identity["name"]
    if film.is_file():
        is_same = is_same and film.stat().st_size == earlier.identity["size_bytes"]
    if not is_same:
        raise _other_segments(out, "choose another --out")
    return earlier


def announce(plan: SegmentPlan, out: Path) -> None:
    """Log in one line where segments begin, and what is finished already."""
    total, missing = len(plan.segments), len(plan.missing(out))
    begins = [f"{each.first} ({each.reason})" for each in plan.segments[1:6]]
    shown = ", ".join([str(plan.segments[0].first), *begins]) + (", …" if total > 6 else "")
    notes.info("%s: %d segments, which begin at frame %s", plan.identity["name"], total, shown)
    if missing < total:
        done = total - missing
        notes.info("%s: %d of %d segments are finished already and are taken", out, done, total)


def finish(out: Path, plan: SegmentPlan, watch: Stopwatch | None = None) -> RunResult:
    """Join the segments of a video, and remove them; OutputError if one is missing."""
    from bgsub.segments.join import join_segments, joined_names

    names, force = joined_names(plan.options), plan.options.force
    with ResultsDirectory(out, names, force=force) as results:
        result = join_segments(out, results, plan, watch or Stopwatch())
        plans.clear(out)
    return result


def is_one_piece(footage: Footage, options: RunOptions) -> bool:
    """Return whether a video is run as one without a look at it, as far as its header tells."""
    if options.segment != "auto":
        return options.segment == "off"
    if options.fit_frames == "all":
        return True
    try:
        frames = open_input(footage, options).frames_estimate
    except BgsubError:  # is raised again, and said, by the run
        return True
    return frames is None or frames <= plans.AUTO_FRAMES


def segment_needs(footage: Footage, options: RunOptions) -> list[tuple[Segment, MemoryNeed]]:
    """Divide a video as a run would, and count what each segment takes; nothing where it is one."""
    segments = () if is_one_piece(footage, options) else segments_of(footage, options)
    plan, needs = SegmentPlan({}, options, segments), []
    for segment in segments if len(segments) > 1 else ():
        own = plan.segment_options(segment.number)
        source = open_input(footage, own)
        borrowed = len(segment.before) + len(segment.after)
        needs.append((segment, memory_need(source, own, source.frames_estimate or 0, borrowed)))
    return needs


_GLIMPSES = 24  # frames of the footage by which models are compared
_MODEL = re.compile(r"[0-9]{4,}\.npz")


def models_in(folder: Path) -> list[Path]:
    """List the models of a folder of results or of models, in order; empty if there are none."""
    place = folder / "models" if (folder / "models").is_dir() else folder
    found = [path for path in place.iterdir() if _MODEL.fullmatch(path.name)]
    return sorted(found, key=lambda path: int(path.stem))


def choose_model(models: list[Path], footage: Footage, options: RunOptions) -> Path:
    """Choose the model of least median error on some frames; InputError if one does not fit."""
    if len(models) == 1:
        return models[0]
    source = open_input(footage, options, like=load_for(models[0], options))
    rows = np.stack([frame.data for frame in glimpse(source, _GLIMPSES)])
    found = []
    with Workers(options.threads, options.jobs) as workers:
        for path in models:
            model = load_for(path, options)
            if model.layout.size != rows.shape[1]:
                message = f"{source.path}: its frames have another size than those of {path}"
                raise InputError(f"{message}; use footage of that size, or --scale or --roi")
            found.append(float(np.median(np.sqrt(model.project(rows, workers)[1]))))
    return models[int(np.argmin(found))]
