"""Fit TRPCA: minimise the trimmed reconstruction error over the Stiefel manifold."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import ConvergenceWarning, PrecisionWarning
from bgsub.robustpca.base import AffineEstimator, orthonormal_rows
from bgsub.robustpca.conventions import rows_of, support_size
from bgsub.robustpca.descent import Descent, algorithm1, descend, random_orthonormal
from bgsub.robustpca.gram import ColumnReader
from bgsub.robustpca.reweight import LEAST_SCALE, REWEIGHT_CUTOFF, reweight, rounding_level
from bgsub.robustpca.spaces import FeatureSpace, Fit, Floats, Rows, Space, column_median, peak_signs

# Errors that are smaller than this share of the rows lose digits: they are roots of differences of
# squares. Below the second one rows lie on the components exactly, up to their rounding.
_HELD = 2.0**-22
_EXACT = 1e-10
LEAST_DISTINCT = 8  # rows but for copies: of fewer no component is told from their noise


@dataclass(eq=False, repr=False)
class TRPCA(AffineEstimator):
    """Robust PCA that minimises the trimmed reconstruction error (TRPCA).

    Finds a centre m and k orthonormal components U that minimise
    R(m, U) = (1/t) Σ of the t smallest r_i, r_i = ‖(UUᵀ − I)(x_i − m)‖², by Algorithm 1 of the
    paper from several random starts, of which the best is kept; then, unless switched off, refits
    to all inliers (`reweight`).

    Parameters
    ----------
    n_components : int
        k, at least 1. If the data have a lower rank, fewer components are returned, with a warning.
    support_fraction : float, optional
        t/n in [0.5, 1]; None is the paper's t = ⌈n/2⌉, breakdown point 0.5.
    n_init : int
        Random starts.
    tol : float
        A start ends when its objective falls by less than this share of itself.
    max_iter : int
        A start ends after this many iterations at the latest.
    reweight : bool
        Refit to all inliers after the best start.
    solver : {"gram", "reference"}
        "gram" runs among the rows from the exact Gram matrix (or among the columns where they are
        fewer), all starts together; "reference" is Algorithm 1 as printed, on the matrix itself.
    random_state : int, numpy.random.Generator or None
        Seed of the starts; the same seed gives the same result bit for bit on one machine.
    reweight_cutoff : float
        Rows with a robust z-score up to this are inliers of the reweighting step and of `predict`;
        for frames of a video use `bgsub.robustpca.reweight.FOOTAGE_CUTOFF`.
    threads : int or None
        Threads to fit on; None is as many as the matrix library would use. The result is the same
        bit for bit on any number of them.

    Attributes
    ----------
    center_ : ndarray of shape (p,)
    components_ : ndarray of shape (k, p)
        Orthonormal rows in order of variance.
    support_ : ndarray of shape (n,), bool
        The rows that were fitted: all inliers, or the t best without reweighting.
    errors_ : ndarray of shape (n,)
        r_i.
    outlier_scores_ : ndarray of shape (n,)
        Robust z-score of √r_i, see `robust_scores`.
    error_location_, error_scale_ : float
        What these scores are relative to.
    offset_ : float
        Minus ``reweight_cutoff``: rows with a lower `score_samples` are outliers of `predict`.
    scores_ : ndarray of shape (n, k)
        Y = (X − 1mᵀ)U.
    objective_ : float
        R of the best start.
    objectives_ : ndarray of shape (n_init,)
        R of every start.
    n_iter_ : int
        Iterations of the best start.
    converged_ : bool
        Whether the best start converged, and reweighting too.
    n_reweight_ : int
        Refits done.
    raw_center_, raw_components_, raw_support_ : ndarray
        Centre, components and support before reweighting (not after `fit_gram`: only the support).
    center_weights_, component_weights_ : ndarray of shape (n,), (n, k)
        w and B with m = m₀ + X₀ᵀw and U = X₀ᵀB; only where the fit ran among the rows.

    References
    ----------
    A. Podosinnikova, S. Setzer, M. Hein: "Robust PCA: Optimization of the Robust Reconstruction
    Error over the Stiefel Manifold", GCPR 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from bgsub import TRPCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 40))
    >>> X[:20] += rng.normal(scale=5, size=(20, 40))
    >>> fit = TRPCA(2, random_state=0).fit(X)
    >>> bool(fit.support_[20:].all()), int(fit.support_[:20].sum())
    (True, 0)
    """

    n_components: int = 10
    _: KW_ONLY
    support_fraction: float | None = None
    n_init: int = 10
    tol: float = 1e-5
    max_iter: int = 1000
    reweight: bool = True
    solver: Literal["gram", "reference"] = "gram"
    random_state: int | np.random.Generator | None = None
    reweight_cutoff: float = REWEIGHT_CUTOFF
    threads: int | None = None

    _words: ClassVar = {"solver": ("gram", "reference")}

    def fit(self, X: NDArray[Any] | ColumnReader, y: object = None) -> Self:
        """Fit; see `AffineEstimator.fit` for the matrix, the errors and the cost."""
        if self.solver != "reference":
            super().fit(X, y)
            self._warn_of_lost_digits(X)
            return self
        rows = np.asarray(rows_of(self._training_matrix(X)), dtype=np.float64)
        rng = np.random.default_rng(self.random_state)
        rank = min(self.n_components, rows.shape[1])
        starts = (random_orthonormal(rows.shape[1], rank, rng) for _ in range(self.n_init))
        t = support_size(rows.shape[0], self.support_fraction)
        descents = [algorithm1(rows, U, t, tol=self.tol, max_iter=self.max_iter) for U in starts]
        offset = column_median(rows)
        fits = self._finish(FeatureSpace(rows, offset), descents)
        self._set_fit(fits[0])
        self._set_pixels([(offset + f.weights, orthonormal_rows(f.basis)) for f in fits])
        return self

    def _warn_of_lost_digits(self, X: NDArray[Any] | ColumnReader) -> None:
        """Warn where errors are no more than what float64 loses of the squares of the rows."""
        kind = np.dtype(getattr(X, "dtype", np.float64))
        if not isinstance(X, np.ndarray) or kind.kind != "f":
            return
        size = float(np.sqrt(np.median(np.einsum("nk,nk->n", self.scores_, self.scores_))))
        if self.error_location_ > _HELD * size:
            return
        error = float(np.sqrt(np.median(self.reconstruction_error(X)[self.support_])))
        # Rows that lie on the components exactly have no errors to lose.
        rounding = max(_EXACT, 4.0 * float(np.finfo(kind).eps))
        if error > rounding * (size + float(np.linalg.norm(self.center_))):
            message = (
                f"TRPCA: the rows are {size / error:.0e} times as large as their errors, of which "
                "squares in float64 hold few digits beyond 1e+06: components and inliers may be "
                "wrong; scale down the columns that are so large"
            )
            warnings.warn(message, PrecisionWarning, stacklevel=3)

    def _fit_space(self, space: Space) -> list[Fit]:
        starts = np.stack(self._starts(space))
        t = support_size(space.n_samples, self.support_fraction)
        return self._finish(space, descend(space, starts, t, tol=self.tol, max_iter=self.max_iter))

    def _starts(self, space: Space) -> list[Floats]:
        """X₀U of the components to start from, each of shape (n, k)."""
        rng = np.random.default_rng(self.random_state)
        return [space.draw_scores(self.n_components, rng) for _ in range(self.n_init)]

    def _finish(self, space: Space, descents: list[Descent]) -> list[Fit]:
        """Keep the best start, reweight it, and set what does not need the pixels."""
        self.objectives_ = np.array([descent.objectives[-1] for descent in descents])
        best = descents[int(self.objectives_.argmin())]
        self.objective_ = best.objectives[-1]
        self.n_iter_ = len(best.objectives) - 1
        self.converged_ = best.converged
        if not best.converged:
            fall = 1 - best.objectives[-1] / best.objectives[-2]
            found = f"the objective still fell by {fall:.1e} of itself in the last one"
            message = f"TRPCA did not converge in max_iter={self.max_iter} iterations: {found}"
            warnings.warn(message, ConvergenceWarning, stacklevel=4)
        raw = principal_axes(best.fit, space.squared_norms, space.copies)
        self.raw_support_ = raw.support
        fits = [raw]
        self.n_reweight_ = 0
        if self.reweight:
            refit, self.n_reweight_, settled = reweight(
                space, raw, self.n_components, cutoff=self.reweight_cutoff
            )
            fits.insert(0, principal_axes(refit, space.squared_norms, space.copies))
            if not settled:
                self.converged_ = False
                message = (
                    f"TRPCA: the inliers still changed in the last of {self.n_reweight_} rounds of "
                    f"reweighting; a higher reweight_cutoff than {self.reweight_cutoff:g} may help"
                )
                warnings.warn(message, ConvergenceWarning, stacklevel=4)
        self._set_outlier_scores(fits[0], rounding_level(space))
        self.offset_ = -float(self.reweight_cutoff)
        return fits

    def _set_pixels(self, formed: list[tuple[Floats, Floats]]) -> None:
        super()._set_pixels(formed)
        self.raw_center_, self.raw_components_ = formed[-1]

    def score_samples(self, X: NDArray[Any]) -> Floats:
        """Return minus the robust z-score of √r_i, shape (n,): the lower, the more abnormal.

        Rows are taken as new ones. For those that were fitted ``-outlier_scores_`` says how normal
        each is among the others, which is a little less: it leaves the row itself out of the fit.
        """
        errors = np.sqrt(self.reconstruction_error(X))
        # Where all errors of the fit are equal, only what is above their rounding differs.
        least = max(64 * np.finfo(float).eps * self.error_location_, LEAST_SCALE)
        return np.asarray((self.error_location_ - errors) / max(self.error_scale_, least))

    def decision_function(self, X: NDArray[Any]) -> Floats:
        """Return ``score_samples(X) - offset_``, shape (n,): negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: NDArray[Any]) -> NDArray[np.int64]:
        """Return 1 for inliers and -1 for outliers, shape (n,)."""
        return np.where(self.decision_function(X) >= 0.0, 1, -1)

    def fit_predict(self, X: NDArray[Any], y: object = None) -> NDArray[np.int64]:
        """Fit, and return 1 for inliers and -1 for outliers among the same rows, shape (n,)."""
        return self.fit(X, y).predict(X)


