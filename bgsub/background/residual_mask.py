"""Cut masks from residuals: |x − x_b| > threshold, the threshold from the residual's noise."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.background.model import BackgroundModel
from bgsub.background.render import largest_difference, reconstruct
from bgsub.background.tiles import Singles, combined, tiles
from bgsub.fit.blocks import render_rows
from bgsub.robustpca.median import NORMAL_MAD, column_median
from bgsub.runtime.threads import Workers, scratch
from bgsub.video.frames import Bytes, pixels_within

NOISE_FRAMES = 32
"""Inlier frames, evenly spaced, from which the noise is estimated."""

_THRESHOLD_SIGMAS = 5.0
_THRESHOLD_QUANTILE = 0.999
THRESHOLD_BOUNDS = (12.0, 35.0)
_MEDIAN_FILTER = 5

SCORE_LEVEL = 100
"""Score from which a pixel belongs to the raw mask."""


@dataclass(frozen=True)
class MaskRule:
    """The rule by which a residual becomes a mask.

    Attributes
    ----------
    threshold : float
        Grey levels; a pixel is foreground where its largest channel difference exceeds this.
    clean : bool
        Apply a 5×5 median filter, then drop blobs smaller than `min_area`.
    min_area : int
        Pixels.
    """

    threshold: float
    clean: bool
    min_area: int

    def apply(self, largest: Bytes, pixel_mask: NDArray[np.bool_] | None = None) -> Bytes:
        """Cut the mask of a frame.

        Parameters
        ----------
        largest : ndarray of uint8, shape (h, w)
            Largest channel difference.
        pixel_mask : ndarray of shape (h, w), bool, optional
            Pixels outside are never foreground.

        Returns
        -------
        ndarray of uint8, shape (h, w)
            0 or 255.
        """
        # Differences are whole numbers, so "above 12.7" is "above 12".
        _, mask = cv2.threshold(largest, np.floor(self.threshold), 255, cv2.THRESH_BINARY)
        if pixel_mask is not None:
            mask[~pixel_mask] = 0
        if self.clean:
            mask = majority(np.asarray(mask, dtype=np.uint8))
            if pixel_mask is not None:
                mask[~pixel_mask] = 0
            drop_small(mask, self.min_area)
        return np.asarray(mask, dtype=np.uint8)

    def scores(
        self, largest: Bytes, pixel_mask: NDArray[np.bool_] | None = None
    ) -> NDArray[np.uint16]:
        """Give what the mask of a frame is cut from; parameters as those of `apply`.

        Returns
        -------
        ndarray of uint16, shape (h, w)
            The largest channel difference, after the median filter if the rule has one, in
            hundredths of the lowest difference above the threshold, rounded down. From
            `SCORE_LEVEL` on a pixel belongs to the mask, before small blobs are dropped. 0 outside.
        """
        inside = largest
        if pixel_mask is not None:
            inside = np.where(pixel_mask, largest, np.uint8(0))
        if self.clean:
            # The median of the differences cuts where the median of the cut differences does.
            inside = np.asarray(cv2.medianBlur(inside, _MEDIAN_FILTER), dtype=np.uint8)
            if pixel_mask is not None:
                inside[~pixel_mask] = 0
        lowest = int(np.floor(self.threshold)) + 1
        table = (np.arange(256) * SCORE_LEVEL // lowest).astype(np.uint16)
        return np.asarray(cv2.LUT(inside, table), dtype=np.uint16)


def majority(mask: Bytes) -> Bytes:
    """Filter a mask of 0 and 255 with a 5×5 median: by counting set pixels, which is quicker."""
    window = (_MEDIAN_FILTER, _MEDIAN_FILTER)
    counts = cv2.boxFilter(
        mask & np.uint8(1), cv2.CV_8U, window, normalize=False, borderType=cv2.BORDER_REPLICATE
    )
    _, filtered = cv2.threshold(counts, _MEDIAN_FILTER**2 // 2, 255, cv2.THRESH_BINARY)
    return np.asarray(filtered, dtype=np.uint8)


def drop_small(mask: Bytes, min_area: int) -> None:
    """Erase in place blobs (8-connected) of fewer than `min_area` pixels, holes counted in."""
    if min_area <= 1:
        return
    outlines, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    small = [o for o in outlines if len(o) < 2 * min_area and pixels_within(o) < min_area]
    if small:
        cv2.drawContours(mask, small, -1, 0, cv2.FILLED)


def default_min_area(height: int, width: int) -> int:
    """Give the smallest blob that is kept: 10 pixels at 160×128, in proportion to the side."""
    return max(2, round(0.07 * float(np.sqrt(height * width))))


def noise_frames(support: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Pick the inlier frames that the noise is estimated from, evenly spaced."""
    inliers = np.flatnonzero(support)
    if inliers.size <= NOISE_FRAMES:
        return inliers
    return inliers[np.linspace(0, inliers.size - 1, NOISE_FRAMES).round().astype(np.int64)]


def pixel_noise(
    center: Singles,
    components: Singles,
    rows: Bytes,
    scores: NDArray[np.float64],
    pixels: int,
    workers: Workers,
) -> Singles:
    """Estimate the standard deviation of each pixel's luma residual from its median size.

    Parameters
    ----------
    center, components : ndarray of shape (size,), (k, size)
    rows : ndarray of uint8, shape (m, size)
        Inlier frames.
    scores : ndarray of shape (m, k)
    pixels : int
        h·w.
    workers : Workers

    Returns
    -------
    ndarray of shape (h·w,), float32
        Grey levels, in steps of 0.19 and at most 47: the median counts eighths of a level.
    """
    short = scores.astype(np.float32)
    noise = np.empty(pixels, dtype=np.float32)

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

    workers.each(measure, tiles(pixels))
    noise /= np.float32(8.0 * NORMAL_MAD)
    return noise


def choose_threshold(
    model: BackgroundModel, rows: Bytes, scores: NDArray[np.float64], workers: Workers
) -> float:
    """Choose the threshold from the noise of inlier frames.

    The larger of five standard deviations and of the 99.9 % quantile, from 12 to 35 grey levels.
    The noise is that of the largest channel difference over the given frames and all pixels that
    can be foreground; its standard deviation comes from its median, which foreground in less than
    half of the picture does not move. The quantile serves scenes whose noise has a heavy tail
    (glints on water); the upper bound serves scenes with foreground in every frame, where the
    quantile measures that.

    Parameters
    ----------
    model : BackgroundModel
    rows : ndarray of uint8, shape (m, size)
        Inlier frames.
    scores : ndarray of shape (m, k)

    Returns
    -------
    float
        Grey levels.
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
        for part in workers.map(count, pairs):
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
