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

import logging
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import ConvergenceWarning, RankWarning
from bgsub.robustpca.bicrossval import (
    BANDS,
    BandColumns,
    Rows,
    centred_gram,
    half_bands,
    held_out_errors,
    median_gains,
)
from bgsub.robustpca.checks import check_matrix
from bgsub.robustpca.gram import ArrayColumns, ColumnReader, Gram, gram_matrix
from bgsub.robustpca.spaces import Floats
from bgsub.robustpca.trpca import TRPCA

logger = logging.getLogger(__name__)

_MAX_RANK = 20
"""Most components that are looked for."""

_LEAST_GAIN = 0.04
"""What a component must gain: 4 % of the squared held-out error, 2 % of its root.

The sums of gains are of logarithms, so this is asked of the components of a scene on the average.

On recordings the gains fall from tens of per cent to one or two within a few components and stay
there for dozens: waves, leaves and people never end.
"""

# Components of the fit that finds the inliers, beyond those that were found.
_FURTHER = 2

# Median distance of a component's scores from their median, as a share of their standard deviation:
# .67 for normal ones, and near 0 for a component of fewer than half of the frames, which moves the
# mean and so would seem to help all.
_LEAST_SPREAD = 0.25

_MOST_ROWS = 600
_LEAST_ROWS = 8
_ROWS_PER_COMPONENT = 4
_MOST_ROUNDS = 6


@dataclass(frozen=True, eq=False)
class RankChoice:
    """The rank of a scene, and what it was chosen from.

    Attributes
    ----------
    rank : int
        At least 1.
    gains : ndarray of shape (K,)
        What the components 1 to K gain, in natural logarithms, see the module; empty where nothing
        could be measured.
    held_out : ndarray of shape (K + 1,)
        Root mean square per entry of what 0 to K components leave of held-out pixels, in units of
        the data; the median over the frames.
    spectrum : ndarray of shape (K,)
        Standard deviation of the inliers per entry along their leading principal axes.
    n_rows, n_inliers : int
        Rows that were looked at, and the inliers among them.
    reason : str
        In words.
    least_gain : float
        What each component had to gain.
    """

    rank: int
    gains: Floats
    held_out: Floats
    spectrum: Floats
    n_rows: int
    n_inliers: int
    reason: str
    least_gain: float = _LEAST_GAIN

    def to_json(self) -> dict[str, Any]:
        """Give it as plain JSON values."""
        plain = {name: getattr(self, name) for name in ("rank", "reason", "n_rows", "n_inliers")}
        lists = {name: getattr(self, name) for name in ("gains", "held_out", "spectrum")}
        return plain | {name: np.round(a, 6).tolist() for name, a in lists.items()}


