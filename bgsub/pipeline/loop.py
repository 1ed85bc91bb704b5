"""The one loop: every frame of a video gets its background and its mask, and goes to all sinks.

`bgsub.run`, `bgsub.apply`, `bgsub.masks` and segments pass their frames through `Loop.frames` in
blocks: some frames in a row, of a store or of a file as it is decoded, or a single one of a stream.
The loop keeps the frame before and what has come to rest between calls. Where a stream learns its
scene anew, it sets `loop.scene`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, tee, zip_longest
from typing import Any, Literal, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.background.backdrop import Backdrop
from bgsub.background.render import OutsideMask, reconstruct
from bgsub.fit.store import FrameBlock
from bgsub.pipeline.scene import LearnedScene
from bgsub.runtime.threads import WORTH_A_THREAD, Workers
from bgsub.segmenter.protocol import FrameView, MaskResult
from bgsub.tracking.absorption import Absorber, Stillness, absorbed_after
from bgsub.video.frames import Bytes, Layout

# What has to be computed of a frame for a sink, besides its picture.
Need = Literal["background", "mask", "scores", "all scores"]
Item = TypeVar("Item")
Value = TypeVar("Value")


class SceneFrame(FrameView):
    """One frame of a video with its number, from 1, its seconds, its background and its mask.

    `outlier_score` is None where no frames are fitted; without masks there is no `result`.
    """

    result: MaskResult

    def __init__(
        self, layout: Layout, row: Bytes, number: int, time_s: float, outlier_score: float | None
    ) -> None:
        super().__init__(layout, row)
        self.number, self.time_s, self.outlier_score = number, time_s, outlier_score

    @property
    def mask(self) -> Bytes:
        """Its mask, (h, w), 0 or 255."""
        return self.result.mask

    @property
    def scores(self) -> NDArray[np.uint16]:
        """What its mask is cut from, (h, w)."""
        if self.result.scores is None:
            raise RuntimeError("no scores were asked for")
        return self.result.scores

    @property
    def own(self) -> Bytes:
        """Its background in the layout without added chroma, shape (size,)."""
        if self.background is None:
            raise RuntimeError("no background was asked for")
        return self.background


class Sink:
    """What is made of a video's frames; `needs` is what it reads besides picture, number, time."""

    needs: frozenset[Need] = frozenset()

    def prepare(self, frame: SceneFrame) -> Any:
        """Do what can be done for one frame alone, in any thread."""

    def write(self, frame: SceneFrame, prepared: Any) -> None:
        """Take a frame and what `prepare` returned for it; frames come in their order."""
        raise NotImplementedError

    def close(self) -> None:
        """Finish after the last frame."""

    def abort(self) -> None:
        """Remove what was begun; never raises."""


