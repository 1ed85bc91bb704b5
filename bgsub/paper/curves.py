"""Run the experiments on data of which it is known what is true: synthetic data and digits.

r_i(m, U) = ‖(UUᵀ − I)(x_i − m)‖² is the reconstruction error of an observation.
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
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from bgsub.errors import BgsubWarning, InputError, UsageError
from bgsub.options import ProgressCallback, no_progress
from bgsub.paper.options import MANY_REMOVALS, OTHERS, DigitOptions, SyntheticOptions
from bgsub.robustpca.competitors import METHODS, Settings
from bgsub.robustpca.conventions import check_matrix
from bgsub.robustpca.descent import random_orthonormal
from bgsub.robustpca.spaces import Floats, residuals
from bgsub.runtime.files import check_plain
from bgsub.runtime.threads import one_blas_thread
from bgsub.version import how_to_install
from bgsub.video.arrays import ArrayArchive, ArrayFileError

if TYPE_CHECKING:
    from bgsub.robustpca.competitors import Estimator

_DATA2_SIGMA = 0.35
_OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_IDX_BYTES = b"\0\0\x08"  # with which an IDX file of bytes begins
_ARRAY_NAMES = (("X", "y"), ("x_train", "y_train"))
_MOST_FEATURES = 1 << 20
_TRE_COLUMNS = ("share", "variant", "method", "t", "sets", "tre_mean", "tre_std", "seconds")
DIGIT_COLUMNS = ("true", "outliers", "k", "n", *_TRE_COLUMNS, "converged")  # header of digits.csv
SYNTHETIC_COLUMNS = ("data", "p", *_TRE_COLUMNS, "converged")  # header of synthetic.csv
# Seed of the fits, observations, and which of them are true.
DataSet = tuple[int, Floats, NDArray[np.bool_]]


def tre(center: ArrayLike, components: ArrayLike, T: NDArray[Any]) -> float:
    """Compute the error of the true observations T above the least that is possible.

    (1/|T|) (Σ r_i(m, U) − Σ r_i(m_T, U_T)) over T, where (m_T, U_T) is the classical PCA of T alone
    with as many components: the second sum is that of the squared singular values after the k-th.
    """
    components = np.atleast_2d(np.asarray(components, dtype=np.float64))
    T = check_matrix(T)
    reached = residuals(T, np.asarray(center, dtype=np.float64), components).sum()
    centred = T - T.mean(axis=0, dtype=np.float64)
    least = (scipy.linalg.svdvals(centred)[len(components) :] ** 2).sum()
    return float((reached - least) / len(T))


def auc(errors: NDArray[Any], outliers: NDArray[np.bool_]) -> float:
    """Compute P(r_o > r_i) + ½ P(r_o = r_i) for a random outlier o and true observation i."""
    true, outlying = np.sort(errors[~outliers]), errors[outliers]
    below = np.searchsorted(true, outlying) + np.searchsorted(true, outlying, side="right")
    return float(below.sum() / 2 / (len(outlying) * len(true)))


def average_precision(errors: NDArray[Any], outliers: NDArray[np.bool_]) -> float:
    """Compute the average precision of errors as outlier scores.

    Σ_j (R_j − R_(j−1)) P_j over the distinct errors in descending order, with P_j and R_j the
    precision and recall of taking everything from the j-th up as an outlier.
    """
    order = np.argsort(errors)[::-1]
    values, found = errors[order], np.cumsum(outliers[order])
    last = np.flatnonzero(np.append(values[1:] != values[:-1], True))
    precision = found[last] / (last + 1)
    recall = found[last] / found[-1]
    return float(np.sum(np.diff(recall, prepend=0.0) * precision))


class Digits(NamedTuple):
    """Pictures of digits 0 … 9, one a row, scaled so that the largest magnitude is 1."""

    X: Floats
    labels: NDArray[np.int64]
    name: str


def load_digits(path: Path | None) -> Digits:
    """Read pictures of digits from a file; None is the 8×8 digits of scikit-learn."""
    if path is None:
        try:
            from sklearn.datasets import load_digits as load
        except ImportError as error:
            raise InputError(
                "the digits come with scikit-learn, which is not installed; "
                f"{how_to_install('experiments')} installs it, or name USPS or MNIST with --data"
            ) from error
        X, labels = load(return_X_y=True)
        return Digits(np.asarray(X, dtype=np.float64) / 16.0, labels.astype(np.int64), "digits 8×8")
    check_plain(path)
    try:
        is_idx = path.is_file() and _read(path, 3) == _IDX_BYTES
        read = _read_idx_pair if is_idx else read_libsvm
        X, labels = (_read_arrays if path.suffix.lower() == ".npz" else read)(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise InputError(f"{path}: is damaged ({error}); get it again") from error
    if X.ndim < 2 or labels.shape != X.shape[:1] or not X.size:
        sizes = ("×".join(map(str, each.shape)) for each in (X, labels))
        raise InputError(
            f"{path}: its pictures and digits are {' and '.join(sizes)}; one digit for each "
            "picture is needed"
        )
    if X.dtype.kind not in "biuf" or labels.dtype.kind not in "biuf":
        raise InputError(f"{path}: pictures and digits must be numbers")
    X = X.reshape(len(X), -1).astype(np.float64)
    if not np.isfinite(X).all() or not np.isfinite(labels).all():
        raise InputError(f"{path}: holds a value that is no finite number")
    peak = float(np.abs(X).max())
    return Digits(X / peak if peak else X, labels.astype(np.int64), path.name)


def _read(path: Path, count: int = -1) -> bytes:
    opener: Any = _OPENERS.get(path.suffix.lower(), open)
    with opener(path, "rb") as file:
        data: bytes = file.read(count)
    return data


def _read_idx_pair(path: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    images = read_idx(path)
    own = path.with_name(path.name.replace("images", "labels").replace("idx3", "idx1"))
    if own == path or not own.is_file():
        raise InputError(f"{path}: its labels are missing; they must be beside it, as {own.name}")
    return images, read_idx(own)


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read an IDX file of bytes, compressed or not."""
    data = _read(path)
    dimensions = data[3] if len(data) >= 4 and data[:3] == _IDX_BYTES else 0
    start = 4 + 4 * dimensions
    if not 1 <= dimensions <= 4 or len(data) < start:
        raise InputError(f"{path}: is no IDX file of bytes")
    shape = struct.unpack(f">{dimensions}I", data[4:start])
    if len(data) - start != math.prod(shape):
        raise InputError(
            f"{path}: should hold {math.prod(shape)} bytes behind its header, but holds "
            f"{len(data) - start}; get it again"
        )
    return np.frombuffer(data, dtype=np.uint8, offset=start).reshape(shape)


