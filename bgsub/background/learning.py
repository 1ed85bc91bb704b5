"""Learn centre, components and noise of a scene in all planes of its frames, from a fit to luma."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bgsub.background.model import BackgroundModel
from bgsub.background.render import PlaneSums
from bgsub.background.residual_mask import choose_threshold, noise_frames, pixel_noise
from bgsub.fit.frame_fit import FrameFit
from bgsub.fit.store import FrameStore
from bgsub.runtime.limits import give_back
from bgsub.runtime.threads import Workers
from bgsub.video.frames import Bytes
from bgsub.video.source import FrameSource


class BackgroundLearner:
    """Carry centre and components from the weights of the frames to all their planes.

    Parameters
    ----------
    fit : FrameFit
    source : FrameSource
    workers : Workers

    Notes
    -----
    One pass over the fitted frames: 2n(k+1)·size operations, 4(k+1)·size bytes.
    """

    def __init__(self, fit: FrameFit, source: FrameSource, workers: Workers) -> None:
        self._fit, self._source, self._workers = fit, source, workers
        self._layout = source.layout.plain
        size = self._layout.size
        self._sums = PlaneSums(fit.weights, fit.basis, size)
        self._chosen = noise_frames(fit.support)
        self._samples = np.empty((self._chosen.size, size), dtype=np.uint8)

    def add(self, start: int, rows: Bytes) -> None:
        """Pass the fitted frames start, start + 1, …; shape (m, size). Blocks come in order."""
        rows = rows[:, : self._layout.size]
        self._sums.add(start, rows, self._workers)
        chosen = self._chosen
        first, last = np.searchsorted(chosen, [start, start + len(rows)])
        kept = self._samples[first:last]
        np.take(rows, chosen[first:last] - start, axis=0, out=kept, mode="clip")

    def finish(
        self,
        store: FrameStore,
        *,
        threshold: float | None,
        geometry: dict[str, Any],
        facts: dict[str, Any],
    ) -> BackgroundModel:
        """Make the model of the frames that have passed; the learner is used up.

        Parameters
        ----------
        store : FrameStore
            Whose frames they were.
        threshold : float or None
            Grey levels; None is chosen from the noise of the residual.
        geometry, facts : dict
            See `BackgroundModel`.
        """
        fit, source, layout = self._fit, self._source, self._layout
        center, components = self._sums.result()
        if fit.gram is None:
            fitted = slice(None) if source.pixel_mask is None else source.pixel_mask.ravel()
            center[: layout.pixels][fitted] = fit.estimator.center_
            components[:, : layout.pixels][:, fitted] = fit.estimator.components_
        samples, scores = self._samples, fit.coefficients[self._chosen]
        model = BackgroundModel(
            layout=layout,
            center=center,
            components=components,
            noise=pixel_noise(center, components, samples, scores, layout.pixels, self._workers),
            threshold=0.0 if threshold is None else threshold,
            error_location=fit.estimator.error_location_,
            error_scale=fit.estimator.error_scale_,
            cutoff=fit.table.cutoff,
            support=fit.support,
            frame_numbers=store.fit_numbers,
            pixel_mask=source.pixel_mask,
            ignored=source.ignored,
            geometry=geometry,
            facts=facts,
        )
        if threshold is None:
            chosen = choose_threshold(model, samples, scores, self._workers)
            model = replace(model, threshold=chosen)
        del self._samples, samples
        give_back()
        return model
