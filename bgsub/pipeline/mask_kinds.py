"""List the kinds of masks: those of the network, and the paper's formula.

A kind is a class here, a `Masker`, and a line in `MASKERS`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bgsub.background.backdrop import Backdrop
from bgsub.background.model import BackgroundModel
from bgsub.background.residual_mask import SCORE_LEVEL, MaskRule, default_min_area
from bgsub.background.sample import MOST_FRAMES, Sample, learning_bytes, sample_bytes
from bgsub.pipeline.frames import SceneFrame
from bgsub.pipeline.masker import Flags, Masker, MaskSettings
from bgsub.pipeline.plate import plates_of
from bgsub.runtime.threads import Workers
from bgsub.segmenter.masks import SCORE_LEVEL as NETWORK_SCORE_LEVEL
from bgsub.segmenter.masks import MaskModel, MaskOptions, Seen
from bgsub.video.frames import Bytes, Layout

_NETWORK_BYTES, _ANSWER_BYTES = 30_000_000, 13
"""Measured: the network in a thread, and what it says of a pixel."""


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
        workers: Workers,
    ) -> None:
        """Take the threshold of the background."""
        del workers
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


class NetworkMasker(Masker):
    """A network that compares frames with hypotheses of their background."""

    name = "local"
    corrects_background = True
    score_level = NETWORK_SCORE_LEVEL

    def __init__(self, layout: Layout, settings: MaskSettings) -> None:
        super().__init__(layout, settings)
        clean, fill = settings.clean, settings.clean and settings.fill_holes
        least = settings.min_area if clean else 0
        self._options = MaskOptions(settings.shadows, settings.sensitivity, least, fill)
        self._sample: Sample | None = None
        self._model: MaskModel | None = None

    @classmethod
    def sample_size(cls, height: int, width: int) -> int:
        """Return the number of frames that a background is learned from."""
        del height, width
        return MOST_FRAMES

    @classmethod
    def learning_bytes(cls, frames: int, height: int, width: int) -> tuple[int, int]:
        """Return the memory of learning a background, and of its sample."""
        size = frames, height, width
        return learning_bytes(*size), sample_bytes(*size)

    @classmethod
    def masking_bytes(cls, height: int, width: int, threads: int) -> int:
        """Return the memory of the network in so many threads, and of its answers."""
        return threads * (_NETWORK_BYTES + _ANSWER_BYTES * height * width)

    def begin(self, frames: int, seed: int) -> None:
        """Draw a sample of the frames."""
        self._sample = Sample(self.layout, frames, seed)

    def add(self, start: int, rows: Bytes) -> None:
        """Keep those of the frames that are in the sample."""
        if self._sample is not None:
            self._sample.add(start, rows)

    def learn(
        self,
        background: BackgroundModel | None,
        workers: Workers,
    ) -> None:
        """Learn the background of the sample."""
        if self._sample is not None:
            self._use(
                MaskModel.fit(
                    self._sample,
                    self._options,
                    plates=background is not None,
                    each=workers.map,
                )
            )
        self._sample = None

    def load(self, background: BackgroundModel) -> None:
        """Take the model of a saved one."""
        if background.local is not None:
            self._use(MaskModel(background.local, self._options))

    def _use(self, model: MaskModel) -> None:
        self._model, self.min_area = model, model.min_area

    def keep(self, background: BackgroundModel) -> BackgroundModel:
        """Return the background with the model of its masks."""
        return replace(background, local=self._learned().scene)

    def _learned(self) -> MaskModel:
        if self._model is None:
            raise _NOTHING_LEARNED
        return self._model

    def look(self, frame: SceneFrame, inside: Flags | None, *, with_scores: bool) -> Seen:
        """Segment a frame."""
        return self._learned().look(
            frame.seen,
            inside,
            small=frame.small,
            before=None if frame.previous is None else frame.previous.small,
            with_scores=with_scores,
        )

    def background(self, frame: SceneFrame) -> Bytes:
        """Return the empty scene in the state and the light of a frame."""
        return self._learned().scene.background_of(frame.seen, frame.small)

    def empty_scene(self, pictures: Bytes, empty: Flags) -> Bytes:
        """Return the median of what shows background, of the state of most frames."""
        return plates_of(self._learned(), pictures, empty)[0].picture

    def backdrop(self, background: BackgroundModel) -> Backdrop:
        """Return what corrects the backgrounds of frames where the masks know better."""
        return Backdrop(background, self._learned().scene)

    def facts(self) -> dict[str, Any]:
        """Return the states of the scene."""
        return self._learned().scene.facts()


_NOTHING_LEARNED = RuntimeError("a mask is asked for before anything is learned")


MASKERS: dict[str, type[Masker]] = {kind.name: kind for kind in (NetworkMasker, ResidualMasker)}
"""Kinds of masks by their name."""


def saved_kind(background: BackgroundModel, threshold: float | None) -> type[Masker]:
    """Give the kind of masks that a saved model makes; a threshold that is given is the formula."""
    return ResidualMasker if background.local is None or threshold is not None else NetworkMasker
