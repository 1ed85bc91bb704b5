"""The whole way: source → matrix → fit → model → pictures → results that are whole."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bgsub import __version__
from bgsub.background import manifest as manifests
from bgsub.background.config import ProgressCallback, RunOptions
from bgsub.background.errors_table import ErrorTable, write_csv
from bgsub.background.facts import fit_facts, source_facts, video_facts
from bgsub.background.findings import fit_hints, mask_hints, outlier_findings, plural
from bgsub.background.fitting import fit_frames, form_model, open_frames, read_matrix
from bgsub.background.model import BackgroundModel
from bgsub.background.outliers import find_events
from bgsub.background.outputs import OutputVideos, output_name
from bgsub.background.projection import Block, ProjectedFrames, fitted_blocks
from bgsub.background.results import ResultsDirectory
from bgsub.errors import InputError, UsageError
from bgsub.video.source import FrameSource

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunResult:
    """What a run leaves behind.

    Attributes
    ----------
    out : Path
        The results directory.
    manifest : dict
        What its run.json holds.
    findings : list of str
        What was found, in plain language.
    hints : list of str
        What looks wrong, and what to do about it.
    warnings : list of str
        What reading the input had to say.
    """

    out: Path
    manifest: dict[str, Any]
    findings: list[str]
    hints: list[str]
    warnings: list[str]


def _no_progress(stage: str, done: int, total: int | None) -> None:
    """Report nothing."""


def needs_pixels(options: RunOptions) -> bool:
    """Whether the outputs need more than the errors of the frames."""
    return bool(options.outputs - {"errors", "plot"})


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
    Memory: the decoded frames (1.5 bytes a pixel for 4:2:0 video), 16n² bytes for the Gram matrix,
    4(k+1) bytes per byte of a frame for the model, and the encoders.
    """
    progress = progress or _no_progress
    watch = manifests.Stopwatch()
    with (
        ResultsDirectory(out, _names(options), force=options.force) as results,
        ThreadPoolExecutor(max_workers=2, thread_name_prefix="bgsub-beside") as workers,
    ):
        identity = workers.submit(manifests.input_identity, path)
        source = _open(path, options)
        with watch.stage("decode"):
            matrix = read_matrix(source, progress)
        with watch.stage("fit"):
            fit = fit_frames(matrix, source.pixel_mask, options, progress)
        plot = workers.submit(_write_table, results, fit.table, options, source)
        model = videos = None
        if needs_pixels(options):
            with watch.stage("model"):
                model = form_model(matrix, source, fit, options, progress)
                if "model" in options.outputs:
                    model.save(results.stage("model.npz"))
            with watch.stage("write"):
                blocks = fitted_blocks(matrix, fit)
                videos = _write_videos(results, model, options, source, blocks, progress)
        with watch.stage("plot"):
            plot.result()
        facts = source_facts(source, identity.result())
        facts |= {"command": "run", **fit_facts(fit, model), **video_facts(videos)}
        hints = fit_hints(fit) + _mask_hints(videos, model)
        return _finish(results, source, fit.table, options, watch, facts, hints)


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
    model = _load_for(model_path, options)
    with (
        ResultsDirectory(out, _names(options), force=options.force) as results,
        ThreadPoolExecutor(max_workers=2, thread_name_prefix="bgsub-beside") as workers,
    ):
        identity = workers.submit(manifests.input_identity, path)
        source = _open(path, options, like=model)
        _check_geometry(model, source, model_path)
        seen = ProjectedFrames(source, model, progress)
        with watch.stage("write"):
            videos = _write_videos(results, model, options, source, seen.blocks(), _no_progress)
        table = seen.table()
        if "model" in options.outputs:
            model.save(results.stage("model.npz"))
        with watch.stage("plot"):
            _write_table(results, table, options, source)
        facts = source_facts(source, identity.result())
        facts |= {"command": "apply", "model": str(model_path), **video_facts(videos)}
        facts |= {"threshold": model.threshold}
        return _finish(results, source, table, options, watch, facts, _mask_hints(videos, model))


def fit_errors(
    path: str, options: RunOptions, *, progress: ProgressCallback | None = None
) -> ErrorTable:
    """Fit a video and return the errors of its frames; nothing is written.

    Raises
    ------
    BgsubError
        As for `run`.
    """
    progress = progress or _no_progress
    source = _open(path, replace(options, outputs=frozenset({"errors"})))
    matrix = read_matrix(source, progress)
    return fit_frames(matrix, source.pixel_mask, options, progress).table


def model_errors(
    model_path: Path, path: str, options: RunOptions, *, progress: ProgressCallback | None = None
) -> ErrorTable:
    """Return the errors that a saved model makes on new footage; nothing is written.

    Raises
    ------
    BgsubError
        As for `apply`.
    """
    model = _load_for(model_path, options)
    source = _open(path, options, like=model)
    _check_geometry(model, source, model_path)
    seen = ProjectedFrames(source, model, progress or _no_progress)
    for _ in seen.blocks():
        pass
    return seen.table()


