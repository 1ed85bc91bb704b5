"""Run from an input to a folder of results, or to masks or errors alone, which write nothing."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bgsub.errors import BgsubWarning
from bgsub.fit.memory import make_plan
from bgsub.fit.store import FrameBlock, FrameStore, decoded_blocks
from bgsub.options import OF_LOCAL, ProgressCallback, RunOptions, no_progress
from bgsub.outliers.errors_table import ErrorTable
from bgsub.pipeline import inputs
from bgsub.pipeline.inputs import Stretch, StrPath
from bgsub.pipeline.loop import Loop
from bgsub.pipeline.outcome import (
    RunResult,
    damage_findings,
    finish,
    fit_facts,
    fit_hints,
    fit_notes,
    source_facts,
)
from bgsub.pipeline.outputs import FrameOutputs
from bgsub.pipeline.results import ResultsDirectory, Stopwatch, input_identity
from bgsub.pipeline.scene import FrameScores, LearnedScene, learn_scene, saved_scene
from bgsub.runtime.threads import Workers
from bgsub.video.frames import Bytes, Frame
from bgsub.video.source import Footage, FrameSource

# What fits frames and follows objects is imported where it is wanted: masks alone need neither.
if TYPE_CHECKING:
    from bgsub.fit.frame_fit import FrameFit
    from bgsub.tracking.recorder import ObjectOptions

notes = logging.getLogger("bgsub.notes")


def run(
    footage: Footage,
    out: StrPath,
    options: RunOptions | None = None,
    *,
    progress: ProgressCallback | None = None,
    stretch: Stretch | None = None,
) -> RunResult:
    """Fit a video, or a stretch of a longer one, and write its results; see `bgsub.run`."""
    options, progress = options or RunOptions(), progress or no_progress
    watch = Stopwatch()
    with (
        ResultsDirectory(Path(out), inputs.output_names(options), force=options.force) as results,
        Workers(options.threads, options.jobs) as workers,
    ):
        source = _opened(footage, options, workers)
        watched = _object_options(options, source)
        identity = workers.submit(
            lambda: input_identity(footage) if stretch is None else stretch.identity
        )
        workers.load("importlib.metadata")  # for run.json
        with _learned(source, footage, options, workers, progress, watch, stretch) as learned:
            scene, fit, scores, blocks, total, told = learned
            if fit is not None and fit.rank is not None and "spectrum" in options.outputs:
                from bgsub.report.plots import render_spectrum

                used, kind = fit.estimator.n_components, options.plot_format
                data = render_spectrum(fit.rank, used, title=source.name, plot_format=kind)
                results.write(inputs.output_name("spectrum", options), data)
            if "model" in options.outputs and scene.background is not None:
                scene.background.save(results.stage("model.npz"))
            with (
                watch.stage("write"),
                FrameOutputs(results, scene, source, options, watched, workers) as outputs,
            ):
                outputs.write(blocks, total, progress)
        facts = {"command": "run", **source_facts(source, identity.result()), **told}
        if fit is None or scores is None:
            return finish(outputs, None, watch, facts)
        table = scores.table(source)
        return finish(outputs, table, watch, facts, fit_hints(fit, table))


def apply(
    model_path: StrPath,
    footage: Footage,
    out: StrPath,
    options: RunOptions | None = None,
    *,
    progress: ProgressCallback | None = None,
) -> RunResult:
    """Write the results of a saved model for new footage.

    Parameters
    ----------
    model_path : path
        A model.npz, or the folder of results that holds it.
    footage, out, options, progress
        As for `run`. The options of the fit have no effect; a threshold or cut-off of None is
        that of the model.

    Returns
    -------
    RunResult

    Raises
    ------
    InputError
        If the file is no model, or the footage has another size than the model.
    BgsubError
        As for `run`.

    Notes
    -----
    One pass over the footage; memory does not depend on its length.
    """
    options, progress = options or RunOptions(), progress or no_progress
    watch = Stopwatch()
    model = inputs.load_for(model_path, options)
    if model.local is None:
        idle = [options.as_given(name) for name in options.changed() & OF_LOCAL]
        if idle:
            message = f"a model whose masks are the formula's makes nothing of {', '.join(idle)}"
            warnings.warn(message, BgsubWarning, stacklevel=2)
    with (
        ResultsDirectory(Path(out), inputs.output_names(options), force=options.force) as results,
        Workers(options.threads, options.jobs) as workers,
    ):
        source = inputs.open_input(footage, options, like=model)
        watched = _object_options(options, source)
        model = inputs.model_for(model, source, model_path)
        scene = saved_scene(model, options, source.layout)
        identity = workers.submit(input_identity, footage)
        scores = FrameScores(scene, workers)
        with (
            watch.stage("write"),
            FrameOutputs(results, scene, source, options, watched, workers) as outputs,
        ):
            blocks = scores.blocks(decoded_blocks(source))
            outputs.write(blocks, source.frames_estimate, progress)
        if "model" in options.outputs:
            model.save(results.stage("model.npz"))
        facts = {"command": "apply", "model": str(model_path), "threshold": model.threshold}
        facts["model_sha256"] = input_identity(model_path)["sha256"]
        facts |= source_facts(source, identity.result())
        return finish(outputs, scores.table(source), watch, facts)


def masks(
    footage: Footage, options: RunOptions | None = None, **named: Any
) -> Iterator[tuple[Frame, Bytes]]:
    """Yield every frame of a video with its mask.

    Parameters
    ----------
    footage : str, Path or ndarray
        As for `bgsub.run`.
    options : RunOptions, optional
        Its outputs have no effect.
    **named
        Options of a run or of its input by name, such as ``sensitivity="high", start=100``.

    Yields
    ------
    Frame
        The frame; ``frame.layout.to_bgr(frame.data)`` is its picture.
    ndarray of shape (h, w), uint8
        Its mask, 0 or 255; the same that `bgsub.run` writes.

    Raises
    ------
    BgsubError
        As for `bgsub.run`.

    Notes
    -----
    The film is read once to learn from, and what of it does not fit into ``options.memory`` is
    decoded again. Close the iterator (or let it end) to give the memory back.
    """
    options = replace((options or RunOptions()).with_names(**named), outputs=frozenset({"mask"}))
    with Workers(options.threads, options.jobs) as workers:
        source = _opened(footage, options, workers)
        with _learned(source, footage, options, workers) as learned:
            loop = Loop(learned.scene, workers, {"mask"}, options.still_objects)
            for frame in loop.frames(learned.blocks):
                yield Frame(frame.number, frame.time_s, frame.row.copy(), frame.layout), frame.mask


@dataclass(frozen=True, eq=False)
class FrameErrors:
    """Errors of the frames of an input, and what reading and fitting it had to say."""

    table: ErrorTable
    notes: list[str]


def fit_errors(
    footage: Footage, options: RunOptions | None = None, *, progress: ProgressCallback | None = None
) -> FrameErrors:
    """Fit a video and return the errors of its frames; nothing is written.

    Parameters
    ----------
    footage, options, progress
        As for `run`; the outputs do not count.

    Returns
    -------
    FrameErrors

    Raises
    ------
    BgsubError
        As for `run`.
    """
    options = replace(options or RunOptions(), outputs=frozenset({"errors"}))
    with Workers(options.threads, options.jobs) as workers:
        source = _opened(footage, options, workers)
        with _learned(source, footage, options, workers, progress or no_progress) as learned:
            for _ in learned.blocks:
                pass
    if learned.scores is None:
        raise RuntimeError("errors of frames that are not fitted")
    return _frame_errors(source, learned.scores, options, learned.fit)


def model_errors(
    model_path: StrPath,
    footage: Footage,
    options: RunOptions | None = None,
    *,
    progress: ProgressCallback | None = None,
) -> FrameErrors:
    """Return the errors that a saved model makes on new footage; nothing is written.

    Parameters
    ----------
    model_path, footage, options, progress
        As for `apply`; the outputs do not count.

    Returns
    -------
    FrameErrors

    Raises
    ------
    BgsubError
        As for `apply`.
    """
    options, progress = options or RunOptions(), progress or no_progress
    model = inputs.load_for(model_path, options)
    with Workers(options.threads, options.jobs) as workers:
        source = inputs.open_input(footage, options, like=model)
        model = inputs.model_for(model, source, model_path)
        scores, done = FrameScores(saved_scene(model, options), workers), 0
        for block in scores.blocks(decoded_blocks(source)):
            done += len(block.rows)
            progress("errors", done, source.frames_estimate)
    return _frame_errors(source, scores, options, None)


def _frame_errors(
    source: FrameSource, scores: FrameScores, options: RunOptions, fit: FrameFit | None
) -> FrameErrors:
    facts, on_bad = source_facts(source, {}), options.source.on_bad_frame
    damage = damage_findings(facts, source.decoded, on_bad, is_fitted=fit is not None)
    notes = [] if fit is None else fit_notes(fit)
    if fit is not None and not fit.converged:
        notes.append("the fit did not converge: the errors are not the final ones")
    return FrameErrors(scores.table(source), [*source.warnings, *damage, *notes])


class _Learned(NamedTuple):
    """What was learned of an input, all of its frames and their number, facts for run.json.

    The frames have coefficients and scores where they are fitted.
    """

    scene: LearnedScene
    fit: FrameFit | None
    scores: FrameScores | None
    blocks: Iterator[FrameBlock]
    total: int
    facts: dict[str, Any]


def _opened(footage: Footage, options: RunOptions, workers: Workers) -> FrameSource:
    """Open an input, while the library of a fit begins to be imported."""
    workers.load(*["scipy.linalg"] * inputs.needs_fit(options))
    return inputs.open_input(footage, options)


@contextlib.contextmanager
def _learned(
    source: FrameSource,
    footage: Footage,
    options: RunOptions,
    workers: Workers,
    progress: ProgressCallback = no_progress,
    watch: Stopwatch | None = None,
    stretch: Stretch | None = None,
) -> Iterator[_Learned]:
    """Read the frames of an input, fit them if that is wanted, and learn their scene."""
    watch = watch or Stopwatch()
    borrowed = None if stretch is None else stretch.enter(source, footage, options)
    frames, more = source.frames_estimate, 0 if borrowed is None else len(borrowed)
    if frames is None:
        frames = sum(1 for _ in source)
    need = inputs.memory_need(source, options, frames, more)
    limit = inputs.memory_limit(options.memory, options.jobs)
    plan = make_plan(need, limit, options.temp, name=source.name, jobs=options.jobs)
    if plan.reason:
        notes.info("%s: %s", source.name, plan.reason)
    fits = inputs.needs_fit(options)
    kept: dict[str, Any] = {"seed": options.seed, "temp": options.temp, "borrowed": borrowed}
    with watch.stage("decode"):
        fitted = None if fits else inputs.fitted_at_most(options)
        store = FrameStore(source, plan, progress=progress, fitted=fitted, **kept)
    with contextlib.closing(store):
        fit = scores = None
        if fits:
            from bgsub.fit.frame_fit import fit_frames

            with watch.stage("fit"):
                fit = fit_frames(store, source.pixel_mask, options, workers, progress)
            if "plot" in options.outputs:
                # Not before: fits wait for imports, and Matplotlib's takes longer than many fits.
                workers.load("bgsub.report.plots")
        with watch.stage("model"):
            scene = learn_scene(store, source, fit, options, workers, progress)
        blocks = store.all_blocks()
        memory: dict[str, Any] = {"limit_bytes": plan.limit, "expected_bytes": plan.bytes}
        memory |= {"frames_kept": plan.storage, "reason": plan.reason}
        facts: dict[str, Any] = {"memory": memory, "fit_frames": int(store.fit_numbers.size)}
        if fit is not None:
            scores = FrameScores(scene, workers, fit, projects=not store.fits_all)
            blocks = scores.blocks(blocks)
            facts |= fit_facts(fit, scene.background)
        yield _Learned(scene, fit, scores, blocks, len(store), facts)


def _object_options(options: RunOptions, source: FrameSource) -> ObjectOptions | None:
    """Take the options of objects, where any are followed; refuse files that they cannot name."""
    if not inputs.needs_objects(options):
        return None
    from bgsub.pipeline.objects import given_feedback, object_options
    from bgsub.tracking.regions import check_inside

    watched = object_options(options)
    given_feedback(options, source.input_size)  # what cannot be read is refused before learning
    check_inside(source.name, source.input_size, watched.regions, watched.lines)
    return watched
