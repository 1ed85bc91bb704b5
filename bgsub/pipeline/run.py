"""Run from an input to a folder of results: decode, fit, learn the scene, mask, write."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgsub.errors import BgsubWarning
from bgsub.fit.store import FrameStore, decoded_blocks
from bgsub.options import OF_LOCAL, ProgressCallback, RunOptions
from bgsub.pipeline.advice import camera_hints, fit_hints, mask_hints
from bgsub.pipeline.damage import mark_doubtful
from bgsub.pipeline.directory import ResultsDirectory
from bgsub.pipeline.error_outputs import TableOutputs, write_spectrum
from bgsub.pipeline.facts import fit_facts, frame_facts, object_facts, plan_facts, source_facts
from bgsub.pipeline.inputs import (
    StrPath,
    load_for,
    model_for,
    no_progress,
    open_input,
    plan_run,
)
from bgsub.pipeline.manifest import Stopwatch, input_identity
from bgsub.pipeline.needs import (
    chosen_cutoff,
    mask_settings,
    needs_fit,
    needs_objects,
    needs_still,
    sampled_at_most,
    scene_settings,
    videos_of,
)
from bgsub.pipeline.outcome import RunResult, finish
from bgsub.pipeline.output_names import output_name, output_names
from bgsub.pipeline.outputs import FrameOutputs
from bgsub.pipeline.projection import ProjectedFrames, ScoredFrames
from bgsub.pipeline.scene import LearnedScene, learn_scene, saved_scene
from bgsub.pipeline.still import StillOutput
from bgsub.pipeline.stretch import Stretch
from bgsub.runtime.threads import Workers
from bgsub.video.source import Footage, FrameSource

# What fits frames and follows objects is imported where it is wanted: masks alone need neither.
if TYPE_CHECKING:
    from bgsub.pipeline.activity import ActivityOutput
    from bgsub.pipeline.objects import ObjectsOutput
    from bgsub.tracking.recorder import ObjectOptions


def run(
    footage: Footage,
    out: StrPath,
    options: RunOptions | None = None,
    *,
    progress: ProgressCallback | None = None,
    stretch: Stretch | None = None,
) -> RunResult:
    """Fit a video as one piece and write its results.

    `bgsub.run` calls it for short films; the parameters that both have, the errors and the memory
    are said there.

    Parameters
    ----------
    footage, out, options, progress
    stretch : Stretch, optional
        Of a longer film, where the frames that the options select are one.

    Returns
    -------
    RunResult
    """
    options, progress = options or RunOptions(), progress or no_progress
    watch = Stopwatch()
    watched = _object_options(options)
    with (
        ResultsDirectory(Path(out), output_names(options), force=options.force) as results,
        Workers(options.threads, options.jobs) as workers,
    ):
        if needs_fit(options):
            from bgsub.fit.frame_fit import fit_frames, load_libraries

            load_libraries(workers)
        source = open_input(footage, options)
        _check_places(source, watched)
        borrowed = None
        if stretch is not None:
            stretch.enter(source)
            borrowed = stretch.borrow(footage, options)
        plan = plan_run(source, options, borrowed=0 if borrowed is None else len(borrowed))
        workers.load("importlib.metadata")  # for run.json
        tables = TableOutputs(options.outputs, options.plot_format, source.name)
        identity = workers.submit(_identity, footage, stretch)
        with watch.stage("decode"):
            store = FrameStore(
                source,
                plan,
                seed=options.seed,
                temp=options.temp,
                progress=progress,
                fitted=sampled_at_most(options),
                borrowed=borrowed,
            )
        with store:
            fit = None
            if needs_fit(options):
                with watch.stage("fit"):
                    cutoff = chosen_cutoff(options)
                    fit = fit_frames(store, source.pixel_mask, options, cutoff, workers, progress)
                write_spectrum(results, fit, options.outputs, options.plot_format, source.name)
            with watch.stage("model"):
                wanted = scene_settings(options)
                scene = learn_scene(store, source, fit, wanted, workers, progress)
            if "model" in options.outputs and scene.background is not None:
                scene.background.save(results.stage("model.npz"))
            frames = ScoredFrames(store, fit, scene, workers)
            with (
                watch.stage("write"),
                _outputs(results, scene, source, options, watched, workers) as outputs,
            ):
                outputs.write(frames.blocks(), len(store), progress)
                table = mark_doubtful(frames.table(), source)
                outputs.close()
            with watch.stage("plot"):
                tables.write(table, results)
        facts = {"command": "run", **source_facts(source, identity.result())}
        facts |= plan_facts(plan, int(store.fit_numbers.size)) | fit_facts(fit, scene.background)
        facts |= frame_facts(outputs, scene) | object_facts(outputs, table)
        hints = camera_hints(outputs.camera, facts) + fit_hints(fit, table)
        hints += mask_hints(outputs.tally, scene.threshold)
        return finish(results, source, table, options, watch, facts, hints)


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
    watched = _object_options(options)
    model = load_for(model_path, options)
    if model.local is None:
        idle = [options.as_given(name) for name in options.changed() & OF_LOCAL]
        if idle:
            message = f"a model whose masks are the formula's makes nothing of {', '.join(idle)}"
            warnings.warn(message, BgsubWarning, stacklevel=2)
    with (
        ResultsDirectory(Path(out), output_names(options), force=options.force) as results,
        Workers(options.threads, options.jobs) as workers,
    ):
        source = open_input(footage, options, like=model)
        _check_places(source, watched)
        model = model_for(model, source, model_path)
        tables = TableOutputs(options.outputs, options.plot_format, source.name)
        scene = saved_scene(model, mask_settings(options), options.threshold, source.layout)
        identity = workers.submit(input_identity, footage)
        frames = ProjectedFrames(model, workers)
        with (
            watch.stage("write"),
            _outputs(results, scene, source, options, watched, workers) as outputs,
        ):
            blocks = frames.blocks(decoded_blocks(source))
            outputs.write(blocks, source.frames_estimate, progress)
            table = mark_doubtful(frames.table(), source)
            outputs.close()
        if "model" in options.outputs:
            model.save(results.stage("model.npz"))
        with watch.stage("plot"):
            tables.write(table, results)
        facts = {"command": "apply", "model": str(model_path), "threshold": model.threshold}
        facts["model_sha256"] = input_identity(model_path)["sha256"]
        facts |= source_facts(source, identity.result()) | frame_facts(outputs, scene)
        facts |= object_facts(outputs, table)
        hints = camera_hints(outputs.camera, facts) + mask_hints(outputs.tally, scene.threshold)
        return finish(results, source, table, options, watch, facts, hints)


def _identity(footage: Footage, stretch: Stretch | None) -> dict[str, Any]:
    return input_identity(footage) if stretch is None else stretch.identity


def _outputs(
    results: ResultsDirectory,
    scene: LearnedScene,
    source: FrameSource,
    options: RunOptions,
    watched: ObjectOptions | None,
    workers: Workers,
) -> FrameOutputs:
    return FrameOutputs(
        results,
        scene,
        wanted=videos_of(options),
        video_format=options.format,
        style=options.foreground,
        rate=source.rate,
        workers=workers,
        objects=_objects(results, scene, source, options, watched),
        still=_still(results, scene, options),
        activity=_activity(results, scene, source, options, watched),
    )


def _activity(
    results: ResultsDirectory,
    scene: LearnedScene,
    source: FrameSource,
    options: RunOptions,
    watched: ObjectOptions | None,
) -> ActivityOutput | None:
    """Prepare to sum up the masks, where that is wanted."""
    wanted = options.outputs & {"heatmap", "activity"}
    if scene.masker is None or not wanted:
        return None
    from bgsub.pipeline.activity import ActivityOutput

    layout, regions = scene.layout, () if watched is None else watched.regions
    place = options.source.roi or (0, 0, *source.input_size)
    shape = layout.height, layout.width
    return ActivityOutput(results.stage(""), wanted, shape, scene.inside, regions, place)


def _still(
    results: ResultsDirectory, scene: LearnedScene, options: RunOptions
) -> StillOutput | None:
    """Prepare to make one picture of the scene, where it is wanted."""
    if scene.masker is None or not needs_still(options):
        return None
    return StillOutput(
        results.stage(output_name("still", options.format, options.plot_format)), scene.masker
    )


def _object_options(options: RunOptions) -> ObjectOptions | None:
    """Take the options of objects, where any are followed."""
    if not needs_objects(options):
        return None
    from bgsub.pipeline.objects import object_options

    return object_options(options)


def _check_places(source: FrameSource, watched: ObjectOptions | None) -> None:
    """Refuse regions and lines in which nothing can ever be."""
    if watched is None:
        return
    from bgsub.tracking.regions import check_inside

    check_inside(source.name, source.input_size, watched.regions, watched.lines)


def _objects(
    results: ResultsDirectory,
    scene: LearnedScene,
    source: FrameSource,
    options: RunOptions,
    watched: ObjectOptions | None,
) -> ObjectsOutput | None:
    """Prepare to follow the objects of the masks, where anything is made of them."""
    if scene.masker is None or watched is None:
        return None
    from bgsub.pipeline.objects import ObjectsOutput, given_feedback
    from bgsub.tracking.recorder import ObjectRecorder, View

    width, height = source.input_size
    region = options.source.roi or (0, 0, width, height)
    view = View((width, height), region, (source.layout.width, source.layout.height))
    rate = float(source.rate or 25)
    recorder = ObjectRecorder(results.stage(""), view, rate=rate, options=watched)
    feedback = given_feedback(options, source.input_size)
    return ObjectsOutput(recorder, results.stage(""), scene.masker, feedback=feedback)


__all__ = ["RunResult", "apply", "run"]
