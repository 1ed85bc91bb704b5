"""Compute coefficients, errors and scores of frames: from the fit, or by projection on a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgsub.background.model import BackgroundModel
from bgsub.fit.store import FrameBlock
from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.false_alarms import frame_scores
from bgsub.outliers.frame_scorer import BATCH, FrameScorer
from bgsub.outliers.scene_change import SceneChange
from bgsub.pipeline.scene import LearnedScene
from bgsub.runtime.threads import Workers
from bgsub.video.frames import Layout

if TYPE_CHECKING:
    from bgsub.fit.frame_fit import FrameFit

Floats = NDArray[np.float64]

# A change of the scene that was found by errors alone stands if this share of the frames after it
# are outliers in their own light too.
_STILL_DIFFERENT = 0.5


class _Scored(NamedTuple):
    """Numbers, seconds, errors and both scores of some frames; no `local` of earlier models."""

    numbers: NDArray[np.int64]
    times: Floats
    errors: Floats
    scores: Floats
    local: Floats | None


class FrameScores:
    """Score the frames of a run as they pass, and keep the table of their errors.

    Parameters
    ----------
    scene : LearnedScene
        Its scorer scores all frames; those that no fit knows are projected on its background.
    workers : Workers
    fit : FrameFit, optional
        Of the very frames that pass; its lasting change of the scene is said of them.
    projects : bool, optional
        Whether all frames are projected although there is a fit, which was of a sample of them.
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
        self._model = scene.background if projects or fit is None else None
        self._seen: list[_Scored] = []
        if fit is not None:
            self._pixels, self._cutoff = fit.table.pixels, fit.table.cutoff
        elif self._model is not None:
            self._pixels, self._cutoff = self._model.n_pixels, self._model.cutoff

    def blocks(self, blocks: Iterable[FrameBlock]) -> Iterator[FrameBlock]:
        """Add coefficients and scores to the frames of some blocks."""
        start = 0
        for block in blocks:
            part = slice(start, start + len(block.rows))
            start = part.stop
            if self._model is not None:
                coefficients, scored = self._projected(self._model, block)
            elif self._fit is not None and self._scene.scorer is not None:
                coefficients, scored = self._fitted(self._fit, self._scene.scorer, block, part)
            else:
                yield block
                continue
            self._seen.append(scored)
            highest = scored.scores
            if scored.local is not None:
                highest = np.maximum(highest, scored.local)
            yield block._replace(coefficients=coefficients, outlier_scores=highest)

    def _projected(self, model: BackgroundModel, block: FrameBlock) -> tuple[Floats, _Scored]:
        coefficients, errors = model.project(block.rows, self._workers)
        local = None
        if model.scorer is None:
            scores = frame_scores(
                np.sqrt(errors), model.error_location, model.error_scale, model.n_pixels
            )
        else:
            left_out = np.ones(len(errors))
            scores, local = _score(
                model.scorer, model.layout, block, coefficients, left_out, self._workers
            )
        return coefficients, _Scored(block.numbers, block.times, errors, scores, local)

    def _fitted(
        self, fit: FrameFit, scorer: FrameScorer, block: FrameBlock, part: slice
    ) -> tuple[Floats, _Scored]:
        coefficients, measured = fit.coefficients[part], self._scene.measured
        scores, local = _score(
            scorer,
            self._scene.layout,
            block,
            coefficients,
            fit.left_out[part],
            self._workers,
            None if measured is None else measured[part],
        )
        errors = fit.table.errors[part]
        return coefficients, _Scored(block.numbers, block.times, errors, scores, local)

    def table(self) -> ErrorTable:
        """Return the errors of all frames that have passed."""
        columns: list[Any] = list(zip(*self._seen, strict=True))
        numbers, times, errors, scores = (np.concatenate(column) for column in columns[:4])
        local = None if columns[4][0] is None else np.concatenate(columns[4])
        change = None if self._fit is None else self._fit.table.scene_change
        table = ErrorTable(
            frames=numbers,
            times=times,
            errors=errors,
            pixels=self._pixels,
            scores=scores,
            cutoff=self._cutoff,
            local=local,
        )
        return replace(table, scene_change=_confirmed(change, table))


def _score(
    scorer: FrameScorer,
    layout: Layout,
    block: FrameBlock,
    coefficients: Floats,
    left_out: Floats,
    workers: Workers,
    measured: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Return both scores of the frames of a block; rows of `measured` that are no NaN are known."""
    short = coefficients.astype(np.float32)
    luma = block.rows[:, : layout.pixels].reshape(-1, layout.height, layout.width)
    if measured is None:
        measured = np.full((len(luma), 1 + len(scorer.windows)), np.nan)
    missing = np.flatnonzero(np.isnan(measured[:, 0]))

    def measure(start: int) -> Floats:
        part = missing[start : start + BATCH]
        return scorer.measure_frames(luma[part], short[part], left_out[part])

    values = measured.copy()
    parts = workers.map(measure, range(0, missing.size, BATCH))
    values[missing] = np.concatenate([values[:0], *parts])
    pairs = scorer.scores_of(values)
    return pairs[:, 0], pairs[:, 1]


def _confirmed(change: SceneChange | None, table: ErrorTable) -> SceneChange | None:
    """Return a change of the scene, unless the frames after it are ordinary in their own light.

    Among frames that are fitted and are none of the run it is none of it either.
    """
    if change is None or not table.frames[0] < change.first_frame <= table.frames[-1]:
        return None
    after = table.frames >= change.first_frame
    return change if table.outliers[after].mean() >= _STILL_DIFFERENT else None
