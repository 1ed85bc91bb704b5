"""Learn a scene from its frames: the background if there is a fit, and what masks need."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bgsub.background.model import BackgroundModel, pixels_inside
from bgsub.errors import UsageError
from bgsub.fit.store import FrameStore
from bgsub.options import ProgressCallback
from bgsub.outliers.frame_scorer import FrameScorer
from bgsub.pipeline.mask_kinds import MASKERS, saved_kind
from bgsub.pipeline.masker import Flags, Masker, MaskSettings
from bgsub.runtime.limits import give_back
from bgsub.runtime.threads import Workers
from bgsub.video.frames import Layout
from bgsub.video.source import FrameSource

if TYPE_CHECKING:
    from bgsub.fit.frame_fit import FrameFit


@dataclass(frozen=True)
class SceneSettings:
    """What is to be learned of a scene.

    Attributes
    ----------
    masks : MaskSettings
    kind : str or None
        Kind of masks, a name in `bgsub.pipeline.mask_kinds.MASKERS`; None where no mask is wanted.
    with_pixels : bool
        Whether more is wanted than the errors of the frames.
    threshold : float or None
        Grey levels above which a pixel is foreground; None is found from the noise.
    method : str
    seed : int
    roi : tuple of four ints, or None
    scale : float
        How frames are cut out of the input.
    """

    masks: MaskSettings
    kind: str | None
    with_pixels: bool
    threshold: float | None
    method: str
    seed: int
    roi: tuple[int, int, int, int] | None
    scale: float


@dataclass(frozen=True, eq=False)
class LearnedScene:
    """What a run has learned of its scene, or a model.npz says of it.

    Attributes
    ----------
    layout : Layout
        Of the frames.
    inside : ndarray of bool, shape (h, w), or None
        Pixels that can be foreground; None for all.
    background : BackgroundModel or None
        None where no frames are fitted, or no output needs their pixels.
    masker : Masker or None
        None where no mask is wanted.
    scorer : FrameScorer or None
        None where no frames are fitted.
    measured : ndarray or None
        What learning the scorer has measured of the fitted frames: see `ScorerLearner`.
    """

    layout: Layout
    inside: Flags | None = None
    background: BackgroundModel | None = None
    masker: Masker | None = None
    scorer: FrameScorer | None = None
    measured: NDArray[np.float64] | None = None

    @property
    def n_inside(self) -> int:
        """Pixels that can be foreground."""
        return self.layout.pixels if self.inside is None else int(np.count_nonzero(self.inside))

    @property
    def threshold(self) -> float | None:
        """Grey levels above which a pixel is foreground, where masks have such a number."""
        return None if self.masker is None else self.masker.threshold


def learn_scene(
    store: FrameStore,
    source: FrameSource,
    fit: FrameFit | None,
    settings: SceneSettings,
    workers: Workers,
    progress: ProgressCallback,
) -> LearnedScene:
    """Pass the fitted frames once, to everything that learns from them.

    Parameters
    ----------
    store : FrameStore
    source : FrameSource
        Whose frames they are.
    fit : FrameFit or None
        None where masks are wanted that need no background.
    settings : SceneSettings
    workers : Workers
    progress : callable

    Raises
    ------
    UsageError
        If there is a single frame, of which nobody could say what is foreground.
    """
    layout, total = source.layout, store.fit_numbers.size
    if total < 2:
        message = f"{source.name}: 1 frame is selected, but a background takes 2"
        raise UsageError(f"{message}; select more frames")
    background = learner = scores = None
    inside = pixels_inside(source.pixel_mask, source.ignored)
    if fit is not None:
        from bgsub.background.learning import BackgroundLearner
        from bgsub.outliers.scorer_learning import ScorerLearner

        scores = ScorerLearner(fit, layout, inside, workers)
        if settings.with_pixels or not store.fits_all:
            learner = BackgroundLearner(fit, source, workers)
    masker: Masker | None = None
    if settings.kind is not None:
        masker = MASKERS[settings.kind](layout, settings.masks)
        masker.begin(total, settings.seed)
    for start, rows in store.fit_blocks():
        if learner is not None:
            learner.add(start, rows)
        if masker is not None:
            masker.add(start, rows)
        if scores is not None:
            scores.add(start, rows)
        progress("model", start + len(rows), total)
    del rows  # a block that was decoded again would stay in memory
    scorer = None if scores is None else scores.finish()
    if learner is not None and fit is not None:
        background = learner.finish(
            store,
            threshold=settings.threshold,
            geometry={
                "input_size": list(source.input_size),
                "roi": None if settings.roi is None else list(settings.roi),
                "scale": settings.scale,
            },
            facts={
                "method": settings.method,
                "k": fit.estimator.n_components,
                "seed": settings.seed,
                "name": source.name,
            },
        )
        background = replace(background, scorer=scorer)
    if masker is not None:
        masker.learn(background, workers)
        give_back()
        background = None if background is None else masker.keep(background)
    measured = None if scores is None else scores.measured
    return LearnedScene(layout, inside, background, masker, scorer, measured)


def saved_scene(
    background: BackgroundModel,
    settings: MaskSettings,
    threshold: float | None,
    layout: Layout | None = None,
) -> LearnedScene:
    """Give the scene of a saved model, with masks drawn as the settings say.

    Parameters
    ----------
    background : BackgroundModel
    settings : MaskSettings
    threshold : float or None
        Grey levels above which a pixel is foreground, if somebody gave them.
    layout : Layout, optional
        Of the frames; that of the model, which may have chroma as well.
    """
    layout = layout or background.layout
    masker = saved_kind(background, threshold)(layout, settings)
    masker.load(background)
    return LearnedScene(layout, background.inside, background, masker, background.scorer)
