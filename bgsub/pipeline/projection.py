"""Give frames their coefficients, errors and scores: from the fit, or by projection on a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgsub.background.model import BackgroundModel
from bgsub.fit.store import FrameBlock, FrameStore
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

    @property
    def highest(self) -> Floats:
        """The higher of both scores."""
        return self.scores if self.local is None else np.maximum(self.scores, self.local)

    def table(self, pixels: int, cutoff: float) -> ErrorTable:
        return ErrorTable(
            frames=self.numbers,
            times=self.times,
            errors=self.errors,
            pixels=pixels,
            scores=self.scores,
            cutoff=cutoff,
            local=self.local,
        )


def _score(
    scorer: FrameScorer,
    layout: Layout,
    block: FrameBlock,
    coefficients: Floats,
    left_out: Floats,
    workers: Workers,
    measured: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Both scores of the frames of a block; rows of `measured` that are no NaN are not anew."""
    short = coefficients.astype(np.float32)
    shape = layout.height, layout.width
    luma = block.rows[:, : layout.pixels].reshape(-1, *shape)
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


def _joined(parts: list[_Scored]) -> _Scored:
    columns = list(zip(*parts, strict=True))
    whole = [np.concatenate(column) for column in columns[:4]]
    local = None if columns[4][0] is None else np.concatenate(columns[4])
    return _Scored(whole[0], whole[1], whole[2], whole[3], local)


class ProjectedFrames:
    """Project frames on a model, and remember their errors.

    Parameters
    ----------
    model : BackgroundModel
    workers : Workers
    """

    def __init__(self, model: BackgroundModel, workers: Workers) -> None:
        self._model, self._workers = model, workers
        self._seen: list[_Scored] = []

    def blocks(self, blocks: Iterable[FrameBlock]) -> Iterator[FrameBlock]:
        """Project the frames, a block at a time."""
        model = self._model
        for block in blocks:
            coefficients, errors = model.project(block.rows, self._workers)
            roots, local = np.sqrt(errors), None
            if model.scorer is None:
                scores = frame_scores(
                    roots, model.error_location, model.error_scale, model.n_pixels
                )
            else:
                scores, local = _score(
                    model.scorer,
                    model.layout,
                    block,
                    coefficients,
                    np.ones(len(roots)),
                    self._workers,
                )
            seen = _Scored(block.numbers, block.times, errors, scores, local)
            self._seen.append(seen)
            yield block._replace(coefficients=coefficients, outlier_scores=seen.highest)

    def table(self) -> ErrorTable:
        """Give the errors of all frames that `blocks` has passed."""
        return _joined(self._seen).table(self._model.n_pixels, self._model.cutoff)


class ScoredFrames:
    """All frames of a run with what is known of them: by the fit, by projection, or nothing.

    Parameters
    ----------
    store : FrameStore
    fit : FrameFit or None
        None where no frames are fitted.
    scene : LearnedScene
        Whose background is needed where a sample of the frames is fitted: all are projected on it;
        and whose scorer where all are.
    workers : Workers
    """

    def __init__(
        self, store: FrameStore, fit: FrameFit | None, scene: LearnedScene, workers: Workers
    ) -> None:
        self._store, self._fit, self._scene, self._workers = store, fit, scene, workers
        self._seen: list[_Scored] = []
        self._projected: ProjectedFrames | None = None
        if fit is not None and not store.fits_all and scene.background is not None:
            self._projected = ProjectedFrames(scene.background, workers)

    def blocks(self) -> Iterator[FrameBlock]:
        """Give the frames in blocks, in their order."""
        blocks = self._store.all_blocks()
        if self._projected is not None:
            return self._projected.blocks(blocks)
        if self._fit is None or self._scene.scorer is None:
            return blocks
        return self._fitted(blocks, self._fit, self._scene.scorer)

    def _fitted(
        self, blocks: Iterable[FrameBlock], fit: FrameFit, scorer: FrameScorer
    ) -> Iterator[FrameBlock]:
        """Add what a fit says of all frames."""
        left_out, measured, start = fit.left_out, self._scene.measured, 0
        for block in blocks:
            part = slice(start, start + len(block.rows))
            coefficients = fit.coefficients[part]
            scores, local = _score(
                scorer,
                self._scene.layout,
                block,
                coefficients,
                left_out[part],
                self._workers,
                None if measured is None else measured[part],
            )
            seen = _Scored(block.numbers, block.times, fit.table.errors[part], scores, local)
            self._seen.append(seen)
            yield block._replace(coefficients=coefficients, outlier_scores=seen.highest)
            start = part.stop

    def table(self) -> ErrorTable | None:
        """Give the errors of all frames that `blocks` has passed; None without a fit."""
        if self._fit is None:
            return None
        fitted = self._fit.table
        if self._projected is not None:
            table = self._projected.table()
        else:
            table = _joined(self._seen).table(fitted.pixels, fitted.cutoff)
        return replace(table, scene_change=_confirmed(fitted.scene_change, table))


def _confirmed(change: SceneChange | None, table: ErrorTable) -> SceneChange | None:
    """Give a change of the scene, unless the frames after it are ordinary in their own light.

    Among frames that are fitted and are none of the run it is none of it either.
    """
    if change is None or not table.frames[0] < change.first_frame <= table.frames[-1]:
        return None
    after = table.frames >= change.first_frame
    return change if table.outliers[after].mean() >= _STILL_DIFFERENT else None