def read_libsvm(path: Path) -> tuple[Floats, Floats]:
    """Read the text format of libsvm, compressed or not; values that a line leaves out are 0."""
    try:
        lines = _read(path).decode("ascii").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is neither IDX nor the text format of libsvm") from error
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
    return X, digits - 1 if digits.min() >= 1 and digits.max() == 10 else digits


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
        raise InputError(f"{path}: {error}") from error


class Variant(NamedTuple):
    """A method, of `bgsub.robustpca.competitors.METHODS`, with what it is told of the outliers.

    `t` is ``true`` if it is told the true number, ``half`` if it takes ⌈n/2⌉, empty if it has no t.
    """

    name: str
    method: str
    t: str
    by_default: bool = False  # ⌈n/2⌉ as where no t is given: refitted to the inliers
    max_removals: int | None = None

    def make(self, k: int, share: float, seed: int) -> Estimator:
        """Make an unfitted estimator, given the true t/n."""
        told = None if self.by_default else {"true": share, "half": 0.5}.get(self.t)
        removals = self.max_removals
        settings = Settings(k=k, support_fraction=told, random_state=seed, max_removals=removals)
        return METHODS[self.method].make(settings)


# Every row-outlier method with true t and with ⌈n/2⌉, and PCA. For OPRPCA "true" and "half" mean λ
# such that no more than n − t rows are outliers; "rank k" takes the least λ with which the low-rank
# part has rank k. HRPCA removes 2(n − t) rows at most, "T = n" goes on until none can be removed,
# as its paper has it; with t = ⌈n/2⌉ the two are the same.
VARIANTS = (
    Variant("TRPCA", "trpca", "true"),
    Variant("TRPCA(.5)", "trpca", "half"),
    Variant("TRPCA(.5) reweighted", "trpca", "half", by_default=True),
    Variant("ORPCA", "orpca", "true"),
    Variant("ORPCA(.5)", "orpca", "half"),
    Variant("OPRPCA", "outlier-pursuit", "true"),
    Variant("OPRPCA(.5)", "outlier-pursuit", "half"),
    Variant("OPRPCA, rank k", "outlier-pursuit", ""),
    Variant("HRPCA", "hrpca", "true"),
    Variant("HRPCA, T = n", "hrpca", "true", max_removals=MANY_REMOVALS),
    Variant("HRPCA(.5)", "hrpca", "half"),
    Variant("PCA", "pca", ""),
)


