"""Declare what comparisons and experiments take, and what they result in."""

from __future__ import annotations

import csv
import functools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgsub.errors import InputError, UsageError
from bgsub.options import Declared, RunOptions, documented, option
from bgsub.robustpca.competitors import COMPARED, METHODS, Settings
from bgsub.rules import POSITIVE, Choice, File, Integer, Number, Several
from bgsub.runtime.files import open_csv

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_DEFAULT_METHODS = tuple(METHODS)
COLUMNS = (  # header of compare.csv
    *("method", "k", "t", "seconds", "iterations", "converged", "objective"),
    *("auc", "average_precision", "true_outliers_flagged", "reason"),
)
UNKNOWN = -1  # label of a frame that is not listed
_FORMS = (("frame", "outlier"), ("first", "last"), ("first_frame", "last_frame"))
PAPER_KS = (1, 3, 5, 7, 9)  # numbers of components in Table 1
# What the table calls methods that have another name here.
PAPER_NAMES = {"outlier-pursuit": "lld", "robust-subspace": "rpca"}
_SECONDS: dict[str, tuple[float | None, ...]] = {
    "trpca": (7, 99, 64, 114, 119),
    "trpca(.5)": (13, 61, 78, 62, 92),
    "orpca": (3659, 8151, 2797, 4138, 6371),
    "orpca(.5)": (3450, 13852, 3726, 3153, 8508),
    "hrpca": (45990, 50491, 72009, 67174, 96954),
    "hrpca(.5)": (48603, 56090, 77344, 90931, 106782),
    "outlier-pursuit": (None, None, 232667, None, None),
    "robust-subspace": (1078, 730, 3615, 4230, 4113),
    "pcp": (None, None, 875, None, None),
}
PAPER_TIMES = {  # its seconds by k, by the names of entries of a comparison, in the paper's order
    name: {k: each for k, each in zip(PAPER_KS, seconds, strict=True) if each is not None}
    for name, seconds in _SECONDS.items()
}
OTHERS = "others"  # all other digits, in equal proportion
_PAPER_LAMBDA = 0.001  # λ of PCP in the paper, chosen by hand
_PERSON = ((638, 891), (1390, 1502))  # frames of "Moved Object" with a person
_comparison = functools.partial(option, "Comparison")
_experiment = functools.partial(option, "Experiment")
_data = functools.partial(option, "Data")
MANY_REMOVALS = 1 << 40  # more than there are rows: HRPCA stops where no more than k + 1 are left


@dataclass(frozen=True, kw_only=True)
class Entry(Settings):
    """A method of `COMPARED` as it takes part in a comparison; the variant tells it from others."""

    method: str
    variant: str = ""

    @property
    def name(self) -> str:
        """For tables and legends."""
        return f"{self.method}{self.variant}"


def _ks(default: tuple[int, ...], more: str = "", section: str = "Comparison") -> Any:
    text = f"Numbers of components, separated by commas{more}."
    return option(section, default, Several(Integer(1), least=1), text, flag="--k")


def _lambda(default: float | None, **more: Any) -> Any:
    text = "λ of PCP; the other methods derive theirs from t, the number of inliers."
    return _comparison(default, POSITIVE, text, metavar="L", flag="--lambda", **more)


def _truth(more: str = "", **unset: Any) -> Any:
    text = "True outliers as CSV: frame,outlier (0 or 1), or spans first,last; frames from 1."
    return _comparison(None, File(), text + more, **unset)


