"""Frames → fit: read them into a matrix, fit TRPCA among them, and form the model of the scene."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bgsub.background.available import give_back
from bgsub.background.config import ProgressCallback, RunOptions
from bgsub.background.errors_table import ErrorTable
from bgsub.background.mask import choose_threshold, noise_frames, pixel_noise
from bgsub.background.model import BackgroundModel
from bgsub.background.outliers import fit_table
from bgsub.background.render import PlaneSums
from bgsub.background.store import FrameStore
from bgsub.background.workers import Workers
from bgsub.errors import ConvergenceWarning, UsageError
from bgsub.robustpca.gram import Gram, gram_matrix
from bgsub.robustpca.trpca import TRPCA
from bgsub.video.source import FrameSource


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
    store: FrameStore,
    pixel_mask: NDArray[np.bool_] | None,
    options: RunOptions,
    workers: Workers,
    progress: ProgressCallback,
) -> FrameFit:
    """Fit TRPCA to the frames of a store, or to its sample of them.

    Raises
    ------
    UsageError
        If k is not below the number of frames.
    """
    check_rank(options.k, store.fit_rows.size)
    columns = store.fit_columns(pixel_mask)
    estimator = TRPCA(
        options.k,
        support_fraction=options.support_fraction,
        n_init=options.n_init,
        tol=options.tol,
        max_iter=options.max_iter,
        reweight=options.reweight,
        random_state=options.seed,
    )
    gram = gram_matrix(
        columns,
        threads=min(workers.threads, store.gram_threads),
        progress=lambda done, total: progress("fit", done, total),
    )
    give_back()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit_gram(gram)
    table = fit_table(
        estimator,
        gram,
        frames=store.numbers[store.fit_rows],
        times=store.times[store.fit_rows],
        cutoff=options.cutoff,
    )
    give_back()
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


def form_model(
    store: FrameStore,
    source: FrameSource,
    fit: FrameFit,
    options: RunOptions,
    workers: Workers,
    progress: ProgressCallback,
) -> BackgroundModel:
    """Carry centre and components from the weights of the frames to all their planes.

    Notes
    -----
    One pass over the frames: 2n(k+1)·size operations, 4(k+1)·size bytes.
    """
    estimator, layout = fit.estimator, source.layout
    sums = PlaneSums(estimator.center_weights_, estimator.component_weights_, layout.size)
    chosen = noise_frames(estimator.support_)
    samples = np.empty((chosen.size, layout.size), dtype=np.uint8)
    for start, rows in store.fit_blocks():
        sums.add(start, rows, workers)
        inside = (chosen >= start) & (chosen < start + len(rows))
        samples[inside] = rows[chosen[inside] - start]
        progress("model", start + len(rows), store.fit_rows.size)
    del rows  # a block that was decoded again would stay in memory
    center, components = sums.result()
    scores = estimator.scores_[chosen]
    model = BackgroundModel(
        layout=layout,
        center=center,
        components=components,
        noise=pixel_noise(center, components, samples, scores, layout.pixels, workers),
        threshold=0.0,
        error_location=estimator.error_location_,
        error_scale=estimator.error_scale_,
        cutoff=fit.table.cutoff,
        support=estimator.support_,
        frame_numbers=store.numbers[store.fit_rows],
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
        threshold = choose_threshold(model, samples, scores, workers)
    del samples
    give_back()
    return model.with_threshold(threshold)
