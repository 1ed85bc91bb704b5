"""Score local models on labelled sequences, with any parameters, in processes side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache, lru_cache

import cv2
import numpy as np

from benchmarks.masks import Footage, pictures
from bgsub.evaluation.confusion import Counts, count, judge
from bgsub.evaluation.mask_files import MaskFiles
from bgsub.evaluation.pairing import match
from bgsub.evaluation.truth import classify, open_truth
from bgsub.local.model import LocalModel
from bgsub.local.params import DEFAULTS, LocalParams, MaskOptions
from bgsub.local.sampling import PictureSample
from bgsub.runtime.threads import Workers
from bgsub.video.frames import Bytes, Layout

PROCESSES = 2

# Of more truths than this, about as many are scored, evenly spaced.
_MOST_TRUTHS = 40


@dataclass(frozen=True)
class Case:
    """A sequence in memory: the sample for the fit, frames with a truth, and their truths."""

    name: str
    sample: Bytes
    frames: list[Bytes]
    truths: list[Bytes]


@dataclass(frozen=True)
class Setting:
    """What masks are drawn with, and what the model is fitted with: None is the same."""

    params: LocalParams = DEFAULTS
    fitted: LocalParams | None = None
    options: MaskOptions = field(default_factory=MaskOptions)
    grey: bool = False


@cache
def load(footage: Footage) -> Case:
    """Read a sequence, numbered as `bgsub evaluate` does."""
    frames = list(pictures(footage.frames))
    truth = open_truth(footage.truth)
    # Only the numbers of the masks count: there are no files of them.
    masks = MaskFiles(footage.frames, truth.pictures, np.arange(1, len(frames) + 1))
    pairs = match(masks, truth, footage=footage.frames, common=True)
    step = -(-len(pairs.truths) // _MOST_TRUTHS)
    chosen = pairs.truths[::step].tolist()
    truths = [classify(one, footage.truth) for one in truth.pictures.pick(chosen)]
    if truth.roi is not None:
        truths = [np.where(truth.roi, one, np.uint8(2)) for one in truths]
    height, width = frames[0].shape[:2]
    layout = Layout("bgr", height, width)
    sample = PictureSample(layout, len(frames), 0)
    for number, frame in enumerate(frames):
        sample.add(number, layout.pack(frame)[None])
    scored = [frames[at] for at in pairs.masks[::step].tolist()]
    return Case(footage.name, sample.pictures, scored, truths)


@lru_cache(maxsize=2)
def learned(footage: Footage, params: LocalParams, *, grey: bool) -> LocalModel:
    """Fit a sequence; the last models are kept."""
    change = _to_grey if grey else _as_it_is
    sample = np.stack([change(one) for one in load(footage).sample])
    with Workers(1) as workers:
        return LocalModel.fit(sample, workers=workers, params=params)


def measured(footage: Footage, setting: Setting) -> Counts:
    """Fit and score a sequence."""
    fit = learned(footage, setting.fitted or setting.params, grey=setting.grey)
    arrays = {**fit.arrays(), "local_params": setting.params.to_array()}
    model = LocalModel.from_arrays(arrays, setting.options)
    change = _to_grey if setting.grey else _as_it_is
    case = load(footage)
    return Counts.sum(
        count(judge(model.mask(change(frame)) > 0, truth))
        for frame, truth in zip(case.frames, case.truths, strict=True)
    )


def _all_of(given: tuple[Footage, tuple[Setting, ...]]) -> list[Counts]:
    footage, settings = given
    cv2.setNumThreads(1)
    found = [measured(footage, setting) for setting in settings]
    load.cache_clear()
    learned.cache_clear()
    return found


def table(footages: Sequence[Footage], settings: Iterable[Setting]) -> list[list[Counts]]:
    """Score every setting on every sequence; a list for each setting, in that order."""
    given = [(footage, tuple(settings_)) for settings_ in [tuple(settings)] for footage in footages]
    with ProcessPoolExecutor(PROCESSES) as pool:
        columns = list(pool.map(_all_of, given))
    return [list(row) for row in zip(*columns, strict=True)]


def mean_f(row: Iterable[Counts]) -> float:
    """Mean F of the sequences in which there is something to find."""
    return float(np.mean([one.f_measure or 0.0 for one in row if one.tp + one.fn]))


def _to_grey(picture: Bytes) -> Bytes:
    return np.asarray(cv2.merge([cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)] * 3), dtype=np.uint8)


def _as_it_is(picture: Bytes) -> Bytes:
    return picture
