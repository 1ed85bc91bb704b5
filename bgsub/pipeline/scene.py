"""Learn a scene from its frames: the background if there is a fit, and what masks need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bgsub.background.composite import plates_of
from bgsub.background.sample import Sample
from bgsub.background.scene import Scene, Shown, pixels_inside
from bgsub.errors import UsageError
from bgsub.fit.store import FrameStore
from bgsub.options import ProgressCallback, RunOptions
from bgsub.pipeline.inputs import needs_masks, needs_pixels
from bgsub.runtime.limits import give_back
from bgsub.runtime.threads import Workers
from bgsub.segmenter.masks import SEGMENTERS, saved_kind
from bgsub.segmenter.protocol import Flags, FrameView, MaskOptions, Segmenter
from bgsub.video.frames import Bytes, Layout
from bgsub.video.source import FrameSource

if TYPE_CHECKING:
    from bgsub.background.model import BackgroundModel
    from bgsub.fit.frame_fit import FrameFit
    from bgsub.outliers.frame_scorer import FrameScorer


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

    def background_of(self, frame: FrameView, shown: Shown | None) -> Bytes:
        """Return what the mask of a frame is cut against, (h, w, 3) BGR or (h, w) grey."""
        if self.local is not None and shown is not None:
            return self.local.background_of(shown)
        if frame.background is None:
            raise RuntimeError("no background was asked for")
        return frame.layout.to_bgr(frame.background)

    def empty_scene(self, pictures: Bytes, empty: Flags, shown: Sequence[Shown]) -> Bytes:
        """Return one picture of the scene without its objects.

        The pictures, (n, h, w, 3) BGR or (n, h, w) grey, are spread over the video, and are
        overwritten; `empty` is where their masks show no object, `shown` what these were cut
        against.
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
        sample = Sample(layout, total, options.seed)
    learners = [one for one in (learner, sample, scores) if one is not None]
    for start, rows in store.fit_blocks():
        for one in learners:
            one.add(start, rows)
        progress("model", start + len(rows), total)
    del rows  # a block that was decoded again would stay in memory
    scorer = None if scores is None else scores.finish()
    background = segmenter = None
    if learner is not None and fit is not None:
        roi, scale = options.source.roi, options.source.scale
        geometry = {"input_size": list(source.input_size), "roi": roi and list(roi), "scale": scale}
        facts = {"method": options.method, "k": fit.estimator.n_components}
        facts |= {"seed": options.seed, "name": source.name}
        threshold = options.threshold
        background = learner.finish(store, threshold=threshold, geometry=geometry, facts=facts)
        background = replace(background, scorer=scorer)
    if kind is not None:
        segmenter = kind.fit(
            sample, mask_options(options, options.source.scale), model=background, each=workers.map
        )
        give_back()
        if background is not None:
            background = replace(background, local=segmenter.scene)
    measured = None if scores is None else scores.measured
    return LearnedScene(layout, inside, background, segmenter, scorer, measured)


def saved_scene(
    model: BackgroundModel, options: RunOptions, layout: Layout | None = None
) -> LearnedScene:
    """Return a model's scene for frames of a layout, which may have chroma as well."""
    own = mask_options(options, float(model.geometry.get("scale", 1.0)))
    segmenter = saved_kind(model, options.threshold).fit(None, own, model=model)
    return LearnedScene(layout or model.layout, model.inside, model, segmenter, model.scorer)
