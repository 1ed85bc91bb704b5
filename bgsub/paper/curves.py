"""Run the experiments on data of which it is known what is true: synthetic data and digits.

Measured is how good a centre and components are, and how well errors separate outliers. In all of
them r_i(m, U) = ‖(UUᵀ − I)(x_i − m)‖² is the reconstruction error of an observation.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import math
import struct
import time
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from bgsub.errors import BgsubWarning, InputError, UsageError
from bgsub.options import ProgressCallback, no_progress
from bgsub.paper.options import MANY_REMOVALS, OTHERS, DigitOptions, SyntheticOptions
from bgsub.paper.synthetic import data1, data2
from bgsub.robustpca.base import AffineEstimator, residuals
from bgsub.robustpca.competitors.row_methods import HRPCA, PCA
from bgsub.robustpca.competitors.row_sparse import ORPCA, OutlierPursuit
from bgsub.robustpca.conventions import check_matrix
from bgsub.robustpca.trpca import TRPCA
from bgsub.runtime.files import check_plain
from bgsub.runtime.threads import one_blas_thread
from bgsub.version import how_to_install
from bgsub.video.arrays import ArrayArchive, ArrayFileError


def tre(center: ArrayLike, components: ArrayLike, T: NDArray[Any]) -> float:
    r"""Compute the error of the true observations above the least that is possible.

    .. math::
        \mathrm{tre}(m, U) = \frac{1}{|T|} \Big( \sum_{i \in T} r_i(m, U)
                             - \sum_{i \in T} r_i(m_T, U_T) \Big)

    where (m_T, U_T) is the classical PCA of T alone with as many components: the second sum is that
    of the squared singular values of T − 1m_Tᵀ after the k-th. In squared units of T.
    """
    components = np.atleast_2d(np.asarray(components, dtype=np.float64))
    T = check_matrix(T)
    reached = residuals(T, np.asarray(center, dtype=np.float64), components).sum()
    centred = T - T.mean(axis=0, dtype=np.float64)
    least = (scipy.linalg.svdvals(centred)[len(components) :] ** 2).sum()
    return float((reached - least) / len(T))


def auc(errors: ArrayLike, outliers: ArrayLike) -> float:
    r"""Compute the area under the receiver operating characteristic of errors as outlier scores.

    .. math::
        \mathrm{AUC} = P(r_o > r_i) + \tfrac12 P(r_o = r_i)

    for a random outlier o and a random true observation i; 0.5 for a score that knows nothing.

    Examples
    --------
    >>> auc([0.1, 0.2, 0.9], [False, False, True])
    1.0
    """
    values, marked = _check_labels(errors, outliers)
    true, outlying = np.sort(values[~marked]), values[marked]
    below = np.searchsorted(true, outlying) + np.searchsorted(true, outlying, side="right")
    return float(below.sum() / 2 / (len(outlying) * len(true)))


def average_precision(errors: ArrayLike, outliers: ArrayLike) -> float:
    r"""Compute the average precision of errors as outlier scores.

    .. math::
        \mathrm{AP} = \sum_j (R_j - R_{j-1}) P_j

    over the distinct errors in descending order, with P_j and R_j the precision and recall of
    taking everything from the j-th up as an outlier; the share of outliers for a score that knows
    nothing.

    Examples
    --------
    >>> average_precision([3.0, 2.0, 1.0], [True, False, True])
    0.8333333333333333
    """
    values, marked = _check_labels(errors, outliers)
    order = np.argsort(values)[::-1]
    values, marked = values[order], marked[order]
    found = np.cumsum(marked)
    last = np.flatnonzero(np.append(values[1:] != values[:-1], True))
    precision = found[last] / (last + 1)
    recall = found[last] / found[-1]
    return float(np.sum(np.diff(recall, prepend=0.0) * precision))


def _check_labels(errors: ArrayLike, outliers: ArrayLike) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    values, marked = np.asarray(errors), np.asarray(outliers, dtype=bool)
    if values.ndim != 1 or values.shape != marked.shape:
        message = (
            f"errors {values.shape}, outliers {marked.shape}: two vectors of one length are needed"
        )
        raise ValueError(message)
    if not np.isfinite(values).all():
        message = "errors: every entry must be a finite number"
        raise ValueError(message)
    if marked.all() or not marked.any():
        message = f"outliers marks {marked.sum()} of {marked.size}: some but not all are needed"
        raise ValueError(message)
    return values, marked


Floats = NDArray[np.float64]

_OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_IDX_BYTES = b"\0\0\x08"
_ARRAY_NAMES = (("X", "y"), ("x_train", "y_train"))
_MOST_FEATURES = 1 << 20


@dataclass(frozen=True, eq=False)
class Digits:
    """Pictures of digits 0 … 9, one a row, scaled so that the largest magnitude is 1."""

    X: Floats
    labels: NDArray[np.int64]
    name: str


def load_digits(path: Path | None) -> Digits:
    """Read pictures of digits from a file or folder; None is the 8×8 digits of scikit-learn."""
    if path is None:
        return _shipped()
    check_plain(path)
    try:
        if path.is_dir():
            path = _images_in(path)
        read = _read_idx_pair if _is_idx(path) else read_libsvm
        X, labels = (_read_arrays if path.suffix.lower() == ".npz" else read)(path)
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror or error})"
        raise InputError(message) from error
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        message = f"{path}: is damaged ({error}); get it again"
        raise InputError(message) from error
    if X.ndim < 2 or labels.shape != X.shape[:1] or not X.size:
        sizes = ("×".join(map(str, each.shape)) for each in (X, labels))
        message = (
            f"{path}: its pictures and digits are {' and '.join(sizes)}; one digit for each "
            "picture is needed"
        )
        raise InputError(message)
    if X.dtype.kind not in "biuf" or labels.dtype.kind not in "biuf":
        raise InputError(f"{path}: pictures and digits must be numbers")
    X = X.reshape(len(X), -1).astype(np.float64)
    if not np.isfinite(X).all() or not np.isfinite(labels).all():
        raise InputError(f"{path}: holds a value that is no finite number")
    peak = float(np.abs(X).max())
    return Digits(X / peak if peak else X, labels.astype(np.int64), path.name)


def _shipped() -> Digits:
    try:
        from sklearn.datasets import load_digits as load
    except ImportError as error:
        message = (
            "the digits come with scikit-learn, which is not installed; "
            f"{how_to_install('experiments')} installs it, or name USPS or MNIST with --data"
        )
        raise InputError(message) from error
    X, labels = load(return_X_y=True)
    return Digits(np.asarray(X, dtype=np.float64) / 16.0, labels.astype(np.int64), "digits 8×8")


def _images_in(folder: Path) -> Path:
    found = sorted(file for file in folder.iterdir() if "images" in file.name and _is_idx(file))
    if not found:
        message = f"{folder}: holds no IDX file of images, such as train-images-idx3-ubyte.gz"
        raise InputError(message)
    training = [file for file in found if "train" in file.name]
    return (training or found)[0]


def _read(path: Path, count: int = -1) -> bytes:
    opener: Any = _OPENERS.get(path.suffix.lower(), open)
    with opener(path, "rb") as file:
        data: bytes = file.read(count)
    return data


def _is_idx(path: Path) -> bool:
    """Return whether a file begins with the magic number of IDX bytes."""
    return path.is_file() and _read(path, 3) == _IDX_BYTES


def _read_idx_pair(path: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    images = read_idx(path)
    name = path.name.replace("images", "labels").replace("idx3", "idx1")
    beside = path.with_name(name)
    if name == path.name or not beside.is_file():
        message = f"{path}: its labels are missing; they must be beside it, as {name}"
        raise InputError(message)
    labels = read_idx(beside)
    if images.ndim < 2 or labels.shape != images.shape[:1]:
        sizes = ("×".join(map(str, each.shape)) for each in (images, labels))
        raise InputError(
            f"{path}: holds {next(sizes)} bytes, but {beside} {next(sizes)}; one label for each "
            "picture is needed"
        )
    return images, labels


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read an IDX file of bytes, compressed or not."""
    data = _read(path)
    dimensions = data[3] if len(data) >= 4 and data[:3] == _IDX_BYTES else 0
    start = 4 + 4 * dimensions
    if not 1 <= dimensions <= 4 or len(data) < start:
        raise InputError(f"{path}: is no IDX file of bytes")
    shape = struct.unpack(f">{dimensions}I", data[4:start])
    if len(data) - start != math.prod(shape):
        message = (
            f"{path}: should hold {math.prod(shape)} bytes behind its header, but holds "
            f"{len(data) - start}; get it again"
        )
        raise InputError(message)
    return np.frombuffer(data, dtype=np.uint8, offset=start).reshape(shape)


