"""Let a method for streams see frames as they would come, for a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgsub.fit.method_fit import FittedFrames
from bgsub.robustpca.online import OnlineTRPCA

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Streamed:
    """What the fits of a stream say, each of the frames that it took in.

    Attributes
    ----------
    fitted : FittedFrames
        Location and scale are those of the last fit.
    backgrounds : ndarray of shape (rows, p)
        Of the frames that were asked for, by the fit that took them in.
    iterations : int
        Of all fits.
    converged : bool
        Whether every fit did.
    """

    fitted: FittedFrames
    backgrounds: Floats
    iterations: int
    converged: bool


def fit_stream(estimator: OnlineTRPCA, X: NDArray[Any], rows: tuple[int, ...]) -> Streamed:
    """Fit a stream that begins with a whole window.

    Parameters
    ----------
    estimator : OnlineTRPCA
    X : ndarray of shape (n, p), uint8
    rows : tuple of int
        Frames whose backgrounds are wanted.
    """
    edges = [0, *range(min(estimator.window, len(X)), len(X), estimator.refresh), len(X)]
    parts: list[FittedFrames] = []
    backgrounds = np.empty((len(rows), X.shape[1]))
    iterations, converged = 0, True
    for start, stop in pairwise(edges):
        # Sizes of the pieces are those of the estimator's own, so each is one fit.
        (estimator.partial_fit if start else estimator.fit)(np.asarray(X[start:stop]))
        parts.append(FittedFrames.of(estimator))
        iterations += estimator.n_iter_
        converged &= estimator.converged_
        for place, row in enumerate(rows):
            if start <= row < stop:
                backgrounds[place] = estimator.reconstruct(X[row : row + 1])[0]
    return Streamed(_joined(parts), backgrounds, iterations, converged)


def _joined(parts: list[FittedFrames]) -> FittedFrames:
    last = parts[-1]
    width = max(part.coefficients.shape[1] for part in parts)
    padded = [
        np.pad(part.coefficients, ((0, 0), (0, width - part.coefficients.shape[1])))
        for part in parts
    ]
    return FittedFrames(
        np.concatenate([part.errors for part in parts]),
        last.location,
        last.scale,
        np.concatenate([part.outlier_scores for part in parts]),
        np.concatenate(padded),
    )
