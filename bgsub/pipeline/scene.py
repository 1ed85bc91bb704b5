"""Learn a scene from its frames: the background if there is a fit, and what masks need.

Frames are scored against it, from the fit or by projection on a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bgsub.background.composite import plates_of
from bgsub.background.sample import Sample
from bgsub.background.scene import Scene, Shown, pixels_inside
from bgsub.errors import InputError, UsageError
from bgsub.fit.store import FrameBlock, FrameStore
from bgsub.options import ProgressCallback, RunOptions
from bgsub.pipeline.inputs import needs_masks, needs_pixels
from bgsub.runtime.limits import give_back
from bgsub.runtime.threads import Workers
from bgsub.segmenter.masks import SEGMENTERS, saved_kind
from bgsub.segmenter.protocol import Flags, FrameView, MaskOptions, Segmenter
from bgsub.video.frames import Bytes, Layout, Part
from bgsub.video.source import FrameSource

if TYPE_CHECKING:
    from bgsub.background.model import BackgroundModel
    from bgsub.fit.frame_fit import FrameFit
    from bgsub.outliers.errors_table import ErrorTable
    from bgsub.outliers.frame_scorer import FrameScorer

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LearnedScene:
    """What a run has learned of its scene, or a model.npz says of it.

    There is a background where frames are fitted and outputs need their pixels, a segmenter where
    masks are wanted, and a scorer where frames are fitted; `measured` is of `ScorerLearner`.
    `inside` marks pixels that can be foreground, shape (h, w), None for all.
    """

    layout: Layout
    inside: Flags | None = None
    background: BackgroundModel | None = None
    segmenter: Segmenter | None = None
    scorer: FrameScorer | None = None
    measured: NDArray[np.float64] | None = None

    @property
    def local(self) -> Scene | None:
        """Hypotheses of the background; None where masks are made without."""
        return None if self.segmenter is None else self.segmenter.scene

    def background_of(self, frame: FrameView, shown: Shown | None, part: Part) -> Bytes:
        """Return what a part of a mask is cut against, (h, w, 3) BGR or (h, w) grey."""
        if self.local is not None and shown is not None:
            return self.local.background_of(shown, part)
        if frame.background is None:
            raise RuntimeError("no background was asked for")
        return frame.layout.luma(frame.background)[part]

    def empty_scene(self, pictures: Bytes, empty: Flags, shown: Sequence[Shown]) -> Bytes:
        """Return one picture of the scene without its objects.

        The pictures, (n, h, w, 3) BGR or (n, h, w) grey, are spread over the video, and are
        overwritten; `empty` is where they show no object, `shown` what masks were cut against.
        """
        if self.local is not None:
            return plates_of(self.local, pictures, empty, shown)[0].picture
        if self.background is None:
            raise RuntimeError("a scene of which nothing is learned")
        center = np.clip(np.rint(self.background.center), 0, 255).astype(np.uint8)
        return self.layout.to_bgr(center)


def mask_options(options: RunOptions, scale: float) -> MaskOptions:
    """Return how masks are drawn; their areas are those of frames that were scaled."""
    least = None if options.min_area is None else round(options.min_area * scale**2)
    return MaskOptions(
        options.shadows, options.sensitivity, least, options.fill_holes, options.clean
    )


def learn_scene(
    store: FrameStore,
    source: FrameSource,
    fit: FrameFit | None,
    options: RunOptions,
    workers: Workers,
    progress: ProgressCallback,
) -> LearnedScene:
    """Pass the fitted frames once to all that learns from them; UsageError for a single one."""
    layout, total = source.layout, store.fit_numbers.size
    if total < 2:
        message = f"{source.name}: 1 frame is selected, but a background takes 2"
        raise UsageError(f"{message}; select more frames")
    learner = scores = sample = None
    inside = pixels_inside(source.pixel_mask, source.ignored)
    if fit is not None:
        from bgsub.background.learning import BackgroundLearner
        from bgsub.outliers.scorer_learning import ScorerLearner

        scores = ScorerLearner(fit, layout, inside, workers)
        if needs_pixels(options) or not store.fits_all:
            learner = BackgroundLearner(fit, source, workers)
    kind = SEGMENTERS[options.mask_model] if needs_masks(options) else None
    if kind is not None and not kind.needs_background:
        sample = Sample(layout, total, options.seed, composed=fit is not None)
    learners = [one for one in (scores, sample, learner) if one is not None]
    for start, rows in store.fit_blocks():
        workers.each(methodcaller("add", start, rows), learners)
        progress("model", start + len(rows), total)
    del rows  # a block that was decoded again would stay in memory

    def learn_masks(model: BackgroundModel | None = None) -> Segmenter | None:
        own = mask_options(options, options.source.scale)
        return None if kind is None else kind.fit(sample, own, model=model, each=workers.each)

    parts: list[Callable[[], Any]] = [
        lambda: scores and scores.finish(),
        lambda: learner and learner.finish(store, options),
        lambda: sample and learn_masks(),
    ]
    scorer, background, segmenter = workers.each(lambda part: part(), parts)
    segmenter = segmenter or learn_masks(background)
    give_back()
    if background is not None:
        local = None if segmenter is None else segmenter.scene
        background = replace(background, scorer=scorer, local=local)
    measured = None if scores is None else scores.measured
    return LearnedScene(layout, inside, background, segmenter, scorer, measured)


def saved_scene(
    model: BackgroundModel, options: RunOptions, layout: Layout | None = None
) -> LearnedScene:
    """Return a model's scene for frames of a layout, which may have chroma as well."""
    own = mask_options(options, float(model.geometry.get("scale", 1.0)))
    segmenter = saved_kind(model, options.threshold).fit(None, own, model=model)
    return LearnedScene(layout or model.layout, model.inside, model, segmenter, model.scorer)


