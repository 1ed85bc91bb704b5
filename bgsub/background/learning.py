"""Learn centre, components and noise of a scene in all planes of its frames, from a fit to luma."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.background.model import BackgroundModel
from bgsub.background.render import PlaneSums, largest_difference, reconstruct
from bgsub.fit.frame_fit import FrameFit
from bgsub.fit.memory import render_rows
from bgsub.fit.store import FrameStore
from bgsub.options import RunOptions
from bgsub.robustpca.spaces import NORMAL_MAD, Singles, column_median, combined, evenly, slices
from bgsub.runtime.threads import Workers, scratch
from bgsub.video.frames import Bytes
from bgsub.video.source import FrameSource

NOISE_FRAMES = 32  # inlier frames, evenly spaced, from which the noise is estimated
THRESHOLD_BOUNDS = (12.0, 35.0)
_THRESHOLD_SIGMAS = 5.0
_THRESHOLD_QUANTILE = 0.999


class BackgroundLearner:
    """Carry centre and components from the weights of the frames to all their planes.

    One pass over the fitted frames: 2n(k+1)·size operations, 4(k+1)·size bytes.
    """

    def __init__(self, fit: FrameFit, source: FrameSource, workers: Workers) -> None:
        self._fit, self._source, self._workers = fit, source, workers
        self._layout = source.layout.plain
        size = self._layout.size
        self._sums = PlaneSums(fit.weights, fit.basis, size)
        inliers = np.flatnonzero(fit.support)
        self._chosen = inliers[evenly(inliers.size, NOISE_FRAMES)]
        self._samples = np.empty((self._chosen.size, size), dtype=np.uint8)

    def add(self, start: int, rows: Bytes) -> None:
        """Pass the fitted frames start, start + 1, …; shape (m, size). Blocks come in order."""
        rows = rows[:, : self._layout.size]
        self._sums.add(start, rows, self._workers)
        chosen = self._chosen
        first, last = np.searchsorted(chosen, [start, start + len(rows)])
        kept = self._samples[first:last]
        np.take(rows, chosen[first:last] - start, axis=0, out=kept, mode="clip")

    def finish(self, store: FrameStore, options: RunOptions) -> BackgroundModel:
        """Make the model of the frames that have passed; the learner is used up.

        A threshold of None is chosen from the noise of the residual.
        """
        fit, source, layout, threshold = self._fit, self._source, self._layout, options.threshold
        roi, scale = options.source.roi, options.source.scale
        geometry = {"input_size": list(source.input_size), "roi": roi and list(roi), "scale": scale}
        facts = {"method": options.method, "k": fit.estimator.n_components}
        facts |= {"seed": options.seed, "name": source.name}
        center, components = self._sums.result()
        if fit.gram_blocks is None:
            fitted = slice(None) if source.pixel_mask is None else source.pixel_mask.ravel()
            center[: layout.pixels][fitted] = fit.estimator.center_
            components[:, : layout.pixels][:, fitted] = fit.estimator.components_
        samples, scores = self._samples, fit.coefficients[self._chosen]
        model = BackgroundModel(
            layout=layout,
            center=center,
            components=components,
            noise=self._noise(center, components, scores),
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
        del self._samples
        return model

    def _noise(self, center: Singles, components: Singles, scores: NDArray[np.float64]) -> Singles:
        """Estimate the standard deviation of each pixel's luma residual from its median size.

        Over sampled inlier frames, of scores (m, k). In grey levels, in steps of 0.19 and at most
        47: the median counts eighths of a level.
        """
        rows, short = self._samples, scores.astype(np.float32)
        noise = np.empty(self._layout.pixels, dtype=np.float32)

        def measure(tile: slice) -> None:
            levels = scratch("levels", (len(short), noise[tile].size), np.float32)
            combined(short, components[:, tile], out=levels)
            levels += center[tile]
            np.subtract(rows[:, tile], levels, out=levels)
            np.abs(levels, out=levels)
            levels *= 8.0
            levels += 0.5
            np.minimum(levels, 255.0, out=levels)
            eighths = scratch("eighths", levels.shape, np.uint8)
            np.copyto(eighths, levels, casting="unsafe")
            noise[tile] = column_median(eighths)

        self._workers.each(measure, slices(noise.size))
        noise /= np.float32(8.0 * NORMAL_MAD)
        return noise


def choose_threshold(
    model: BackgroundModel, rows: Bytes, scores: NDArray[np.float64], workers: Workers
) -> float:
    """Choose the threshold, in grey levels, from the noise of inlier frames.

    The larger of five standard deviations and of the 99.9 % quantile, from 12 to 35 grey levels.
    The noise is that of the largest channel difference over the given frames and all pixels that
    can be foreground; its standard deviation comes from its median, which foreground in less than
    half of the picture does not move. The quantile serves scenes whose noise has a heavy tail
    (glints on water); the upper bound serves scenes with foreground in every frame, where the
    quantile measures that.
    """
    counts = np.zeros(256)
    step = render_rows(model.layout.size)
    inside = None if model.inside is None else model.inside.view(np.uint8)

    def count(pair: tuple[Bytes, Bytes]) -> NDArray[np.float32]:
        largest = largest_difference(model.layout, *pair)
        # Whole numbers, exact in float32 for pictures of up to 16 megapixels.
        return np.asarray(cv2.calcHist([largest], [0], inside, [256], [0, 256]), np.float32).ravel()

    for start in range(0, len(rows), step):
        background = reconstruct(model, scores[start : start + step], workers)
        pairs = zip(rows[start : start + step], background, strict=True)
        for part in workers.each(count, pairs):
            counts += part
    sigma = _histogram_quantile(counts, 0.5) / NORMAL_MAD
    tail = _histogram_quantile(counts, _THRESHOLD_QUANTILE)
    low, high = THRESHOLD_BOUNDS
    return float(min(max(_THRESHOLD_SIGMAS * sigma, tail, low), high))


def _histogram_quantile(counts: NDArray[np.float64], share: float) -> float:
    """Interpolate a quantile of integers, which stand for the half-open intervals around them."""
    cumulative = np.cumsum(counts)
    wanted = cumulative[-1] * share
    level = int(np.searchsorted(cumulative, wanted))
    before = cumulative[level] - counts[level]
    return max(0.0, float(level - 0.5 + (wanted - before) / max(counts[level], 1.0)))
