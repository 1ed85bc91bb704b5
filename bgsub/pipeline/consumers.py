"""Pass the frames of a run, with what was found in each, to everything that is made of them.

A consumer is what turns frames into an output: a video, a table of objects, the tally of the masks.
It says what it needs of a frame, does in `prepare` what can be done for each frame alone, in any
thread, and in `take` what needs the frames in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, Protocol

import numpy as np

from bgsub.background.backdrop import Backdrop, Floats
from bgsub.background.model import BackgroundModel
from bgsub.background.render import OutsideMask, reconstruct
from bgsub.fit.store import FrameBlock
from bgsub.pipeline.frames import FrameRules, SceneFrame
from bgsub.pipeline.looking import FrameGroup, Looker, in_threads
from bgsub.pipeline.masker import Flags, Masker
from bgsub.runtime.threads import Workers
from bgsub.tracking.absorption import Absorber, absorbed_after
from bgsub.video.frames import Bytes, Layout

Need = Literal["background", "mask", "scores"]
"""What has to be computed of a frame for a consumer, besides its picture."""


class FrameConsumer(Protocol):
    """Something that is made of the frames of a run.

    Attributes
    ----------
    needs : frozenset of {"background", "mask", "scores"}
    """

    @property
    def needs(self) -> frozenset[Need]:
        """What it reads of a frame besides `picture`, `number` and `time_s`."""

    def prepare(self, frame: SceneFrame) -> Any:
        """Do what can be done for one frame alone, in any thread."""

    def take(self, frame: SceneFrame, prepared: Any) -> None:
        """Take a frame and what `prepare` gave for it; frames come in their order."""

    def close(self) -> None:
        """Finish after the last frame."""

    def abort(self) -> None:
        """Give up and remove what was begun; never raises."""


class Renderer:
    """Turn blocks of frames into frames with their backgrounds, masks and foregrounds.

    Parameters
    ----------
    layout : Layout
    background : BackgroundModel or None
        None where none is fitted, or nothing that is wanted needs one.
    masker : Masker or None
        None where no mask is wanted.
    inside : ndarray of bool, shape (h, w), or None
        Pixels that can be foreground.
    draw_foreground : callable
        See `FrameRules`.
    with_scores : bool
        Whether anybody wants the scores that masks are cut from.
    """

    def __init__(
        self,
        layout: Layout,
        background: BackgroundModel | None,
        masker: Masker | None,
        inside: Flags | None,
        draw_foreground: Callable[[SceneFrame], Bytes],
        *,
        with_scores: bool,
    ) -> None:
        self._background = background
        self._looker = Looker(masker, inside, with_scores=with_scores)
        self._rules = FrameRules(layout, self._looker.decide, draw_foreground)
        self._backdrop: Backdrop | None = None
        if background is not None:
            self._outside = OutsideMask(layout, background.pixel_mask)
            self._backdrop = None if masker is None else masker.backdrop(background)
        self._absorber: Absorber | None = None
        rest_s = None if masker is None else absorbed_after(masker.settings.still_objects)
        if masker is not None and rest_s is not None:
            self._absorber = Absorber(layout.height, layout.width, rest_s, masker.min_area)

    def frames(self, blocks: Iterable[FrameBlock], workers: Workers) -> Iterator[list[SceneFrame]]:
        """Return the frames of blocks, block by block; their backgrounds are made together."""
        for group in self._looker.look(map(self._group, blocks), workers):
            yield self._complete(*group, workers)

    def _group(self, block: FrameBlock) -> FrameGroup:
        """Give a block with its frames."""
        scores = block.outlier_scores
        frames = [
            SceneFrame(
                self._rules,
                int(block.numbers[i]),
                float(block.times[i]),
                row,
                outlier_score=None if scores is None else scores[i],
            )
            for i, row in enumerate(block.rows)
        ]
        return FrameGroup(block, frames)

    def _complete(
        self, block: FrameBlock, frames: list[SceneFrame], workers: Workers
    ) -> list[SceneFrame]:
        """Add to frames what depends on others."""
        if self._background is not None and block.coefficients is not None:
            self._reconstruct(self._background, block, block.coefficients, frames, workers)
        if self._absorber is not None:
            for frame, _ in zip(frames, workers.map(_decide_mask, frames), strict=True):
                frame.settle(self._absorber)
        return frames

    def _reconstruct(
        self,
        background: BackgroundModel,
        block: FrameBlock,
        coefficients: Floats,
        frames: list[SceneFrame],
        workers: Workers,
    ) -> None:
        """Give frames their backgrounds, of which those of some masks are corrected by them."""
        backdrop = self._backdrop
        if backdrop is not None:
            chosen = backdrop

            def correct(pair: tuple[SceneFrame, Floats]) -> Floats:
                frame, projected = pair
                return chosen.coefficients(frame.row, frame.mask, projected)

            pairs = list(zip(frames, coefficients, strict=True))
            coefficients = np.stack(list(in_threads(correct, pairs, frames, workers)))
        own = reconstruct(background, coefficients, workers)
        self._outside.restore(own, block.rows)
        for frame, estimate in zip(frames, own, strict=True):
            frame.place_before(estimate, backdrop)


def _decide_mask(frame: SceneFrame) -> Bytes:
    return frame.mask


def feed(frames: list[SceneFrame], consumers: list[FrameConsumer], workers: Workers) -> None:
    """Give some frames to all consumers, in their order."""

    def prepare(frame: SceneFrame) -> tuple[SceneFrame, list[Any]]:
        return frame, [consumer.prepare(frame) for consumer in consumers]

    for frame, prepared in in_threads(prepare, frames, frames, workers):
        for consumer, own in zip(consumers, prepared, strict=True):
            consumer.take(frame, own)
