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

BACKGROUND, FOREGROUND, UNSCORED = 0, 1, 2  # what a pixel of the truth is
_LEVELS = 1 << 16


class Verdict:
    """What a pixel of a mask is, given the truth: 2 × truth + mask."""

    TN, FP, FN, TP, UNSCORED, UNSCORED_MARKED = range(6)


class Counts(NamedTuple):
    """Scored pixels: true and false positives, false and true negatives."""

    tp: int = 0
    fp: int = 0
    fn: int = 0
    tn: int = 0

    @classmethod
    def sum(cls, counts: Iterable[Self]) -> Self:
        """Add counts up."""
        return cls(*(sum(column) for column in zip(*counts, strict=True)))

    @classmethod
    def of(cls, verdicts: NDArray[np.uint8]) -> Self:
        """Count the verdicts of scored pixels."""
        tally = np.bincount(verdicts.ravel(), minlength=6).tolist()
        return cls(tally[Verdict.TP], tally[Verdict.FP], tally[Verdict.FN], tally[Verdict.TN])

    @property
    def wrong(self) -> int:
        """Pixels that the mask has wrong."""
        return self.fp + self.fn

    @property
    def f_measure(self) -> float | None:
        """The harmonic mean of precision and recall."""
        return self.measures()["f_measure"]

    def measures(self) -> dict[str, float | None]:
        """Return all measures by name; pwc is the percentage of wrong classifications."""
        tp, fp, fn, tn = self
        ratios = {
            "precision": (tp, tp + fp),
            "recall": (tp, tp + fn),
            "f_measure": (2 * tp, 2 * tp + fp + fn),
            "iou": (tp, tp + fp + fn),
            "specificity": (tn, tn + fp),
            "fpr": (fp, fp + tn),
            "fnr": (fn, tp + fn),
            "pwc": (100 * (fn + fp), tp + fp + fn + tn),
        }
        return {name: part / whole if whole else None for name, (part, whole) in ratios.items()}


# The names of the measures, in the order in which they are printed.
MEASURES = tuple(Counts().measures())


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are defined."""
    defined = [value for value in values if value is not None]
    return sum(defined) / len(defined) if defined else None


def mean_measures(counts: Iterable[Counts]) -> dict[str, float | None]:
    """Return the mean of each measure over sequences, those where it is undefined left out."""
    rows = [one.measures() for one in counts]
    return {name: mean(row[name] for row in rows) for name in MEASURES}


@dataclass(frozen=True, eq=False)
class ScoreCurve:
    """How many pixels of the truth's foreground and background have each score, (65536,)."""

    positives: NDArray[np.int64]
    negatives: NDArray[np.int64]

    @classmethod
    def empty(cls) -> Self:
        """Return a curve of no pixels."""
        return cls(np.zeros(_LEVELS, np.int64), np.zeros(_LEVELS, np.int64))

    def add(self, scores: NDArray[np.uint8] | NDArray[np.uint16], truth: NDArray[np.uint8]) -> None:
        """Count the pixels of one picture; `truth` holds the classes of `classify`."""
        for total, kind in ((self.positives, FOREGROUND), (self.negatives, BACKGROUND)):
            found = np.bincount(scores[truth == kind])
            total[: found.size] += found

    def __add__(self, other: ScoreCurve) -> ScoreCurve:
        return ScoreCurve(self.positives + other.positives, self.negatives + other.negatives)

    def counts(self, threshold: int) -> Counts:
        """Count right and wrong pixels at a threshold."""
        tp, fp = int(self.positives[threshold:].sum()), int(self.negatives[threshold:].sum())
        return Counts(tp, fp, int(self.positives.sum()) - tp, int(self.negatives.sum()) - fp)

    def best_threshold(self) -> int:
        """Return the highest threshold of best F; above all scores if there is no foreground."""
        levels, tp, fp = self._marked()
        positives = int(self.positives.sum())
        if not positives:
            return int(levels[0]) + 1 if levels.size else 0
        # F = 2 TP / (2 TP + FP + FN), and TP + FN are all positives.
        return int(levels[np.argmax(2 * tp / (tp + fp + positives))])

    def precision_recall(
        self,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Return thresholds, decreasing, with precision and recall; empty without foreground."""
        levels, tp, fp = self._marked()
        if not self.positives.any():
            return levels[:0], np.empty(0), np.empty(0)
        return levels, tp / (tp + fp), tp / tp[-1]

    @property
    def average_precision(self) -> float | None:
        """Σ (R_j − R_(j−1)) P_j over decreasing thresholds; None without foreground."""
        _, precision, recall = self.precision_recall()
        return float(np.sum(np.diff(recall, prepend=0.0) * precision)) if recall.size else None

    def _marked(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the scores that occur, decreasing, and true and false positives at each."""
        levels = np.flatnonzero(self.positives + self.negatives)[::-1].astype(np.int64)
        return levels, np.cumsum(self.positives[levels]), np.cumsum(self.negatives[levels])
