"""Blocks of frames with their scores: known from a fit, or given by a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgsub.background.model import BackgroundModel
from bgsub.fit.store import Block, FrameStore
from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.frame_scores import frame_scores
from bgsub.runtime.threads import Workers
from bgsub.video.frames import Bytes

if TYPE_CHECKING:
    from bgsub.fit.frame_fit import FrameFit


class ScoredBlock(NamedTuple):
    """A block of m frames.

    Attributes
    ----------
    rows : ndarray of uint8, shape (m, size)
    numbers : ndarray of shape (m,)
        Frame numbers from 1.
    times : ndarray of shape (m,)
        Seconds.
    scores : ndarray of shape (m, k)
    outlier_scores : ndarray of shape (m,)
        Robust z-scores of the errors.
    """

    rows: Bytes
    numbers: NDArray[np.int64]
    times: NDArray[np.float64]
    scores: NDArray[np.float64]
    outlier_scores: NDArray[np.float64]


def fitted_blocks(store: FrameStore, fit: FrameFit) -> Iterator[ScoredBlock]:
    """Blocks of frames that were all fitted, with the scores of the fit."""
    start = 0
    for rows, numbers, times in store.all_blocks():
        part = slice(start, start + len(rows))
        yield ScoredBlock(rows, numbers, times, fit.coefficients[part], fit.table.scores[part])
        start += len(rows)


class ProjectedFrames:
    """Frames with the scores that a model gives them, remembering their errors.

    Parameters
    ----------
    model : BackgroundModel
    workers : Workers
    """

    def __init__(self, model: BackgroundModel, workers: Workers) -> None:
        self._model, self._workers = model, workers
        self._seen: list[tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]] = []

    def blocks(self, blocks: Iterable[Block]) -> Iterator[ScoredBlock]:
        """Project the frames, a block at a time."""
        for rows, numbers, times in blocks:
            scores, errors = self._model.project(rows, self._workers)
            self._seen.append((numbers, times, errors))
            yield ScoredBlock(rows, numbers, times, scores, self._robust(errors))

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
