"""Compute the errors of frames, by a fit or a saved model, and write nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bgsub.fit.frame_fit import fit_frames, load_libraries
from bgsub.fit.store import FrameStore, decoded_blocks
from bgsub.options import ProgressCallback, RunOptions
from bgsub.outliers.errors_table import ErrorTable
from bgsub.pipeline.advice import fit_notes
from bgsub.pipeline.damage import damage_findings, mark_doubtful
from bgsub.pipeline.inputs import (
    StrPath,
    load_for,
    model_for,
    no_progress,
    open_input,
    plan_run,
)
from bgsub.pipeline.needs import chosen_cutoff, scene_settings
from bgsub.pipeline.projection import ProjectedFrames, ScoredFrames
from bgsub.pipeline.scene import learn_scene
from bgsub.runtime.threads import Workers
from bgsub.video.source import Footage


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
    options, progress = options or RunOptions(), progress or no_progress
    options = replace(options, outputs=frozenset({"errors"}))
    with Workers(options.threads, options.jobs) as workers:
        load_libraries(workers)
        source = open_input(footage, options)
        plan = plan_run(source, options)
        with FrameStore(
            source, plan, seed=options.seed, temp=options.temp, progress=progress
        ) as store:
            cutoff = chosen_cutoff(options)
            fit = fit_frames(store, source.pixel_mask, options, cutoff, workers, progress)
            scene = learn_scene(store, source, fit, scene_settings(options), workers, progress)
            frames = ScoredFrames(store, fit, scene, workers)
            for _ in frames.blocks():
                pass
            table = frames.table() or fit.table
    notes = [
        *source.warnings,
        *damage_findings(source, options.source.on_bad_frame, is_fitted=True),
        *fit_notes(fit),
        *([] if fit.converged else ["the fit did not converge: the errors are not the final ones"]),
    ]
    return FrameErrors(mark_doubtful(table, source), notes)


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
    model = load_for(model_path, options)
    with Workers(options.threads, options.jobs) as workers:
        source = open_input(footage, options, like=model)
        model = model_for(model, source, model_path)
        frames = ProjectedFrames(model, workers)
        done = 0
        for block in frames.blocks(decoded_blocks(source)):
            done += len(block.rows)
            progress("errors", done, source.frames_estimate)
    notes = [
        *source.warnings,
        *damage_findings(source, options.source.on_bad_frame, is_fitted=False),
    ]
    return FrameErrors(mark_doubtful(frames.table(), source), notes)