def read_libsvm(path: Path) -> tuple[Floats, Floats]:
    """Read the text format of libsvm, compressed or not; values that a line leaves out are 0."""
    try:
        lines = _read(path).decode("ascii").splitlines()
    except UnicodeDecodeError as error:
        message = f"{path}: is neither IDX nor the text format of libsvm"
        raise InputError(message) from error
    labels, rows, columns, values = [], [], [], []
    for number, line in enumerate(lines, start=1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        try:
            labels.append(float(words[0]))
            pairs = [word.split(":", 1) for word in words[1:]]
            indices = [int(index) for index, _ in pairs]
            if not all(1 <= index <= _MOST_FEATURES for index in indices):
                raise ValueError(line)  # noqa: TRY301 - one message for all
            columns += indices
            values += [float(value) for _, value in pairs]
        except ValueError as error:
            message = f"{path}, line {number}: is not label index:value …, as libsvm has it"
            raise InputError(message) from error
        rows += [len(labels) - 1] * len(pairs)
    if not labels or not values:
        raise InputError(f"{path}: holds no pictures")
    digits = np.array(labels)
    X = np.zeros((len(labels), max(columns)))
    X[rows, np.array(columns) - 1] = values
    if digits.min() >= 1 and digits.max() == 10:
        digits = digits - 1
    return X, digits


def _read_arrays(path: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    try:
        with ArrayArchive(path) as arrays:
            names = next((pair for pair in _ARRAY_NAMES if set(pair) <= set(arrays)), None)
            if names is None:
                wanted = " or ".join(" and ".join(pair) for pair in _ARRAY_NAMES)
                message = f"{path}: holds {', '.join(arrays) or 'nothing'}; it must hold {wanted}"
                raise InputError(message)
            return arrays[names[0]], arrays[names[1]]
    except ArrayFileError as error:
        message = f"{path}: {error}"
        raise InputError(message) from error


@dataclass(frozen=True, eq=False)
class Variant:
    """A method with what it is told of the outliers."""

    name: str
    method: str
    """In `bgsub.robustpca.competitors.METHODS`."""
    t: str
    """``true`` if it is told the true number, ``half`` if it takes ⌈n/2⌉, empty if it has no t."""
    kind: Callable[..., AffineEstimator]
    told: dict[str, Any] = field(default_factory=dict)
    """Besides k, t and the seed."""

    def make(self, k: int, share: float, seed: int) -> AffineEstimator:
        """Make an unfitted estimator, given the true t/n."""
        own: dict[str, Any] = {"support_fraction": share} if self.t == "true" else {}
        if self.kind in {TRPCA, HRPCA}:
            own["random_state"] = seed
        return self.kind(k, **own, **self.told)


VARIANTS = (
    Variant("TRPCA", "trpca", "true", TRPCA, {"reweight": False}),
    Variant("TRPCA(.5)", "trpca", "half", TRPCA, {"reweight": False}),
    Variant("TRPCA(.5) reweighted", "trpca", "half", TRPCA),
    Variant("ORPCA", "orpca", "true", ORPCA),
    Variant("ORPCA(.5)", "orpca", "half", ORPCA),
    Variant("OPRPCA", "outlier-pursuit", "true", OutlierPursuit),
    Variant("OPRPCA(.5)", "outlier-pursuit", "half", OutlierPursuit),
    Variant("OPRPCA, rank k", "outlier-pursuit", "", OutlierPursuit, {"lam": "rank"}),
    Variant("HRPCA", "hrpca", "true", HRPCA),
    Variant("HRPCA, T = n", "hrpca", "true", HRPCA, {"max_removals": MANY_REMOVALS}),
    Variant("HRPCA(.5)", "hrpca", "half", HRPCA),
    Variant("PCA", "pca", "", PCA),
)
"""Every row-outlier method with true t and with ⌈n/2⌉, and PCA.

For OPRPCA "true" and "half" mean λ such that no more than n − t rows are outliers; "rank k" takes
the least λ with which the low-rank part has rank k. HRPCA removes 2(n − t) rows at most, "T = n"
goes on until none can be removed, as its paper has it; with t = ⌈n/2⌉ the two are the same.
"""


@dataclass(frozen=True)
class Score:
    """How a variant did on one data set."""

    tre: float
    seconds: float
    converged: bool


def judge(variant: Variant, X: Floats, labels: NDArray[np.bool_], k: int, seed: int) -> Score:
    """Fit a variant to observations of which it is known which are true, the labels."""
    estimator = variant.make(k, float(labels.mean()), seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BgsubWarning)  # the score says whether it converged
        began = time.perf_counter()
        estimator.fit(X)
        seconds = time.perf_counter() - began
    error = tre(estimator.center_, estimator.components_, X[labels])
    # Rounding may take the error of a perfect fit below zero.
    return Score(max(error, 0.0), seconds, bool(estimator.converged_))


def mean_and_deviation(values: list[float]) -> tuple[float, float]:
    """Compute mean and standard deviation, of the sample (n − 1) where there is more than one."""
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return float(np.mean(values)), deviation


_TRE_COLUMNS = ("share", "variant", "method", "t", "sets", "tre_mean", "tre_std", "seconds")
DIGIT_COLUMNS = ("true", "outliers", "k", "n", *_TRE_COLUMNS, "converged")
"""Header of digits.csv."""
SYNTHETIC_COLUMNS = ("data", "p", *_TRE_COLUMNS, "converged")
"""Header of synthetic.csv."""

DataSet = tuple[int, Floats, NDArray[np.bool_]]
"""Seed of the fits, observations, and which of them are true."""


def _fit_all(
    columns: Sequence[str],
    points: Sequence[tuple[dict[str, Any], Iterable[DataSet]]],
    ks: tuple[int, ...],
    variants: Sequence[Variant],
    done: Callable[[int], None],
) -> Iterator[dict[str, Any]]:
    """Fit every variant with every k to the data sets of every point; yields rows of a table."""
    count = 0
    for cells, sets in points:
        scores: dict[tuple[int, Variant], list[Score]] = {(k, v): [] for k in ks for v in variants}
        for seed, X, labels in sets:
            for (k, variant), own in scores.items():
                own.append(judge(variant, X, labels, k, seed))
            count += 1
            done(count)
        for (k, variant), own in scores.items():
            mean, deviation = mean_and_deviation([score.tre for score in own])
            row = {
                **cells,
                "k": k,
                "variant": variant.name,
                "method": variant.method,
                "t": variant.t,
                "sets": len(own),
                "tre_mean": mean,
                "tre_std": deviation,
                "seconds": float(np.mean([score.seconds for score in own])),
                "converged": sum(score.converged for score in own),
            }
            yield {name: row[name] for name in columns}


def run_digits(
    digits: Digits,
    options: DigitOptions,
    *,
    variants: Sequence[Variant] = VARIANTS,
    progress: ProgressCallback = no_progress,
) -> list[dict[str, Any]]:
    """Fit every variant to every draw of digits; rows of digits.csv, panel by panel.

    The same seed gives the same numbers, but for the seconds.
    """
    n = _sample_size(digits, options)
    if max(options.ks) >= n // 2:
        raise UsageError(f"--k {max(options.ks)}: must be below half of the {n} pictures drawn")
    points = [
        (
            {"true": options.true, "outliers": outliers, "n": n, "share": share},
            draw_sets(digits, outliers, share, n, options),
        )
        for outliers in options.outliers
        for share in options.shares
    ]
    total = len(points) * options.sets
    with one_blas_thread():
        return list(
            _fit_all(
                DIGIT_COLUMNS,
                points,
                options.ks,
                variants,
                lambda done: progress("draws", done, total),
            )
        )


def _kinds(outliers: str, true: int) -> list[int]:
    return (
        [digit for digit in range(10) if digit != true] if outliers == OTHERS else [int(outliers)]
    )


def _sample_size(digits: Digits, options: DigitOptions) -> int:
    """Choose the pictures in each draw: as many for every share as the data have of each digit."""
    present = np.bincount(digits.labels[(digits.labels >= 0) & (digits.labels <= 9)], minlength=10)
    n = min(options.samples, int(present[options.true] / (1.0 - min(options.shares))))
    for outliers in options.outliers:
        kinds = _kinds(outliers, options.true)
        n = min(n, int(min(present[kind] for kind in kinds) * len(kinds) / max(options.shares)))
    if n < 20:
        message = (
            f"{digits.name}: has too few pictures of digit {options.true} or of the outliers "
            f"{', '.join(options.outliers)}; choose others with --true and --outliers"
        )
        raise UsageError(message)
    return n


def draw_sets(
    digits: Digits, outliers: str, share: float, n: int, options: DigitOptions
) -> Iterator[DataSet]:
    """Draw n pictures again and again, a share of them of other digits."""
    kinds = _kinds(outliers, options.true)
    count = round(share * n)
    for index in range(options.sets):
        key = [options.seed, options.true, len(kinds), kinds[0], round(1000 * share), index]
        sequence = np.random.SeedSequence(key)
        rng = np.random.default_rng(sequence)
        parts = [
            rng.choice(np.flatnonzero(digits.labels == options.true), n - count, replace=False)
        ]
        # Equal proportions; what is left over goes to some of them, drawn.
        extra = set(rng.permutation(len(kinds))[: count % len(kinds)].tolist())
        for place, kind in enumerate(kinds):
            wanted = count // len(kinds) + (place in extra)
            parts.append(rng.choice(np.flatnonzero(digits.labels == kind), wanted, replace=False))
        rows = np.concatenate(parts)
        order = rng.permutation(n)
        true = (np.arange(n) < n - count)[order]
        yield int(sequence.generate_state(2)[1]), digits.X[rows[order]], true


DATA = {"Data1": data1, "Data2": data2}


def run_synthetic(
    options: SyntheticOptions,
    *,
    variants: Sequence[Variant] = VARIANTS,
    progress: ProgressCallback = no_progress,
) -> list[dict[str, Any]]:
    """Fit every variant to every data set; rows of synthetic.csv, panel by panel.

    The same seed gives the same numbers, but for the seconds: the matrix library runs on one
    thread, and each data set has a seed of its own that does not depend on which others are drawn.
    """
    points = [
        ({"data": name, "p": p, "share": share}, _data_sets(name, p, share, options))
        for name in DATA
        for p in options.features
        for share in options.shares
    ]
    total = len(points) * options.sets
    with one_blas_thread():
        return list(
            _fit_all(
                SYNTHETIC_COLUMNS,
                points,
                (options.components,),
                variants,
                lambda done: progress("data sets", done, total),
            )
        )


def _data_sets(name: str, p: int, share: float, options: SyntheticOptions) -> Iterator[DataSet]:
    for index in range(options.sets):
        key = [options.seed, list(DATA).index(name), p, round(1000 * share), index]
        sequence = np.random.SeedSequence(key)
        data = DATA[name](
            options.samples,
            p,
            options.components,
            outlier_share=share,
            noise=options.noise,
            variance=options.sigma == "variance",
            random_state=np.random.default_rng(sequence),
        )
        yield int(sequence.generate_state(2)[1]), data.X, data.labels
