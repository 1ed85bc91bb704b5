"""The whole way: source → matrix → fit → model → pictures → results that are whole."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path

from bgsub.background.model import BackgroundModel
from bgsub.fit.memory_plan import Plan
from bgsub.fit.store import FrameStore, decoded_blocks
from bgsub.options import ProgressCallback, RunOptions
from bgsub.outliers.errors_table import ErrorTable
from bgsub.pipeline import manifest as manifests
from bgsub.pipeline.directory import ResultsDirectory
from bgsub.pipeline.facts import fit_facts, plan_facts, source_facts, video_facts
from bgsub.pipeline.findings import mask_hints
from bgsub.pipeline.fit_hints import fit_hints
from bgsub.pipeline.fitting import fit_frames, form_model, load_libraries
from bgsub.pipeline.inputs import (
    load_for,
    model_for,
    needs_fit,
    needs_pixels,
    open_input,
    plan_run,
)
from bgsub.pipeline.mask_run import run_masks
from bgsub.pipeline.outcome import RunResult, bad_frame_findings, finish
from bgsub.pipeline.outputs import VIDEOS, OutputVideos
from bgsub.pipeline.projection import ProjectedFrames, fitted_blocks
from bgsub.pipeline.writing import output_names, write_spectrum, write_table, write_videos
from bgsub.runtime.threads import Workers
from bgsub.video.source import FrameSource

logger = logging.getLogger(__name__)


def _no_progress(stage: str, done: int, total: int | None) -> None:
    """Report nothing."""


def run(
    path: str, out: Path, options: RunOptions, *, progress: ProgressCallback | None = None
) -> RunResult:
    """Fit a video and write its results.

    Parameters
    ----------
    path : str
        A video file, image directory, glob, printf pattern or .npy/.npz file.
    out : Path
        The results directory.
    options : RunOptions
    progress : callable, optional

    Returns
    -------
    RunResult

    Raises
    ------
    BgsubError
        Of the kind that says what went wrong; nothing unfinished is left under a final name.

    Notes
    -----
    Memory: within ``options.memory``, see `bgsub.fit.memory_plan`.
    """
    progress = progress or _no_progress
    if not needs_fit(options):
        return run_masks(path, out, options, progress=progress)
    watch = manifests.Stopwatch()
    with (
        ResultsDirectory(out, output_names(options), force=options.force) as results,
        Workers(options.threads, options.jobs) as workers,
    ):
        load_libraries(workers)
        source = open_input(path, options)
        plan = plan_run(source, options)
        identity = workers.beside(manifests.input_identity, path)
        with watch.stage("decode"):
            store = _store(source, plan, options, progress)
        with store:
            with watch.stage("fit"):
                fit = fit_frames(store, source.pixel_mask, options, workers, progress)
            write_spectrum(results, fit, options, source)
            model = videos = None
            if needs_pixels(options) or not store.fits_all:
                with watch.stage("model"):
                    model = form_model(store, source, fit, options, workers, progress)
            if "model" in options.outputs and model is not None:
                model.save(results.stage("model.npz"))
            table, plot = fit.table, None
            if store.fits_all or model is None:
                plot = workers.beside(write_table, results, table, options, source)
                blocks = fitted_blocks(store, fit)
            else:
                projected = ProjectedFrames(model, workers)
                blocks = projected.blocks(store.all_blocks())
            with watch.stage("write"):
                if model is not None and (plot is None or options.outputs.intersection(VIDEOS)):
                    videos = write_videos(
                        results, model, options, source, blocks, workers, progress, len(store)
                    )
            if plot is None:
                table = replace(projected.table(), scene_change=table.scene_change)
                plot = workers.beside(write_table, results, table, options, source)
            with watch.stage("plot"):
                plot.result()
        facts = source_facts(source, identity.result())
        facts |= {"command": "run", **plan_facts(plan, int(store.fit_rows.size))}
        facts |= {**fit_facts(fit, model), **video_facts(videos)}
        hints = fit_hints(fit) + _mask_hints(videos, model)
        return finish(results, source, table, options, watch, facts, hints)


def apply(
    model_path: Path,
    path: str,
    out: Path,
    options: RunOptions,
    *,
    progress: ProgressCallback | None = None,
) -> RunResult:
    """Write the results of a saved model for new footage.

    Parameters
    ----------
    model_path : Path
        A model.npz.
    path, out, options, progress
        As for `run`. The options of the fit have no effect; a threshold or cut-off of None is
        that of the model.

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
    progress = progress or _no_progress
    watch = manifests.Stopwatch()
    model = load_for(model_path, options)
    with (
        ResultsDirectory(out, output_names(options), force=options.force) as results,
        Workers(options.threads, options.jobs) as workers,
    ):
        source = open_input(path, options, like=model)
        model = model_for(model, source, model_path)
        identity = workers.beside(manifests.input_identity, path)
        seen = ProjectedFrames(model, workers)
        blocks = seen.blocks(decoded_blocks(source))
        with watch.stage("write"):
            videos = write_videos(
                results, model, options, source, blocks, workers, progress, source.frames_estimate
            )
        table = seen.table()
        if "model" in options.outputs:
            model.save(results.stage("model.npz"))
        with watch.stage("plot"):
            write_table(results, table, options, source)
        facts = source_facts(source, identity.result()) | {"threshold": model.threshold}
        facts |= {"command": "apply", "model": str(model_path), **video_facts(videos)}
        return finish(results, source, table, options, watch, facts, _mask_hints(videos, model))


