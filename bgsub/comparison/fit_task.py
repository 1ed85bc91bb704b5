"""Do one fit by one method, and keep what a comparison needs of it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bgsub.comparison.entry import Entry
from bgsub.comparison.stream import Streamed, fit_stream
from bgsub.fit.method_fit import FittedFrames, truncated
from bgsub.robustpca.competitors.methods import COMPARED, Settings
from bgsub.robustpca.gram import Gram
from bgsub.robustpca.online import OnlineTRPCA
from bgsub.robustpca.reweight import FOOTAGE_CUTOFF
from bgsub.robustpca.trpca import TRPCA

if TYPE_CHECKING:
    from bgsub.robustpca.competitors.methods import Estimator

Floats = NDArray[np.float64]

_BLOCK_ELEMENTS = 1 << 21


@dataclass(frozen=True, kw_only=True)
class FitTask:
    """A fit that is wanted.

    Attributes
    ----------
    entry : Entry
        The method, and what it is told.
    k : int
        Components.
    also : tuple of int
        Fewer components that the same fit serves, for nested methods.
    seed : int
    rows : tuple of int
        Frames whose backgrounds are wanted.
    """

    entry: Entry
    k: int
    also: tuple[int, ...] = ()
    seed: int = 0
    rows: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class FitOutcome:
    """What a fit has found.

    Attributes
    ----------
    seconds : float
        Of the fit alone: from the Gram matrix, or the frames, to scores and errors.
    iterations : int
    converged : bool
    notes : list of str
        Warnings.
    fitted : dict of int to FittedFrames
        By number of components.
    backgrounds : ndarray of shape (rows, p)
        Of the frames that were asked for, with k components, in grey levels.
    """

    seconds: float
    iterations: int
    converged: bool
    notes: list[str]
    fitted: dict[int, FittedFrames]
    backgrounds: Floats = field(repr=False)


def fit_task(
    task: FitTask, X: Any, gram: Gram, progress: Callable[[int, float], None] | None = None
) -> FitOutcome:
    """Make a fit.

    Parameters
    ----------
    task : FitTask
    X : ndarray of shape (n, p), uint8
    gram : Gram
        Of X.
    progress : callable, optional
        Called with the iterations done and the residual by the methods that need the pixels.

    Returns
    -------
    FitOutcome
    """
    entry = task.entry
    method = COMPARED[entry.method]
    settings = Settings(
        k=task.k,
        support_fraction=entry.support_fraction,
        random_state=task.seed,
        lam=entry.lam,
        max_removals=entry.max_removals,
        progress=progress,
    )
    estimator = method.make(settings)
    if isinstance(estimator, TRPCA):
        estimator.reweight_cutoff = FOOTAGE_CUTOFF
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.perf_counter()
        streamed: Streamed | None = None
        if isinstance(estimator, OnlineTRPCA):
            streamed = fit_stream(estimator, X, task.rows)
        elif method.needs_pixels:
            estimator.fit(X)
        else:
            estimator.fit_gram(gram)
        seconds = time.perf_counter() - began
    notes = [" ".join(str(warning.message).split()) for warning in caught]
    if streamed is not None:
        return FitOutcome(
            seconds=seconds,
            iterations=streamed.iterations,
            converged=streamed.converged,
            notes=list(dict.fromkeys(notes)),
            fitted={task.k: streamed.fitted},
            backgrounds=streamed.backgrounds,
        )
    fitted = {task.k: FittedFrames.of(estimator)}
    fitted |= {k: truncated(estimator, k) for k in task.also}
    return FitOutcome(
        seconds=seconds,
        iterations=int(estimator.n_iter_),
        converged=bool(estimator.converged_),
        notes=notes,
        fitted=fitted,
        backgrounds=_backgrounds(estimator, fitted[task.k], X, np.array(task.rows, dtype=int)),
    )


def _backgrounds(
    estimator: Estimator, fitted: FittedFrames, X: Any, rows: NDArray[np.int64]
) -> Floats:
    """Compute the backgrounds of some frames, shape (rows, p)."""
    coefficients = fitted.coefficients[rows]
    if hasattr(estimator, "components_"):
        return np.asarray(estimator.center_ + coefficients @ estimator.components_)
    # Affine combinations of the frames: no centre and no component is formed.
    weights = estimator.center_weights_ + coefficients @ estimator.component_weights_.T
    n, p = X.shape
    result = np.empty((rows.size, p))
    step = max(1, _BLOCK_ELEMENTS // n)
    for start in range(0, p if rows.size else 0, step):
        result[:, start : start + step] = weights @ X[:, start : start + step].astype(np.float64)
    return result
