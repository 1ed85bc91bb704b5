"""Run the row-outlier methods as the experiments need them, and score them on known outliers."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import BgsubWarning
from bgsub.experiments.options import MANY_REMOVALS
from bgsub.metrics import tre
from bgsub.robustpca.base import AffineEstimator
from bgsub.robustpca.competitors.hrpca import HRPCA
from bgsub.robustpca.competitors.orpca import ORPCA
from bgsub.robustpca.competitors.outlier_pursuit import OutlierPursuit
from bgsub.robustpca.competitors.pca import PCA
from bgsub.robustpca.trpca import TRPCA

Floats = NDArray[np.float64]

Progress = Callable[[str, int, int | None], None]
"""Called with a stage, how much of it is done, and of how much."""


@dataclass(frozen=True)
class Variant:
    """A method with what it is told of the outliers.

    Attributes
    ----------
    name : str
        For tables and legends.
    method : str
        Its name in `bgsub.robustpca.competitors.methods.METHODS`.
    t : str
        ``true`` if it is told the number of true observations, ``half`` if it takes ⌈n/2⌉, empty if
        it takes no t.
    make : callable
        (k, true share t/n, seed) to an unfitted estimator.
    """

    name: str
    method: str
    t: str
    make: Callable[[int, float, int], AffineEstimator]


VARIANTS = (
    Variant(
        "TRPCA",
        "trpca",
        "true",
        lambda k, share, seed: TRPCA(k, support_fraction=share, reweight=False, random_state=seed),
    ),
    Variant(
        "TRPCA(.5)", "trpca", "half", lambda k, _, seed: TRPCA(k, reweight=False, random_state=seed)
    ),
    Variant(
        "TRPCA(.5) reweighted", "trpca", "half", lambda k, _, seed: TRPCA(k, random_state=seed)
    ),
    Variant("ORPCA", "orpca", "true", lambda k, share, _: ORPCA(k, support_fraction=share)),
    Variant("ORPCA(.5)", "orpca", "half", lambda k, _share, _seed: ORPCA(k)),
    Variant(
        "OPRPCA",
        "outlier-pursuit",
        "true",
        lambda k, share, _: OutlierPursuit(k, support_fraction=share),
    ),
    Variant("OPRPCA(.5)", "outlier-pursuit", "half", lambda k, _share, _seed: OutlierPursuit(k)),
    Variant(
        "OPRPCA, rank k",
        "outlier-pursuit",
        "",
        lambda k, _share, _seed: OutlierPursuit(k, lam="rank"),
    ),
    Variant(
        "HRPCA",
        "hrpca",
        "true",
        lambda k, share, seed: HRPCA(k, support_fraction=share, random_state=seed),
    ),
    Variant(
        "HRPCA, T = n",
        "hrpca",
        "true",
        lambda k, share, seed: HRPCA(
            k, support_fraction=share, max_removals=MANY_REMOVALS, random_state=seed
        ),
    ),
    Variant("HRPCA(.5)", "hrpca", "half", lambda k, _, seed: HRPCA(k, random_state=seed)),
    Variant("PCA", "pca", "", lambda k, _share, _seed: PCA(k)),
)
"""Every row-outlier method with true t and with ⌈n/2⌉, and PCA.

For OPRPCA "true" and "half" mean λ such that no more than n − t rows are outliers; "rank k" takes
the least λ with which the low-rank part has rank k. HRPCA removes 2(n − t) rows at most, "T = n"
goes on until none can be removed, as its paper has it; with t = ⌈n/2⌉ the two are the same.
"""


@dataclass(frozen=True)
class Score:
    """How a variant did on one data set.

    Attributes
    ----------
    tre : float
        Reconstruction error of the true observations above that of their own PCA.
    seconds : float
    converged : bool
    """

    tre: float
    seconds: float
    converged: bool


def judge(variant: Variant, X: Floats, labels: NDArray[np.bool_], k: int, seed: int) -> Score:
    """Fit a variant to observations of which it is known which are true.

    Parameters
    ----------
    variant : Variant
    X : ndarray of shape (n, p)
    labels : ndarray of shape (n,), bool
        True for true observations.
    k, seed : int
    """
    estimator = variant.make(k, float(labels.mean()), seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BgsubWarning)  # the score says whether it converged
        began = time.perf_counter()
        estimator.fit(X)
        seconds = time.perf_counter() - began
    error = tre(estimator.center_, estimator.components_, X[labels])
    # Rounding may take the error of a perfect fit below zero.
    return Score(max(error, 0.0), seconds, bool(getattr(estimator, "converged_", True)))


def measured(variant: Variant, scores: list[Score]) -> dict[str, Any]:
    """Sum up a method's scores on several data sets, by field of a point."""
    mean, deviation = mean_and_deviation([score.tre for score in scores])
    return {
        "variant": variant.name,
        "method": variant.method,
        "t": variant.t,
        "sets": len(scores),
        "tre_mean": mean,
        "tre_std": deviation,
        "seconds": float(np.mean([score.seconds for score in scores])),
        "converged": sum(score.converged for score in scores),
    }


def mean_and_deviation(values: list[float]) -> tuple[float, float]:
    """Compute mean and standard deviation, of the sample (n − 1) where there is more than one."""
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return float(np.mean(values)), deviation
