"""Run times that the paper reports, in 2014 and on other hardware: theirs, not ours.

Podosinnikova, Setzer and Hein, Table 1: the recording "Water Surface", 633 frames of 20480 pixels.
A range goes from the quickest to the slowest of k = 1, 3, 5, 7, 9; the table has LLD for k = 5
alone. It also has ORPCA, the RPCA of De la Torre and Black, and PCP, and the methods with
t = ⌈n/2⌉: those are not compared here.
"""

from __future__ import annotations

from dataclasses import dataclass


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
