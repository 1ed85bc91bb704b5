"""A run that writes masks of local models and nothing else: whole frames are not fitted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bgsub.background.mask_model import MaskModel
from bgsub.errors import UsageError
from bgsub.fit.store import FrameStore
from bgsub.local.sampling import PictureSample
from bgsub.options import ProgressCallback, RunOptions
from bgsub.pipeline import manifest as manifests
from bgsub.pipeline.directory import ResultsDirectory
from bgsub.pipeline.facts import plan_facts, source_facts, video_facts
from bgsub.pipeline.findings import mask_hints
from bgsub.pipeline.inputs import fitted_at_most, open_input, plan_run
from bgsub.pipeline.outcome import RunResult, finish
from bgsub.pipeline.projection import ScoredBlock
from bgsub.pipeline.writing import output_names, write_videos
from bgsub.runtime.limits import give_back
from bgsub.runtime.threads import Workers
from bgsub.video.source import FrameSource


def run_masks(
    path: str, out: Path, options: RunOptions, *, progress: ProgressCallback
) -> RunResult:
    """Write the masks of a video, the same that a run writes beside other outputs.

    Parameters and errors are those of `bgsub.pipeline.run.run`.

    Notes
    -----
    No Gram matrix: time and memory grow with the frames and not with their square.
    """
    watch = manifests.Stopwatch()
    with (
        ResultsDirectory(out, output_names(options), force=options.force) as results,
        Workers(options.threads, options.jobs) as workers,
    ):
        source = open_input(path, options)
        plan = plan_run(source, options)
        identity = workers.beside(manifests.input_identity, path)
        temp = None if options.temp is None else Path(options.temp)
        fitted = fitted_at_most(options)
        with watch.stage("decode"):
            store = FrameStore(
                source, plan, seed=options.seed, temp=temp, progress=progress, fitted=fitted
            )
        with store:
            with watch.stage("model"):
                model = learn_scene(store, source, options, workers, progress)
            with watch.stage("write"):
                blocks, total = unscored_blocks(store), len(store)
                videos = write_videos(
                    results, model, options, source, blocks, workers, progress, total
                )
        facts = source_facts(source, identity.result()) | {"command": "run"}
        facts |= plan_facts(plan, int(store.fit_rows.size)) | video_facts(videos)
        return finish(results, source, None, options, watch, facts, mask_hints(videos.tally, None))


def learn_scene(
    store: FrameStore,
    source: FrameSource,
    options: RunOptions,
    workers: Workers,
    progress: ProgressCallback,
) -> MaskModel:
    """Fit a local model to the sample of a store.

    Raises
    ------
    UsageError
        If there is a single frame, of which nobody could say what is foreground.
    """
    total = store.fit_rows.size
    if total < 2:
        message = f"{source.name}: 1 frame is selected, but a background takes 2; select more"
        raise UsageError(message)
    pictures = PictureSample(source.layout, total, options.seed)
    for start, rows in store.fit_blocks():
        pictures.add(start, rows)
        progress("model", start + len(rows), total)
    del rows  # a block that was decoded again would stay in memory
    local = pictures.fit(workers, store.fit_moments)
    give_back()
    return MaskModel(source.layout, source.pixel_mask, source.ignored, local)


def unscored_blocks(store: FrameStore) -> Iterator[ScoredBlock]:
    """Blocks of all frames, of which nothing but the pixels is known."""
    for rows, numbers, times in store.all_blocks():
        nothing = np.zeros((len(rows), 0))
        yield ScoredBlock(rows, numbers, times, nothing, np.zeros(len(rows)))
