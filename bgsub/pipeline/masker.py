"""Give masks for frames: the seam between a run and the kinds of masks that there are.

The kinds are in `bgsub.pipeline.mask_kinds`. A run makes a masker, passes it the frames that are
fitted (`begin`, `add`, `learn`), or what a model.npz holds (`load`), and then asks it for the mask
of every frame.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from bgsub.background.backdrop import Backdrop
from bgsub.background.model import BackgroundModel
from bgsub.pipeline.frames import SceneFrame
from bgsub.runtime.threads import Workers
from bgsub.segmenter.masks import Seen
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

    @classmethod
    def masking_bytes(cls, height: int, width: int, threads: int) -> int:
        """Give the memory that it takes to make masks in so many threads, besides pictures."""
        del height, width, threads
        return 0

    def begin(self, frames: int, seed: int) -> None:
        """Prepare for a pass of so many frames; `seed` is for what is drawn at random."""

    def add(self, start: int, rows: Bytes) -> None:
        """Pass the fitted frames start, start + 1, …; shape (m, size). Blocks come in order."""

    def learn(
        self,
        background: BackgroundModel | None,
        workers: Workers,
    ) -> None:
        """Learn from the frames that have passed.

        Parameters
        ----------
        background : BackgroundModel or None
            What a fit says of the same frames, if there was one.
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
