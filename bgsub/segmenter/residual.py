"""The paper's masks: |x − x_b| above a threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.background.camera import Each
from bgsub.background.sample import Sample
from bgsub.segmenter.protocol import Flags, FrameView, MaskOptions, MaskResult, Segmenter
from bgsub.video.frames import Bytes, pixels_within

if TYPE_CHECKING:
    from bgsub.background.model import BackgroundModel

_MEDIAN_FILTER = 5


class ResidualSegmenter(Segmenter):
    """Cut the largest channel difference to the background at a threshold, in grey levels.

    Cleaning is a 5×5 median filter, then blobs smaller than `min_area` are dropped.
    """

    name = "paper"
    needs_background = True
    score_level = 100
    scene = None

    def __init__(self, threshold: float, min_area: int, *, clean: bool = True) -> None:
        self.threshold: float = threshold
        self.min_area, self._clean = min_area, clean

    @classmethod
    def fit(
        cls,
        sample: Sample | None,
        options: MaskOptions,
        *,
        model: BackgroundModel | None = None,
        each: Each = map,
    ) -> Self:
        """Take the threshold of the model."""
        del sample, each
        if model is None:
            raise RuntimeError("masks of a residual without a background")
        least = options.min_area
        if least is None:
            least = default_min_area(model.layout.height, model.layout.width)
        return cls(model.threshold, least, clean=options.clean)

    def mask(
        self,
        frame: FrameView,
        *_: object,
        inside: Flags | None = None,
        with_scores: bool = False,
        **__: object,
    ) -> MaskResult:
        """Cut the residual of a frame; scores are hundredths of the threshold."""
        largest = frame.residual
        scores = self.scores(largest, inside) if with_scores else None
        return MaskResult(self.cut(largest, inside), scores)

    def cut(self, largest: Bytes, inside: Flags | None = None) -> Bytes:
        """Return the mask, 0 or 255, of a largest channel difference, uint8 of shape (h, w)."""
        # Differences are whole numbers, so "above 12.7" is "above 12".
        _, cut = cv2.threshold(largest, np.floor(self.threshold), 255, cv2.THRESH_BINARY)
        mask = np.asarray(cut, dtype=np.uint8)
        if inside is not None:
            mask[~inside] = 0
        if self._clean:
            # A median of 0 and 255, by counting set pixels, which is quicker.
            window, near = (_MEDIAN_FILTER, _MEDIAN_FILTER), cv2.BORDER_REPLICATE
            ones = mask & np.uint8(1)
            counts = cv2.boxFilter(ones, cv2.CV_8U, window, normalize=False, borderType=near)
            cv2.threshold(counts, _MEDIAN_FILTER**2 // 2, 255, cv2.THRESH_BINARY, mask)
            if inside is not None:
                mask[~inside] = 0
            drop_small(mask, self.min_area)
        return mask

    def scores(self, largest: Bytes, inside: Flags | None = None) -> NDArray[np.uint16]:
        """Return what a mask is cut from, uint16 of shape (h, w).

        The difference, after the median filter where masks are cleaned, in hundredths of the lowest
        one above the threshold, rounded down: from `score_level` on a pixel belongs to the mask,
        before small blobs are dropped. 0 outside.
        """
        if inside is not None:
            largest = np.where(inside, largest, np.uint8(0))
        if self._clean:
            # The median of the differences cuts where the median of the cut differences does.
            largest = np.asarray(cv2.medianBlur(largest, _MEDIAN_FILTER), dtype=np.uint8)
            if inside is not None:
                largest[~inside] = 0
        lowest = int(np.floor(self.threshold)) + 1
        table = (np.arange(256) * self.score_level // lowest).astype(np.uint16)
        return np.asarray(cv2.LUT(largest, table), dtype=np.uint16)


def drop_small(mask: Bytes, min_area: int) -> None:
    """Erase in place blobs (8-connected) of fewer than `min_area` pixels, holes counted in."""
    if min_area <= 1:
        return
    outlines, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    small = [o for o in outlines if len(o) < 2 * min_area and pixels_within(o) < min_area]
    if small:
        cv2.drawContours(mask, small, -1, 0, cv2.FILLED)


def default_min_area(height: int, width: int) -> int:
    """Return the smallest blob that is kept: 10 pixels at 160×128, in proportion to the side."""
    return max(2, round(0.07 * float(np.sqrt(height * width))))
