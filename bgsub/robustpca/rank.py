"""Choose how many components a scene has, by bi-cross-validation of its inliers.

Noise of cameras and codecs is neither white nor independent from frame to frame, so thresholds for
singular values that are derived for white noise (Marchenko and Pastur's edge, Gavish and Donoho
2014) find dozens of components in any recording. Here a component must predict instead. In the
manner of Owen and Perry (2009), with Gabriel's hold-out, the pixels are cut into two halves and the
inliers into two folds: principal components of one half of the pixels are learnt on one fold, the
other half is regressed on their scores, and the other fold's pixels there are predicted from the
scores of the half that is seen. Noise that the halves do not share predicts nothing, and what shows
in a few frames only predicts nothing in the others. All of it follows from the Gram matrices of the
two halves, whatever the number of pixels.

The gain of a component is the median over held-out frames of the fall of the logarithm of the
squared error. The median asks that a component helps most frames: a visitor that is in some of them
is not background, however large; nor is what has the same score in most of them. A real but tiny
component gains next to nothing, and costs what every component costs, room for objects to be
absorbed in: so each has to gain 4 %, and the rank is the k with the largest sum of gains less k of
these.

Inliers are those of a reweighted trimmed fit with few components, as with many a visitor is
absorbed and becomes one; the fit is repeated with the rank that was found until the rank rises no
more. It has two components more than were found: the half that a fit with fewer keeps are the
frames in which the next component is small, and there it seems to gain next to nothing.

A. B. Owen, P. O. Perry: "Bi-cross-validation of the SVD and the nonnegative matrix factorization",
Annals of Applied Statistics 3 (2009), 564-594.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import ConvergenceWarning, RankWarning
from bgsub.robustpca.conventions import check_matrix
from bgsub.robustpca.gram import ColumnReader, Gram, as_columns, gram_matrix
from bgsub.robustpca.spaces import Floats, Rows, evenly
from bgsub.robustpca.trpca import TRPCA

_MAX_RANK = 20  # most components that are looked for
_FURTHER = 2  # components of the fit that finds the inliers, beyond those that were found

# What a component must gain on the average: 4 % of the squared held-out error. On recordings the
# gains fall from tens of per cent to one or two within a few components and stay there for dozens:
# waves, leaves and people never end.
LEAST_GAIN = 0.04

# Median distance of a component's scores from their median, as a share of their standard deviation:
# .67 for normal ones, and near 0 for a component of fewer than half of the frames, which moves the
# mean and so would seem to help all.
_LEAST_SPREAD = 0.25

_MOST_ROWS = 600
_LEAST_ROWS = 8
_ROWS_PER_COMPONENT = 4
_MOST_ROUNDS = 6

# Bands of columns, taken by the halves in turns: wide, as codecs give neighbouring pixels noise in
# common. Neighbouring frames share much of theirs, so a fold is made of stretches of time.
_BANDS = 16
_STRETCHES = 16
_NOISE = 1e-9  # squared errors below this share of those of the centre alone are rounding


@dataclass(frozen=True, eq=False)
class RankChoice:
    """The rank of a scene, at least 1, and what it was chosen from.

    `gains` (K,) are what the components 1 to K gain, in natural logarithms; empty where nothing
    could be measured. `held_out` (K + 1,) is the root mean square per entry of what 0 to K of them
    leave of held-out pixels, the median over the `n_rows` frames that were looked at; `spectrum`
    (K,) the standard deviation per entry of the inliers along their leading principal axes.
    """

    rank: int
    gains: Floats
    held_out: Floats
    spectrum: Floats
    n_rows: int
    n_inliers: int
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        plain = {name: getattr(self, name) for name in ("rank", "reason", "n_rows", "n_inliers")}
        lists = {name: getattr(self, name) for name in ("gains", "held_out", "spectrum")}
        return plain | {name: np.round(a, 6).tolist() for name, a in lists.items()}


def choose_rank(
    X: NDArray[Any] | ColumnReader,
    gram: Gram | None = None,
    *,
    max_rank: int = _MAX_RANK,
    support_fraction: float | None = None,
    random_state: int | np.random.Generator | None = None,
    threads: int = 1,
) -> RankChoice:
    """Choose the number of components of the rows of X by bi-cross-validation.

    Rank 1 where there are too few rows or columns to choose from, and at most a quarter of the
    rows. At most 600 rows, evenly spaced, are looked at: less than one fit altogether. With the
    Gram matrix of X and its share of `share_for_rank` no pixel is read again; copies of a row count
    as one for the limits, and are held out together. The last three parameters are those of the
    trimmed fits that find the inliers, see `bgsub.TRPCA`.
    """
    import scipy.linalg

    reader = as_columns(check_matrix(X))
    n, p = reader.shape
    rows = evenly(n, _MOST_ROWS)
    copies = np.arange(n) if gram is None or gram.copies is None else gram.copies
    copies = np.unique(copies[rows], return_inverse=True)[1]
    distinct = int(copies.max()) + 1
    most = min(max_rank, distinct // _ROWS_PER_COMPONENT, p // 2)
    if distinct < _LEAST_ROWS or p < _BANDS:
        return _too_few(distinct, rows.size, rows.size, p)
    if gram is not None and gram.share is not None and rows.size == n:
        seen = gram.share
    else:
        seen = gram_matrix(_BandColumns(reader, rows, 0), threads=threads).values
    if gram is None:
        whole = seen + gram_matrix(_BandColumns(reader, rows, 1), threads=threads).values
    else:
        whole = gram.values[np.ix_(rows, rows)]
    # Relative to the mean it does not matter what either half was relative to.
    first = _centred_gram(seen)
    halves = (first, _centred_gram(whole) - first)
    data = Gram(whole, np.zeros(0), p)
    given = {"support_fraction": support_fraction, "random_state": random_state, "threads": threads}
    rank, found = 0, 1
    for _ in range(_MOST_ROUNDS):
        if found <= rank:
            break
        rank = found
        inliers = _inliers(data, rank, **given)
        distinct = np.unique(copies[inliers]).size
        if distinct < _LEAST_ROWS:
            return _too_few(distinct, rows.size, inliers.size, p)
        most = min(most, distinct // _ROWS_PER_COMPONENT)
        errors = _held_out_errors(halves, inliers, copies[inliers], most)
        inside = _centred_gram(whole[np.ix_(inliers, inliers)])
        last = inliers.size - 1
        squares, axes = scipy.linalg.eigh(inside, subset_by_index=(max(last - most + 1, 0), last))
        lengths, axes = np.sqrt(np.maximum(squares[::-1], 0.0)), axes[:, ::-1]
        gains = _gains(errors, axes)
        # The smallest k ≥ 1 with the largest sum of gains less what each must gain.
        found = 1 + int(np.argmax(np.cumsum(gains - LEAST_GAIN))) if gains.size else 1
    held_out = np.sqrt(np.median(errors, axis=0) * 2.0 / p)
    spectrum, reason = lengths / np.sqrt(inliers.size * p), _reason(found, gains)
    return RankChoice(found, gains, held_out, spectrum, rows.size, inliers.size, reason)


def _too_few(distinct: int, n_rows: int, n_inliers: int, p: int) -> RankChoice:
    which = "rows" if distinct == n_rows else "different rows"
    reason = f"{distinct} {which} of {p} entries are too few to choose from"
    return RankChoice(1, np.zeros(0), np.zeros(0), np.zeros(0), n_rows, n_inliers, reason)


def share_for_rank(n: int, p: int) -> list[slice]:
    """Return what `gram_matrix` is to sum apart for `choose_rank`: half of the pixels, or none."""
    return _half_bands(p, 0) if n <= _MOST_ROWS and p >= _BANDS else []


def _inliers(data: Gram, rank: int, **given: Any) -> Rows:
    """Return the inliers of a trimmed fit with a few components more than so many."""
    k = max(rank, min(rank + _FURTHER, len(data.values) // _ROWS_PER_COMPONENT))
    fit = TRPCA(k, tol=1e-4, max_iter=200, **given)
    with warnings.catch_warnings():
        # Which rows are kept is all that matters here; the fit that follows warns for itself.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", RankWarning)
        fit.fit_gram(data)
    return np.flatnonzero(fit.support_)


def _reason(rank: int, gains: Floats) -> str:
    percent = [f"{100.0 * max(-np.expm1(-gain), 0.0):.1f} %" for gain in gains]
    asked = f"{100.0 * LEAST_GAIN:.0f} % is asked for"
    error = "of the squared error of held-out pixels"
    if gains.size == 0:
        return "there is no component to choose from"
    if rank == 1 and gains[0] < LEAST_GAIN:
        return f"the first component explains {percent[0]} {error}, {asked}, but 1 is the least"
    if rank == gains.size:
        return f"component {rank} explains {percent[-1]} {error}; no more are looked for"
    last, after = percent[rank - 1 : rank + 1]
    return f"component {rank} explains {last} {error}, the next {after}; {asked}"


# --- bi-cross-validation ------------------------------------------------------------------------


def _half_bands(n_columns: int, half: int) -> list[slice]:
    """Bands of columns that belong to one half, in order."""
    edges = (np.arange(_BANDS + 1) * n_columns // _BANDS).tolist()
    return [slice(*edge) for edge in zip(edges[half:-1:2], edges[half + 1 :: 2], strict=True)]


class _BandColumns:
    """Some rows of a matrix, and every other band of its columns: one half of the pixels."""

    def __init__(self, reader: ColumnReader, rows: Rows, half: int) -> None:
        bands = _half_bands(reader.shape[1], half)
        self._reader, self._rows = reader, rows
        self._stops = [band.stop for band in bands]
        self._ends = np.cumsum([band.stop - band.start for band in bands]).tolist()
        self.shape: tuple[int, int] = (rows.size, self._ends[-1])
        self.dtype: np.dtype[Any] = reader.dtype

    def columns(self, start: int, stop: int) -> NDArray[Any]:
        """Entries of the half's columns start to stop (exclusive), copied."""
        parts = []
        begin = 0
        for last, end in zip(self._stops, self._ends, strict=True):
            low, high = max(start, begin), min(stop, end)
            if low < high:
                shift = last - end
                parts.append(self._reader.columns(low + shift, high + shift)[self._rows])
            begin = end
        return np.concatenate(parts, axis=1)


