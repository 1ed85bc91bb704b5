"""Settings of a fit: what of a run's options decides what frames are fitted with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """How frames are fitted.

    Attributes
    ----------
    method : str
        A key of `bgsub.robustpca.competitors.methods.METHODS`.
    k : int or "auto"
        Number of components.
    support_fraction : float or None
        Least share of the frames that are fitted, in [0.5, 1]; None is half of them.
    n_init, tol, max_iter, reweight
        As in `bgsub.TRPCA`, which alone has them.
    lam : float or None
        λ of the methods that have one; None is the method's own.
    seed : int
    cutoff : float or None
        Robust score above which a frame is an outlier; None is chosen from the frames.
    keep_choice : bool
        Look for the number of components even where k is given, to show what would be chosen.
    plots : bool
        Errors will be drawn, which takes an import that is better begun early.
    """

    method: str
    k: int | Literal["auto"]
    support_fraction: float | None = None
    n_init: int
    tol: float
    max_iter: int
    reweight: bool
    lam: float | None = None
    seed: int
    cutoff: float | None = None
    keep_choice: bool = False
    plots: bool = False
