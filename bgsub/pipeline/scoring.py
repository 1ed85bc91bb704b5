"""Compute coefficients, errors and scores of frames: from the fit, or by projection on a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError
from bgsub.fit.store import FrameBlock
from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.frame_scorer import BATCH
from bgsub.pipeline.scene import LearnedScene
from bgsub.runtime.threads import Workers
from bgsub.video.frames import Bytes
from bgsub.video.source import FrameSource

if TYPE_CHECKING:
    from bgsub.fit.frame_fit import FrameFit

Floats = NDArray[np.float64]

# A change of the scene that was found by errors alone stands if this share of the frames after it
# are outliers in their own light too.
_STILL_DIFFERENT = 0.5


class FrameScores:
    """Score the frames of a run as they pass, and keep the table of their errors.

    `fit` is of the very frames that pass, or of a sample of them where it `projects`: then, and
    without a fit, frames are projected on the background.
    """

    def __init__(
        self,
        scene: LearnedScene,
        workers: Workers,
        fit: FrameFit | None = None,
        *,
        projects: bool = False,
    ) -> None:
        if scene.scorer is None:
            message = "the model does not say how frames are scored"
            raise InputError(f"{message}; write a new one with `bgsub run --only model`")
        self._scene, self._workers, self._fit, self._scorer = scene, workers, fit, scene.scorer
        self._projects = projects or fit is None
        self._seen: list[tuple[Any, ...]] = []

    def blocks(self, blocks: Iterable[FrameBlock]) -> Iterator[FrameBlock]:
        """Add coefficients and scores to the frames of some blocks."""
        model, fit = self._scene.background, self._fit
        start = 0
        for block in blocks:
            part = slice(start, start + len(block.rows))
            start = part.stop
            if model is not None and self._projects:
                coefficients, errors = model.project(block.rows, self._workers)
                left_out = np.ones(len(errors))
                values = np.full((len(errors), 1 + len(self._scorer.windows)), np.nan)
            elif fit is not None and self._scene.measured is not None:
                coefficients, errors = fit.coefficients[part], fit.table.errors[part]
                left_out, values = fit.left_out[part], self._scene.measured[part].copy()
            else:
                raise RuntimeError("neither a fit nor a background tells errors of these frames")
            self._measure(values, block.rows, coefficients, left_out)
            scores = self._scorer.scores_of(values)
            self._seen.append((block.numbers, block.times, errors, scores))
            highest = scores.max(axis=1)
            yield block._replace(coefficients=coefficients, outlier_scores=highest)

    def _measure(self, values: Floats, rows: Bytes, coefficients: Floats, left_out: Floats) -> None:
        """Measure the frames whose values are NaN."""
        layout, short = self._scene.layout, coefficients.astype(np.float32)
        luma = rows[:, : layout.pixels].reshape(-1, layout.height, layout.width)
        missing = np.flatnonzero(np.isnan(values[:, 0]))

        def measure(start: int) -> Floats:
            part = missing[start : start + BATCH]
            return self._scorer.measure_frames(luma[part], short[part], left_out[part])

        parts = self._workers.map(measure, range(0, missing.size, BATCH))
        values[missing] = np.concatenate([values[:0], *parts])

    def table(self, source: FrameSource) -> ErrorTable:
        """Return the errors of all frames of a source, which have passed; doubtful ones flagged."""
        columns: list[Any] = list(zip(*self._seen, strict=True))
        numbers, times, errors, scores = map(np.concatenate, columns)
        known: Any = self._scene.background if self._fit is None else self._fit.table
        table = ErrorTable(
            frames=numbers,
            times=times,
            errors=errors,
            pixels=known.n_pixels if self._fit is None else known.pixels,
            scores=scores[:, 0],
            cutoff=known.cutoff,
            doubtful=np.isin(numbers, source.doubtful_frames) if source.doubtful_frames else None,
            local=scores[:, 1],
        )
        change = None if self._fit is None else self._fit.table.scene_change
        # Among frames that are fitted and are none of the run it is none of it either.
        if change is None or not numbers[0] < change.first_frame <= numbers[-1]:
            return table
        is_lasting = table.outliers[numbers >= change.first_frame].mean() >= _STILL_DIFFERENT
        return replace(table, scene_change=change) if is_lasting else table
