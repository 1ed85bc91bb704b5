"""Fit the method that is asked for to a matrix of frames, whatever it needs of them."""

from __future__ import annotations

import logging
import math
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import ConvergenceWarning, UsageError
from bgsub.options import MOST_AUTO_COMPONENTS, ProgressCallback, RunOptions
from bgsub.outliers.errors_table import ErrorTable
from bgsub.outliers.events import fit_table
from bgsub.outliers.false_alarms import cutoff_for
from bgsub.outliers.scorer_learning import FrameWeights
from bgsub.robustpca import reweight
from bgsub.robustpca.competitors import METHODS, Settings
from bgsub.robustpca.conventions import support_size
from bgsub.robustpca.gram import find_copies, gram_matrix
from bgsub.robustpca.rank import RankChoice, choose_rank, share_for_rank
from bgsub.robustpca.spaces import Fit, Flags, Floats
from bgsub.robustpca.trpca import TRPCA
from bgsub.runtime.limits import give_back
from bgsub.runtime.threads import Workers

if TYPE_CHECKING:
    from bgsub.fit.store import FrameStore
    from bgsub.robustpca.competitors import Estimator

# What rounding to whole grey levels leaves of the difference of two pictures, squared.
_ROUNDING = 1 / 6
logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False, kw_only=True)
class FrameFit(FrameWeights):
    """What a fit says about the frames themselves.

    Where the method needs the pixels, there is no Gram matrix (`gram_blocks`, its blocks of columns
    and those that were cut, is None) and no search for a lasting change of the scene, and the
    weights and basis regress the planes of the frames of the support on the coefficients: that is
    how the colours follow; the luma has the method's own centre and components. The support are the
    frames that TRPCA fitted, for other methods those below the cut-off (at least half).
    """

    estimator: Estimator
    gram_blocks: dict[str, int] | None
    table: ErrorTable
    notes: list[str]
    converged: bool
    rank: RankChoice | None = None


def fit_frames(
    store: FrameStore,
    pixel_mask: NDArray[np.bool_] | None,
    options: RunOptions,
    workers: Workers,
    progress: ProgressCallback,
) -> FrameFit:
    """Fit the method that is asked for to the frames of a store, or to its sample of them."""
    least = 1 if options.k == "auto" else options.k
    check_rank(least, store.fit_numbers.size, options.support_fraction, name=store.name)
    workers.need("scipy.linalg")
    columns = store.fit_columns(pixel_mask)
    gram = choice = None
    threads = min(workers.threads, store.gram_threads)
    # With a plot of the spectrum also to show what would have been chosen.
    chooses = options.k == "auto" or "spectrum" in options.outputs
    if not METHODS[options.method].needs_pixels:
        gram = gram_matrix(
            columns,
            threads=threads,
            progress=lambda done, total: progress("fit", done, total),
            apart=share_for_rank(*columns.shape) if chooses else (),
        )
        gram = replace(gram, copies=find_copies(gram.values, _ROUNDING * gram.n_features))
        give_back()
    if chooses:
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
    k = choice.rank if choice is not None and options.k == "auto" else least
    rate = options.false_alarms
    cutoff = options.cutoff if rate is None else cutoff_for(rate)

    def told(done: int, residual: float) -> None:
        progress(with_residual(options.method, residual), done, None)

    fraction, seed, lam = options.support_fraction, options.seed, options.lam
    settings = Settings(k=k, support_fraction=fraction, random_state=seed, lam=lam, progress=told)
    estimator = METHODS[options.method].make(settings)
    if isinstance(estimator, TRPCA):
        own = {name: getattr(options, name) for name in ("n_init", "tol", "max_iter", "reweight")}
        own |= {"reweight_cutoff": reweight.FOOTAGE_CUTOFF, "threads": workers.threads}
        estimator.set_params(**own)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        if gram is None:
            estimator.fit(columns)
        else:
            estimator.fit_gram(gram)
    frames, times, pixels = store.fit_numbers, store.fit_times, columns.shape[1]
    table = fit_table(estimator, gram, frames=frames, times=times, cutoff=cutoff, pixels=pixels)
    blocks = None if gram is None else {"all": gram.blocks, "cut": gram.cut_blocks}
    copies = None if gram is None else gram.copies
    gram = None  # nobody needs it any more, and it is large
    give_back()
    coefficients = background_coefficients(estimator)
    support = estimator.support_
    if not isinstance(estimator, TRPCA):
        support = ordinary_frames(table.scores, table.errors, table.cutoff)
    if blocks is None:
        weights, basis = regression_weights(coefficients, support)
    else:
        weights, basis = estimator.center_weights_, estimator.component_weights_
    return FrameFit(
        estimator=estimator,
        gram_blocks=blocks,
        table=table,
        support=support,
        coefficients=coefficients,
        weights=weights,
        basis=basis,
        copies=copies,
        notes=[str(each.message) for each in warned],
        converged=not any(issubclass(each.category, ConvergenceWarning) for each in warned),
        rank=choice,
    )