def read_labels(path: Path, numbers: NDArray[np.int64]) -> NDArray[np.int8]:
    """Read the labels of frames, by their numbers: 1 for outliers, 0 for ordinary, `UNKNOWN`.

    A CSV file with a header, in one of two forms; other columns are ignored, so that the errors.csv
    of a run and the events of ``bgsub errors --format csv`` can be given once they have been
    checked by eye: ``frame,outlier``, one line a frame, of which those that are not listed are not
    judged; or ``first,last`` or ``first_frame,last_frame``, one line a span of outliers, both ends
    included, where all other frames are ordinary.
    """
    what = "is no CSV text file, which must begin with frame,outlier or first,last"
    with open_csv(path, what) as file:
        lines = csv.reader(file, strict=True)
        header = [name.strip().lower() for name in next(lines, [])]
        names = next((pair for pair in _FORMS if set(pair) <= set(header)), None)
        if names is None:
            raise InputError(f"{path}: its first line must be frame,outlier or first,last")
        columns = [header.index(name) for name in names]
        labels = (0 * numbers + (UNKNOWN if names == _FORMS[0] else 0)).astype("int8")
        for line, row in enumerate(lines, start=2):
            if not any(cell.strip() for cell in row):
                continue
            try:
                first, last = (_whole(row, column, header[column]) for column in columns)
                if names == _FORMS[0]:
                    if last not in {0, 1}:
                        raise ValueError(f"outlier {last} is neither 0 nor 1")  # noqa: TRY301 - as below
                    labels[numbers == first] = last
                elif last < first:
                    raise ValueError(f"last {last} lies before first {first}")  # noqa: TRY301 - as above
                else:
                    labels[(numbers >= first) & (numbers <= last)] = 1
            except ValueError as error:
                raise InputError(f"{path}, line {line}: {error}") from error
    outliers, ordinary = int((labels == 1).sum()), int((labels == 0).sum())
    if not outliers or not ordinary:
        raise InputError(
            f"{path}: marks {outliers} of the {numbers.size} frames compared as outliers and "
            f"{ordinary} as ordinary; some of both are needed"
        )
    return labels


def _whole(row: list[str], column: int, name: str) -> int:
    """Read the number in a column; ValueError says what is wrong with it."""
    if column >= len(row):
        raise ValueError(f"{name} is missing")
    try:
        return int(row[column])
    except ValueError as error:
        raise ValueError(f"{name} {row[column].strip()!r} is not a whole number") from error


