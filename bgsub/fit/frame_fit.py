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
from bgsub.fit.store import FitColumns, FrameStore
from bgsub.options import MOST_AUTO_COMPONENTS, ProgressCallback, RunOptions
from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.events import fit_table
from bgsub.outliers.false_alarms import cutoff_for
from bgsub.outliers.scorer_learning import FittedFrames
from bgsub.robustpca.checks import support_size
from bgsub.robustpca.competitors.methods import METHODS
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
class FrameFit:
    """What a fit says about the frames themselves.

    Attributes
    ----------
    estimator : Estimator
        Fitted from the Gram matrix, or to the pixels where the method needs them.
    gram : Gram or None
        None where the method needs the pixels.
    table : ErrorTable
        Reconstruction error and robust score of every frame. Without a Gram matrix a lasting change
        of the scene is not looked for.
    support : ndarray of shape (n,), bool
        The frames that show the background: those that TRPCA fitted, for other methods those below
        the cut-off (at least half).
    coefficients : ndarray of shape (n, k)
        The background of a frame is the centre and these times the components.
    weights, basis : ndarray of shape (n,), (n, k)
        Of the frames, such that any plane of the centre is Σ w_j x_j and of a component Σ B_j x_j.
        Where the method needs the pixels, these regress the planes of the frames of the support on
        the coefficients: that is how the colours follow. For the luma the method's own centre and
        components take their place.
    notes : list of str
        What the fit warned of, in words.
    converged : bool
    rank : RankChoice or None
        How k was chosen, if it was or would have been.
    """

    estimator: Estimator
    gram: Gram | None
    table: ErrorTable
    support: NDArray[np.bool_]
    coefficients: Floats
    weights: Floats
    basis: Floats
    notes: list[str]
    converged: bool
    rank: RankChoice | None = None

    @property
    def fitted(self) -> FittedFrames:
        """What scores of the frames are learned from."""
        return FittedFrames(self.weights, self.basis, self.coefficients, self.support)


def fit_frames(
    store: FrameStore,
    pixel_mask: NDArray[np.bool_] | None,
    options: RunOptions,
    workers: Workers,
    progress: ProgressCallback,
) -> FrameFit:
    """Fit the method that is asked for to the frames of a store, or to its sample of them.

    Raises
    ------
    UsageError
        If k is not below the number of frames.
    """
    least = 1 if options.k == "auto" else options.k
    check_rank(least, store.fit_rows.size, options.support_fraction)
    workers.need(_SCIPY)
    if "plot" in options.outputs:
        # Matplotlib takes longer to import than many runs take. Not before: the line above would
        # wait for it.
        workers.load("bgsub.report.plots")
    columns = store.fit_columns(pixel_mask)
    gram = choice = None
    k = options.k
    chooses = k == "auto" or "spectrum" in options.outputs
    if not METHODS[options.method].needs_pixels:
        gram = gram_matrix(
            columns,
            threads=min(workers.threads, store.gram_threads),
            progress=lambda done, total: progress("fit", done, total),
            apart=share_for_rank(*columns.shape) if chooses else (),
        )
        give_back()
    if k == "auto" or chooses:
        choice = _choose_k(columns, gram, options, min(workers.threads, store.gram_threads))
        k = choice.rank if k == "auto" else k
    estimator = _make_estimator(k, options, progress)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if gram is None:
            estimator.fit(columns)
        else:
            estimator.fit_gram(gram)
    table = fit_table(
        estimator,
        gram,
        frames=store.numbers[store.fit_rows],
        times=store.times[store.fit_rows],
        cutoff=chosen_cutoff(options),
        pixels=columns.shape[1],
    )
    give_back()
    coefficients = background_coefficients(estimator)
    support = estimator.support_
    if not isinstance(estimator, TRPCA):
        support = ordinary_frames(table.scores, table.errors, table.cutoff)
    if gram is None:
        weights, basis = regression_weights(coefficients, support)
    else:
        weights, basis = estimator.center_weights_, estimator.component_weights_
    return FrameFit(
        estimator=estimator,
        gram=gram,
        table=table,
        support=support,
        coefficients=coefficients,
        weights=weights,
        basis=basis,
        notes=[str(w.message) for w in caught],
        converged=not any(issubclass(w.category, ConvergenceWarning) for w in caught),
        rank=choice,
    )


def load_libraries(workers: Workers) -> None:
    """Begin to import what a fit needs, while frames are read: both take as long."""
    workers.load(_SCIPY)


def _choose_k(
    columns: FitColumns, gram: Gram | None, options: RunOptions, threads: int
) -> RankChoice:
    """Choose the number of components from the frames that are fitted, and log it."""
    choice = choose_rank(
        columns,
        gram,
        max_rank=MOST_AUTO_COMPONENTS,
        support_fraction=options.support_fraction,
        random_state=options.seed,
        threads=threads,
    )
    give_back()
    logger.info("--k auto: %d, as %s", choice.rank, choice.reason)
    return choice


def _make_estimator(k: int, options: RunOptions, progress: ProgressCallback) -> Estimator:
    """Make the estimator of the method that is asked for."""
    if options.method == "trpca":
        return TRPCA(
            k,
            support_fraction=options.support_fraction,
            n_init=options.n_init,
            tol=options.tol,
            max_iter=options.max_iter,
            reweight=options.reweight,
            random_state=options.seed,
            reweight_cutoff=FOOTAGE_CUTOFF,
        )
    return METHODS[options.method].make(
        k,
        support_fraction=options.support_fraction,
        random_state=options.seed,
        lam=options.lam,
        progress=lambda done, residual: progress(
            with_residual(options.method, residual), done, None
        ),
    )


def chosen_cutoff(options: RunOptions) -> float | None:
    """Give the cut-off that is asked for, by itself or as a rate of false alarms, or None."""
    if options.false_alarms is None:
        return options.cutoff
    return cutoff_for(options.false_alarms)


def check_rank(k: int, n_frames: int, support_fraction: float | None = None) -> None:
    """Raise UsageError unless the frames can carry k components.

    A robust fit can count on t of the frames alone. With t − 1 components it leaves these no
    residual, and every other frame would be an outlier. A single component is always allowed.
    """
    if n_frames < 2:
        message = f"{n_frames} frame is selected, but a background takes 2; select more frames"
        raise UsageError(message)
    kept = support_size(n_frames, support_fraction)
    if k >= n_frames or 1 < k >= kept - 1:
        message = (
            f"--k {k} is too much for {n_frames} frames: the {kept} of them that a fit keeps at "
            "least would have no residual, and all others would be outliers; "
            f"use --k {max(1, kept // 3)} or less, or more frames"
        )
        raise UsageError(message)
