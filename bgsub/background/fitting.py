"""Frames → fit: read them into a matrix, fit TRPCA among them, and form the model of the scene."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgsub.background.config import ProgressCallback, RunOptions, SourceOptions
from bgsub.background.errors_table import ErrorTable
from bgsub.background.mask import choose_threshold, noise_frames, pixel_noise
from bgsub.background.model import BackgroundModel
from bgsub.background.outliers import fit_table
from bgsub.background.render import FRAME_BLOCK, PlaneSums
from bgsub.errors import ConvergenceWarning, UsageError
from bgsub.robustpca.gram import Gram, gram_matrix
from bgsub.robustpca.trpca import TRPCA
from bgsub.video.frames import Bytes
from bgsub.video.matrix import FrameMatrix
from bgsub.video.source import FrameSource, open_source


def open_frames(
    path: str, options: SourceOptions, *, threads: int | None, color: str, exact_color: bool
) -> FrameSource:
    """Open an input as a run wants it; see `open_source` for the errors."""
    return open_source(
        path,
        start=options.start,
        end=options.end,
        every=options.every,
        scale=options.scale,
        roi=options.roi,
        mask_image=options.mask_image,
        color=color,  # type: ignore[arg-type]
        on_bad_frame=options.on_bad_frame,
        threads=threads,
        exact_color=exact_color,
    )


def read_matrix(source: FrameSource, progress: ProgressCallback) -> FrameMatrix:
    """Decode all selected frames into memory; n·size bytes."""
    matrix = FrameMatrix(source.layout)
    for frame in source:
        matrix.append(frame)
        progress("decode", len(matrix), source.frames_estimate)
    return matrix


class FittedColumns:
    """The columns of a frame matrix that take part in the fit: luma, inside the pixel mask.

    Parameters
    ----------
    matrix : FrameMatrix
    pixel_mask : ndarray of shape (h, w), bool, or None
    """

    def __init__(self, matrix: FrameMatrix, pixel_mask: NDArray[np.bool_] | None) -> None:
        self._matrix = matrix
        self._index = None if pixel_mask is None else np.flatnonzero(pixel_mask)

    @property
    def shape(self) -> tuple[int, int]:
        """Frames and pixels of the fit."""
        pixels = self._matrix.layout.pixels if self._index is None else self._index.size
        return len(self._matrix), pixels

    @property
    def dtype(self) -> np.dtype[Any]:
        """Always uint8."""
        return np.dtype(np.uint8)

    def columns(self, start: int, stop: int) -> Bytes:
        """Pixels start to stop (exclusive) of all frames."""
        if self._index is None:
            return self._matrix.columns(start, stop)
        index = self._index[start:stop]
        first = int(index[0])
        return self._matrix.columns(first, int(index[-1]) + 1)[:, index - first]


@dataclass(frozen=True, eq=False)
class FrameFit:
    """What a fit says about the frames themselves.

    Attributes
    ----------
    estimator : TRPCA
        Fitted from the Gram matrix.
    gram : Gram
    table : ErrorTable
        Reconstruction error and robust score of every frame.
    notes : list of str
        What the fit warned of, in words.
    converged : bool
    """

    estimator: TRPCA
    gram: Gram
    table: ErrorTable
    notes: list[str]
    converged: bool


def fit_frames(
    matrix: FrameMatrix,
    pixel_mask: NDArray[np.bool_] | None,
    options: RunOptions,
    progress: ProgressCallback,
) -> FrameFit:
    """Fit TRPCA to the frames of a matrix.

    Raises
    ------
    UsageError
        If k is not below the number of frames.
    """
    n = len(matrix)
    check_rank(options.k, n)
    columns = FittedColumns(matrix, pixel_mask)
    estimator = TRPCA(
        options.k,
        support_fraction=options.support_fraction,
        n_init=options.n_init,
        tol=options.tol,
        max_iter=options.max_iter,
        reweight=options.reweight,
        random_state=options.seed,
    )
    gram = gram_matrix(columns, progress=lambda done, total: progress("fit", done, total))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit_gram(gram)
    table = fit_table(
        estimator, gram, frames=matrix.numbers, times=matrix.times, cutoff=options.cutoff
    )
    notes = [str(w.message) for w in caught]
    converged = not any(issubclass(w.category, ConvergenceWarning) for w in caught)
    return FrameFit(estimator, gram, table, notes, converged)


def check_rank(k: int, n_frames: int) -> None:
    """Raise UsageError unless k is below the number of frames."""
    if k < 1:
        message = f"--k {k}: at least 1 component is needed"
        raise UsageError(message)
    if k >= n_frames:
        advice = f"use --k {n_frames - 1} or less" if n_frames > 1 else "select more frames"
        message = f"--k {k} must be below the number of frames, which is {n_frames}; {advice}"
        raise UsageError(message)


def frame_blocks(matrix: FrameMatrix) -> Iterator[tuple[int, Bytes]]:
    """Blocks of frames in order: index of the first one and rows of shape (m, size)."""
    for start in range(0, len(matrix), FRAME_BLOCK):
        yield start, matrix.rows(start, min(start + FRAME_BLOCK, len(matrix)))


def form_model(
    matrix: FrameMatrix,
    source: FrameSource,
    fit: FrameFit,
    options: RunOptions,
    progress: ProgressCallback,
) -> BackgroundModel:
    """Carry centre and components from the weights of the frames to all their planes.

    Notes
    -----
    One pass over the frames: 2n(k+1)·size operations, 4(k+1)·size bytes.
    """
    estimator, layout = fit.estimator, matrix.layout
    sums = PlaneSums(estimator.center_weights_, estimator.component_weights_, layout.size)
    chosen = noise_frames(estimator.support_)
    kept: list[Bytes] = []
    for start, rows in frame_blocks(matrix):
        sums.add(start, rows)
        inside = chosen[(chosen >= start) & (chosen < start + len(rows))] - start
        kept.append(rows[inside])
        progress("model", start + len(rows), len(matrix))
    center, components = sums.result()
    samples, scores = np.concatenate(kept), estimator.scores_[chosen]
    model = BackgroundModel(
        layout=layout,
        center=center,
        components=components,
        noise=pixel_noise(center, components, samples, scores, layout.pixels),
        threshold=0.0,
        error_location=estimator.error_location_,
        error_scale=estimator.error_scale_,
        cutoff=fit.table.cutoff,
        support=estimator.support_,
        frame_numbers=matrix.numbers,
        pixel_mask=source.pixel_mask,
        geometry={
            "input_size": list(source.input_size),
            "roi": None if options.source.roi is None else list(options.source.roi),
            "scale": options.source.scale,
        },
        facts={"method": "trpca", "k": options.k, "seed": options.seed, "name": source.name},
    )
    threshold = options.threshold
    if threshold is None:
        threshold = choose_threshold(model, samples, scores)
    return model.with_threshold(threshold)
