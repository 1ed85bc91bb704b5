"""List the kinds of masks: those of the local models, and the paper's formula.

A kind is a class here, a `Masker`, and a line in `MASKERS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bgsub.background.backdrop import Backdrop
from bgsub.background.model import BackgroundModel
from bgsub.background.residual_mask import SCORE_LEVEL, MaskRule, default_min_area
from bgsub.errors import UsageError
from bgsub.local import sampling
from bgsub.local.cleanup import SCORE_LEVEL as LOCAL_SCORE_LEVEL
from bgsub.local.drawing import Seen
from bgsub.local.model import LocalModel
from bgsub.local.params import DEFAULTS, LocalParams, MaskOptions
from bgsub.local.scoring import comparing_bytes
from bgsub.pipeline.frames import SceneFrame
from bgsub.pipeline.masker import Flags, Masker, MaskSettings
from bgsub.pipeline.plate import plates_of
from bgsub.runtime.threads import Workers
from bgsub.tracking.fleeting import BlobSieve
from bgsub.video.frames import Bytes, Layout


class ResidualMasker(Masker):
    """The paper's formula: |x − x_b| above a threshold."""

    name = "paper"
    needs_background = True
    score_level = SCORE_LEVEL

    def __init__(self, layout: Layout, settings: MaskSettings) -> None:
        super().__init__(layout, settings)
        if settings.min_area is None:
            self.min_area = default_min_area(layout.height, layout.width)
        self._rule: MaskRule | None = None

    def learn(
        self,
        background: BackgroundModel | None,
        moments: Sequence[tuple[int, float]],
        workers: Workers,
    ) -> None:
        """Take the threshold of the background."""
        del moments, workers
        if background is not None:
            self.load(background)

    def load(self, background: BackgroundModel) -> None:
        """Take the threshold of the background."""
        self.threshold = background.threshold
        self._center = background.center
        self._rule = MaskRule(background.threshold, self.settings.clean, self.min_area)

    def _learned(self) -> MaskRule:
        if self._rule is None:
            raise _NOTHING_LEARNED
        return self._rule

    def look(self, frame: SceneFrame, inside: Flags | None, *, with_scores: bool) -> Seen:
        """Cut the residual of a frame, and give it in hundredths of the threshold."""
        rule, residual = self._learned(), frame.residual
        scores = rule.scores(residual, inside) if with_scores else None
        return Seen(rule.apply(residual, inside), scores)

    def empty_scene(self, pictures: Bytes, empty: Flags) -> Bytes:
        """Give the centre that was fitted."""
        del pictures, empty
        center = np.clip(np.rint(self._center), 0, 255).astype(np.uint8)
        return self.layout.to_bgr(center)


_ALL_ARE_OBJECTS = replace(DEFAULTS, rigid_motion=0.0)
"""Nothing that came or left is too rigid to be an object."""


_LEARNED: dict[str | float | None, LocalParams] = {
    None: DEFAULTS,
    "background": replace(DEFAULTS, change_area=1.1),
}
"""What is learned of things at rest; seconds are counted for what was learned to be an object."""


