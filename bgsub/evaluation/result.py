"""Hold what is to be evaluated, and what comes out."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bgsub.evaluation.confusion import Counts, Means
from bgsub.evaluation.mask_files import MaskFiles
from bgsub.evaluation.pairing import Matching
from bgsub.evaluation.score_curve import ScoreCurve


@dataclass(frozen=True)
class Pair:
    """One sequence to be evaluated.

    Attributes
    ----------
    masks, truth : str
        Paths; see `open_masks` and `open_truth`.
    offset : int, optional
        Frame number less number of the truth; found by the rules of `matching` by default.
    footage : str, optional
        What the masks were made of; known to results and to CDnet's layout.
    name : str, optional
        Of the sequence; from the truth's folder by default.
    """

    masks: str
    truth: str
    offset: int | None = None
    footage: str | None = None
    name: str | None = None


@dataclass(frozen=True)
class FrameCounts:
    """Counts of one frame: its number, the name of its truth, the counts."""

    frame: int
    truth: str
    counts: Counts


@dataclass(frozen=True, eq=False)
class WorstFrame:
    """A frame with many wrong pixels; `verdicts` is what `judge` gives, shape (h, w)."""

    frame: int
    counts: Counts
    verdicts: NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class SequenceScore:
    """What came out for one sequence.

    Attributes
    ----------
    name : str
    pair : Pair
    masks : MaskFiles
    matching : Matching
    frames : list of FrameCounts
        In order; those without any scored pixel left out.
    counts : Counts
        Their sum.
    threshold : float
        Level from which a pixel counted as foreground.
    worst : list of WorstFrame
        Those with the largest share of wrong pixels, the worst first.
    curve : ScoreCurve, optional
        Only of scores.
    footage : str, optional
        What the masks were made of, if it is there.
    notes : list of str
        What a user should know.
    """

    name: str
    pair: Pair
    masks: MaskFiles
    matching: Matching
    frames: list[FrameCounts]
    counts: Counts
    threshold: float
    worst: list[WorstFrame] = field(default_factory=list)
    curve: ScoreCurve | None = None
    footage: str | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What came out for some sequences.

    Attributes
    ----------
    sequences : list of SequenceScore
    total : Counts
        Summed over the sequences; of scores those at the one threshold that is best for all.
    means : Means
        Of the measures of the sequences.
    threshold : float, optional
        Of the total; None for masks.
    curve : ScoreCurve, optional
        Of all scores together.
    """

    sequences: list[SequenceScore]
    total: Counts
    means: Means
    threshold: float | None = None
    curve: ScoreCurve | None = None