def check_rank(
    k: int, n_frames: int, support_fraction: float | None = None, *, name: str = ""
) -> None:
    """Raise UsageError unless the frames, of the input of this name, can carry k components.

    With t − 1 components a robust fit leaves the t frames that it can count on no residual, and
    every other frame would be an outlier. A single component is always allowed.
    """
    if n_frames < 2:
        about = f"{name}: " if name else ""
        message = f"{about}{n_frames} frame is selected, but a background takes 2"
        raise UsageError(f"{message}; select more frames")
    kept = support_size(n_frames, support_fraction)
    if k >= n_frames or 1 < k >= kept - 1:
        raise UsageError(
            f"--k {k} is too much for {n_frames} frames: the {kept} of them that a fit keeps at "
            "least would have no residual, and all others would be outliers; "
            f"use --k {max(1, kept // 3)} or less, or more frames"
        )


@dataclass(frozen=True, eq=False)
class FittedFrames:
    """Errors of frames, location and scale of the ordinary √r, robust z-scores, coefficients."""

    errors: Floats
    location: float
    scale: float
    outlier_scores: Floats
    coefficients: Floats

    @classmethod
    def of(cls, estimator: Estimator) -> FittedFrames:
        """Read what a fitted estimator says of the frames it was fitted to."""
        return cls(
            estimator.errors_,
            float(estimator.error_location_),
            float(estimator.error_scale_),
            estimator.outlier_scores_,
            background_coefficients(estimator),
        )


def background_coefficients(estimator: Any) -> Floats:
    """Return the coefficients of the background of every fitted frame, shape (n, c).

    The methods with outlying pixels have better ones than the orthogonal projection, which these
    did not touch: `RobustSubspace` its regressions, `PCP` the coordinates of its low-rank part.
    """
    if hasattr(estimator, "coefficients_"):
        return np.asarray(estimator.coefficients_)
    if hasattr(estimator, "left_"):
        turn = estimator.right_ @ estimator.components_.T
        low_rank = estimator.left_.astype(np.float64) @ turn
        return np.asarray(low_rank - estimator.center_ @ estimator.components_.T)
    return np.asarray(estimator.scores_)


def truncated(estimator: Any, k: int) -> FittedFrames:
    """Return what a nested fit with the first k components says; others' scores become errors."""
    scores = estimator.scores_
    errors = estimator.errors_ + (scores[:, k:] ** 2).sum(axis=1)
    fit = Fit(np.zeros(1), np.zeros((1, k)), scores[:, :k], errors, estimator.support_)
    predicted = reweight.predictive_errors(fit)
    location, scale = reweight.location_and_scale(predicted)
    coefficients = background_coefficients(estimator)[:, :k]
    return FittedFrames(errors, location, scale, reweight.robust_scores(predicted), coefficients)


def ordinary_frames(scores: Floats, errors: Floats, cutoff: float) -> Flags:
    """Return the frames below the cut-off, or the better half where these are fewer, shape (n,)."""
    ordinary = np.asarray(scores <= cutoff)
    half = (errors.size + 1) // 2
    if ordinary.sum() < half:
        ordinary = np.zeros(errors.size, dtype=bool)
        ordinary[np.argsort(errors, kind="stable")[:half]] = True
    return ordinary


def regression_weights(coefficients: Floats, ordinary: Flags) -> tuple[Floats, Floats]:
    """Compute weights of ordinary frames that regress any of their planes on the coefficients.

    The plane at coefficients 0 is Σ w_j x_j with w, (n,), of sum 1, and changes by Σ B_j x_j per
    coefficient with columns of B, (n, k), of sum 0: least squares of x_j ≈ m + Σ_c y_jc u_c are a
    left multiplication of the frames by the pseudo-inverse of (1 Y).
    """
    design = np.column_stack([np.ones(int(ordinary.sum())), coefficients[ordinary]])
    inverse = np.linalg.pinv(design)
    weights = np.zeros((ordinary.size, inverse.shape[0]))
    weights[ordinary] = inverse.T
    return weights[:, 0], weights[:, 1:]


def with_residual(stage: str, residual: float) -> str:
    """Return a stage of progress with the residual behind it, where there is one yet."""
    return f"{stage} · residual {residual:.1e}" if math.isfinite(residual) else stage