def _held_out_errors(
    halves: tuple[Floats, Floats], inliers: Rows, copies: Rows, most: int
) -> Floats:
    """Squared errors of held-out pixels of every inlier in either half, (2 · inliers, K + 1)."""
    _, order = np.unique(copies, return_inverse=True)
    distinct = int(order.max()) + 1
    stretches = min(_STRETCHES, distinct // 2)
    fold = order * stretches // distinct % 2
    parts = []
    for seen, hidden in (halves, halves[::-1]):
        for learnt in (0, 1):
            rows, others = inliers[fold == learnt], inliers[fold != learnt]
            parts.append(_predict(seen, hidden, rows, others, most))
    return np.maximum(np.concatenate(parts), 0.0)


def _gains(errors: Floats, scores: Floats) -> Floats:
    """Median over the rows of how far each component lets log(squared error) fall, shape (K,).

    None whose scores, of unit length, are at their median in most rows gains anything, nor do
    components of rounding errors: errors below that of the centre alone count as it.
    """
    least = _NOISE * float(errors[:, 0].mean()) or 1.0
    gains = -np.median(np.diff(np.log(np.maximum(errors, least)), axis=1), axis=0)
    spread = np.median(np.abs(scores - np.median(scores, axis=0)), axis=0)
    return np.where(spread * np.sqrt(len(scores)) > _LEAST_SPREAD, gains, 0.0)


def _predict(seen: Floats, hidden: Floats, rows: Rows, others: Rows, most: int) -> Floats:
    """Errors of the hidden half of the other rows, from their scores in the half that is seen.

    With V and λ the eigenvectors and eigenvalues of the centred Gram matrix of the seen half, the
    scores of the other rows divided by those of the learnt ones' lengths are a = K_sₗ V/λ, and the
    regression of the hidden half on them predicts aVᵀX; the rest is products with its Gram matrix.
    """
    import scipy.linalg

    inside, across, _ = _relative(seen, rows, others)
    count = min(most, rows.size - 1)
    last = rows.size - 1
    values, V = scipy.linalg.eigh(inside, subset_by_index=(last - count + 1, last))
    values, V = values[::-1], V[:, ::-1]
    kept = values > _NOISE * max(float(values[0]), 0.0)
    V = V[:, kept]
    a = across @ V / values[kept]
    inside, across, squares = _relative(hidden, rows, others)
    linear = np.cumsum(a * (across @ V), axis=1)
    products = V.T @ inside @ V
    errors = np.repeat(squares[:, None], most + 1, axis=1)
    for k in range(1, V.shape[1] + 1):
        quadratic = np.einsum("nc,cd,nd->n", a[:, :k], products[:k, :k], a[:, :k], optimize=True)
        # Components that do not exist change nothing.
        errors[:, k:] = (squares - 2.0 * linear[:, k - 1] + quadratic)[:, None]
    return errors


def _relative(K: Floats, rows: Rows, others: Rows) -> tuple[Floats, Floats, Floats]:
    """Products among `rows`, of the others with them, squares of the others; rows' mean is 0."""
    inside, across = K[np.ix_(rows, rows)], K[np.ix_(others, rows)]
    means, centre = inside.mean(axis=0), float(inside.mean())
    across_means = across.mean(axis=1)
    return (
        inside - means - means[:, None] + centre,
        across - means - across_means[:, None] + centre,
        K[others, others] - 2.0 * across_means + centre,
    )


def _centred_gram(K: Floats) -> Floats:
    """Gram matrix relative to the mean of the rows."""
    means = K.mean(axis=0)
    return np.asarray(K - means - means[:, None] + means.mean())