@documented
class CompareOptions(Declared):
    """What is compared on which frames; of `run`, what `to_json` returns matters."""

    run: RunOptions = field(default_factory=RunOptions)

    methods: tuple[str, ...] = _comparison(
        _DEFAULT_METHODS,
        Several(Choice(tuple(COMPARED)), least=1),
        "Methods, separated by commas: those of `bgsub methods`, and online, TRPCA of a sliding "
        "window.",
        unset="those of `bgsub methods`",
    )
    ks: tuple[int, ...] = _ks((10,), ": 1,3,5,7,9")
    pcp_lambda: float | None = _lambda(
        None, unset="1/√ of the frames or pixels, whichever are more"
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
    truth: str | None = _truth()

    @property
    def unused(self) -> list[str]:
        """What has no effect with the other options, and why; for a warning."""
        needless = "pcp_lambda" in self.changed() and "pcp" not in self.methods
        return ["--lambda has no effect without pcp among --methods"] if needless else []

    def labels(self, numbers: NDArray[np.int64]) -> NDArray[np.int8] | None:
        """Read which of the frames of these numbers are true outliers; None where it is unknown."""
        return None if self.truth is None else read_labels(Path(self.truth), numbers)

    def entries(self, labels: NDArray[np.int8] | None) -> tuple[Entry, ...]:
        """List what takes part, given the labels that `labels` read."""
        del labels
        share, lam = self.run.support_fraction, {"pcp": self.pcp_lambda}
        return tuple(
            Entry(method=name, support_fraction=share, lam=lam.get(name))
            for name in dict.fromkeys(self.methods)
        )

    def to_json(self) -> dict[str, Any]:
        """Return the options that matter as plain JSON values."""
        run, own = self.run.to_json(), super().to_json()
        shared = ("source", "support_fraction", "seed", "cutoff", "threads", "memory", "temp")
        own["k"] = own.pop("ks")
        return {name: run[name] for name in (*shared, "fit_frames")} | own


@dataclass(frozen=True, eq=False, kw_only=True)
class MethodRow:
    """A method with k components; measures are None where there is nothing to measure."""

    method: str
    k: int
    t: int
    variant: str = ""
    seconds: float | None = None
    iterations: int | None = None
    converged: bool | None = None
    objective: float | None = None  # mean of the t smallest r_i, in grey levels²
    auc: float | None = None
    average_precision: float | None = None
    # Share of the true outliers whose score exceeds the cut-off.
    true_outliers_flagged: float | None = None
    reason: str = ""  # why there is no result, or what the fit warned of
    errors: Floats | None = field(default=None, repr=False)  # r_i, shape (n,)
    # Of the frames chosen, for the largest k.
    backgrounds: Floats | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Method and variant, for tables and legends."""
        return f"{self.method}{self.variant}"

    def cells(self) -> dict[str, Any]:
        """Return the values of compare.csv by the names of its columns."""
        return {name: getattr(self, name) for name in COLUMNS}


@dataclass(frozen=True, eq=False)
class Comparison:
    """What every method made of the same frames of an input."""

    name: str
    rows: list[MethodRow]
    numbers: NDArray[np.int64]
    times: Floats
    pixels: int
    labels: NDArray[np.int8] | None  # 1 for true outliers, 0 for ordinary frames, -1 unknown
    chosen: list[int]  # numbers of the frames with pictures
    pictures: list[Floats]
    # Of these frames by the names of the rows, for the largest k.
    backgrounds: dict[str, list[Floats]]
    stages: dict[str, float]  # seconds of what was done once: ``decode`` and ``gram``
    facts: dict[str, Any]  # of the input, for a manifest
    warnings: list[str]

    @property
    def names(self) -> list[str]:
        """The names of the rows, in order."""
        return list(dict.fromkeys(row.name for row in self.rows))

    @property
    def ks(self) -> list[int]:
        """The numbers of components, in order."""
        return list(dict.fromkeys(row.k for row in self.rows))


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
    ks: tuple[int, ...] = _ks((1, 5, 10), section="Experiment")
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
class TimesOptions(CompareOptions):
    """A comparison as in the paper's Table 1: methods that take a t run with both of its values."""

    ks: tuple[int, ...] = _ks(PAPER_KS, "; a row of the table each")
    pcp_lambda: float | None = _lambda(_PAPER_LAMBDA)
    truth: str | None = _truth(" Methods run with t = |T| too, the number of the other frames.")

    def entries(self, labels: NDArray[np.int8] | None) -> tuple[Entry, ...]:
        """List the columns of Table 1 that the methods make, then TRPCA as it is by default.

        With t = |T| where there are labels, and with ⌈n/2⌉, named ``(.5)``; OPRPCA (LLD) has one.
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
            known, true = int((labels >= 0).sum()), int((labels == 0).sum())
            if 2 * true < known:
                raise UsageError(
                    f"--truth calls {known - true} of {known} frames outliers, but a robust fit "
                    "can bear half of them at most"
                )
            yield Entry(method=name, support_fraction=true / known, max_removals=removals)
        if labels is None or name != "outlier-pursuit":
            yield Entry(method=name, variant="(.5)", support_fraction=0.5)
        if name == "trpca":
            yield Entry(method=name, variant=" reweighted")


@documented
class MovedObjectOptions(TimesOptions):
    """The paper's second recording: a part of it by all methods, all of it by TRPCA."""

    ks: tuple[int, ...] = _ks((10,), "; pictures are of the largest")
    frames: tuple[int, ...] = _comparison(
        (560, 651, 681),
        Several(Integer(1)),
        "Frames of the part whose decomposition is drawn, separated by commas.",
    )
    part: int = _comparison(
        892, Integer(2), "Last frame of the part that all methods are fitted to."
    )
    truth: str | None = _truth(
        unset="a person in 638-891 and 1390-1502, as the paper says of its recording"
    )

    @property
    def whole(self) -> CompareOptions:
        """The comparison on all frames: TRPCA alone, and no pictures."""
        return replace(self, methods=("trpca",), frames=(), pcp_lambda=_PAPER_LAMBDA)

    @property
    def first_part(self) -> CompareOptions:
        """The comparison on the frames up to the end of the part."""
        source = replace(self.run.source, end=self.part)
        return replace(self, run=replace(self.run, source=source))

    def labels(self, numbers: NDArray[np.int64]) -> NDArray[np.int8] | None:
        """Read the true outliers, or take those of the paper's recording."""
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
