"""Give masks for frames: the seam between a run and the kinds of masks that there are.

A kind of mask is a class here and a line in `MASKERS`. A run makes one, passes it the frames that
are fitted (`begin`, `add`, `learn`), or what a model.npz holds (`load`), and then asks it for the
mask of every frame.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from bgsub.background.backdrop import Backdrop
from bgsub.background.model import BackgroundModel
from bgsub.background.residual_mask import SCORE_LEVEL, MaskRule, default_min_area
from bgsub.errors import UsageError
from bgsub.local import sampling
from bgsub.local.cleanup import SCORE_LEVEL as LOCAL_SCORE_LEVEL
from bgsub.local.drawing import Seen
from bgsub.local.model import LocalModel
from bgsub.local.params import DEFAULTS, LocalParams, MaskOptions
from bgsub.pipeline.frames import SceneFrame
from bgsub.pipeline.plate import plates_of
from bgsub.runtime.threads import Workers
from bgsub.tracking.absorption import Stillness
from bgsub.video.frames import Bytes, Layout

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class MaskSettings:
    """How masks are drawn; the options of a run of these names.

    Attributes
    ----------
    clean : bool
        Filter, fill and drop small blobs.
    min_area : int or None
        Smallest blob in pixels; None is chosen from the size of the frame.
    shadows : {"drop", "keep"}
    sensitivity : {"low", "normal", "high"}
    fill_holes : bool
    still_objects : {"foreground", "background"} or float, optional
        What becomes of what has come to rest; seconds after which it is absorbed.
    """

    clean: bool = True
    min_area: int | None = None
    shadows: Literal["drop", "keep"] = "drop"
    sensitivity: Literal["low", "normal", "high"] = "normal"
    fill_holes: bool = True
    still_objects: Stillness | None = None


class Masker(Protocol):
    """Something that gives a mask for a frame.

    Parameters
    ----------
    layout : Layout
        Of the frames.
    settings : MaskSettings

    Attributes
    ----------
    name : str
        Its name among the values of ``--model``.
    needs_background : bool
        Whether it needs the backgrounds that a fit of the frames gives.
    corrects_background : bool
        Whether backgrounds that are shown need its masks.
    score_level : int
        Score from which a pixel belongs to the mask, before it is cleaned.
    min_area : int
        Pixels that a blob covers, at least.
    finds_specks : bool
        Whether it gives specks that may be objects if they move.
    threshold : float or None
        Grey levels above which a pixel is foreground, where that is one number.
    """

    name: ClassVar[str]
    needs_background: ClassVar[bool] = False
    corrects_background: ClassVar[bool] = False
    score_level: ClassVar[int] = 100
    layout: Layout
    settings: MaskSettings
    min_area: int
    finds_specks: bool = False
    threshold: float | None = None

    def __init__(self, layout: Layout, settings: MaskSettings) -> None:
        self.layout, self.settings = layout, settings
        self.min_area = settings.min_area or 0

    @classmethod
    def sample_size(cls, height: int, width: int) -> int | None:
        """Give the number of frames that it learns from; None is as many as there are."""
        del height, width
        return None

    @classmethod
    def learning_bytes(cls, frames: int, height: int, width: int) -> tuple[int, int]:
        """Give the memory that it takes to learn, and of the frames that it keeps before."""
        del frames, height, width
        return 0, 0

    def begin(self, frames: int, seed: int) -> None:
        """Prepare for a pass of so many frames; `seed` is for what is drawn at random."""

    def add(self, start: int, rows: Bytes) -> None:
        """Pass the fitted frames start, start + 1, …; shape (m, size). Blocks come in order."""

    def learn(
        self,
        background: BackgroundModel | None,
        moments: Sequence[tuple[int, float]],
        workers: Workers,
    ) -> None:
        """Learn from the frames that have passed.

        Parameters
        ----------
        background : BackgroundModel or None
            What a fit says of the same frames, if there was one.
        moments : sequence of (int, float)
            Number in the input, from 1, and time in seconds of each frame.
        workers : Workers
        """

    def load(self, background: BackgroundModel) -> None:
        """Take what was learned from a saved model instead."""

    def keep(self, background: BackgroundModel) -> BackgroundModel:
        """Give a model that holds what was learned too, so that it can be saved."""
        return background

    @abstractmethod
    def look(self, frame: SceneFrame, inside: Flags | None, *, with_scores: bool) -> Seen:
        """Give the mask of a frame, and more of what it shows.

        Parameters
        ----------
        frame : SceneFrame
        inside : ndarray of bool, shape (h, w), or None
            Pixels outside are never foreground; None is all pixels.
        with_scores : bool
            Whether the scores that the mask is cut from are wanted.

        Returns
        -------
        Seen
        """

    def background(self, frame: SceneFrame) -> Bytes:
        """Give what the mask of a frame is cut against, (h, w, 3) BGR or (h, w) grey."""
        return frame.background

    @abstractmethod
    def empty_scene(self, pictures: Bytes, empty: Flags) -> Bytes:
        """Give one picture of the scene without its objects.

        Parameters
        ----------
        pictures : ndarray of uint8, shape (n, h, w, 3) BGR or (n, h, w) grey
            Frames spread over the film.
        empty : ndarray of bool, shape (n, h, w)
            Where their masks show no object.
        """

    def backdrop(self, background: BackgroundModel) -> Backdrop | None:
        """Give what corrects the backgrounds of frames by their masks; None where nothing does."""
        del background
        return None

    def facts(self) -> dict[str, Any]:
        """Describe for run.json what was learned, as JSON values."""
        return {"mask_notes": []}


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
            params = _LEARNED.get(self.settings.still_objects, _ALL_ARE_OBJECTS)
            self._use(self._sample.fit(workers, moments, params))
            self._sample = None

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
        self._model = model.with_options(self._options)
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
