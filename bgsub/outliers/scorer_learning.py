"""Learn from the fitted frames what scores of frames are relative to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from bgsub.outliers import frame_scorer as scoring
from bgsub.outliers.false_alarms import clean_level, score_scale
from bgsub.outliers.frame_scorer import BATCH, FrameScorer, Window
from bgsub.outliers.own_light import OwnLight, at_ends, shrink, shrink_inside, shrinking
from bgsub.robustpca.reweight import left_out, location_and_scale
from bgsub.robustpca.spaces import NORMAL_MAD, Floats, Singles, evenly
from bgsub.runtime.threads import Workers
from bgsub.video.frames import Bytes, Layout

# Rounding, codecs and a tremor that is left make no pixel steadier than this, in grey levels.
_LEAST_NOISE = 0.7

# Least spread of the mean of a window: in grey levels at a side of 5, which falls with the side as
# the outlines of things that tremble do, and that of independent pixels, in noises times the side.
_LEAST_SPREAD, _LEAST_EXPONENT, _INDEPENDENT_SPREAD = 0.57, 1.08, 0.8

# With few frames a spread is known badly; as if it were so much larger, times the frames.
_FEW_FRAMES = 6.0

# Least scale of what windows score (see `bgsub.outliers.false_alarms`), and of the highest of their
# scores: where all are at their floors, it strays further.
_LEAST_SCALE, _LEAST_LOCAL_SCALE = 0.7, 1.03

# Grey levels are kept as whole multiples of the first, as NumPy takes ten times as long to make
# float16 of float32 and back; deviations are learned from as multiples of the second.
_LEVEL, _DEVIATION = 1 / 256, 1 / 128

# A pixel that lies at an end of the camera's range in this share of the clean frames is clipped.
_CLIPPED_SHARE = 0.05
_TENTH_SCORE = 1.2816  # standard deviations that a tenth of normal values exceed


@dataclass(frozen=True, eq=False)
class FrameWeights:
    """Weights w (n,) and B (n, k) of the fitted frames, m = Σ w_j x_j and U = Σ B_j x_j.

    Coefficients, (n, k), are of their backgrounds; the support, (n,), shows the background.
    """

    weights: Floats
    basis: Floats
    coefficients: Floats
    support: NDArray[np.bool_]
    copies: NDArray[np.int64] | None = None

    @property
    def left_out(self) -> Floats:
        """What residuals are divided by, see `bgsub.robustpca.reweight.left_out`."""
        return left_out(self.coefficients, self.support, self.copies)


class ScorerLearner:
    """Learn a `FrameScorer` from fitted frames, as they pass by.

    At most 192 clean ones are kept, shrunk. After `finish`, `measured` is what
    `FrameScorer.measure_frames` gives for these, (n, 1 + windows), and NaN for others.
    """

    def __init__(
        self,
        fitted: FrameWeights,
        layout: Layout,
        inside: NDArray[np.bool_] | None,
        workers: Workers,
    ) -> None:
        self._fitted, self._layout, self._workers = fitted, layout, workers
        self._factor = shrinking(layout.height, layout.width)
        self._inside = shrink_inside(inside, (layout.height, layout.width))
        shape = self._inside.shape
        self._weights = np.column_stack([fitted.weights, fitted.basis]).T.astype(np.float32)
        self._sums = np.zeros((len(self._weights), shape[0] * shape[1]), dtype=np.float32)
        self._first: Singles | None = None
        self.measured = np.empty((0, 0))
        inliers = np.flatnonzero(fitted.support)
        self._chosen = inliers[evenly(inliers.size, scoring.LEVEL_FRAMES)]
        self._left_out = fitted.left_out[self._chosen].astype(np.float32)
        kind = np.uint8 if self._factor == 1 else np.uint16
        self._kept = np.empty((self._chosen.size, *shape), dtype=kind)
        self._clipped_frames = np.zeros((2, *shape), dtype=np.uint16)
        self._clipped_shares = np.zeros((2, *shape), dtype=np.float32)
        self._noisy = evenly(self._chosen.size, scoring.NOISE_FRAMES)

    def add(self, start: int, rows: Bytes) -> None:
        """Pass the fitted frames start, start + 1, …; shape (m, size). Blocks come in order."""
        for first in range(0, len(rows), BATCH):
            self._add_some(start + first, rows[first : first + BATCH])

    def _add_some(self, start: int, rows: Bytes) -> None:
        planes = [self._layout.luma(row) for row in rows]
        pictures = np.stack(self._workers.each(partial(shrink, factor=self._factor), planes))
        if self._first is None:
            self._first = pictures[0].flatten()
        first, last = np.searchsorted(self._chosen, [start, start + len(rows)])
        places = self._chosen[first:last] - start
        chosen = [planes[place] for place in places]
        for shares in self._workers.each(partial(at_ends, factor=self._factor), chosen):
            self._clipped_frames += shares > 0
            self._clipped_shares += shares
        kept = pictures[places]
        if self._factor > 1:
            kept = np.minimum(kept * np.float32(1 / _LEVEL) + np.float32(0.5), 65535)
        self._kept[first:last] = kept.astype(self._kept.dtype)
        differences = pictures.reshape(len(rows), -1)
        differences -= self._first
        self._sums += self._weights[:, start : start + len(rows)] @ differences

    def finish(self) -> FrameScorer:
        """Make the scorer of the frames that have passed; the learner is used up."""
        if self._first is None:
            raise ValueError("no frame was added")
        shape = self._inside.shape
        self._sums[0] += self._first
        often = self._clipped_frames >= max(2.0, _CLIPPED_SHARE * self._chosen.size)
        shares = self._clipped_shares / np.maximum(self._clipped_frames, 1)
        clipped = (shares * often).astype(np.float32)
        light = OwnLight(self._sums[0].reshape(shape), self._sums[1:], self._inside, clipped)
        start = FrameScorer(light, np.ones(shape, np.float32), 1e9, (), scoring.AS_IT_IS)
        changes = self._changes(light)
        deviations = np.empty((self._noisy.size, *shape), dtype=np.float32)
        scorer, totals = self._with_places(start, changes, deviations)
        return self._with_levels(scorer, changes, totals, deviations)

    def _with_places(
        self, start: FrameScorer, changes: Singles, deviations: Singles
    ) -> tuple[FrameScorer, list[float]]:
        """Add the noise of every pixel, and what is usual in windows around it; return some √r."""

        def own(scorer: FrameScorer, part: slice) -> list[float]:
            at = self._noisy[part]
            known = self._pictures(at), changes[at], self._left_out[at]
            totals, deviations[part] = scoring.deviate(scorer, *known)
            return totals

        # The noise is what movement leaves, judged as at a noise of one grey level: with all of the
        # residuals, a curtain would be noise itself, and less of its gusts would be movement.
        parts = scoring.together(len(deviations), self._inside.size)
        self._workers.each(partial(own, start), parts)
        for one in deviations:
            one[...] = _rounded(one)
        noise = _quantiles(deviations, (0.5,))[0] * np.float32(1 / NORMAL_MAD)
        clipped = start.light.clipped.any(axis=0)
        if clipped.any() and not clipped.all():
            # In another light they have the noise of the others.
            noise[clipped] = np.maximum(noise[clipped], np.median(noise[~clipped]))
        start = replace(start, noise=np.maximum(noise, np.float32(_LEAST_NOISE)))
        medians = [scoring.chosen_medians(start, one[None]).item() for one in deviations]
        start = replace(start, usual_noise=max(float(np.median(medians)), 1e-3))
        totals = list(chain(*self._workers.each(partial(own, start), parts)))
        sizes = scoring.window_sizes(*self._inside.shape)
        windows = tuple(self._window(deviations, start, *size) for size in sizes)
        return replace(start, windows=windows), totals

    def _pictures(self, places: NDArray[np.int64]) -> Singles:
        """Frames that were kept, 0 where they do not count."""
        unit = np.float32(1.0 if self._factor == 1 else _LEVEL)
        return np.asarray(np.multiply(self._kept[places], unit, dtype=np.float32) * self._inside)

    def _changes(self, light: OwnLight) -> Singles:
        """Regress the light of the frames that were kept, shape (m, 4 + k)."""
        coefficients = self._fitted.coefficients[self._chosen].astype(np.float32)

        def some(start: int) -> Singles:
            part = np.arange(start, min(start + BATCH, len(coefficients)))
            return light.regress(self._pictures(part), coefficients[part])

        return np.concatenate(self._workers.each(some, range(0, len(coefficients), BATCH)))

    def _window(self, deviations: Singles, scorer: FrameScorer, side: int, factor: int) -> Window:
        """Median and spread of the mean of a window at every pixel."""
        reach = scoring.windowed(scorer.reach, side, factor)
        means = np.empty((len(deviations), *reach.shape), dtype=np.float32)

        def average(i: int) -> None:
            means[i] = scoring.windowed(_rounded(deviations[i]), side, factor)

        self._workers.each(average, range(len(means)))
        usual, high = _quantiles(means, (0.5, 0.9))
        spread = (high - usual) / np.float32(_TENTH_SCORE)
        least = _LEAST_SPREAD * (5.0 / side) ** _LEAST_EXPONENT / reach
        spread = np.maximum(np.maximum(spread, least), _INDEPENDENT_SPREAD / side)
        spread *= np.float32(1.0 + _FEW_FRAMES / len(means))
        spread = spread.astype(np.float32)
        window = Window(side, factor, usual, spread, 1.0, scoring.AS_IT_IS)
        step = scorer.light.step
        quantiles = [
            scoring.restlessness(scoring.excess(one[None], window), window, step).item()
            for one in means
        ]
        return replace(window, restless=max(float(np.median(quantiles)), 0.5))

    def _with_levels(
        self, scorer: FrameScorer, changes: Singles, totals: list[float], deviations: Singles
    ) -> FrameScorer:
        """Add where the statistics of clean frames lie; those of some frames are known."""
        others = np.setdiff1d(np.arange(self._chosen.size), self._noisy)
        values = np.empty((self._chosen.size, 1 + len(scorer.windows)))

        def known(part: slice) -> None:
            values[self._noisy[part]] = scoring.measure(scorer, totals[part], deviations[part])

        def some(part: slice) -> None:
            at = others[part]
            found = scoring.deviate(scorer, self._pictures(at), changes[at], self._left_out[at])
            values[at] = scoring.measure(scorer, *found)

        for function, count in ((known, len(totals)), (some, others.size)):
            self._workers.each(function, scoring.together(count, self._inside.size))
        self.measured = np.full((len(self._fitted.support), values.shape[1]), np.nan)
        self.measured[self._chosen] = values
        errors, highest = values[:, 0], values[:, 1:]
        windows = tuple(
            replace(window, level=clean_level(tops, _LEAST_SCALE))
            for window, tops in zip(scorer.windows, highest.T, strict=True)
        )
        least = score_scale(*location_and_scale(errors), int(self._inside.sum()))
        scorer = replace(scorer, windows=windows, level=clean_level(errors, least))
        local = clean_level(scorer.highest_of(highest), _LEAST_LOCAL_SCALE)
        return replace(scorer, place_level=local)


def _rounded(deviations: Singles) -> Singles:
    """Round to whole multiples of a small unit, which bounds them too."""
    multiples = np.floor(deviations * np.float32(1 / _DEVIATION) + np.float32(0.5))
    return np.asarray(np.minimum(multiples, 65535) * np.float32(_DEVIATION), dtype=np.float32)


def _quantiles(values: NDArray[np.uint16] | Singles, shares: tuple[float, ...]) -> list[Singles]:
    """Quantiles over the first axis, a few rows of the pictures at a time."""
    ranks = [round(share * (len(values) - 1)) for share in shares]
    results = [np.empty(values.shape[1:], dtype=np.float32) for _ in shares]
    for row in range(0, values.shape[1], 16):
        some = values[:, row : row + 16]
        # Sorted side by side in memory: sorting short rows is an eighth of partitioning them.
        part = np.ascontiguousarray(some.reshape(len(some), -1).T, dtype=np.float32)
        part.sort(axis=1)
        for rank, result in zip(ranks, results, strict=True):
            result[row : row + 16] = part[:, rank].reshape(some.shape[1:])
    return results
