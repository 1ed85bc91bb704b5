"""MaskModel: hypotheses of a background and the network that decides, frame by frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import cv2
import numpy as np

from bgsub.background.camera import Each
from bgsub.background.composite import plates_of
from bgsub.background.plates import Background
from bgsub.background.sample import Sample
from bgsub.background.scene import Scene, Shown
from bgsub.runtime.limits import give_back
from bgsub.segmenter.network import Answer, answer, enlarged, reaching
from bgsub.segmenter.protocol import Flags, FrameView, LeftOut, MaskOptions, MaskResult, Segmenter
from bgsub.segmenter.residual import ResidualSegmenter
from bgsub.video.frames import Bytes, in_color, in_grey, pixels_within

if TYPE_CHECKING:
    from bgsub.background.model import BackgroundModel

# Probability from which a pixel is foreground, by sensitivity.
THRESHOLDS: dict[str, float] = {"low": 0.7, "normal": 0.5, "high": 0.3}
SCORE_LEVEL = 500  # score of a pixel that is as likely an object as not
SCALE = 1000  # what probabilities are multiplied by where they are written as integers
LEAST_AREA = 1e-4  # share of a frame that an object covers, at least
# Probabilities from which a pixel is no part of the empty scene, and may be one of an object.
_SUSPECT, _DOUBT = 0.25, 0.1


class MaskModel(Segmenter):
    """Segment the frames of a video into objects and background, with the mask network."""

    name = "local"
    needs_background = False
    score_level = SCORE_LEVEL
    threshold = None
    scene: Scene

    def __init__(self, scene: Scene, options: MaskOptions | None = None) -> None:
        self.scene, self.options = scene, options or MaskOptions()
        least = self.options.min_area if self.options.clean else 0
        pixels = scene.shape[0] * scene.shape[1]
        self.min_area = max(1, round(LEAST_AREA * pixels)) if least is None else least
        self._level = THRESHOLDS[self.options.sensitivity]

    @classmethod
    def fit(
        cls,
        sample: Sample | None,
        options: MaskOptions | None = None,
        *,
        model: BackgroundModel | None = None,
        each: Each = map,
    ) -> Self:
        """Learn the background of a video from a sample of its frames.

        The empty scene at their size is composed where the sample keeps some; masks need none.
        """
        if sample is not None:
            found = cls(Scene(Background.learn(sample.small, each), [], sample.shape), options)
            if sample.kept.size:
                give_back()
                found._compose(sample, each)
            return found
        if model is None or model.local is None:
            raise RuntimeError("neither a sample of frames nor a model of a scene")
        return cls(model.local, options)

    @classmethod
    def learned(
        cls, small: Bytes, shape: tuple[int, int], options: MaskOptions | None, each: Each = map
    ) -> Self:
        """Learn from frames at the working size, (n, h', w', 3), of those of a shape."""
        return cls(Scene(Background.learn(small, each), [], shape), options)

    def _compose(self, sample: Sample, each: Each = map) -> None:
        """Compose the empty scene of each state; the frames kept at their size are used up."""

        def empty(index: int) -> tuple[Flags, Shown]:
            own = sample.small[sample.kept[index]]
            said = answer(self.scene.background, own, None).placed()
            lumas = in_grey(sample.full[index]), in_grey(own)
            chance = enlarged(np.maximum(said.objects, said.shadows), *lumas)
            grown = cv2.dilate((chance > _SUSPECT).astype(np.uint8), np.ones((3, 3), np.uint8))
            return np.asarray(grown == 0), self.scene.shown(said.found)

        flags, shown = zip(*each(empty, range(len(sample.kept))), strict=True)
        plates = plates_of(self.scene, sample.full, np.stack(flags), shown, each, fill=False)
        self.scene.plates = [in_color(plate.picture) for plate in plates]

    def observe(self, frame: FrameView, before: FrameView | None = None) -> Answer:
        """Ask the network about a frame; without the one before it nothing moves."""
        return answer(self.scene.background, frame.small, None if before is None else before.small)

    def mask(
        self,
        frame: FrameView,
        observed: Answer | None = None,
        earlier: Answer | None = None,
        *,
        inside: Flags | None = None,
        with_scores: bool = False,
        everywhere: bool = True,
        with_shadows: bool = False,
    ) -> MaskResult:
        """Segment a frame. See `Segmenter`."""
        said = (observed or self.observe(frame)).placed(earlier)
        shown, chances = self.scene.shown(said.found), said.objects
        if self.options.shadows == "keep":
            chances = np.maximum(chances, said.shadows)
        if inside is not None:  # what is surer by .05 across the border, two pixels on, is of that
            out = cv2.resize((~inside).view(np.uint8), chances.shape[::-1])
            chances = chances * (chances + 0.05 > cv2.dilate(chances * out, np.ones((5, 5))))
        # The F-measure that is expected of a mask, true by definition where probabilities are
        # calibrated. What is doubted everywhere is the calm of the net, and no object.
        hit = float(chances[chances >= self._level].sum())
        total = np.count_nonzero(chances >= self._level) + float(chances[chances > _DOUBT].sum())
        confidence = 1.0 if total < 1 else min(1.0, 2 * hit / total)
        mask, shadows = np.zeros(self.scene.shape, np.uint8), None
        scores = np.zeros(mask.shape, np.uint16) if with_scores else None
        # Regions that are too small for a mask count from one half on, whatever its sensitivity.
        level = 0.0 if with_scores and everywhere else min(self._level, THRESHOLDS["normal"])
        if not with_shadows and float(chances.max()) < level:
            left = self._left_out(said, 0.0)
            return MaskResult(mask, scores, confidence, left_out=left, shown=shown)
        luma, small = frame.layout.luma(frame.row), frame.small_luma
        part, wide = reaching(chances, luma, small, level)
        wide = wide if inside is None else wide * inside[part]
        mask[part] = (wide >= self._level).view(np.uint8) * np.uint8(255)
        if scores is not None:
            whole = cv2.addWeighted(wide, SCALE, wide, 0, 0, dtype=cv2.CV_16U)  # rounded, ≥ 0
            np.minimum(whole, SCALE, out=scores[part])
        left = self._left_out(said, self._clean(mask))
        if with_shadows:
            shadows = (enlarged(said.shadows, luma, small) >= self._level) & (mask == 0)
        return MaskResult(mask, scores, confidence, shadows, left, shown)

    def _left_out(self, said: Answer, speck: float) -> LeftOut:
        """Return the shares of a frame that other options would mark."""
        free = said.objects < self._level
        doubt = free & (said.objects >= THRESHOLDS["high"])
        shade = free & ~doubt & (said.shadows >= self._level)
        shaded, doubted = (np.count_nonzero(one) / one.size for one in (shade, doubt))
        return LeftOut(shaded * (self.options.shadows == "drop"), speck, doubted)

    def _clean(self, mask: Bytes) -> float:
        """Drop what is smaller than an object, a share of the frame, and fill small holes."""
        speck = 0.0
        if self.min_area > 1 and cv2.hasNonZero(mask):
            x, y, wide, high = cv2.boundingRect(mask)
            part = mask[y : y + high, x : x + wide]
            outlines, (tree,) = cv2.findContours(part, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
            sizes, parents = list(map(pixels_within, outlines)), tree[:, 3]
            small = (parents < 0) & (np.array(sizes) < self.min_area)
            for one, size, up, drop in zip(outlines, sizes, parents, small, strict=True):
                if drop:
                    cv2.drawContours(part, [one], -1, 0, cv2.FILLED)
                    speck += size
                elif self.options.fill and up >= 0 and size - len(one) < self.min_area:
                    # A hole of what was dropped is no object.
                    cv2.drawContours(part, [one], -1, 0 if small[up] else 255, cv2.FILLED)
        return speck / mask.size


# The segmenters that there are, by their names among the values of ``--model``.
SEGMENTERS: dict[str, type[Segmenter]] = {one.name: one for one in (MaskModel, ResidualSegmenter)}


def saved_kind(model: BackgroundModel, threshold: float | None) -> type[Segmenter]:
    """Return the kind of masks of a saved model; a threshold that is given asks for the paper's."""
    return ResidualSegmenter if model.local is None or threshold is not None else MaskModel
