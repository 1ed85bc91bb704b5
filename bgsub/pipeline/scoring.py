"""Compute coefficients, errors and scores of frames: from the fit, or by projection on a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bgsub.fit.store import FrameBlock
from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.false_alarms import frame_scores
from bgsub.outliers.frame_scorer import BATCH, FrameScorer
from bgsub.pipeline.scene import LearnedScene
from bgsub.runtime.threads import Workers
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
        self._scene, self._workers, self._fit = scene, workers, fit
        self._projects = projects or fit is None
        self._seen: list[tuple[Any, ...]] = []

    def blocks(self, blocks: Iterable[FrameBlock]) -> Iterator[FrameBlock]:
        """Add coefficients and scores to the frames of some blocks."""
        model, fit, scorer = self._scene.background, self._fit, self._scene.scorer
        start = 0
        for block in blocks:
            part = slice(start, start + len(block.rows))
            start = part.stop
            measured = local = None
            if model is not None and self._projects:
                coefficients, errors = model.project(block.rows, self._workers)
                left_out = np.ones(len(errors))
            elif fit is not None and self._scene.measured is not None:
                coefficients, errors = fit.coefficients[part], fit.table.errors[part]
                left_out, measured = fit.left_out[part], self._scene.measured[part]
            else:
                raise RuntimeError("neither a fit nor a background tells errors of these frames")
            if scorer is not None:
                scores, local = self._score(scorer, block.rows, coefficients, left_out, measured)
            elif model is not None:  # of an earlier version
                location, scale = model.error_location, model.error_scale
                scores = frame_scores(np.sqrt(errors), location, scale, model.n_pixels)
            self._seen.append((block.numbers, block.times, errors, scores, local))
            highest = scores if local is None else np.maximum(scores, local)
            yield block._replace(coefficients=coefficients, outlier_scores=highest)

    def _score(
        self,
        scorer: FrameScorer,
        rows: NDArray[np.uint8],
        coefficients: Floats,
        left_out: Floats,
        measured: Floats | None,
    ) -> tuple[Floats, Floats]:
        """Return both scores of frames; rows of `measured` that are no NaN are known."""
        layout, short = self._scene.layout, coefficients.astype(np.float32)
        luma = rows[:, : layout.pixels].reshape(-1, layout.height, layout.width)
        if measured is None:
            measured = np.full((len(luma), 1 + len(scorer.windows)), np.nan)
        missing = np.flatnonzero(np.isnan(measured[:, 0]))

        def measure(start: int) -> Floats:
            part = missing[start : start + BATCH]
            return scorer.measure_frames(luma[part], short[part], left_out[part])

        values = measured.copy()
        parts = self._workers.map(measure, range(0, missing.size, BATCH))
        values[missing] = np.concatenate([values[:0], *parts])
        pairs = scorer.scores_of(values)
        return pairs[:, 0], pairs[:, 1]

    def table(self, source: FrameSource) -> ErrorTable:
        """Return the errors of all frames of a source, which have passed; doubtful ones flagged."""
        columns: list[Any] = list(zip(*self._seen, strict=True))
        numbers, times, errors, scores = (np.concatenate(column) for column in columns[:4])
        known: Any = self._scene.background if self._fit is None else self._fit.table
        table = ErrorTable(
            frames=numbers,
            times=times,
            errors=errors,
            pixels=known.n_pixels if self._fit is None else known.pixels,
            scores=scores,
            cutoff=known.cutoff,
            doubtful=np.isin(numbers, source.doubtful_frames) if source.doubtful_frames else None,
            local=None if columns[4][0] is None else np.concatenate(columns[4]),
        )
        change = None if self._fit is None else self._fit.table.scene_change
        # Among frames that are fitted and are none of the run it is none of it either.
        if change is None or not numbers[0] < change.first_frame <= numbers[-1]:
            return table
        is_lasting = table.outliers[numbers >= change.first_frame].mean() >= _STILL_DIFFERENT
        return replace(table, scene_change=change) if is_lasting else table