def judge(
    variant: Variant, X: Floats, labels: NDArray[np.bool_], k: int, seed: int
) -> tuple[float, float, bool]:
    """Fit a variant to observations, of which the labels say which are true.

    Returns tre, the seconds of the fit, and whether it converged.
    """
    estimator = variant.make(k, float(labels.mean()), seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BgsubWarning)  # the score says whether it converged
        began = time.perf_counter()
        estimator.fit(X)
        seconds = time.perf_counter() - began
    error = tre(estimator.center_, estimator.components_, X[labels])
    # Rounding may take the error of a perfect fit below zero.
    return max(error, 0.0), seconds, bool(estimator.converged_)


def _fit_all(
    columns: Sequence[str],
    points: Sequence[tuple[dict[str, Any], Iterable[DataSet]]],
    ks: tuple[int, ...],
    variants: Sequence[Variant],
    done: Callable[[int], None],
) -> list[dict[str, Any]]:
    """Fit every variant with every k, on one thread, to all data sets; rows of a table."""
    rows, count = [], 0
    with one_blas_thread():
        for cells, sets in points:
            found: dict[tuple[int, Variant], list[tuple[float, float, bool]]]
            found = {(k, variant): [] for k in ks for variant in variants}
            for seed, X, labels in sets:
                for (k, variant), own in found.items():
                    own.append(judge(variant, X, labels, k, seed))
                count += 1
                done(count)
            for (k, variant), own in found.items():
                errors, seconds, converged = (np.array(each) for each in zip(*own, strict=True))
                row = {
                    **cells,
                    "k": k,
                    "variant": variant.name,
                    "method": variant.method,
                    "t": variant.t,
                    "sets": len(own),
                    "tre_mean": float(errors.mean()),
                    "tre_std": float(errors.std(ddof=1)) if len(own) > 1 else 0.0,
                    "seconds": float(seconds.mean()),
                    "converged": int(converged.sum()),
                }
                rows.append({name: row[name] for name in columns})
    return rows


def run_digits(
    digits: Digits,
    options: DigitOptions,
    *,
    variants: Sequence[Variant] = VARIANTS,
    progress: ProgressCallback = no_progress,
) -> list[dict[str, Any]]:
    """Fit every variant to every draw of digits; rows of digits.csv, panel by panel."""
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
    return _fit_all(
        DIGIT_COLUMNS, points, options.ks, variants, lambda done: progress("draws", done, total)
    )


def _kinds(outliers: str, true: int) -> list[int]:
    return [*range(true), *range(true + 1, 10)] if outliers == OTHERS else [int(outliers)]


