"""Synthetic data with known outliers, after the paper's Data1 and Data2.

Both are our reading of the experiments of Podosinnikova, Setzer and Hein (GCPR 2014). True
observations are x = Us + ε with a random p × k matrix U of orthonormal columns, s ~ N(0, I_k) and
ε ~ N(0, σ²I_p). What differs is where the outliers lie: everywhere (`data1`), or on a subspace of
their own (`data2`). The rows come in random order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bgsub.robustpca.competitors.reference import random_orthonormal
from bgsub.robustpca.spaces import Floats

_DATA2_SCALE = 3.0


@dataclass(frozen=True)
class SyntheticData:
    """Observations of which it is known which are true.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        The observations.
    labels : ndarray of shape (n,), bool
        True for true observations, False for outliers.
    components : ndarray of shape (k, p)
        Orthonormal basis of the subspace, through 0, that true observations scatter around.
    """

    X: Floats
    labels: NDArray[np.bool_]
    components: Floats

    @property
    def true_observations(self) -> Floats:
        """T, the rows of X that are no outliers, shape (|T|, p)."""
        return self.X[self.labels]


def data1(
    n_samples: int = 200,
    n_features: int = 20,
    n_components: int = 5,
    *,
    outlier_share: float = 0.3,
    noise: float = 0.05,
    random_state: int | np.random.Generator | None = None,
) -> SyntheticData:
    """Outliers scattered in all directions: o ~ N(0, I_p).

    Parameters
    ----------
    n_samples, n_features, n_components : int
        n, p and k ≤ p.
    outlier_share : float
        Share of outliers, in [0, 1); rounded to a number of rows.
    noise : float
        σ, the standard deviation of the noise on true observations.
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    SyntheticData

    Raises
    ------
    ValueError
        For k above p and for a share outside [0, 1).

    Examples
    --------
    >>> data = data1(outlier_share=0.25, random_state=0)
    >>> data.X.shape, int(data.labels.sum())
    ((200, 20), 150)
    """
    rng = np.random.default_rng(random_state)
    count = _outlier_count(n_samples, n_features, n_components, outlier_share)
    U, true = _near_subspace(n_samples - count, n_features, n_components, noise, rng)
    return _shuffled(true, rng.standard_normal((count, n_features)), U, rng)


def data2(
    n_samples: int = 200,
    n_features: int = 20,
    n_components: int = 5,
    *,
    outlier_share: float = 0.3,
    noise: float = 0.05,
    random_state: int | np.random.Generator | None = None,
) -> SyntheticData:
    """Outliers on a subspace of their own, three times as large: o = 3Vs + ε.

    V is a second random p × k matrix with orthonormal columns, s and ε are distributed as in the
    true observations. Harder than `data1`: the outliers have a structure that a fit can lock on to.

    Parameters
    ----------
    n_samples, n_features, n_components : int
        n, p and k ≤ p.
    outlier_share : float
        Share of outliers, in [0, 1); rounded to a number of rows.
    noise : float
        σ, the standard deviation of the noise on every row.
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    SyntheticData

    Raises
    ------
    ValueError
        For k above p and for a share outside [0, 1).
    """
    rng = np.random.default_rng(random_state)
    count = _outlier_count(n_samples, n_features, n_components, outlier_share)
    U, true = _near_subspace(n_samples - count, n_features, n_components, noise, rng)
    _, outliers = _near_subspace(count, n_features, n_components, noise, rng, scale=_DATA2_SCALE)
    return _shuffled(true, outliers, U, rng)


def _outlier_count(n_samples: int, n_features: int, n_components: int, share: float) -> int:
    if not 1 <= n_components <= n_features:
        message = f"n_components={n_components}: from 1 to n_features={n_features} is needed"
        raise ValueError(message)
    if not 0.0 <= share < 1.0:
        message = f"outlier_share={share}: at least 0 and less than 1 is needed"
        raise ValueError(message)
    return round(share * n_samples)


def _near_subspace(
    n: int, p: int, k: int, noise: float, rng: np.random.Generator, *, scale: float = 1.0
) -> tuple[Floats, Floats]:
    """Draw a subspace and n noisy observations of it: shapes (p, k) and (n, p)."""
    U = random_orthonormal(p, k, rng)
    scores = scale * rng.standard_normal((n, k))
    return U, scores @ U.T + noise * rng.standard_normal((n, p))


def _shuffled(true: Floats, outliers: Floats, U: Floats, rng: np.random.Generator) -> SyntheticData:
    """Both kinds of rows in random order."""
    X = np.concatenate([true, outliers])
    order = rng.permutation(len(X))
    return SyntheticData(X[order], (np.arange(len(X)) < len(true))[order], U.T)
