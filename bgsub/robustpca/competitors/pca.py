"""Classical principal component analysis: the mean of all rows and their k leading axes."""

from __future__ import annotations

import numpy as np

from bgsub.robustpca.competitors.row_method import RowMethod
from bgsub.robustpca.reweight import rounding_level
from bgsub.robustpca.spaces import Fit, Space
from bgsub.robustpca.trpca import principal_axes


class PCA(RowMethod):
    """Principal component analysis (PCA); not robust.

    Minimises Σ_i r_i(m, U) over all n rows. In the row space: with J = I − 11ᵀ/n the mean has the
    weights 1/n, and for the leading eigenpairs JKJ V = VΛ the components are U = X₀ᵀVΛ^(−1/2),
    since X₀ᵀJ then has the right singular vectors U; columns of V sum to 0.

    Parameters
    ----------
    n_components : int
        k, at least 1. If the data have a lower rank, fewer components are returned, with a warning.

    Attributes
    ----------
    center_ : ndarray of shape (p,)
    components_ : ndarray of shape (k, p)
        Orthonormal rows in order of variance.
    support_ : ndarray of shape (n,), bool
        True everywhere.
    errors_, scores_, outlier_scores_, error_location_, error_scale_
        As in `TRPCA`.
    n_iter_ : int
        1.
    converged_ : bool
        True.
    center_weights_, component_weights_ : ndarray of shape (n,), (n, k)
        w and B with m = m₀ + X₀ᵀw and U = X₀ᵀB; only where the fit ran among the rows.

    Notes
    -----
    O(n²k) operations per Lanczos iteration after the Gram matrix.

    References
    ----------
    K. Pearson: "On lines and planes of closest fit to systems of points in space", 1901.

    Examples
    --------
    >>> import numpy as np
    >>> from bgsub.robustpca.competitors.pca import PCA
    >>> X = np.random.default_rng(0).normal(size=(30, 50))
    >>> PCA(3).fit(X).components_.shape
    (3, 50)
    """

    def __init__(self, n_components: int = 10) -> None:
        self.n_components = n_components

    def _fit_space(self, space: Space) -> list[Fit]:
        everything = np.ones(space.n_samples, dtype=bool)
        fit = space.principal(everything, self.n_components)
        fit = principal_axes(fit, space.squared_norms)
        self.n_iter_ = 1
        self.converged_ = True
        self._set_outlier_scores(fit, rounding_level(space))
        return [fit]