def choose_rank(
    X: NDArray[Any] | ColumnReader,
    gram: Gram | None = None,
    *,
    max_rank: int = _MAX_RANK,
    least_gain: float = _LEAST_GAIN,
    support_fraction: float | None = None,
    random_state: int | np.random.Generator | None = None,
    threads: int = 1,
) -> RankChoice:
    """Choose the number of components of the rows of X by bi-cross-validation.

    Parameters
    ----------
    X : ndarray of shape (n, p) or ColumnReader
    gram : Gram, optional
        Of X, if it is there already; with the share of `share_for_rank` no pixel is read again.
    max_rank : int
        Most components; also at most a quarter of the rows.
    least_gain : float
        Share of the squared error of held-out pixels that each must gain.
    support_fraction : float, optional
        t/n of the trimmed fits that find the inliers, see `bgsub.TRPCA`.
    random_state : int, numpy.random.Generator or None
        Seed of these fits.
    threads : int
        See `gram_matrix` and `bgsub.TRPCA`.

    Returns
    -------
    RankChoice
        Rank 1 where there are too few rows or columns to choose from.

    Notes
    -----
    At most 600 rows, evenly spaced, are looked at. With n' of them n'²p/2 operations and one pass
    over half of the pixels (none with the share of a Gram matrix), and some trimmed fits to n'
    rows: less than one fit altogether.

    Examples
    --------
    >>> from bgsub.robustpca.competitors.synthetic import data1
    >>> choose_rank(data1(n_components=5, random_state=0).X, random_state=0).rank
    5
    """
    X = check_matrix(X)
    reader = ArrayColumns(X) if isinstance(X, np.ndarray) else X
    n, p = reader.shape
    rows = np.unique(np.linspace(0, n - 1, min(n, _MOST_ROWS)).round().astype(np.int64))
    most = min(max_rank, rows.size // _ROWS_PER_COMPONENT, p // 2)
    if rows.size < _LEAST_ROWS or p < BANDS:
        return _unmeasured(rows.size, f"{rows.size} rows of {p} entries are too few to choose from")
    if gram is not None and gram.share is not None and rows.size == n:
        seen = gram.share
    else:
        seen = gram_matrix(BandColumns(reader, rows, 0), threads=threads).values
    if gram is None:
        whole = seen + gram_matrix(BandColumns(reader, rows, 1), threads=threads).values
    else:
        whole = gram.values[np.ix_(rows, rows)]
    # Relative to the mean it does not matter what either half was relative to.
    first = centred_gram(seen)
    halves = (first, centred_gram(whole) - first)
    data = Gram(whole, np.zeros(0), p, 0, 0)
    rank, found = 0, 1
    for _ in range(_MOST_ROUNDS):
        if found <= rank:
            break
        rank = found
        inliers = _inliers(data, rank, support_fraction, random_state, threads)
        errors = held_out_errors(halves, inliers, most)
        lengths, axes = _principal_scores(whole, inliers, most)
        gains = np.where(_vary(axes), median_gains(errors), 0.0)
        found = best_rank(gains, least_gain)
        logger.debug("inliers of rank %d: rank %d, gains %s", rank, found, np.round(gains, 3))
    return RankChoice(
        rank=found,
        gains=gains,
        held_out=np.sqrt(np.median(errors, axis=0) * 2.0 / p),
        spectrum=lengths / np.sqrt(inliers.size * p),
        n_rows=rows.size,
        n_inliers=inliers.size,
        reason=_reason(found, gains, least_gain),
        least_gain=least_gain,
    )


def share_for_rank(n: int, p: int) -> list[slice]:
    """Say what `gram_matrix` is to sum apart for `choose_rank`: half of the n×p matrix's pixels.

    Nothing where not all rows are looked at, as the rest would be summed for nothing.
    """
    return half_bands(p, 0) if n <= _MOST_ROWS and p >= BANDS else []


def best_rank(gains: Floats, least_gain: float) -> int:
    """Give the smallest k ≥ 1 with the largest sum of gains less k · `least_gain`."""
    if gains.size == 0:
        return 1
    return 1 + int(np.argmax(np.cumsum(gains - least_gain)))


def _inliers(
    data: Gram,
    rank: int,
    support_fraction: float | None,
    random_state: int | np.random.Generator | None,
    threads: int,
) -> Rows:
    """Return the inliers of a trimmed fit with a few components more than so many."""
    fit = TRPCA(
        max(rank, min(rank + _FURTHER, data.n_samples // _ROWS_PER_COMPONENT)),
        support_fraction=support_fraction,
        tol=1e-4,
        max_iter=200,
        random_state=random_state,
        threads=threads,
    )
    with warnings.catch_warnings():
        # Which rows are kept is all that matters here; the fit that follows warns for itself.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", RankWarning)
        fit.fit_gram(data)
    return np.flatnonzero(fit.support_)


def _principal_scores(K: Floats, inliers: Rows, most: int) -> tuple[Floats, Floats]:
    """Lengths of the inliers' scores along their leading axes, (K,), and these scores, (n, K)."""
    import scipy.linalg

    inside = centred_gram(K[np.ix_(inliers, inliers)])
    last = inliers.size - 1
    values, vectors = scipy.linalg.eigh(inside, subset_by_index=(max(last - most + 1, 0), last))
    return np.sqrt(np.maximum(values[::-1], 0.0)), vectors[:, ::-1]


def _vary(scores: Floats) -> NDArray[np.bool_]:
    """Tell which scores of unit length differ from their median in most rows, shape (K,)."""
    spread = np.median(np.abs(scores - np.median(scores, axis=0)), axis=0)
    return np.asarray(spread * np.sqrt(len(scores)) > _LEAST_SPREAD)


def _reason(rank: int, gains: Floats, least_gain: float) -> str:
    percent = [f"{100.0 * max(-np.expm1(-gain), 0.0):.1f} %" for gain in gains]
    asked = f"{100.0 * least_gain:.0f} % is asked for"
    error = "of the squared error of held-out pixels"
    if gains.size == 0:
        return "there is no component to choose from"
    if rank == 1 and gains[0] < least_gain:
        return f"the first component explains {percent[0]} {error}, {asked}, but 1 is the least"
    if rank == gains.size:
        return f"component {rank} explains {percent[-1]} {error}; no more are looked for"
    return (
        f"component {rank} explains {percent[rank - 1]} {error}, the next {percent[rank]}; {asked}"
    )


def _unmeasured(n_rows: int, reason: str) -> RankChoice:
    nothing = np.zeros(0)
    return RankChoice(1, nothing, nothing, nothing, n_rows, n_rows, reason)