# A change of the scene that was found by errors alone stands if this share of the frames after it
# are outliers in their own light too.
_STILL_DIFFERENT = 0.5


class FrameScores:
    """Score the frames of a run as they pass, and keep the table of their errors.

    `fit` is of the very frames that pass, or of a sample of them where it `projects`: then, and
    without a fit, frames are projected on the background.
    """

    def __init__(
        self,
        scene: LearnedScene,
        workers: Workers,
        fit: FrameFit | None = None,
        *,
        projects: bool = False,
    ) -> None:
        if scene.scorer is None:
            message = "the model does not say how frames are scored"
            raise InputError(f"{message}; write a new one with `bgsub run --only model`")
        self._scene, self._workers, self._fit, self._scorer = scene, workers, fit, scene.scorer
        self._projects = projects or fit is None
        self._seen: list[tuple[Any, ...]] = []

    def blocks(self, blocks: Iterable[FrameBlock]) -> Iterator[FrameBlock]:
        """Add coefficients and scores to the frames of some blocks."""
        model, fit = self._scene.background, self._fit
        start = 0
        for block in blocks:
            part = slice(start, start + len(block.rows))
            start = part.stop
            if model is not None and self._projects:
                coefficients, errors = model.project(block.rows, self._workers)
                left_out = np.ones(len(errors))
                values = np.full((len(errors), 1 + len(self._scorer.windows)), np.nan)
            elif fit is not None and self._scene.measured is not None:
                coefficients, errors = fit.coefficients[part], fit.table.errors[part]
                left_out, values = fit.left_out[part], self._scene.measured[part].copy()
            else:
                raise RuntimeError("neither a fit nor a background tells errors of these frames")
            self._measure(values, block.rows, coefficients, left_out)
            scores = self._scorer.scores_of(values)
            self._seen.append((block.numbers, block.times, errors, scores))
            yield block._replace(coefficients=coefficients, outlier_scores=scores.max(axis=1))

    def _measure(self, values: Floats, rows: Bytes, coefficients: Floats, left_out: Floats) -> None:
        """Measure the frames whose values are NaN."""
        from bgsub.outliers.frame_scorer import BATCH

        layout, short = self._scene.layout, coefficients.astype(np.float32)
        luma = rows[:, : layout.pixels].reshape(-1, layout.height, layout.width)
        missing = np.flatnonzero(np.isnan(values[:, 0]))

        def measure(start: int) -> Floats:
            part = missing[start : start + BATCH]
            return self._scorer.measure_frames(luma[part], short[part], left_out[part])

        parts = self._workers.map(measure, range(0, missing.size, BATCH))
        values[missing] = np.concatenate([values[:0], *parts])

    def table(self, source: FrameSource) -> ErrorTable:
        """Return the errors of all frames of a source, which have passed; doubtful ones flagged."""
        from bgsub.outliers.errors_table import ErrorTable

        columns: list[Any] = list(zip(*self._seen, strict=True))
        numbers, times, errors, scores = map(np.concatenate, columns)
        known: Any = self._scene.background if self._fit is None else self._fit.table
        table = ErrorTable(
            frames=numbers,
            times=times,
            errors=errors,
            pixels=known.n_pixels if self._fit is None else known.pixels,
            scores=scores[:, 0],
            cutoff=known.cutoff,
            doubtful=np.isin(numbers, source.doubtful_frames) if source.doubtful_frames else None,
            local=scores[:, 1],
        )
        change = None if self._fit is None else self._fit.table.scene_change
        # Among frames that are fitted and are none of the run it is none of it either.
        if change is None or not numbers[0] < change.first_frame <= numbers[-1]:
            return table
        is_lasting = table.outliers[numbers >= change.first_frame].mean() >= _STILL_DIFFERENT
        return replace(table, scene_change=change) if is_lasting else table