class LocalMasker(Masker):
    """Local models: a few recurring colours for every pixel, see `bgsub.local`."""

    name = "local"
    corrects_background = True
    score_level = LOCAL_SCORE_LEVEL
    frames_ahead = DEFAULTS.lasting_frames

    def __init__(self, layout: Layout, settings: MaskSettings) -> None:
        super().__init__(layout, settings)
        clean, fill = settings.clean, settings.clean and settings.fill_holes
        least = settings.min_area if clean else 0
        self._options = MaskOptions(settings.shadows, settings.sensitivity, least, fill)
        self._sample: sampling.PictureSample | None = None
        self._model: LocalModel | None = None

    @classmethod
    def sample_size(cls, height: int, width: int) -> int:
        """Give the number of frames that a local model is fitted to."""
        return sampling.sample_size(height, width)

    @classmethod
    def learning_bytes(cls, frames: int, height: int, width: int) -> tuple[int, int]:
        """Give the memory of fitting a local model, and of its pictures."""
        size = frames, height, width
        return sampling.fit_bytes(*size), sampling.sample_bytes(*size)

    @classmethod
    def masking_bytes(cls, height: int, width: int, threads: int) -> int:
        """Give the memory of a scene, and of comparing frames with it."""
        return comparing_bytes(height, width, threads)

    def begin(self, frames: int, seed: int) -> None:
        """Draw a sample of the frames."""
        self._sample = sampling.PictureSample(self.layout, frames, seed)

    def add(self, start: int, rows: Bytes) -> None:
        """Keep those of the frames that are in the sample, as pictures."""
        if self._sample is not None:
            self._sample.add(start, rows)

    def learn(
        self,
        background: BackgroundModel | None,
        moments: Sequence[tuple[int, float]],
        workers: Workers,
    ) -> None:
        """Fit a local model to the sample."""
        del background
        if self._sample is not None:
            self._use(self._sample.fit(workers, moments, self._params))
        self._sample = None

    @property
    def _params(self) -> LocalParams:
        return _LEARNED.get(self.settings.still_objects, _ALL_ARE_OBJECTS)

    def load(self, background: BackgroundModel) -> None:
        """Take the local model of a saved one."""
        if background.local is None:
            return
        if self.settings.still_objects == "foreground" and background.local.params.rigid_motion:
            message = (
                "--still-objects foreground has no effect with a model that was learned without"
            )
            raise UsageError(f"{message}; leave it out, or use a model of a run with it")
        self._use(background.local)

    def _use(self, model: LocalModel) -> None:
        is_ready = model.options == self._options
        self._model = model if is_ready else model.with_options(self._options)
        self.finds_specks = self._model.finds_specks
        self.min_area = self._model.min_area

    def keep(self, background: BackgroundModel) -> BackgroundModel:
        """Give the background with the local model."""
        return replace(background, local=self._learned())

    def _learned(self) -> LocalModel:
        if self._model is None:
            raise _NOTHING_LEARNED
        return self._model

    def look(self, frame: SceneFrame, inside: Flags | None, *, with_scores: bool) -> Seen:
        """Compare a frame with the colours of its places."""
        return self._learned().look(frame.seen, inside, with_scores=with_scores)

    @property
    def frames_at_once(self) -> int:
        """Frames that `look_all` compares in few steps together."""
        return self._learned().frames_at_once

    def look_all(
        self, frames: Sequence[SceneFrame], inside: Flags | None, *, with_scores: bool
    ) -> list[Seen]:
        """Compare frames with the colours of their places."""
        pictures = [frame.seen for frame in frames]
        return self._learned().look_all(pictures, inside, with_scores=with_scores)

    def sieve(self, inside: Flags | None) -> BlobSieve | None:
        """Give what leaves fleeting blobs out of masks, unless a least area was asked for."""
        model = self._learned()
        return BlobSieve(model.params, inside, model.min_area) if model.finds_blobs else None

    def background(self, frame: SceneFrame) -> Bytes:
        """Give the usual colours of the state of the scene that a frame shows."""
        return self._learned().background(frame.seen)

    def empty_scene(self, pictures: Bytes, empty: Flags) -> Bytes:
        """Give the median of what shows background, of the state of most frames."""
        return plates_of(self._learned(), pictures, empty)[0].picture

    def backdrop(self, background: BackgroundModel) -> Backdrop:
        """Give what corrects the backgrounds of frames where the local model knows better."""
        return Backdrop(background, self._learned())

    def facts(self) -> dict[str, Any]:
        """Describe the states of the scene, and what was decided about its places."""
        return self._learned().history.to_json()


_NOTHING_LEARNED = RuntimeError("a mask is asked for before anything is learned")


MASKERS: dict[str, type[Masker]] = {kind.name: kind for kind in (LocalMasker, ResidualMasker)}
"""Kinds of masks by their name."""


def saved_kind(background: BackgroundModel, threshold: float | None) -> type[Masker]:
    """Give the kind of masks that a saved model makes; a threshold that is given is the formula."""
    return ResidualMasker if background.local is None or threshold is not None else LocalMasker
