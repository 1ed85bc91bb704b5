"""Name a method together with what it is told of the outliers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A method as it takes part in a comparison.

    Attributes
    ----------
    method : str
        A name in `bgsub.robustpca.competitors.methods.COMPARED`.
    variant : str
        What tells it from other entries of the same method, such as ``(.5)``; empty for the first.
    support_fraction : float, optional
        t/n; None is the method's default, which is reweighted for TRPCA.
    lam : float, optional
        λ; None is the method's default.
    max_removals : int, optional
        Rows that HRPCA removes at most; None is 2(n − t).
    """

    method: str
    variant: str = ""
    support_fraction: float | None = None
    lam: float | None = None
    max_removals: int | None = None

    @property
    def name(self) -> str:
        """For tables and legends."""
        return f"{self.method}{self.variant}"
