"""Declare what each experiment draws and fits."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from bgsub.comparison.result import CompareOptions
from bgsub.declared import Declared, documented, option
from bgsub.errors import UsageError
from bgsub.rules import Choice, File, Integer, Number, Several

OTHERS = "others"
"""All other digits, in equal proportion."""

_PAPER_KS = (1, 3, 5, 7, 9)
"""Numbers of components in the paper's Table 1."""

_experiment = functools.partial(option, "Experiment")
_data = functools.partial(option, "Data")


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
        "What σ is where the paper writes N(0, σ), for noise and outliers.",
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
    """A comparison whose numbers of components are those of the paper's Table 1."""

    ks: tuple[int, ...] = option(
        "Comparison",
        _PAPER_KS,
        Several(Integer(1), least=1),
        "Numbers of components, separated by commas.",
        flag="--k",
    )