@dataclass(frozen=True, eq=False)
class FrameErrors:
    """Errors of the frames of an input, without any result on disk.

    Attributes
    ----------
    table : ErrorTable
    notes : list of str
        What reading the input and fitting it had to say.
    """

    table: ErrorTable
    notes: list[str]


def fit_errors(
    path: str, options: RunOptions, *, progress: ProgressCallback | None = None
) -> FrameErrors:
    """Fit a video and return the errors of its frames; nothing is written.

    Raises
    ------
    BgsubError
        As for `run`.
    """
    progress = progress or _no_progress
    options = replace(options, outputs=frozenset({"errors"}))
    with Workers(options.threads, options.jobs) as workers:
        load_libraries(workers)
        source = open_input(path, options)
        with _store(source, plan_run(source, options), options, progress) as store:
            fit = fit_frames(store, source.pixel_mask, options, workers, progress)
            table = fit.table
            if not store.fits_all:
                model = form_model(store, source, fit, options, workers, progress)
                seen = ProjectedFrames(model, workers)
                for _ in seen.blocks(store.all_blocks()):
                    pass
                table = replace(seen.table(), scene_change=table.scene_change)
    return FrameErrors(table, [*source.warnings, *bad_frame_findings(source, options), *fit.notes])


def model_errors(
    model_path: Path, path: str, options: RunOptions, *, progress: ProgressCallback | None = None
) -> FrameErrors:
    """Return the errors that a saved model makes on new footage; nothing is written.

    Raises
    ------
    BgsubError
        As for `apply`.
    """
    progress = progress or _no_progress
    model = load_for(model_path, options)
    with Workers(options.threads, options.jobs) as workers:
        source = open_input(path, options, like=model)
        model = model_for(model, source, model_path)
        seen = ProjectedFrames(model, workers)
        done = 0
        for block in seen.blocks(decoded_blocks(source)):
            done += len(block.rows)
            progress("errors", done, source.frames_estimate)
    return FrameErrors(seen.table(), [*source.warnings, *bad_frame_findings(source, options)])


def _store(
    source: FrameSource, plan: Plan, options: RunOptions, progress: ProgressCallback
) -> FrameStore:
    temp = None if options.temp is None else Path(options.temp)
    return FrameStore(source, plan, seed=options.seed, temp=temp, progress=progress)


def _mask_hints(videos: OutputVideos | None, model: BackgroundModel | None) -> list[str]:
    if videos is None or model is None:
        return []
    return mask_hints(videos.tally, model.threshold if videos.local is None else None)


__all__ = ["RunResult", "apply", "fit_errors", "model_errors", "run"]
