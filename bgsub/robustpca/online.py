"""Fit TRPCA to the last rows of a stream, anew as rows come."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from bgsub.robustpca.base import form_pixels, orthonormal_rows
from bgsub.robustpca.checks import check_integer, check_matrix
from bgsub.robustpca.gram import ColumnReader
from bgsub.robustpca.linalg import row_blocks
from bgsub.robustpca.reweight import REWEIGHT_CUTOFF
from bgsub.robustpca.sliding_gram import SlidingGram
from bgsub.robustpca.spaces import Floats, RowSpace, Space
from bgsub.robustpca.trpca import TRPCA

_PER_ROW = ("support_", "errors_", "scores_", "outlier_scores_")


class OnlineTRPCA(TRPCA):
    """TRPCA of a sliding window of rows, for streams whose subspace changes.

    Keeps the last rows and their Gram matrix, see `SlidingGram`. A renewed fit starts from the last
    one besides some random starts, and the best of them is kept: the last one saves iterations
    where little has changed, the random ones find a subspace that is new. As in `TRPCA`, what is in
    less than half of the window has no part in the fit: a change is followed when it fills half.

    Parameters
    ----------
    n_components : int
        k, at least 1.
    window : int
        Rows that are fitted.
    refresh : int
        The fit is renewed after so many rows, and at the end of every call of `partial_fit`.
    n_fresh : int
        Random starts of a renewed fit, at least 0.
    support_fraction, n_init, tol, max_iter, reweight, random_state, reweight_cutoff,
    threads
        As for `TRPCA`; n_init are the starts of the first fit.

    Attributes
    ----------
    center_, components_ : ndarray of shape (p,), (k, p)
        Of the rows that are in the window.
    support_, errors_, outlier_scores_ : ndarray of shape (m,)
        Of the rows of the last call, each as the fit saw it that took it in.
    scores_ : ndarray of shape (m, k)
        Likewise; the components are those of that fit.
    n_seen_ : int
        Rows since `fit`, or since the first `partial_fit`.
    objective_, objectives_, error_location_, error_scale_, n_iter_, converged_, n_reweight_,
    raw_center_, raw_components_, raw_support_
        As in `TRPCA`, of the last fit; the last start is the warm one where there was a fit.

    Notes
    -----
    A row costs O(window · p) operations, and a renewed fit O(window · p · k), where a fit anew
    takes O(window² · p) for its Gram matrix alone. Memory: window · p entries of the type of the
    rows (uint8 stays uint8) and 8 · window² bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from bgsub.robustpca.online import OnlineTRPCA
    >>> rng = np.random.default_rng(0)
    >>> first, second = rng.normal(size=(2, 2, 40))
    >>> fit = OnlineTRPCA(2, window=50, random_state=0)
    >>> fit = fit.partial_fit(rng.normal(size=(50, 2)) @ first)
    >>> bool(fit.reconstruction_error(second).max() > 1)
    True
    >>> fit = fit.partial_fit(rng.normal(size=(40, 2)) @ second)
    >>> bool(fit.reconstruction_error(second).max() > 1e-9)
    False
    """

    solver: Literal["gram", "reference"] = "gram"
    n_seen_: int

    def __init__(
        self,
        n_components: int = 10,
        *,
        window: int = 500,
        refresh: int = 50,
        n_fresh: int = 2,
        support_fraction: float | None = None,
        n_init: int = 10,
        tol: float = 1e-5,
        max_iter: int = 1000,
        reweight: bool = True,
        random_state: int | np.random.Generator | None = None,
        reweight_cutoff: float = REWEIGHT_CUTOFF,
        threads: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.window = window
        self.refresh = refresh
        self.n_fresh = n_fresh
        self.support_fraction = support_fraction
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.reweight = reweight
        self.random_state = random_state
        self.reweight_cutoff = reweight_cutoff
        self.threads = threads

    def fit(self, X: NDArray[Any] | ColumnReader, y: object = None) -> Self:  # noqa: ARG002 - convention
        """Forget all rows, and take in those of X as a stream that begins with a whole window.

        Parameters
        ----------
        X : ndarray of shape (n, p) or ColumnReader
            As for `TRPCA`. With at most `window` rows the result is that of `TRPCA`.
        y : ignored

        Raises
        ------
        ValueError
            As `TRPCA`.
        """
        self._check(check_matrix(X).shape[0])
        rows = self._training_matrix(X)
        if not isinstance(rows, np.ndarray):
            rows = check_matrix(rows.columns(0, rows.shape[1]))
        self._begin(rows)
        return self._stream(rows, self.window)

    def partial_fit(self, X: NDArray[Any], y: object = None) -> Self:  # noqa: ARG002 - convention
        """Take in rows in place of the oldest, and renew the fit.

        Parameters
        ----------
        X : ndarray of shape (m, p)
            In order of time; of the type of the first rows, or one that it can hold.
        y : ignored

        Raises
        ------
        ValueError
            As `fit`; and for rows with another number of features, or of a type that the window
            does not hold.
        """
        self._check(self.window)
        if not self.__sklearn_is_fitted__():
            rows = self._training_matrix(X)
            self._begin(rows)
        else:
            rows = self._matrix(X)
            if not np.can_cast(rows.dtype, self._rows.dtype):
                message = f"X is {rows.dtype}, but the rows of the window are {self._rows.dtype}"
                raise ValueError(message)
        return self._stream(rows, self.refresh)

    def _check(self, n_samples: int) -> None:
        super()._check(n_samples)
        for name, least in (("window", 2), ("refresh", 1), ("n_fresh", 0)):
            check_integer(name, getattr(self, name), least)

    def _begin(self, rows: NDArray[Any]) -> None:
        kind = np.uint8 if rows.dtype == np.uint8 else np.float64
        self._rows = SlidingGram(self.window, rows.shape[1], kind)
        self._is_first = True
        self.n_seen_ = 0

    def _stream(self, rows: NDArray[Any], first: int) -> Self:
        """Take in some rows, `first` of them to begin with, and keep what is said of each."""
        step = min(self.refresh, self.window)
        edges = [0, *range(min(first, self.window), len(rows), step), len(rows)]
        parts = [self._take(rows[start:stop]) for start, stop in pairwise(edges)]
        for name, values in zip(_PER_ROW, zip(*parts, strict=True), strict=True):
            setattr(self, name, _stacked(values))
        return self

    def _take(self, rows: NDArray[Any]) -> list[NDArray[Any]]:
        """Take in rows and renew the fit; what it says of these rows."""
        self._rows.add(rows)
        self.n_seen_ += len(rows)
        gram = self._rows.gram()
        self._offset = gram.offset
        with self._pool() as pool:
            fits = self._fit_space(RowSpace(gram.values, gram.n_features, pool))
            formed = form_pixels(self._rows, gram.offset, fits, pool)
        self._set_fit(fits[0])
        self._set_pixels([(m, orthonormal_rows(U)) for m, U in formed])
        self._is_first = False
        return [getattr(self, name)[-len(rows) :] for name in _PER_ROW]

    def _starts(self, space: Space) -> list[Floats]:
        if self._is_first:
            return super()._starts(space)
        rng = np.random.default_rng(self.random_state)
        fresh = [space.draw_scores(self.n_components, rng) for _ in range(self.n_fresh)]
        return [*fresh, self._last_scores()]

    def _last_scores(self) -> Floats:
        """X₀U of the window for the components of the last fit, shape (n, k)."""
        n, p = self._rows.shape
        scores = np.zeros((n, self.n_components))
        components = self.components_[: self.n_components]
        for part in row_blocks(n, p):
            block = np.subtract(self._rows[part], self._offset, dtype=np.float64)
            scores[part, : len(components)] = block @ components.T
        return scores


def _stacked(parts: tuple[NDArray[Any], ...]) -> NDArray[Any]:
    """Join what fits say of their rows; where a fit found fewer components, with zeros."""
    if parts[0].ndim == 1:
        return np.concatenate(parts)
    width = max(part.shape[1] for part in parts)
    return np.concatenate([np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in parts])
