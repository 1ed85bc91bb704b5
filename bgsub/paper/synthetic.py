"""Synthetic data with known outliers: the paper's Data1 and Data2.

As Podosinnikova, Setzer and Hein (GCPR 2014) define them. True observations are x = Ua + ε with a
random p × k matrix U of orthonormal columns, a uniform on [−1, 1]^k and ε ~ N(0, σ²I_p). Outliers
are uniform on [0, 2]^p (`data1`), or Gaussian and cut to a half-space, with true rows of half the
size (`data2`). Where the paper writes N(0, σ), σ is read as a standard deviation; with `variance`
as a variance, so that noise and outliers of `data2` are larger. The rows come in random order.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bgsub.robustpca.descent import random_orthonormal
from bgsub.robustpca.spaces import Floats

_DATA2_SIGMA = 0.35


@dataclass(frozen=True)
class SyntheticData:
    """Observations of which it is known which are true."""

    X: Floats
    labels: NDArray[np.bool_]
    """True for true observations, False for outliers."""
    components: Floats
    """Orthonormal basis (k, p) of the subspace, through 0, that true observations lie near."""

    @property
    def true_observations(self) -> Floats:
        """T, the rows of X that are no outliers, shape (|T|, p)."""
        return self.X[self.labels]


Outliers = Callable[[int, int, float, np.random.Generator], Floats]
"""(count, p, standard deviation of N(0, 0.35), rng) to outliers of shape (count, p)."""


def _in_a_cube(count: int, p: int, _: float, rng: np.random.Generator) -> Floats:
    return rng.uniform(0.0, 2.0, (count, p))


def _in_a_half_space(count: int, p: int, deviation: float, rng: np.random.Generator) -> Floats:
    """o = x − max{⟨x, w⟩, 0} w with x ~ N(0, 0.35² I_p) and w uniform on the unit sphere."""
    normal = random_orthonormal(p, 1, rng)[:, 0]
    outliers = deviation * rng.standard_normal((count, p))
    outliers -= np.outer(np.maximum(outliers @ normal, 0.0), normal)
    return outliers


def _draw(
    outliers: Outliers,
    true_scale: float,
    n_samples: int = 200,
    n_features: int = 20,
    n_components: int = 5,
    *,
    outlier_share: float = 0.3,
    noise: float = 0.05,
    variance: bool = False,
    random_state: int | np.random.Generator | None = None,
) -> SyntheticData:
    """Draw n observations with p ≥ k features, a share of outliers in [0, 1) among them.

    ValueError for other sizes and shares.
    """
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
    X = np.concatenate([true_scale * true, outliers(count, n_features, large, rng)])
    order = rng.permutation(n_samples)
    return SyntheticData(X[order], (np.arange(n_samples) < len(true))[order], U.T)


data1 = functools.partial(_draw, _in_a_cube, 1.0)
"""Outliers uniform on [0, 2]^p: far from 0, and all on one side."""

data2 = functools.partial(_draw, _in_a_half_space, 0.5)
"""Outliers of a random half-space; true rows, noise included, are scaled by 0.5."""
