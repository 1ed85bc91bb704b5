"""Declare what each experiment draws and fits."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bgsub.comparison.entry import Entry
from bgsub.comparison.result import CompareOptions
from bgsub.declared import Declared, documented, option
from bgsub.errors import UsageError
from bgsub.experiments.paper_times import PAPER_KS
from bgsub.input_rules import File
from bgsub.robustpca.competitors.methods import METHODS
from bgsub.rules import POSITIVE, Choice, Integer, Number, Several

if TYPE_CHECKING:  # NumPy takes longer to import than a help text should take
    import numpy as np
    from numpy.typing import NDArray

OTHERS = "others"
"""All other digits, in equal proportion."""

_PAPER_LAMBDA = 0.001
"""λ of PCP there, chosen by hand."""

_PERSON = ((638, 891), (1390, 1502))
"""Frames of "Moved Object" with a person."""

MANY_REMOVALS = 1 << 40
"""More than there are rows: HRPCA stops where no more than k + 1 are left."""

_experiment = functools.partial(option, "Experiment")
_data = functools.partial(option, "Data")
_comparison = functools.partial(option, "Comparison")


@dataclass(frozen=True, kw_only=True)
class _Draws(Declared):
    """What both experiments on drawn data take."""

    shares: tuple[float, ...] = _experiment(
        (0.1, 0.2, 0.3, 0.4, 0.45),
        Several(Number("a share of 0 or more, below 0.5", 0, 0.5, open_most=True), least=1),
        "Shares of outliers (λ), separated by commas.",
    )
    sets: int = _experiment(5, Integer(1), "Data sets for each point.")
    seed: int = _experiment(0, Integer(0), "The same seed gives the same numbers.", metavar="SEED")


@documented
@dataclass(frozen=True, kw_only=True)
class SyntheticOptions(_Draws):
    """Which synthetic data are drawn."""

    samples: int = _data(200, Integer(2), "Rows of each data set, n.")
    features: tuple[int, ...] = _data((100, 20), Several(Integer(2), least=1), "p, a panel each.")
    components: int = _data(5, Integer(1), "Components of the data and of the fits, k.")
    noise: float = _data(0.05, Number("a number of 0 or more", 0), "σ of the noise on true rows.")
    sigma: str = _experiment(
        "deviation",
        Choice(("deviation", "variance")),
        "What σ means where the paper writes N(0, σ), for noise and outliers.",
    )


@documented
@dataclass(frozen=True, kw_only=True)
class DigitOptions(_Draws):
    """Which digits are drawn, and how many outliers."""

    true: int = _experiment(
        1, Integer(0, 9), "The digit of the true observations.", metavar="DIGIT"
    )
    outliers: tuple[str, ...] = _experiment(
        ("0", OTHERS),
        Several(Choice((*"0123456789", OTHERS)), least=1),
        "A panel each: another digit, or others for all of them in equal proportion.",
    )
    ks: tuple[int, ...] = _experiment(
        (1, 5, 10),
        Several(Integer(1), least=1),
        "Numbers of components, separated by commas.",
        flag="--k",
    )
    samples: int = _experiment(200, Integer(1), "Pictures in each data set, at most.")
    sets: int = _experiment(3, Integer(1), "Data sets for each point.")
    data: str | None = _experiment(
        None,
        File(),
        "USPS or MNIST, as IDX, IDX.gz, libsvm text or .npz with X and y.",
        unset="the 8×8 digits of scikit-learn",
    )

    def __post_init__(self) -> None:
        """Check every value, and that the outliers are other digits."""
        super().__post_init__()
        if str(self.true) in self.outliers:
            message = f"--outliers {self.true}: must be {OTHERS} or a digit other than {self.true}"
            raise UsageError(message)


@documented
@dataclass(frozen=True, kw_only=True)
class TimesOptions(CompareOptions):
    """A comparison as in the paper's Table 1: methods that take a t run with both of its values."""

    ks: tuple[int, ...] = _comparison(
        PAPER_KS,
        Several(Integer(1), least=1),
        "Numbers of components, separated by commas; a row of the table each.",
        flag="--k",
    )
    pcp_lambda: float | None = _comparison(
        _PAPER_LAMBDA,
        POSITIVE,
        "λ of PCP; the other methods derive theirs from t, the number of inliers.",
        metavar="L",
        flag="--lambda",
    )
    truth: str | None = _comparison(
        None,
        File(),
        "True outliers as CSV: frame,outlier (0 or 1), or spans first,last; frames from 1. Methods "
        "run with t = |T| too, the number of the other frames.",
    )

    def entries(self, labels: NDArray[np.int8] | None) -> tuple[Entry, ...]:
        """List the columns of Table 1 that the methods make, then TRPCA as it is by default.

        With t = |T| where there are labels, and with ⌈n/2⌉, named ``(.5)``. As in the table,
        OPRPCA (LLD) has one column, for |T| if that is known.
        """
        return tuple(
            entry for name in dict.fromkeys(self.methods) for entry in self._of(name, labels)
        )

    def _of(self, name: str, labels: NDArray[np.int8] | None) -> Iterator[Entry]:
        if name == "pcp":
            yield Entry(method=name, lam=self.pcp_lambda)
            return
        if "--support-fraction" not in METHODS[name].parameters:
            yield Entry(method=name)
            return
        if labels is not None:
            # The paper's HRPCA goes on until all rows but k are removed.
            removals = MANY_REMOVALS if name == "hrpca" else None
            share = _true_share(labels)
            yield Entry(method=name, support_fraction=share, max_removals=removals)
        if labels is None or name != "outlier-pursuit":
            yield Entry(method=name, variant="(.5)", support_fraction=0.5)
        if name == "trpca":
            yield Entry(method=name, variant=" reweighted")


