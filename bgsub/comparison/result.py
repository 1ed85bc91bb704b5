"""What is compared, and what came of it: options, rows of the table, all of it together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import UsageError
from bgsub.options import RunOptions
from bgsub.robustpca.competitors.methods import METHODS

DEFAULT_METHODS = tuple(METHODS)
COLUMNS = (
    *("method", "k", "t", "seconds", "iterations", "converged", "objective"),
    *("auc", "average_precision", "true_outliers_flagged", "reason"),
)
"""Header of compare.csv."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """What is compared on which frames.

    Attributes
    ----------
    run : RunOptions
        Of these the frames, `support_fraction`, `lam`, `seed`, `cutoff`, `threads`, `memory`,
        `temp` and `fit_frames` matter.
    methods : tuple of str
        Names in `bgsub.robustpca.competitors.methods.METHODS`.
    ks : tuple of int
        Numbers of components.
    frames : tuple of int
        Numbers of the frames whose backgrounds are wanted; empty for one ordinary frame and the one
        that stands out most.
    timeout : float, optional
        Seconds after which a fit is given up.
    truth : str, optional
        A file as `bgsub.comparison.labels` reads it.

    Raises
    ------
    UsageError
        For a method that is not known, a k or a frame below 1, or a timeout of 0.
    """

    run: RunOptions = field(default_factory=RunOptions)
    methods: tuple[str, ...] = DEFAULT_METHODS
    ks: tuple[int, ...] = (10,)
    frames: tuple[int, ...] = ()
    timeout: float | None = None
    truth: str | None = None

    def __post_init__(self) -> None:
        unknown = [name for name in self.methods if name not in METHODS]
        if unknown:
            message = f"--methods: {unknown[0]!r} is no method; choose from {', '.join(METHODS)}"
            raise UsageError(message)
        if not self.methods or not self.ks:
            raise UsageError("--methods and --k: at least one method and one k are needed")
        for name, numbers in (("--k", self.ks), ("--frames", self.frames)):
            if numbers and min(numbers) < 1:
                raise UsageError(f"{name} {min(numbers)}: must be a whole number of 1 or more")
        if self.timeout is not None and not self.timeout > 0.0:
            raise UsageError(f"--timeout {self.timeout:g}: must be a number above 0")

    def to_json(self) -> dict[str, Any]:
        """All options as plain JSON values."""
        plain = self.run.to_json()
        return {
            "source": plain["source"],
            **{name: plain[name] for name in ("support_fraction", "seed", "cutoff", "threads")},
            **{name: plain[name] for name in ("memory", "temp", "fit_frames")},
            "methods": list(self.methods),
            "k": list(self.ks),
            "frames": list(self.frames),
            "timeout": self.timeout,
            "truth": self.truth,
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class MethodRow:
    """A method with a number of components; measures are None where there is nothing to measure.

    Attributes
    ----------
    method : str
    k, t : int
        Components, and frames that the objective is the mean of.
    seconds : float, optional
        Of the fit alone.
    iterations : int, optional
    converged : bool, optional
    objective : float, optional
        Mean of the t smallest r_i, in grey levels².
    auc, average_precision : float, optional
        Of r_i against the truth.
    true_outliers_flagged : float, optional
        Share of the true outliers whose score exceeds the cut-off.
    reason : str
        Why there is no result, or what the fit warned of.
    errors : ndarray of shape (n,), optional
        r_i.
    backgrounds : ndarray of shape (frames, p), optional
        Of the frames chosen, for the largest k.
    """

    method: str
    k: int
    t: int
    seconds: float | None = None
    iterations: int | None = None
    converged: bool | None = None
    objective: float | None = None
    auc: float | None = None
    average_precision: float | None = None
    true_outliers_flagged: float | None = None
    reason: str = ""
    errors: Floats | None = field(default=None, repr=False)
    backgrounds: Floats | None = field(default=None, repr=False)

    @property
    def failed(self) -> bool:
        """Whether there is no result."""
        return self.errors is None

    def cells(self) -> dict[str, Any]:
        """The values of compare.csv by the names of its columns."""
        return {name: getattr(self, name) for name in COLUMNS}


@dataclass(frozen=True, eq=False)
class Comparison:
    """What every method made of the same frames.

    Attributes
    ----------
    name : str
        Of the input.
    rows : list of MethodRow
    numbers, times : ndarray of shape (n,)
        Frame numbers and seconds.
    pixels : int
        p.
    labels : ndarray of shape (n,), optional
        1 for true outliers, 0 for ordinary frames, -1 unknown.
    chosen : list of int
        Numbers of the frames with pictures.
    pictures : list of ndarray of shape (h, w)
        These frames.
    backgrounds : dict of str to list of ndarray of shape (h, w)
        Their backgrounds by method, for the largest k.
    stages : dict of str to float
        Seconds of what was done once: ``decode`` and ``gram``.
    facts : dict
        Of the input, for a manifest.
    warnings : list of str
    """

    name: str
    rows: list[MethodRow]
    numbers: NDArray[np.int64]
    times: Floats
    pixels: int
    labels: NDArray[np.int8] | None
    chosen: list[int]
    pictures: list[Floats]
    backgrounds: dict[str, list[Floats]]
    stages: dict[str, float]
    facts: dict[str, Any]
    warnings: list[str]

    @property
    def methods(self) -> list[str]:
        """The methods, in order."""
        return list(dict.fromkeys(row.method for row in self.rows))

    @property
    def ks(self) -> list[int]:
        """The numbers of components, in order."""
        return list(dict.fromkeys(row.k for row in self.rows))
