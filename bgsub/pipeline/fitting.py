"""Fit → model: centre, components and noise of the scene in all planes of its frames."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bgsub.background.model import BackgroundModel
from bgsub.background.render import PlaneSums
from bgsub.background.residual_mask import choose_threshold, noise_frames, pixel_noise
from bgsub.fit.frame_fit import FrameFit, check_rank, fit_frames, load_libraries
from bgsub.fit.store import FrameStore
from bgsub.local.sampling import PictureSample
from bgsub.options import ProgressCallback, RunOptions
from bgsub.runtime.limits import give_back
from bgsub.runtime.threads import Workers
from bgsub.video.source import FrameSource

__all__ = ["FrameFit", "check_rank", "fit_frames", "form_model", "load_libraries"]


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
    sums = PlaneSums(fit.weights, fit.basis, layout.size)
    chosen = noise_frames(fit.support)
    samples = np.empty((chosen.size, layout.size), dtype=np.uint8)
    pictures = None
    if options.local_masks:
        pictures = PictureSample(layout, store.fit_rows.size, options.seed)
    for start, rows in store.fit_blocks():
        sums.add(start, rows, workers)
        if pictures is not None:
            pictures.add(start, rows)
        first, last = np.searchsorted(chosen, [start, start + len(rows)])
        np.take(rows, chosen[first:last] - start, axis=0, out=samples[first:last], mode="clip")
        progress("model", start + len(rows), store.fit_rows.size)
    del rows  # a block that was decoded again would stay in memory
    center, components = sums.result()
    if fit.gram is None:
        fitted = slice(None) if source.pixel_mask is None else source.pixel_mask.ravel()
        center[: layout.pixels][fitted] = estimator.center_
        components[:, : layout.pixels][:, fitted] = estimator.components_
    scores = fit.coefficients[chosen]
    model = BackgroundModel(
        layout=layout,
        center=center,
        components=components,
        noise=pixel_noise(center, components, samples, scores, layout.pixels, workers),
        threshold=0.0,
        error_location=estimator.error_location_,
        error_scale=estimator.error_scale_,
        cutoff=fit.table.cutoff,
        support=fit.support,
        frame_numbers=store.numbers[store.fit_rows],
        pixel_mask=source.pixel_mask,
        ignored=source.ignored,
        geometry={
            "input_size": list(source.input_size),
            "roi": None if options.source.roi is None else list(options.source.roi),
            "scale": options.source.scale,
        },
        facts={
            "method": options.method,
            "k": fit.estimator.n_components,
            "seed": options.seed,
            "name": source.name,
        },
    )
    threshold = options.threshold
    if threshold is None:
        threshold = choose_threshold(model, samples, scores, workers)
    del samples
    give_back()
    local = None if pictures is None else pictures.fit(workers, store.fit_moments)
    give_back()
    return replace(model, threshold=threshold, local=local)