def principal_axes(
    fit: Fit, squared_norms: Floats | float = 0.0, copies: Rows | None = None
) -> Fit:
    """Rotate components to the principal axes of the support's scores, largest variance first.

    The support's score of largest magnitude is positive. Components along which the support does
    not vary, but for the rounding of ``squared_norms``, (n,), of the rows, are left out; what they
    explained of other rows becomes part of the residuals again. So are those that fewer than eight
    rows and their copies make vary: there noise that copies share passes for what the scene does.
    """
    basis, scores = fit.basis[:, fit.alive], fit.scores[:, fit.alive]
    squares = np.einsum("nk,nk->n", scores, scores)
    distances = fit.residuals + squares
    centred = scores[fit.support] - scores[fit.support].mean(axis=0)
    _, lengths, axes = np.linalg.svd(centred, full_matrices=False)
    # Of the support alone: a row outside may be of any size.
    largest = np.maximum(distances, squared_norms)[fit.support].max(initial=0.0)
    noise = 16 * np.finfo(float).eps * np.sqrt(squares.size * largest)
    kept = lengths > noise
    if copies is not None and axes.size:
        shares = np.square(centred @ axes.T).T
        together = np.array([np.bincount(copies[fit.support], one) for one in shares])
        kept &= (_effective(together) >= LEAST_DISTINCT) | (_effective(shares) < LEAST_DISTINCT)
    V = axes[kept].T
    V = V * peak_signs(scores[fit.support] @ V)
    basis, scores = basis @ V, scores @ V
    residuals = fit.residuals
    if V.shape[1] < V.shape[0]:
        residuals = np.maximum(distances - np.einsum("nk,nk->n", scores, scores), 0.0)
    return replace(fit, basis=basis, scores=scores, residuals=residuals)


def _effective(shares: Floats) -> Floats:
    """How many equal shares would be as uneven as those in every row, (k,)."""
    squares = np.maximum(np.square(shares).sum(axis=1), np.finfo(float).tiny)
    return np.asarray(shares.sum(axis=1) ** 2 / squares)
