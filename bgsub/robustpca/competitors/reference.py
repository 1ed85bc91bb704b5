"""Algorithm 1 of the paper exactly as printed, on the matrix itself: slow, and easy to trust.

Podosinnikova, Setzer, Hein: "Robust PCA: Optimization of the Robust Reconstruction Error over the
Stiefel Manifold", GCPR 2014. This is what the row-space solver in `descent` is tested against.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from bgsub.robustpca.descent import Descent, smallest
from bgsub.robustpca.median import column_median
from bgsub.robustpca.spaces import Fit, Floats


def random_orthonormal(n_features: int, n_components: int, rng: np.random.Generator) -> Floats:
    """Draw from the uniform distribution on the Stiefel manifold, shape (p, k)."""
    U, _ = scipy.linalg.polar(rng.standard_normal((n_features, n_components)))
    return np.asarray(U, dtype=np.float64)


def residuals(X: Floats, m: Floats, U: Floats) -> Floats:
    """r_i(m, U) = ‖(UUᵀ − I)(x_i − m)‖², computed on the vectors themselves, shape (n,)."""
    centred = X - m
    difference = centred - (centred @ U) @ U.T
    return np.asarray(np.einsum("ij,ij->i", difference, difference))


def algorithm1(
    X: Floats, U: Floats, n_support: int, *, tol: float = 1e-5, max_iter: int = 1000
) -> Descent:
    """One start of Algorithm 1.

    Parameters
    ----------
    X : ndarray of shape (n, p), float64
    U : ndarray of shape (p, k)
        U⁰, with orthonormal columns.
    n_support : int
        t.
    tol, max_iter : float, int
        Stop when the objective falls by less than this share, or after so many iterations.

    Returns
    -------
    Descent
        Its weights are m − m₀ and its basis is U, as in `spaces.FeatureSpace`.

    Notes
    -----
    O(npk) operations and a few copies of X per iteration.
    """
    start = column_median(X)
    m = start
    r = residuals(X, m, U)
    objectives = [float(np.sort(r)[:n_support].mean())]
    converged = False
    while not converged and len(objectives) <= max_iter:
        inside = X[smallest(r[:, None], n_support)[:, 0]] - m
        G = -inside.T @ (inside @ U)
        U = -scipy.linalg.polar(G)[0]
        m = X[smallest(residuals(X, m, U)[:, None], n_support)[:, 0]].mean(axis=0)
        r = residuals(X, m, U)
        objectives.append(float(np.sort(r)[:n_support].mean()))
        converged = objectives[-2] - objectives[-1] <= tol * objectives[-2]
    support = smallest(r[:, None], n_support)[:, 0]
    return Descent(Fit(m - start, U, (X - m) @ U, r, support), objectives, converged)
