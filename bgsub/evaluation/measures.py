"""Count right and wrong pixels of masks, and compute the measures made of these counts.

Every measure is a ratio of counts. Where its denominator is 0 it is undefined, None: precision
where nothing is marked, recall and the false negative rate where the truth holds no foreground,
F and IoU where neither the truth nor the mask holds any. So F over a truth without foreground is 0
as soon as one pixel is marked, and undefined, not 1, if none is: an empty scene is no success that
could lift a mean.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

MEASURES = ("precision", "recall", "f_measure", "iou", "specificity", "fpr", "fnr", "pwc")
"""The measures of `Counts`, in the order in which they are printed."""

BACKGROUND, FOREGROUND, UNSCORED = 0, 1, 2
"""What a pixel of the truth is."""


class Verdict:
    """What a pixel of a mask is, given the truth: the codes that `judge` gives."""

    TN, FP, FN, TP, UNSCORED, UNSCORED_MARKED = range(6)


class Counts(NamedTuple):
    """Scored pixels: true and false positives, false and true negatives.

    Examples
    --------
    >>> counts = Counts(tp=6, fp=2, fn=4, tn=88)
    >>> counts.precision, counts.recall, counts.pwc
    (0.75, 0.6, 6.0)
    >>> print(Counts(0, 0, 0, 100).f_measure, Counts(0, 1, 0, 99).f_measure)
    None 0.0
    """

    tp: int = 0
    fp: int = 0
    fn: int = 0
    tn: int = 0

    @classmethod
    def sum(cls, counts: Iterable[Self]) -> Self:
        """Add counts up."""
        return cls(*(sum(column) for column in zip(*counts, strict=True)))

    @property
    def pixels(self) -> int:
        """All scored pixels."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def wrong(self) -> int:
        """Pixels that the mask has wrong, FP + FN."""
        return self.fp + self.fn

    @property
    def precision(self) -> float | None:
        """TP / (TP + FP): the share of what is marked that is foreground."""
        return _ratio(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> float | None:
        """TP / (TP + FN): the share of the foreground that is marked."""
        return _ratio(self.tp, self.tp + self.fn)

    @property
    def f_measure(self) -> float | None:
        """2 TP / (2 TP + FP + FN): the harmonic mean of precision and recall."""
        return _ratio(2 * self.tp, 2 * self.tp + self.fp + self.fn)

    @property
    def iou(self) -> float | None:
        """TP / (TP + FP + FN): intersection over union."""
        return _ratio(self.tp, self.tp + self.fp + self.fn)

    @property
    def specificity(self) -> float | None:
        """TN / (TN + FP): the share of the background that is not marked."""
        return _ratio(self.tn, self.tn + self.fp)

    @property
    def fpr(self) -> float | None:
        """False positive rate, FP / (FP + TN)."""
        return _ratio(self.fp, self.fp + self.tn)

    @property
    def fnr(self) -> float | None:
        """False negative rate, FN / (TP + FN)."""
        return _ratio(self.fn, self.tp + self.fn)

    @property
    def pwc(self) -> float | None:
        """Percentage of wrong classifications, 100 (FN + FP) / (TP + FP + FN + TN)."""
        return _ratio(100 * self.wrong, self.pixels)

    def measures(self) -> dict[str, float | None]:
        """Return all measures by name."""
        return {name: getattr(self, name) for name in MEASURES}


@dataclass(frozen=True)
class Means:
    """Mean of each measure over sequences, those for which it is undefined left out."""

    values: dict[str, float | None]

    @classmethod
    def of(cls, counts: Iterable[Counts]) -> Means:
        """Average the measures of some counts."""
        every = [one.measures() for one in counts]
        values: dict[str, float | None] = {}
        for name in MEASURES:
            defined = [value for one in every if (value := one[name]) is not None]
            values[name] = sum(defined) / len(defined) if defined else None
        return cls(values)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def judge(
    marked: NDArray[np.bool_], truth: NDArray[np.uint8], roi: NDArray[np.bool_] | None = None
) -> NDArray[np.uint8]:
    """Compare a mask with the truth, pixel by pixel.

    Parameters
    ----------
    marked : ndarray of bool, shape (h, w)
        What the mask has as foreground.
    truth : ndarray of uint8, shape (h, w)
        `BACKGROUND`, `FOREGROUND` or `UNSCORED`.
    roi : ndarray of bool, shape (h, w), optional
        Pixels outside are not scored.

    Returns
    -------
    ndarray of uint8, shape (h, w)
        Codes of `Verdict`.
    """
    known = truth if roi is None else np.where(roi, truth, np.uint8(UNSCORED))
    return (known * np.uint8(2) + marked).astype(np.uint8, copy=False)


def count(verdicts: NDArray[np.uint8]) -> Counts:
    """Count the verdicts of scored pixels."""
    tally = np.bincount(verdicts.ravel(), minlength=6).tolist()
    return Counts(tally[Verdict.TP], tally[Verdict.FP], tally[Verdict.FN], tally[Verdict.TN])


LEVELS = 1 << 16


@dataclass(frozen=True, eq=False)
class ScoreCurve:
    """How many pixels of foreground and background have each score.

    A pixel is marked when its score is at or above the threshold.

    Attributes
    ----------
    positives, negatives : ndarray of int64, shape (65536,)
        Scored pixels of the truth's foreground and background, by score.
    """

    positives: NDArray[np.int64]
    negatives: NDArray[np.int64]

    @classmethod
    def empty(cls) -> Self:
        """Return a curve of no pixels."""
        return cls(np.zeros(LEVELS, np.int64), np.zeros(LEVELS, np.int64))

    def add(self, scores: NDArray[np.uint8] | NDArray[np.uint16], truth: NDArray[np.uint8]) -> None:
        """Count the pixels of one picture; `truth` holds the classes of `classify`."""
        for total, kind in ((self.positives, FOREGROUND), (self.negatives, BACKGROUND)):
            found = np.bincount(scores[truth == kind])
            total[: found.size] += found

    def __add__(self, other: ScoreCurve) -> ScoreCurve:
        return ScoreCurve(self.positives + other.positives, self.negatives + other.negatives)

    @property
    def thresholds(self) -> NDArray[np.int64]:
        """Scores that occur, increasing: no other threshold gives other masks, shape (m,)."""
        return np.flatnonzero(self.positives + self.negatives).astype(np.int64)

    def counts(self, threshold: int) -> Counts:
        """Count right and wrong pixels at a threshold."""
        tp, fp = int(self.positives[threshold:].sum()), int(self.negatives[threshold:].sum())
        return Counts(tp, fp, int(self.positives.sum()) - tp, int(self.negatives.sum()) - fp)

    def best_threshold(self) -> int:
        """Find the threshold of the highest F-measure, the highest of equals.

        Where the truth holds no foreground, none is higher than any other: then it is one above the
        highest score, which marks nothing.
        """
        levels, tp, fp = self._marked()
        positives = int(self.positives.sum())
        if not positives:
            return int(levels[-1]) + 1 if levels.size else 0
        # F = 2 TP / (2 TP + FP + FN), and TP + FN are all positives.
        f_measure = 2 * tp / (tp + fp + positives)
        return int(levels[f_measure.size - 1 - np.argmax(f_measure[::-1])])

    def precision_recall(
        self,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Return thresholds, decreasing, with their precision and recall, shape (m,) each.

        Empty where the truth holds no foreground.
        """
        levels, tp, fp = self._marked()
        positives = int(self.positives.sum())
        if not positives:
            return levels[:0], np.empty(0), np.empty(0)
        return levels[::-1], (tp / (tp + fp))[::-1], (tp / positives)[::-1]

    @property
    def average_precision(self) -> float | None:
        """Σ (R_j − R_(j−1)) P_j over decreasing thresholds; None without foreground."""
        _, precision, recall = self.precision_recall()
        if not recall.size:
            return None
        return float(np.sum(np.diff(recall, prepend=0.0) * precision))

    def _marked(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Count the true and false positives at each threshold."""
        levels = self.thresholds
        tp = np.cumsum(self.positives[levels][::-1])[::-1]
        fp = np.cumsum(self.negatives[levels][::-1])[::-1]
        return levels, tp, fp
