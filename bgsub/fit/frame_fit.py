"""Fit the method that is asked for to a matrix of frames, whatever it needs of them."""

from __future__ import annotations

import logging
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import ConvergenceWarning, UsageError
from bgsub.fit.method_fit import (
    background_coefficients,
    ordinary_frames,
    regression_weights,
    with_residual,
)
from bgsub.fit.settings import FitSettings
from bgsub.fit.store import FitColumns, FrameStore
from bgsub.options import MOST_AUTO_COMPONENTS, ProgressCallback
from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.events import fit_table
from bgsub.outliers.scorer_learning import FrameWeights
from bgsub.robustpca.checks import support_size
from bgsub.robustpca.competitors.methods import METHODS
from bgsub.robustpca.competitors.methods import Settings as MethodSettings
from bgsub.robustpca.gram import Gram, gram_matrix
from bgsub.robustpca.rank import RankChoice, choose_rank, share_for_rank
from bgsub.robustpca.reweight import FOOTAGE_CUTOFF
from bgsub.robustpca.trpca import TRPCA
from bgsub.runtime.limits import give_back
from bgsub.runtime.threads import Workers

if TYPE_CHECKING:
    from bgsub.robustpca.competitors.methods import Estimator

Floats = NDArray[np.float64]

_SCIPY = "scipy.linalg"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False, kw_only=True)
class FrameFit(FrameWeights):
    """What a fit says about the frames themselves.

    Where the method needs the pixels, there is no Gram matrix and no search for a lasting change of
    the scene, and the weights and basis regress the planes of the frames of the support on the
    coefficients: that is how the colours follow. For the luma the method's own centre and
    components take their place. The support are the frames that TRPCA fitted, for other methods
    those below the cut-off (at least half).
    """

    estimator: Estimator
    gram: Gram | None
    table: ErrorTable
    notes: list[str]
    converged: bool
    rank: RankChoice | None = None


def fit_frames(
    store: FrameStore,
    pixel_mask: NDArray[np.bool_] | None,
    settings: FitSettings,
    workers: Workers,
    progress: ProgressCallback,
) -> FrameFit:
    """Fit the method that is asked for to the frames of a store, or to its sample of them.

    UsageError if k is not below the number of frames.
    """
    least = 1 if settings.k == "auto" else settings.k
    check_rank(least, store.fit_numbers.size, settings.support_fraction, name=store.name)
    workers.need(_SCIPY)
    if settings.plots:
        # Matplotlib takes longer to import than many runs take. Not before: the
        # line above would wait for it.
        workers.load("bgsub.report.plots")
    columns = store.fit_columns(pixel_mask)
    gram = choice = None
    k, threads = settings.k, min(workers.threads, store.gram_threads)
    chooses = k == "auto" or settings.keep_choice
    if not METHODS[settings.method].needs_pixels:
        gram = gram_matrix(
            columns,
            threads=threads,
            progress=lambda done, total: progress("fit", done, total),
            apart=share_for_rank(*columns.shape) if chooses else (),
        )
        give_back()
    if k == "auto" or chooses:
        choice = _choose_k(columns, gram, settings, threads)
        k = choice.rank if k == "auto" else k
    estimator = _make_estimator(k, settings, progress, workers.threads)
    warned = _fit(estimator, columns, gram)
    table = fit_table(
        estimator,
        gram,
        frames=store.fit_numbers,
        times=store.fit_times,
        cutoff=settings.cutoff,
        pixels=columns.shape[1],
    )
    give_back()
    coefficients = background_coefficients(estimator)
    support = estimator.support_
    if not isinstance(estimator, TRPCA):
        support = ordinary_frames(table.scores, table.errors, table.cutoff)
    weights, basis = _row_weights(estimator, gram, coefficients, support)
    return FrameFit(
        estimator=estimator,
        gram=gram,
        table=table,
        support=support,
        coefficients=coefficients,
        weights=weights,
        basis=basis,
        notes=[str(each.message) for each in warned],
        converged=not any(issubclass(each.category, ConvergenceWarning) for each in warned),
        rank=choice,
    )


def _row_weights(
    estimator: Estimator,
    gram: Gram | None,
    coefficients: NDArray[np.float64],
    support: NDArray[np.bool_],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights of the frames of which the centre and the components are sums."""
    if gram is None:
        return regression_weights(coefficients, support)
    return estimator.center_weights_, estimator.component_weights_


def _fit(
    estimator: Estimator, columns: FitColumns, gram: Gram | None
) -> list[warnings.WarningMessage]:
    """Fit an estimator from the Gram matrix, or to the pixels; return what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if gram is None:
            estimator.fit(columns)
        else:
            estimator.fit_gram(gram)
    return caught


def load_libraries(workers: Workers) -> None:
    """Begin to import what a fit needs, while frames are read: both take as long."""
    workers.load(_SCIPY)


def _choose_k(
    columns: FitColumns, gram: Gram | None, settings: FitSettings, threads: int
) -> RankChoice:
    """Choose the number of components from the frames that are fitted, and log it."""
    choice = choose_rank(
        columns,
        gram,
        max_rank=MOST_AUTO_COMPONENTS,
        support_fraction=settings.support_fraction,
        random_state=settings.seed,
        threads=threads,
    )
    give_back()
    logger.info("--k auto: %d, as %s", choice.rank, choice.reason)
    return choice


def _make_estimator(
    k: int, settings: FitSettings, progress: ProgressCallback, threads: int
) -> Estimator:
    """Make the estimator of the method that is asked for."""
    if settings.method == "trpca":
        return TRPCA(
            k,
            support_fraction=settings.support_fraction,
            n_init=settings.n_init,
            tol=settings.tol,
            max_iter=settings.max_iter,
            reweight=settings.reweight,
            random_state=settings.seed,
            reweight_cutoff=FOOTAGE_CUTOFF,
            threads=threads,
        )
    chosen = MethodSettings(
        k=k,
        support_fraction=settings.support_fraction,
        random_state=settings.seed,
        lam=settings.lam,
        progress=lambda done, residual: progress(
            with_residual(settings.method, residual), done, None
        ),
    )
    return METHODS[settings.method].make(chosen)


def check_rank(
    k: int, n_frames: int, support_fraction: float | None = None, *, name: str = ""
) -> None:
    """Raise UsageError unless the frames, of the input of this name, can carry k components.

    A robust fit can count on t of the frames alone. With t − 1 components it leaves these no
    residual, and every other frame would be an outlier. A single component is always allowed.
    """
    if n_frames < 2:
        about = f"{name}: " if name else ""
        message = f"{about}{n_frames} frame is selected, but a background takes 2"
        raise UsageError(f"{message}; select more frames")
    kept = support_size(n_frames, support_fraction)
    if k >= n_frames or 1 < k >= kept - 1:
        message = (
            f"--k {k} is too much for {n_frames} frames: the {kept} of them that a fit keeps at "
            "least would have no residual, and all others would be outliers; "
            f"use --k {max(1, kept // 3)} or less, or more frames"
        )
        raise UsageError(message)