@documented
@dataclass(frozen=True, kw_only=True)
class MovedObjectOptions(TimesOptions):
    """The paper's second recording: a part of it by all methods, all of it by TRPCA."""

    ks: tuple[int, ...] = _comparison(
        (10,),
        Several(Integer(1), least=1),
        "Numbers of components, separated by commas; pictures are of the largest.",
        flag="--k",
    )
    frames: tuple[int, ...] = _comparison(
        (560, 651, 681),
        Several(Integer(1)),
        "Frames of the part whose decomposition is drawn, separated by commas.",
    )
    part: int = _comparison(
        892, Integer(2), "Last frame of the part that all methods are fitted to."
    )
    truth: str | None = _comparison(
        None,
        File(),
        "True outliers as CSV: frame,outlier (0 or 1), or spans first,last; frames from 1.",
        unset="a person in 638-891 and 1390-1502, as the paper says of its recording",
    )

    def labels(self, numbers: NDArray[np.int64]) -> NDArray[np.int8] | None:
        """Read the true outliers, or take those of the paper's recording.

        Raises
        ------
        UsageError
            If there is no file, and the frames are not those of the paper's recording.
        """
        if self.truth is not None:
            return super().labels(numbers)
        labels = (0 * numbers).astype("int8")
        for first, last in _PERSON:
            labels[(numbers >= first) & (numbers <= last)] = 1
        if labels.all() or not labels.any():
            spans = " and ".join(f"{first}-{last}" for first, last in _PERSON)
            here = f"frames {numbers.min()} to {numbers.max()} have"
            how = "no frame without" if labels.all() else "no frame of"
            message = f"without --truth somebody is taken to be in frames {spans}, but {here}"
            raise UsageError(f"{message} {how} that; say with --truth when somebody is there")
        return labels


def _true_share(labels: NDArray[np.int8]) -> float:
    """|T|/n, of the frames that are labelled.

    Raises
    ------
    UsageError
        If it is below a half.
    """
    known = labels[labels >= 0]
    true = int((known == 0).sum())
    if 2 * true < known.size:
        raise UsageError(
            f"--truth calls {known.size - true} of {known.size} frames outliers, but a robust fit "
            "can bear half of them at most"
        )
    return true / known.size
