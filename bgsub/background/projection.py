"""Blocks of frames with their scores: known from a fit, or given by a saved model."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bgsub.background.config import ProgressCallback
from bgsub.background.errors_table import ErrorTable
from bgsub.background.fitting import FrameFit, frame_blocks
from bgsub.background.frame_scores import frame_scores
from bgsub.background.model import BackgroundModel
from bgsub.background.render import FRAME_BLOCK
from bgsub.video.frames import Bytes, Frame
from bgsub.video.matrix import FrameMatrix
from bgsub.video.source import FrameSource

Block = tuple[
    Bytes,
    NDArray[np.float64],
    NDArray[np.int64],
    NDArray[np.float64],
    NDArray[np.float64],
]
"""Rows, scores, frame numbers, times and robust scores of a block of frames."""


def fitted_blocks(matrix: FrameMatrix, fit: FrameFit) -> Iterator[Block]:
    """Blocks of the frames that were fitted, with the scores of the fit."""
    table = fit.table
    for start, rows in frame_blocks(matrix):
        part = slice(start, start + len(rows))
        yield (
            rows,
            fit.estimator.scores_[part],
            table.frames[part],
            table.times[part],
            table.scores[part],
        )


class ProjectedFrames:
    """Frames of a source with the scores that a model gives them, remembering their errors."""

    def __init__(
        self, source: FrameSource, model: BackgroundModel, progress: ProgressCallback
    ) -> None:
        self._source, self._model, self._progress = source, model, progress
        self._seen: list[tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]] = []

    def blocks(self) -> Iterator[Block]:
        """Decode the source, a block at a time."""
        waiting: list[Frame] = []
        for count, frame in enumerate(self._source, start=1):
            waiting.append(frame)
            self._progress("write", count, self._source.frames_estimate)
            if len(waiting) == FRAME_BLOCK:
                yield self._project(waiting)
                waiting = []
        if waiting:
            yield self._project(waiting)

    def _project(self, frames: list[Frame]) -> Block:
        rows = np.stack([frame.data for frame in frames])
        numbers = np.array([frame.number for frame in frames], dtype=np.int64)
        times = np.array([frame.time_s for frame in frames])
        scores, errors = self._model.project(rows)
        self._seen.append((numbers, times, errors))
        return rows, scores, numbers, times, self._robust(errors)

    def _robust(self, errors: NDArray[np.float64]) -> NDArray[np.float64]:
        model = self._model
        return frame_scores(
            np.sqrt(errors), model.error_location, model.error_scale, model.n_pixels
        )

    def table(self) -> ErrorTable:
        """Errors of all frames that `blocks` has passed."""
        numbers, times, errors = (np.concatenate(parts) for parts in zip(*self._seen, strict=True))
        return ErrorTable(
            frames=numbers,
            times=times,
            errors=errors,
            pixels=self._model.n_pixels,
            scores=self._robust(errors),
            cutoff=self._model.cutoff,
        )
