"""Synthetic data with known outliers: the paper's Data1 and Data2.

As Podosinnikova, Setzer and Hein (GCPR 2014) define them. True observations are x = Ua + ε with a
random p × k matrix U of orthonormal columns, a uniform on [−1, 1]^k and ε ~ N(0, σ²I_p). Outliers
are uniform on [0, 2]^p (`data1`), or Gaussian and cut to a half-space, with true rows of half the
size (`data2`). Where the paper writes N(0, σ), σ is read as a standard deviation; with `variance`
as a variance, so that noise and outliers of `data2` are larger. The rows come in random order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bgsub.robustpca.descent import random_orthonormal
from bgsub.robustpca.spaces import Floats

_DATA1_LARGEST = 2.0
_DATA2_SIGMA = 0.35
_DATA2_TRUE_SCALE = 0.5


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
    variance: bool = False,
    random_state: int | np.random.Generator | None = None,
) -> SyntheticData:
    """Outliers uniform on [0, 2]^p: far from 0, and all on one side.

    Parameters
    ----------
    n_samples, n_features, n_components : int
        n, p and k ≤ p.
    outlier_share : float
        Share of outliers, in [0, 1); rounded to a number of rows.
    noise : float
        σ, the standard deviation of the noise on true observations.
    variance : bool
        Whether σ is a variance instead.
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
    noise = _deviation(noise, variance=variance)
    U, true = _near_subspace(n_samples - count, n_features, n_components, noise, rng)
    return _shuffled(true, rng.uniform(0.0, _DATA1_LARGEST, (count, n_features)), U, rng)


def data2(
    n_samples: int = 200,
    n_features: int = 20,
    n_components: int = 5,
    *,
    outlier_share: float = 0.3,
    noise: float = 0.05,
    variance: bool = False,
    random_state: int | np.random.Generator | None = None,
) -> SyntheticData:
    """Outliers of a random half-space: o = x − max{⟨x, w⟩, 0} w with x ~ N(0, 0.35² I_p).

    w is uniform on the unit sphere. True rows, noise included, are scaled by 0.5. With `variance`
    0.35 is a variance, too. Parameters and errors as for `data1`.
    """
    rng = np.random.default_rng(random_state)
    count = _outlier_count(n_samples, n_features, n_components, outlier_share)
    noise = _deviation(noise, variance=variance)
    U, true = _near_subspace(n_samples - count, n_features, n_components, noise, rng)
    normal = random_orthonormal(n_features, 1, rng)[:, 0]
    outliers = _deviation(_DATA2_SIGMA, variance=variance) * rng.standard_normal(
        (count, n_features)
    )
    outliers -= np.outer(np.maximum(outliers @ normal, 0.0), normal)
    return _shuffled(_DATA2_TRUE_SCALE * true, outliers, U, rng)


def _outlier_count(n_samples: int, n_features: int, n_components: int, share: float) -> int:
    if not 1 <= n_components <= n_features:
        message = f"n_components={n_components}: from 1 to n_features={n_features} is needed"
        raise ValueError(message)
    if not 0.0 <= share < 1.0:
        message = f"outlier_share={share}: at least 0 and less than 1 is needed"
        raise ValueError(message)
    return round(share * n_samples)


def _deviation(sigma: float, *, variance: bool) -> float:
    """Return the standard deviation that N(0, σ) stands for."""
    return math.sqrt(sigma) if variance else sigma


def _near_subspace(
    n: int, p: int, k: int, noise: float, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draw a subspace and n noisy observations of it: shapes (p, k) and (n, p)."""
    U = random_orthonormal(p, k, rng)
    scores = rng.uniform(-1.0, 1.0, (n, k))
    return U, scores @ U.T + noise * rng.standard_normal((n, p))


def _shuffled(true: Floats, outliers: Floats, U: Floats, rng: np.random.Generator) -> SyntheticData:
    """Both kinds of rows in random order."""
    X = np.concatenate([true, outliers])
    order = rng.permutation(len(X))
    return SyntheticData(X[order], (np.arange(len(X)) < len(true))[order], U.T)
