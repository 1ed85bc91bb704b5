"""Run times that the paper reports, in 2014 and on other hardware: theirs, not ours.

Podosinnikova, Setzer and Hein, Table 1: the recording "Water Surface", 633 frames of 20480 pixels.
Only figures that are known to us are here. Which k a figure of a range belongs to is not, so ranges
stand for all of k = 1, 3, 5, 7, 9; of methods that are not here we know no figure.
"""

from __future__ import annotations

from dataclasses import dataclass

PAPER_FRAMES, PAPER_PIXELS = 633, 20480


@dataclass(frozen=True)
class PaperTime:
    """Seconds that the paper reports for a method.

    Attributes
    ----------
    low, high : float
        From the quickest to the slowest k; equal where there is one figure.
    note : str
    """

    low: float
    high: float
    note: str


PAPER_TIMES = {
    "trpca": PaperTime(7.0, 119.0, "one start; ours makes ten, and reweights"),
    "hrpca": PaperTime(45_990.0, 106_782.0, ""),
    "outlier-pursuit": PaperTime(232_667.0, 232_667.0, "LLD"),
}
"""By the names of `bgsub.robustpca.competitors.methods.METHODS`."""