def _names(options: RunOptions) -> list[str]:
    if not options.outputs:
        message = "--only names no output; name at least one"
        raise UsageError(message)
    return [output_name(output, options) for output in sorted(options.outputs)]


def _open(path: str, options: RunOptions, like: BackgroundModel | None = None) -> FrameSource:
    """Open an input in the layout that the outputs need, or in that of a model."""
    color = options.source.color
    exact = options.format != "mp4"
    if like is not None:
        color = "gray" if like.layout.kind == "gray" else "color"
        exact = like.layout.kind == "bgr"
    elif not needs_pixels(options):
        color = "gray"
    return open_frames(
        path, options.source, threads=options.threads, color=color, exact_color=exact
    )


def _load_for(path: Path, options: RunOptions) -> BackgroundModel:
    """Load a model and let the options override its threshold and cut-off."""
    model = BackgroundModel.load(path)
    if options.threshold is not None:
        model = replace(model, threshold=options.threshold)
    if options.cutoff is not None:
        model = replace(model, cutoff=options.cutoff)
    return model


def _check_geometry(model: BackgroundModel, source: FrameSource, model_path: Path) -> None:
    ours, theirs = model.layout, source.layout
    if (ours.width, ours.height) != (theirs.width, theirs.height):
        message = (
            f"{source.path}: its frames are {theirs.width}x{theirs.height}, but {model_path} was "
            f"fitted to {ours.width}x{ours.height}; use footage of that size, or --scale or --roi"
        )
        raise InputError(message)
    if ours.kind != theirs.kind:
        message = (
            f"{source.path}: is read as {theirs.kind}, but {model_path} was fitted to {ours.kind}; "
            "use footage of the same kind, or fit a model to this one"
        )
        raise InputError(message)


def _write_videos(
    results: ResultsDirectory,
    model: BackgroundModel,
    options: RunOptions,
    source: FrameSource,
    blocks: Iterator[Block],
    progress: ProgressCallback,
) -> OutputVideos:
    done = 0
    with OutputVideos(results, model, options, source.rate) as videos:
        for block in blocks:
            if videos.wanted:
                videos.write(*block)
            done += len(block[0])
            progress("write", done, source.frames_estimate)
        videos.close()
    return videos


def _write_table(
    results: ResultsDirectory, table: ErrorTable, options: RunOptions, source: FrameSource
) -> None:
    """Write errors.csv and draw errors.png."""
    if "errors" in options.outputs:
        write_csv(table, results.stage("errors.csv"))
    if "plot" in options.outputs:
        # Matplotlib takes longer to import than many runs take.
        from bgsub.report.plots import plot_errors

        plot_errors(
            table,
            find_events(table),
            results.stage(output_name("plot", options)),
            title=source.name,
            plot_format=options.plot_format,
        )


def _mask_hints(videos: OutputVideos | None, model: BackgroundModel | None) -> list[str]:
    if videos is None or model is None:
        return []
    return mask_hints(videos.tally, model.threshold)


def _finish(
    results: ResultsDirectory,
    source: FrameSource,
    table: ErrorTable,
    options: RunOptions,
    watch: manifests.Stopwatch,
    facts: dict[str, Any],
    hints: list[str],
) -> RunResult:
    """Write the manifest last, and say what was found."""
    change = table.scene_change
    used, outliers = int(table.frames.size), int(table.outliers.sum())
    findings = outlier_findings(table)
    if source.bad_frames:
        action = {"skip": "left out", "repeat": "replaced by the one before"}
        what = action.get(options.source.on_bad_frame, "met")
        bad = plural(len(source.bad_frames), "damaged frame")
        findings.append(f"{bad} {what}: {_numbers([b.number for b in source.bad_frames])}")
    manifest = {
        "schema_version": manifests.SCHEMA_VERSION,
        "bgsub_version": __version__,
        "options": options.to_json(),
        "seed": options.seed,
        **facts,
        "frames": {
            "decoded": source.decoded,
            "used": used,
            "bad": len(source.bad_frames),
            "outliers": outliers,
        },
        "cutoff": table.cutoff,
        "scene_change": None
        if change is None
        else {"first_frame": change.first_frame, "first_time_s": change.first_time},
        "findings": findings,
        "hints": hints,
        "stages_s": watch.seconds,
        "peak_memory_bytes": manifests.peak_memory(),
        "versions": manifests.versions(),
    }
    results.commit(manifest)
    return RunResult(results.path, manifest, findings, hints, list(source.warnings))


def _numbers(numbers: list[int]) -> str:
    shown = ", ".join(str(number) for number in numbers[:8])
    return shown if len(numbers) <= 8 else f"{shown} and {len(numbers) - 8} more"


__all__ = ["RunResult", "apply", "fit_errors", "model_errors", "run"]
