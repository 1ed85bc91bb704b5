"""Give frames their coefficients and errors: from the fit, or by projection on a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bgsub.background.model import BackgroundModel
from bgsub.fit.frame_fit import FrameFit
from bgsub.fit.store import FrameBlock, FrameStore
from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.frame_scores import frame_scores
from bgsub.runtime.threads import Workers


class ProjectedFrames:
    """Project frames on a model, and remember their errors.

    Parameters
    ----------
    model : BackgroundModel
    workers : Workers
    """

    def __init__(self, model: BackgroundModel, workers: Workers) -> None:
        self._model, self._workers = model, workers
        self._seen: list[tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]] = []

    def blocks(self, blocks: Iterable[FrameBlock]) -> Iterator[FrameBlock]:
        """Project the frames, a block at a time."""
        for block in blocks:
            coefficients, errors = self._model.project(block.rows, self._workers)
            self._seen.append((block.numbers, block.times, errors))
            robust = self._robust(errors)
            yield block._replace(coefficients=coefficients, outlier_scores=robust)

    @property
    def n_seen(self) -> int:
        """Frames that `blocks` has passed."""
        return sum(numbers.size for numbers, _, _ in self._seen)

    def _robust(self, errors: NDArray[np.float64]) -> NDArray[np.float64]:
        model = self._model
        return frame_scores(
            np.sqrt(errors), model.error_location, model.error_scale, model.n_pixels
        )

    def table(self) -> ErrorTable:
        """Give the errors of all frames that `blocks` has passed."""
        numbers, times, errors = (np.concatenate(parts) for parts in zip(*self._seen, strict=True))
        return ErrorTable(
            frames=numbers,
            times=times,
            errors=errors,
            pixels=self._model.n_pixels,
            scores=self._robust(errors),
            cutoff=self._model.cutoff,
        )


class ScoredFrames:
    """All frames of a run with what is known of them: by the fit, by projection, or nothing.

    Parameters
    ----------
    store : FrameStore
    fit : FrameFit or None
        None where no frames are fitted.
    background : BackgroundModel or None
        Needed where a sample of the frames is fitted: all are projected on it.
    workers : Workers
    """

    def __init__(
        self,
        store: FrameStore,
        fit: FrameFit | None,
        background: BackgroundModel | None,
        workers: Workers,
    ) -> None:
        self._store, self._fit = store, fit
        self._projected: ProjectedFrames | None = None
        if fit is not None and not store.fits_all and background is not None:
            self._projected = ProjectedFrames(background, workers)

    def blocks(self) -> Iterator[FrameBlock]:
        """Give the frames in blocks, in their order."""
        blocks = self._store.all_blocks()
        if self._projected is not None:
            return self._projected.blocks(blocks)
        return blocks if self._fit is None else _fitted(blocks, self._fit)

    @property
    def table(self) -> ErrorTable | None:
        """Errors of all frames; None without a fit, or until all frames have been projected."""
        if self._fit is None or self._projected is None:
            return None if self._fit is None else self._fit.table
        if self._projected.n_seen < len(self._store):
            return None
        return replace(self._projected.table(), scene_change=self._fit.table.scene_change)


def _fitted(blocks: Iterable[FrameBlock], fit: FrameFit) -> Iterator[FrameBlock]:
    """Add what a fit says of all frames."""
    start = 0
    for block in blocks:
        part = slice(start, start + len(block.rows))
        yield block._replace(
            coefficients=fit.coefficients[part], outlier_scores=fit.table.scores[part]
        )
        start = part.stop
