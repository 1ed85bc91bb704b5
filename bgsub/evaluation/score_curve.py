"""Compute precision, recall and the best F-measure of scores over all thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bgsub.evaluation.confusion import BACKGROUND, FOREGROUND, Counts

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
        """Give a curve of no pixels."""
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
        """Give thresholds, decreasing, with their precision and recall, shape (m,) each.

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
