"""Compare the masks of sequences with their ground truth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError, UsageError, plural
from bgsub.evaluation import EvaluationOptions
from bgsub.evaluation import masks as files
from bgsub.evaluation.measures import UNSCORED, Counts, ScoreCurve, mean_measures
from bgsub.options import ProgressCallback, no_progress
from bgsub.video.frames import in_color
from bgsub.video.images import Image
from bgsub.video.source import open_source

_MASK_THRESHOLD = 128  # grey level from which a mask is foreground


class Pair(NamedTuple):
    """One sequence: what `open_masks`, `open_truth` and `match` take."""

    masks: str
    truth: str
    offset: int | None = None
    footage: str | None = None
    name: str | None = None


class FrameCounts(NamedTuple):
    """Counts of one frame: its number, the name of its truth, the counts."""

    frame: int
    truth: str
    counts: Counts


class WorstFrame(NamedTuple):
    """A frame with many wrong pixels; `verdicts` holds codes of `Verdict`, shape (h, w)."""

    frame: int
    counts: Counts
    verdicts: NDArray[np.uint8]


class Evaluation(NamedTuple):
    """Results of some sequences and of all; of scores at the `threshold` that is best for all."""

    sequences: list[SequenceScore]
    total: Counts
    means: dict[str, float | None]
    threshold: float | None = None
    curve: ScoreCurve | None = None


def evaluate(
    pairs: Sequence[Pair],
    options: EvaluationOptions | None = None,
    *,
    progress: ProgressCallback = no_progress,
) -> Evaluation:
    """Compare masks with ground truth; pictures are read once, of scores twice for a threshold."""
    options = options or EvaluationOptions()
    if not pairs:
        raise UsageError("nothing to evaluate: give masks and their truth")
    # What cannot be opened or matched is said before the first of them is read through.
    done = [SequenceScore(pair, options, progress) for pair in pairs]
    for one in done:
        one.score()
    names = [one.name for one in done]
    for one in done:
        if names.count(one.name) > 1:
            one.name = one.pair.name or one.pair.masks
    counts = [one.counts for one in done]
    if not options.scores:
        return Evaluation(done, Counts.sum(counts), mean_measures(counts))
    first = done[0]
    for other in done:
        if other.dtype != first.dtype:
            kinds = f"{first.pair.masks} {first.dtype}, {other.pair.masks} {other.dtype}"
            message = f"scores of several kinds have no threshold in common ({kinds})"
            raise InputError(f"{message}; evaluate them one by one")
    curve = sum((one.curve for one in done if one.curve is not None), ScoreCurve.empty())
    threshold = curve.best_threshold() if options.threshold is None else options.threshold
    total = curve.counts(_level(threshold))
    return Evaluation(done, total, mean_measures(counts), threshold, curve)


class SequenceScore:
    """Masks and truth of one sequence, matched, and the result once `score` has read them."""

    def __init__(self, pair: Pair, options: EvaluationOptions, progress: ProgressCallback) -> None:
        self.pair, self.options, self._progress = pair, options, progress
        self.masks = masks = files.open_masks(pair.masks, "scores" if options.scores else "mask")
        self.truth = truth = files.open_truth(pair.truth)
        self._truth_threshold = options.truth_threshold
        if truth.of_run and options.truth_threshold is None:
            self._truth_threshold = _MASK_THRESHOLD  # videos of masks are compressed
        self.matching = files.match(
            masks, truth, offset=pair.offset, footage=pair.footage, common=options.common
        )
        self.name = pair.name or truth.name
        self.footage = pair.footage or masks.footage or truth.footage
        self.threshold: float = _MASK_THRESHOLD
        self.frames: list[FrameCounts] = []
        self.counts = Counts()
        self.worst: list[WorstFrame] = []
        self.curve: ScoreCurve | None = None
        self.notes = list(truth.notes)
        self.dtype: np.dtype[np.uint8] | np.dtype[np.uint16] | None = None
        self._highest, self._was_padded = 0, False

    def score(self) -> None:
        """Read all pictures, and count which pixels are right."""
        if self.options.scores:
            self.curve = ScoreCurve.empty()
            for _, scores, classes in self._pictures("read scores"):
                self.curve.add(scores, classes)
            self.threshold = self.curve.best_threshold()
        if self.options.threshold is not None:
            self.threshold = self.options.threshold
        worst: list[tuple[float, int, WorstFrame]] = []
        for index, image, classes in self._pictures("evaluate"):
            verdicts = (2 * classes + (image >= _level(self.threshold))).astype(np.uint8)
            counts = Counts.of(verdicts)
            if not sum(counts):
                continue
            frame = int(self.matching.frames[index])
            label = self.truth.pictures.label(int(self.matching.truths[index]))
            self.frames.append(FrameCounts(frame, Path(label).name, counts))
            if self.options.worst and counts.wrong:
                share = counts.wrong / sum(counts)
                worst.append((-share, index, WorstFrame(frame, counts, verdicts)))
                worst = sorted(worst)[: self.options.worst]
        if not self.frames:
            message = f"{self.pair.truth}: none of its pixels is scored"
            raise InputError(f"{message}; all are 85 or 170, or outside {self.truth.roi_path}")
        self.counts = Counts.sum(frame.counts for frame in self.frames)
        self.worst = [entry[2] for entry in worst]
        if self._was_padded:
            note = "the masks' last row or column is padding of the video and is left out"
            self.notes.append(note)
        if 0 < self._highest < self.threshold and not self.options.scores:
            self.notes.append(
                f"no pixel of the masks reaches {self.threshold:g}, the highest is {self._highest}:"
                " nothing counts as foreground; is --threshold right?"
            )
        if unmatched := self.matching.unmatched:
            self.notes.append(f"{plural(unmatched, 'picture')} of the truth had no mask")

    def _pictures(self, stage: str) -> Iterator[tuple[int, Image, NDArray[np.uint8]]]:
        """Yield index, mask (or scores) and classes of the truth of each pair of pictures."""
        at_masks, at_truths = self.matching.masks.tolist(), self.matching.truths.tolist()
        masks, truths = self.masks.pictures, self.truth.pictures
        pictures = zip(masks.pick(at_masks), truths.pick(at_truths), strict=True)
        self._highest = 0
        for index, (mask, truth) in enumerate(pictures):
            truth_label = truths.label(at_truths[index])
            image = self._fitted(mask, truth.shape, masks.label(at_masks[index]), truth_label)
            self._highest = max(self._highest, int(image.max(initial=0)))
            classes = files.classify(truth, truth_label, self._truth_threshold)
            roi = self.truth.roi
            if roi is not None:
                if roi.shape != classes.shape:
                    message = f"{self.truth.roi_path} is {_size(roi.shape)} pixels, but"
                    message = f"{message} {truth_label} is {_size(classes.shape)}"
                    raise InputError(f"{message}; both must have one size")
                classes = np.where(roi, classes, np.uint8(UNSCORED))
            yield index, image, classes
            self._progress(stage, index + 1, len(at_masks))

    def _fitted(self, mask: Image, shape: tuple[int, ...], own: str, truth: str) -> Image:
        """Check that a mask has the truth's size; masks of 16 bits become 8, scores keep them."""
        even = tuple(side + side % 2 for side in shape)
        if mask.shape != shape and mask.shape == even and self.masks.pictures.numbers is None:
            mask, self._was_padded = mask[: shape[0], : shape[1]], True  # as H.264 needs it
        if mask.shape != shape:
            ours = f"{own} is {_size(mask.shape)} pixels{self.masks.size_note}"
            message = f"{ours}, but its truth {truth} is {_size(shape)}"
            raise InputError(f"{message}; both must have one size")
        if self.dtype is not None and mask.dtype != self.dtype:
            message = f"{own}: has {8 * mask.itemsize} bits, others of {self.masks.path}"
            raise InputError(f"{message} have {8 * self.dtype.itemsize}; write all alike")
        self.dtype = mask.dtype
        return mask if self.options.scores else files.to_8_bit(mask)


def _level(threshold: float) -> int:
    """Return the lowest whole level at or above a threshold."""
    return int(np.ceil(threshold))


def _size(shape: tuple[int, ...]) -> str:
    return f"{shape[1]}×{shape[0]}"


def footage_frames(one: SequenceScore) -> dict[int, NDArray[np.uint8]]:
    """Return the frames of a sequence's worst masks by number, in OpenCV's order, if there are."""
    if one.footage is None or not one.worst:
        return {}
    places = {bad.frame: bad.frame for bad in one.worst}  # place in the footage by frame number
    names = files.footage_numbers(one.footage)
    if one.masks.is_named and names is not None:
        places = {int(name): at for at, name in enumerate(names, 1) if name in places}
    elif one.masks.counts_from_0:
        places = {number: number + 1 for number in places}
    if not places:
        return {}
    numbers = {place: number for number, place in places.items()}
    frames = open_source(one.footage, start=min(numbers), end=max(numbers), exact_color=True)
    return {
        numbers[frame.number]: in_color(frame.layout.to_bgr(frame.data)).copy()
        for frame in frames
        if frame.number in numbers
    }
