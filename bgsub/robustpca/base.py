"""Base of all estimators: the choice of space, and maps between pixels and scores."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import ConvergenceWarning, RankWarning
from bgsub.robustpca import spaces
from bgsub.robustpca.conventions import Conventions, rows_of, support_size
from bgsub.robustpca.gram import ColumnReader, Gram, as_columns, block_columns, gram_matrix
from bgsub.robustpca.reweight import location_and_scale, predictive_errors, robust_scores
from bgsub.robustpca.spaces import FeatureSpace, Fit, Floats, RowSpace, Space, column_median
from bgsub.runtime.threads import ThreadPool, import_each


class AffineEstimator(Conventions):
    """A centre and orthonormal components, fitted to the rows of a matrix by `_fit_space`."""

    n_components: int
    tol: float
    max_iter: int
    threads: int | None = None

    center_: Floats
    support_: NDArray[np.bool_]
    errors_: Floats
    center_weights_: Floats
    component_weights_: Floats
    scores_: Floats
    n_iter_: int
    converged_: bool
    outlier_scores_: Floats
    error_location_: float
    error_scale_: float

    def _fit_space(self, space: Space) -> list[Fit]:
        """Fit in a space; the first fit is the result, others are formed meanwhile."""
        raise NotImplementedError

    def fit(self, X: NDArray[Any] | ColumnReader, y: object = None) -> Self:  # noqa: ARG002 - convention
        """Fit centre and components.

        Parameters
        ----------
        X : ndarray of shape (n, p) or ColumnReader
            float64, float32 or uint8, one observation a row. uint8 is never copied as a whole.
        y : ignored

        Raises
        ------
        ValueError
            For what is no matrix of finite numbers, and for parameters out of range.

        Notes
        -----
        n²p operations for the Gram matrix and O(n²k) per iteration where n ≤ p, O(npk) per
        iteration otherwise. Memory besides X: 8n² bytes and a few blocks, or O(nk + pk).

        Products run on one thread each, as many of them side by side as the matrix library would
        use (``OPENBLAS_NUM_THREADS``), so that the result is the same bit for bit on any number.
        """
        X = self._training_matrix(X)
        n, p = X.shape
        with self._pool() as pool:
            if n > p:
                rows = rows_of(X)
                offset = column_median(rows)
                fits = self._fit_space(FeatureSpace(rows, offset, pool))
                formed = [(offset + fit.weights, fit.basis) for fit in fits]
            else:
                reader = as_columns(X)
                gram = gram_matrix(reader, threads=pool.threads)
                fits = self._fit_space(RowSpace(gram.values, p, pool))
                formed = form_pixels(reader, gram.offset, fits, pool)
                self._set_weights(fits[0])
            pixels = pool.map(lambda each: (each[0], orthonormal_rows(each[1])), formed)
        self._set_fit(fits[0])
        self._set_pixels(pixels)
        return self

    def _pool(self) -> ThreadPool:
        # A limit that is set before SciPy's own matrix library comes does not reach it.
        import_each(("scipy.linalg", "scipy.sparse.linalg"))
        return ThreadPool(self.threads)

    def fit_gram(self, gram: Gram) -> Self:
        """Fit from a Gram matrix alone: everything but ``center_`` and ``components_``.

        O(n²k) operations per iteration, whatever the number of pixels; see `gram_matrix`.
        """
        self._check(len(gram.values))
        self._forget()
        self.n_features_in_ = gram.n_features
        with self._pool() as pool:
            fits = self._fit_space(RowSpace(gram.values, gram.n_features, pool, gram.copies))
        self._set_fit(fits[0])
        self._set_weights(fits[0])
        return self

    def _set_weights(self, fit: Fit) -> None:
        self.center_weights_, self.component_weights_ = fit.weights, fit.basis[:, fit.alive]

    def _set_fit(self, fit: Fit) -> None:
        rank, k = fit.rank, self.n_components
        if rank < k:
            found = f"the fitted rows have rank {rank}, lower than n_components={k}"
            message = f"{found}: {rank} components are returned"
            warnings.warn(message, RankWarning, stacklevel=3)
        # Where the start is the result already, taking it counts as one.
        self.n_iter_ = max(getattr(self, "n_iter_", 1), 1)
        self.support_ = fit.support
        self.errors_ = fit.residuals
        self.scores_ = fit.scores[:, fit.alive]

    def _set_converged(self, residual: float) -> None:
        self.converged_ = residual <= self.tol
        if not self.converged_:
            name, found = type(self).__name__, f"{residual:.1e}, above tol={self.tol:g}"
            message = f"{name} did not converge in max_iter={self.max_iter} iterations"
            message = f"{message}: the residual is {found}"
            warnings.warn(message, ConvergenceWarning, stacklevel=5)

    def _set_outlier_scores(self, fit: Fit, resolution: float = 0.0) -> None:
        errors = predictive_errors(fit) if fit.support.any() else np.sqrt(fit.residuals)
        self.outlier_scores_ = robust_scores(errors, resolution=resolution)
        self.error_location_, self.error_scale_ = location_and_scale(errors, resolution=resolution)

    def _set_pixels(self, formed: list[tuple[Floats, Floats]]) -> None:
        self.center_, self.components_ = formed[0]

    def transform(self, X: NDArray[Any]) -> Floats:
        """Compute the scores Y = (X − 1mᵀ)U, shape (n, k); O(npk) operations.

        A data frame after ``set_output(transform="pandas")``.
        """
        scores: Floats = self._contained(X, self._scores_of(X))
        return scores

    def fit_transform(self, X: NDArray[Any], y: object = None) -> Floats:
        """Fit, and return the scores of the same rows."""
        return self.fit(X, y).transform(X)

    def inverse_transform(self, scores: Floats) -> Floats:
        """Compute m + UY, shape (n, p), the reconstruction that belongs to scores (n, k)."""
        self._check_fitted()
        scores, k = np.asarray(scores, dtype=np.float64), len(self.components_)
        if scores.ndim != 2 or scores.shape[1] != k:
            message = f"scores have shape {scores.shape}: a matrix of {k} columns is needed"
            raise ValueError(f"{message}, one for each component")
        return np.asarray(self.center_ + scores @ self.components_)

    def reconstruct(self, X: NDArray[Any]) -> Floats:
        """Compute m + UUᵀ(x − m) for every row, shape (n, p), float64; O(npk) operations."""
        return self.inverse_transform(self._scores_of(X))

    def _scores_of(self, X: NDArray[Any]) -> Floats:
        X = self._matrix(X)
        parts = [block @ self.components_.T for _, block in spaces.centred_blocks(X, self.center_)]
        return np.concatenate(parts)

    def reconstruction_error(self, X: NDArray[Any]) -> Floats:
        """Compute r_i = ‖(UUᵀ − I)(x_i − m)‖², shape (n,); O(npk) operations, by blocks of rows."""
        return spaces.residuals(self._matrix(X), self.center_, self.components_)

    def score(self, X: NDArray[Any], y: object = None) -> float:  # noqa: ARG002 - convention
        """Return minus the mean of the t smallest reconstruction errors of the rows of X.

        t is that of ``support_fraction`` where the method has one, ⌈n/2⌉ otherwise. More components
        always reconstruct better: see `choose_rank` for how many there are.
        """
        errors = self.reconstruction_error(X)
        t = support_size(errors.size, getattr(self, "support_fraction", None))
        return -float(np.sort(errors)[:t].mean())


def orthonormal_rows(U: Floats) -> Floats:
    """Return Uᵀ without absent components and the last errors of orthonormality, shape (k, p)."""
    U = U[:, np.any(U != 0.0, axis=0)]
    if U.shape[1] == 0:
        return np.zeros((0, U.shape[0]))
    import scipy.linalg

    lower = np.linalg.cholesky(U.T @ U)
    return np.ascontiguousarray(scipy.linalg.solve_triangular(lower, U.T, lower=True))


def form_pixels(
    reader: ColumnReader, offset: NDArray[Any], fits: list[Fit], pool: ThreadPool
) -> list[tuple[Floats, Floats]]:
    """Compute m = m₀ + X₀ᵀw (p,) and U = X₀ᵀB (p, k) of every fit, in one pass over X."""
    n, p = reader.shape
    stacked = np.concatenate([np.column_stack([f.weights, f.basis]) for f in fits], axis=1).T
    used = np.flatnonzero(stacked.any(axis=0))
    stacked = np.ascontiguousarray(stacked[:, used])
    result = np.empty((stacked.shape[0], p))
    # Narrower than for the Gram matrix: these blocks are float64, and no sum goes over columns.
    step = max(block_columns(n) // 4, 1)

    def form(part: slice) -> None:
        # Converted, then subtracted in place: half the time of a subtraction that converts.
        centred = reader.columns(part.start, part.stop)[used].astype(np.float64)
        centred -= offset[part]
        result[:, part] = stacked @ centred

    pool.map(form, list(spaces.slices(p, step)))
    ends = np.cumsum([1 + fit.basis.shape[1] for fit in fits])
    return [(offset + part[0], part[1:].T) for part in np.split(result, ends[:-1])]