class Loop:
    """Compute the backgrounds and masks of frames, without workers in the thread that calls.

    `still` says what becomes of what has come to rest: "foreground", "background", or seconds after
    which it is taken out of the masks.
    """

    def __init__(
        self,
        scene: LearnedScene,
        workers: Workers | None,
        needs: Iterable[Need],
        still: Stillness | None = None,
    ) -> None:
        self.scene, self._workers = scene, workers
        needs, segmenter = set(needs), scene.segmenter
        masks, everywhere = bool(needs - {"background"}), "all scores" in needs
        self._asked = everywhere or "scores" in needs, everywhere
        cuts = segmenter is not None and segmenter.needs_background
        self._with_background = "background" in needs or (masks and cuts)
        self._with_masks = masks or (self._with_background and scene.local is not None)
        self._before: SceneFrame | None = None
        self._earlier: Iterator[Any] = iter([None])  # what the segmenter saw in it
        self._backdrop: Backdrop | None = None
        if scene.background is not None and self._with_background:
            self._outside = OutsideMask(scene.layout, scene.background.pixel_mask)
            if scene.local is not None:
                self._backdrop = Backdrop(scene.background, scene.local)
        self._absorber: Absorber | None = None
        if segmenter is not None and masks and still not in {None, "foreground"}:
            height, width = scene.layout.height, scene.layout.width
            rest_s = absorbed_after(still)
            self._absorber = Absorber(height, width, rest_s or 0.0, segmenter.min_area)

    def frames(self, blocks: Iterable[FrameBlock]) -> Iterator[SceneFrame]:
        """Yield the frames of some blocks in their order."""
        segmenter = self.scene.segmenter
        masks_first = segmenter is None or not segmenter.needs_background
        for block in blocks:
            none: list[Any] = [None] * len(block.rows)
            scores = none if block.outlier_scores is None else block.outlier_scores
            parts = block.rows, block.numbers.tolist(), block.times.tolist(), scores
            frames = [SceneFrame(self.scene.layout, *one) for one in zip(*parts, strict=True)]
            if masks_first:
                self._segment(frames)
            if self._with_background:
                self._reconstruct(frames, block)
            if not masks_first:
                self._segment(frames)
            absorbed = [] if self._absorber is None else self._absorb(frames, self._absorber)
            if self._backdrop is not None and frames[0].background is not None:
                self._compose(frames, absorbed, self._backdrop)
            yield from frames

    def _map(
        self, function: Callable[[Item], Value], items: Iterable[Item], *, heavy: bool = False
    ) -> Iterator[Value]:
        """Map a function, in threads where it is heavy or frames are large enough for that."""
        if self._workers is None or not (heavy or self.scene.layout.pixels >= WORTH_A_THREAD):
            return map(function, items)
        return self._workers.map(function, items)

    def _segment(self, frames: list[SceneFrame]) -> None:
        segmenter, inside = self.scene.segmenter, self.scene.inside
        scores, everywhere = self._asked
        if segmenter is None or not self._with_masks:
            return
        heavy = not segmenter.needs_background
        pairs = zip(frames, [self._before, *frames[:-1]], strict=True)
        now, later = tee(self._map(lambda pair: segmenter.observe(*pair), pairs, heavy=heavy))
        steps = zip(frames, now, chain(self._earlier, later), strict=False)

        def mask(step: tuple[SceneFrame, Any, Any]) -> MaskResult:
            return segmenter.mask(*step, inside=inside, with_scores=scores, everywhere=everywhere)

        self._earlier = later  # of which that of the last frame is left
        results = self._map(mask, steps, heavy=heavy)
        for frame, result in zip(frames, results, strict=True):
            frame.result = result
        self._before = frames[-1]

    def _reconstruct(self, frames: list[SceneFrame], block: FrameBlock) -> None:
        """Compute backgrounds of a block in one product, from outside the masks where known."""
        model, backdrop, workers = self.scene.background, self._backdrop, self._workers
        coefficients = block.coefficients
        if model is None or coefficients is None or workers is None:
            return
        if backdrop is not None:

            def correct(pair: tuple[SceneFrame, NDArray[np.float64]]) -> NDArray[np.float64]:
                frame, projected = pair
                return backdrop.coefficients(frame.row, frame.mask, projected)

            pairs = zip(frames, coefficients, strict=True)
            coefficients = np.stack(list(self._map(correct, pairs)))
        own = reconstruct(model, coefficients, workers)
        self._outside.restore(own, block.rows)
        for frame, background in zip(frames, own, strict=True):
            frame.background = background

    def _absorb(self, frames: list[SceneFrame], absorber: Absorber) -> list[Bytes]:
        """Take what has come to rest out of masks, and return what that is."""
        absorbed = []
        for frame in frames:
            left = absorber.apply(frame.mask, frame.seen, frame.time_s)
            absorbed.append(np.asarray(cv2.subtract(frame.mask, left), dtype=np.uint8))
            frame.result = frame.result._replace(mask=left)
        return absorbed

    def _compose(self, frames: list[SceneFrame], absorbed: list[Bytes], backdrop: Backdrop) -> None:
        """Correct backgrounds where the hypotheses of the scene know better."""

        def compose(pair: tuple[SceneFrame, Bytes | None]) -> Bytes:
            frame, rested = pair
            shown = frame.result.shown
            if shown is None:
                raise RuntimeError("a mask that was made without the scene")
            return backdrop.compose(frame.row, frame.mask, shown, frame.own, rested)

        pairs = zip_longest(frames, absorbed)
        for frame, background in zip(frames, self._map(compose, pairs), strict=True):
            frame.background = background

    def feed(self, blocks: Iterable[FrameBlock], sinks: Sequence[Sink]) -> Iterator[SceneFrame]:
        """Pass the frames of some blocks to all sinks, and yield them."""

        def prepare(frame: SceneFrame) -> tuple[SceneFrame, list[Any]]:
            return frame, [sink.prepare(frame) for sink in sinks]

        for frame, prepared in self._map(prepare, self.frames(blocks)):
            for sink, own in zip(sinks, prepared, strict=True):
                sink.write(frame, own)
            yield frame
