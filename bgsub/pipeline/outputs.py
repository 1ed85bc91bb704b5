"""The outputs of a run: one sink each, fed with blocks of frames and their backgrounds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bgsub.background.mask_model import MaskModel
from bgsub.background.model import BackgroundModel
from bgsub.background.render import (
    OutsideMask,
    foreground,
    largest_difference,
    reconstruct,
)
from bgsub.background.residual_mask import SCORE_LEVEL, MaskRule, default_min_area
from bgsub.fit.blocks import queue_frames
from bgsub.local.cleanup import SCORE_LEVEL as LOCAL_SCORE_LEVEL
from bgsub.local.model import LocalModel
from bgsub.local.params import MaskOptions
from bgsub.options import RunOptions
from bgsub.pipeline.directory import ResultsDirectory
from bgsub.pipeline.preview import preview
from bgsub.pipeline.projection import ScoredBlock
from bgsub.runtime.threads import Workers
from bgsub.video.frames import Bytes
from bgsub.video.images import Image
from bgsub.video.queued import QueuedSink
from bgsub.video.sink import SUFFIXES, SinkKind, open_sink

VIDEOS = ("background", "foreground", "mask", "preview", "scores")

_SPAN_IN_THRESHOLDS = 6.0

# Pixels from which a picture takes long enough that two threads at it do not wait for each other.
_WORTH_A_THREAD = 100_000


def output_name(output: str, options: RunOptions) -> str:
    """File (or folder of pictures) that an output is written to."""
    if output == "errors":
        return "errors.csv"
    if output == "plot":
        return f"errors.{options.plot_format}"
    if output == "spectrum":
        return f"spectrum.{options.plot_format}"
    if output == "model":
        return "model.npz"
    return output + SUFFIXES[_kind(output, options)]


def _kind(output: str, options: RunOptions) -> SinkKind:
    """Format of a video; scores are numbers of 16 bits, which H.264 does not hold."""
    if output == "preview":
        return "mp4"
    return "mkv" if output == "scores" and options.format == "mp4" else options.format


@dataclass
class MaskTally:
    """What the masks of a run amount to.

    Attributes
    ----------
    frames, empty, crowded : int
        Frames with a mask; those in which it is empty; those in which it covers over 80 %.
    covered : float
        Sum of the shares of the frames that were covered.
    """

    frames: int = 0
    empty: int = 0
    crowded: int = 0
    covered: float = 0.0

    def add(self, mask: Bytes, pixels: int) -> None:
        """Count a mask of 0 and 255."""
        share = float(np.count_nonzero(mask)) / max(pixels, 1)
        self.frames += 1
        self.empty += share == 0.0
        self.crowded += share > 0.8
        self.covered += share

    @property
    def mean_share(self) -> float:
        """Mean share of a frame that is foreground."""
        return self.covered / max(self.frames, 1)


def _mask_options(options: RunOptions) -> MaskOptions:
    least, fill = options.min_area, options.fill_holes
    if not options.clean:
        least, fill = 0, False
    return MaskOptions(options.shadows, options.sensitivity, least, fill)


class OutputVideos:
    """Background, foreground, mask, scores and preview as they are asked for.

    A context manager: leaving it early removes what was begun.

    Parameters
    ----------
    results : ResultsDirectory
    model : BackgroundModel or MaskModel
        The latter where no output shows a background.
    options : RunOptions
    rate : Fraction or None
        Frames a second.
    workers : Workers
    """

    def __init__(
        self,
        results: ResultsDirectory,
        model: BackgroundModel | MaskModel,
        options: RunOptions,
        rate: Fraction | None,
        workers: Workers,
    ) -> None:
        self._workers = workers
        self.tally = MaskTally()
        self.counts: dict[str, int] = {}
        self.padded = False
        self._model = model
        self._options = options
        self._inside = model.inside
        inside = model.layout.pixels if self._inside is None else np.count_nonzero(self._inside)
        self._n_inside = int(inside)
        self._outside = OutsideMask(model.layout, model.pixel_mask)
        min_area = options.min_area
        if min_area is None:
            min_area = default_min_area(model.layout.height, model.layout.width)
        self.rule = MaskRule(model.threshold, options.clean, min_area)
        self.local: LocalModel | None = None
        self.min_area = min_area
        if model.local is not None and options.threshold is None:
            self.local = model.local.with_options(_mask_options(options))
            self.min_area = self.local.min_area
        self.gain = max(1.0, 255.0 / (_SPAN_IN_THRESHOLDS * max(model.threshold, 1.0)))
        self._sinks: dict[str, QueuedSink] = {}
        try:
            for output in VIDEOS:
                if output in options.outputs:
                    kind = _kind(output, options)
                    path = results.stage(output_name(output, options))
                    sink = open_sink(path, output, layout=model.layout, kind=kind, rate=rate)
                    self._sinks[output] = QueuedSink(sink, queue_frames(model.layout.size))
        except BaseException:
            self._abort()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._abort()

    def _abort(self) -> None:
        for sink in self._sinks.values():
            sink.abort()

    @property
    def _needs_background(self) -> bool:
        """Whether any output shows a background, or the difference to it."""
        if self.local is None or self._sinks.keys() & {"background", "preview"}:
            return True
        return "foreground" in self._sinks and self._options.foreground != "cutout"

    @property
    def wanted(self) -> bool:
        """Whether there is anything to write."""
        return bool(self._sinks)

    def write(self, block: ScoredBlock) -> None:
        """Write a block of frames."""
        backgrounds = block.rows
        if self._needs_background and isinstance(self._model, BackgroundModel):
            backgrounds = reconstruct(self._model, block.scores, self._workers)
            self._outside.restore(backgrounds, block.rows)

        def render(i: int) -> dict[str, Image]:
            facts = (int(block.numbers[i]), float(block.times[i]), float(block.outlier_scores[i]))
            return self._render(block.rows[i], backgrounds[i], facts)

        frames = range(len(block.rows))
        small = self._model.layout.pixels < _WORTH_A_THREAD
        pictures = map(render, frames) if small else self._workers.map(render, frames)
        for shown, time_s in zip(pictures, block.times, strict=True):
            for output, sink in self._sinks.items():
                sink.write(shown[output], float(time_s))
            if "mask" in shown:
                self.tally.add(shown["mask"].astype(np.uint8, copy=False), self._n_inside)

    def _render(self, row: Bytes, own: Bytes, facts: tuple[int, float, float]) -> dict[str, Image]:
        """Give the pictures of one frame, by output."""
        layout = self._model.layout
        pictures: dict[str, Image] = {
            "background": own if self._options.format == "mp4" else layout.to_bgr(own)
        }
        if not self._sinks.keys() - {"background"}:
            return pictures
        options, model = self._options, self._model
        largest = row
        if self._needs_background:
            largest = largest_difference(layout, row, own)
        mask, scores = self._decide(row, largest)
        pictures["mask"] = mask
        if scores is not None:
            pictures["scores"] = scores
        if "foreground" in self._sinks or "preview" in self._sinks:
            front = pictures["foreground"] = foreground(
                options.foreground,
                layout,
                row,
                own,
                largest,
                mask,
                gain=self.gain,
                wrap=options.format != "mp4",
            )
        if "preview" in self._sinks:
            number, time_s, score = facts
            panels = {
                "input": layout.to_bgr(row),
                "background": layout.to_bgr(own),
                "foreground": layout.to_bgr(front) if front.ndim == 1 else front,
                "mask": mask,
            }
            outlier = score > model.cutoff
            pictures["preview"] = preview(panels, number, time_s, score, outlier=outlier)
        return pictures

    def _decide(self, row: Bytes, largest: Bytes) -> tuple[Bytes, NDArray[np.uint16] | None]:
        """Give the mask of a frame, and the scores that it is cut from if they are asked for."""
        inside, wants_scores = self._inside, "scores" in self._sinks
        if self.local is None:
            scores = self.rule.scores(largest, inside) if wants_scores else None
            return self.rule.apply(largest, inside), scores
        picture = self._model.layout.to_bgr(row)
        if wants_scores:
            return self.local.mask_and_scores(picture, inside)
        return self.local.mask(picture, inside), None

    @property
    def score_level(self) -> int:
        """Score from which a pixel belongs to the mask before it is cleaned."""
        return SCORE_LEVEL if self.local is None else LOCAL_SCORE_LEVEL

    def close(self) -> None:
        """Finish all files side by side; each is read again and its frames are counted."""
        for sink in self._sinks.values():
            sink.finish()
        self.counts = {name: sink.close() for name, sink in self._sinks.items()}
        self.padded = any(sink.padded for sink in self._sinks.values())