def _sample_size(digits: Digits, options: DigitOptions) -> int:
    """Choose the pictures in each draw: as many for every share as the data have of each digit."""
    present = np.bincount(digits.labels[(digits.labels >= 0) & (digits.labels <= 9)], minlength=10)
    n = min(options.samples, int(present[options.true] / (1.0 - min(options.shares))))
    for outliers in options.outliers:
        kinds = _kinds(outliers, options.true)
        n = min(n, int(min(present[kind] for kind in kinds) * len(kinds) / max(options.shares)))
    if n < 20:
        raise UsageError(
            f"{digits.name}: has too few pictures of digit {options.true} or of the outliers "
            f"{', '.join(options.outliers)}; choose others with --true and --outliers"
        )
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

        def drawn(digit: int, wanted: int, rng: np.random.Generator = rng) -> NDArray[np.int64]:
            return rng.choice(np.flatnonzero(digits.labels == digit), wanted, replace=False)

        parts = [drawn(options.true, n - count)]
        # Equal proportions; what is left over goes to some of them, drawn.
        extra = set(rng.permutation(len(kinds))[: count % len(kinds)].tolist())
        parts += [drawn(k, count // len(kinds) + (i in extra)) for i, k in enumerate(kinds)]
        rows = np.concatenate(parts)
        order = rng.permutation(n)
        true = (np.arange(n) < n - count)[order]
        yield int(sequence.generate_state(2)[1]), digits.X[rows[order]], true


class SyntheticData(NamedTuple):
    """Observations of which it is known which are true, as the paper's Data1 and Data2.

    True observations are x = Ua + ε with a random p × k matrix U of orthonormal columns, a uniform
    on [−1, 1]^k and ε ~ N(0, σ²I_p). Outliers are uniform on [0, 2]^p (`data1`), or Gaussian and
    cut to a half-space, with true rows of half the size (`data2`). Where the paper writes N(0, σ),
    σ is read as a standard deviation; with `variance` as a variance, so that noise and outliers of
    `data2` are larger. The rows come in random order.
    """

    X: Floats
    labels: NDArray[np.bool_]  # True for true observations, False for outliers
    # Orthonormal basis (k, p) of the subspace, through 0, that true observations lie near.
    components: Floats


def _draw(
    kind: Literal["cube", "half-space"],
    n_samples: int = 200,
    n_features: int = 20,
    n_components: int = 5,
    *,
    outlier_share: float = 0.3,
    noise: float = 0.05,
    variance: bool = False,
    random_state: int | np.random.Generator | None = None,
) -> SyntheticData:
    """Draw n observations with p ≥ k features and a share of outliers in [0, 1), or ValueError."""
    if not 1 <= n_components <= n_features:
        message = f"n_components={n_components}: from 1 to n_features={n_features} is needed"
        raise ValueError(message)
    if not 0.0 <= outlier_share < 1.0:
        raise ValueError(f"outlier_share={outlier_share}: at least 0 and less than 1 is needed")
    rng = np.random.default_rng(random_state)
    count = round(outlier_share * n_samples)
    sigma, large = (math.sqrt(s) if variance else s for s in (noise, _DATA2_SIGMA))
    U = random_orthonormal(n_features, n_components, rng)
    scores = rng.uniform(-1.0, 1.0, (n_samples - count, n_components))
    true = scores @ U.T + sigma * rng.standard_normal((len(scores), n_features))
    if kind == "cube":
        outliers = rng.uniform(0.0, 2.0, (count, n_features))
    else:  # o = x − max{⟨x, w⟩, 0} w with x ~ N(0, 0.35² I_p) and w uniform on the unit sphere
        normal = random_orthonormal(n_features, 1, rng)[:, 0]
        outliers = large * rng.standard_normal((count, n_features))
        outliers -= np.outer(np.maximum(outliers @ normal, 0.0), normal)
        true *= 0.5
    X = np.concatenate([true, outliers])
    order = rng.permutation(n_samples)
    return SyntheticData(X[order], (np.arange(n_samples) < len(true))[order], U.T)


data1 = partial(_draw, "cube")  # outliers uniform on [0, 2]^p: far from 0, and all on one side
# Outliers of a random half-space; true rows, noise included, are scaled by 0.5.
data2 = partial(_draw, "half-space")
DATA = {"Data1": data1, "Data2": data2}


def run_synthetic(
    options: SyntheticOptions,
    *,
    variants: Sequence[Variant] = VARIANTS,
    progress: ProgressCallback = no_progress,
) -> list[dict[str, Any]]:
    """Fit every variant to every data set; rows of synthetic.csv, panel by panel."""
    points = [
        ({"data": name, "p": p, "share": share}, _data_sets(name, p, share, options))
        for name in DATA
        for p in options.features
        for share in options.shares
    ]
    total, ks = len(points) * options.sets, (options.components,)
    return _fit_all(
        SYNTHETIC_COLUMNS, points, ks, variants, lambda done: progress("data sets", done, total)
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
