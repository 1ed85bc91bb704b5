"""Score the masks of runs with any parameters on labelled sequences, in processes side by side.

Frames are decoded, sampled, drawn, sieved and followed by what `bgsub.run` uses, so the counts are
those of `benchmarks.masks`. Two things are saved: frames long before the first truth or behind the
last one are not drawn, and settings that differ in no number of the fit share a model.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial

import cv2
import numpy as np

from benchmarks.footage import Footage, truths
from bgsub.evaluation.masks import open_truth
from bgsub.evaluation.measures import Counts, count, judge
from bgsub.fit.store import FrameBlock, FrameStore
from bgsub.local.model import LocalModel
from bgsub.local.params import DEFAULTS, LocalParams
from bgsub.local.sampling import PictureSample
from bgsub.options import RunOptions
from bgsub.pipeline.consumers import Renderer
from bgsub.pipeline.inputs import no_progress, open_input, plan_run
from bgsub.pipeline.mask_kinds import LocalMasker
from bgsub.pipeline.masker import MaskSettings
from bgsub.pipeline.needs import mask_settings, sampled_at_most
from bgsub.runtime.threads import Workers
from bgsub.source_options import SourceOptions
from bgsub.video.frames import Bytes, Layout

PROCESSES = 2

# Frames before and after a truth that are drawn: specks are followed through up to 96, and the
# sieve, its longest setting included, looks ahead by fewer than 16.
_BEFORE, _AFTER = 100, 16


@dataclass(frozen=True)
class Case:
    """A sequence in memory: the sample for the fit, frames to draw, and truths by their frames."""

    layout: Layout
    sample: Bytes
    blocks: list[FrameBlock]
    truths: dict[int, Bytes]


@dataclass(frozen=True)
class Setting:
    """What masks are drawn with, and what the model is fitted with: None is the same."""

    params: LocalParams = DEFAULTS
    fitted: LocalParams | None = None
    options: RunOptions = field(default_factory=RunOptions)


class _Fitted(LocalMasker):
    """Draw masks with a model that was fitted before."""

    def __init__(self, layout: Layout, settings: MaskSettings, model: LocalModel) -> None:
        super().__init__(layout, settings)
        self._use(model)


@cache
def _load(footage: Footage, wanted: SourceOptions) -> Case:
    """Read a sequence as a run reads it, numbered as `bgsub evaluate` does."""
    options = RunOptions(outputs=frozenset({"mask"}), source=wanted, threads=1)
    source = open_input(footage.frames, options)
    store = FrameStore(
        source,
        plan_run(source, options),
        seed=options.seed,
        temp=None,
        progress=no_progress,
        fitted=sampled_at_most(options),
    )
    with store:
        sample = PictureSample(source.layout, store.fit_numbers.size, options.seed)
        for start, rows in store.fit_blocks():
            sample.add(start, rows)
        scored = truths(footage, store.numbers)
        first, last = min(scored) - _BEFORE, max(scored) + _AFTER
        blocks = []
        for block in store.all_blocks():
            near = (block.numbers >= first) & (block.numbers <= last)
            if near.any():
                blocks.append(FrameBlock(block.rows[near], block.numbers[near], block.times[near]))
    return Case(source.layout, sample.pictures, blocks, scored)


@lru_cache(maxsize=2)
def _learned(footage: Footage, wanted: SourceOptions, params: LocalParams) -> LocalModel:
    """Fit a sequence; the last models are kept."""
    with Workers(1) as workers:
        sample = _load(footage, wanted).sample.copy()  # a fit uses it up
        return LocalModel.fit(sample, workers=workers, params=params)


def _measured(footage: Footage, setting: Setting) -> Counts:
    """Fit and score a sequence."""
    wanted = setting.options.source
    case = _load(footage, wanted)
    fit = _learned(footage, wanted, setting.fitted or setting.params)
    arrays = {**fit.arrays(), "local_params": setting.params.to_array()}
    model = LocalModel.from_arrays(arrays)
    masker = _Fitted(case.layout, mask_settings(setting.options), model)
    renderer = Renderer(case.layout, None, masker, None, lambda frame: frame.row, with_scores=False)
    with Workers(1) as workers:
        return Counts.sum(
            count(judge(frame.mask > 0, case.truths[frame.number]))
            for frames in renderer.frames(case.blocks, workers)
            for frame in frames
            if frame.number in case.truths
        )


def _all_of(footage: Footage, settings: Sequence[Setting]) -> list[Counts]:
    cv2.setNumThreads(1)
    found = [_measured(footage, setting) for setting in settings]
    _load.cache_clear()
    _learned.cache_clear()
    print(f"{footage.name}: done", file=sys.stderr, flush=True)
    return found


def table(footages: Sequence[Footage], settings: Iterable[Setting]) -> list[list[Counts]]:
    """Score every setting on every sequence; a list for each setting, in that order."""
    longest_first = sorted(footages, key=lambda one: -len(open_truth(one.truth).numbers))
    with ProcessPoolExecutor(PROCESSES) as pool:
        found = pool.map(partial(_all_of, settings=tuple(settings)), longest_first)
        columns = dict(zip(longest_first, found, strict=True))
    return [list(row) for row in zip(*(columns[one] for one in footages), strict=True)]


def mean_f(row: Iterable[Counts]) -> float:
    """Mean F of the sequences in which there is something to find."""
    return float(np.mean([one.f_measure or 0.0 for one in row if one.tp + one.fn]))
