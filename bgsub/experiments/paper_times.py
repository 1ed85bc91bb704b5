"""Run times that the paper reports, in 2014 and on other hardware: theirs, not ours.

Podosinnikova, Setzer and Hein, Table 1: the recording "Water Surface", 633 frames of 20480 pixels.
TRPCA's are the mean of one start, the others those of one full run with the search for their
parameter, PCP at λ = 0.001. LLD and PCP were run for k = 5 alone.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PaperColumn:
    """A column of Table 1.

    Attributes
    ----------
    name : str
        The paper's name.
    seconds : dict of int to float
        By k.
    """

    name: str
    seconds: dict[int, float]


PAPER_KS = (1, 3, 5, 7, 9)
"""Numbers of components in the table."""


def _column(name: str, *seconds: float) -> PaperColumn:
    return PaperColumn(name, dict(zip(PAPER_KS, seconds, strict=True)))


PAPER_TIMES = {
    "trpca": _column("trpca", 7, 99, 64, 114, 119),
    "trpca(.5)": _column("trpca(.5)", 13, 61, 78, 62, 92),
    "orpca": _column("orpca", 3659, 8151, 2797, 4138, 6371),
    "orpca(.5)": _column("orpca(.5)", 3450, 13852, 3726, 3153, 8508),
    "hrpca": _column("hrpca", 45990, 50491, 72009, 67174, 96954),
    "hrpca(.5)": _column("hrpca(.5)", 48603, 56090, 77344, 90931, 106782),
    "outlier-pursuit": PaperColumn("lld", {5: 232667}),
    "robust-subspace": _column("rpca", 1078, 730, 3615, 4230, 4113),
    "pcp": PaperColumn("pcp", {5: 875}),
}
"""By the names of entries of a comparison, in the paper's order."""
