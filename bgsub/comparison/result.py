"""Declare what is compared, and hold what came of it."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgsub.comparison.entry import Entry
from bgsub.declared import Declared, documented, option
from bgsub.errors import UsageError
from bgsub.input_rules import File
from bgsub.options import RunOptions
from bgsub.robustpca.competitors.methods import COMPARED, METHODS
from bgsub.rules import POSITIVE, Choice, Integer, Several

if TYPE_CHECKING:  # NumPy takes longer to import than `bgsub compare --help` should take
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_DEFAULT_METHODS = tuple(METHODS)
COLUMNS = (
    *("method", "k", "t", "seconds", "iterations", "converged", "objective"),
    *("auc", "average_precision", "true_outliers_flagged", "reason"),
)
"""Header of compare.csv."""


_comparison = functools.partial(option, "Comparison")


@documented
@dataclass(frozen=True, kw_only=True)
class CompareOptions(Declared):
    """What is compared on which frames.

    Of `run`, a `RunOptions`, the options of the input, `support_fraction`, `seed`, `cutoff`,
    `threads`, `memory`, `temp` and `fit_frames` matter.
    """

    run: RunOptions = field(default_factory=RunOptions)

    methods: tuple[str, ...] = _comparison(
        _DEFAULT_METHODS,
        Several(Choice(tuple(COMPARED)), least=1),
        "Methods, separated by commas: those of `bgsub methods`, and online, TRPCA of a sliding "
        "window.",
        unset="those of `bgsub methods`",
    )
    ks: tuple[int, ...] = _comparison(
        (10,),
        Several(Integer(1), least=1),
        "Numbers of components, separated by commas: 1,3,5,7,9.",
        flag="--k",
    )
    pcp_lambda: float | None = _comparison(
        None,
        POSITIVE,
        "λ of PCP; the other methods derive theirs from t, the number of inliers.",
        metavar="L",
        flag="--lambda",
        unset="1/√ of the frames or pixels, whichever are more",
    )
    frames: tuple[int, ...] = _comparison(
        (),
        Several(Integer(1)),
        "Frames whose decomposition is drawn, separated by commas.",
        unset="an ordinary one and the one that stands out most",
    )
    timeout: float | None = _comparison(
        None,
        POSITIVE,
        "Give up a fit after this many seconds; the others go on.",
        metavar="SECONDS",
    )
    truth: str | None = _comparison(
        None,
        File(),
        "True outliers as CSV: frame,outlier (0 or 1), or spans first,last; frames from 1.",
    )

    def __post_init__(self) -> None:
        """Check every value, and that λ has a method that takes it."""
        super().__post_init__()
        default = next(one.default for one in fields(self) if one.name == "pcp_lambda")
        if self.pcp_lambda != default and "pcp" not in self.methods:
            raise UsageError("--lambda has no effect without pcp among --methods; leave it out")

    def labels(self, numbers: NDArray[np.int64]) -> NDArray[np.int8] | None:
        """Read which of the frames of these numbers are true outliers; None where it is unknown."""
        from bgsub.comparison.labels import read_labels

        return None if self.truth is None else read_labels(Path(self.truth), numbers)

    def entries(self, labels: NDArray[np.int8] | None) -> tuple[Entry, ...]:
        """List what takes part, given the labels that `labels` read."""
        del labels
        share = self.run.support_fraction
        return tuple(
            Entry(
                method=name, support_fraction=share, lam=self.pcp_lambda if name == "pcp" else None
            )
            for name in dict.fromkeys(self.methods)
        )

    def to_json(self) -> dict[str, Any]:
        """Give the options that matter as plain JSON values."""
        run, own = self.run.to_json(), super().to_json()
        shared = ("source", "support_fraction", "seed", "cutoff", "threads", "memory", "temp")
        own["k"] = own.pop("ks")
        return {name: run[name] for name in (*shared, "fit_frames")} | own


@dataclass(frozen=True, eq=False, kw_only=True)
class MethodRow:
    """A method with a number of components; measures are None where there is nothing to measure.

    Attributes
    ----------
    method : str
    variant : str
        See `Entry`.
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
    variant: str = ""
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
    def name(self) -> str:
        """Method and variant, for tables and legends."""
        return f"{self.method}{self.variant}"

    @property
    def failed(self) -> bool:
        """Say whether there is no result."""
        return self.errors is None

    def cells(self) -> dict[str, Any]:
        """Give the values of compare.csv by the names of its columns."""
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
        Their backgrounds by name, for the largest k.
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
    def names(self) -> list[str]:
        """The names of the rows, in order."""
        return list(dict.fromkeys(row.name for row in self.rows))

    @property
    def ks(self) -> list[int]:
        """The numbers of components, in order."""
        return list(dict.fromkeys(row.k for row in self.rows))
