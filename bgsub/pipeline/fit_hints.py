"""What looks wrong about the fit of whole frames, and what to do."""

from __future__ import annotations

import numpy as np

from bgsub.fit.frame_fit import FrameFit
from bgsub.pipeline.findings import plural
from bgsub.robustpca.gram import Gram
from bgsub.robustpca.trpca import TRPCA

_SAME = 1.01

# Objectives below this share of the frames' variance are rounding errors, and none is the best.
_ROUNDING = 1e-9

# Outliers are told from ordinary frames by the better half, so that half is all there can be.
_NEARLY_HALF = 0.45

# On recordings where most frames are clean, errors of ordinary frames spread by up to 0.33 of
# their size; where foreground is in most frames, by 0.36 and more.
_SPREAD = 0.35

# What the warnings of a fit are known by that have a hint of their own.
_OWN_HINTS = ("n_components", "max_iter")


def fit_hints(fit: FrameFit | None) -> list[str]:
    """Say what looks wrong about a fit, if there was one, and what to do."""
    if fit is None:
        return []
    estimator = fit.estimator
    hints = [note for note in fit.notes if not any(word in note for word in _OWN_HINTS)]
    used = estimator.scores_.shape[1]
    if used == 0:
        hints.append("the frames that were fitted are all alike: their background is a still")
    elif used < estimator.n_components:
        hints.append(
            f"--k {estimator.n_components} is too large: the frames that were fitted have rank "
            f"{used}; use --k {used} or less"
        )
    if isinstance(estimator, TRPCA) and fit.gram is not None:
        hints += _descent_hints(estimator, fit.gram, converged=fit.converged)
    elif not fit.converged:
        hints.append("the fit did not converge; take fewer frames, or another --method")
    return hints + _premise_hints(fit)


def _descent_hints(estimator: TRPCA, gram: Gram, *, converged: bool) -> list[str]:
    """What looks wrong about the random starts of TRPCA."""
    hints = []
    if not converged:
        hints.append(
            f"the fit did not converge in {plural(estimator.max_iter, 'iteration')}; "
            "raise --max-iter or --tol"
        )
    objectives = estimator.objectives_ + _ROUNDING * float(gram.values.diagonal().mean())
    # Most starts may end elsewhere; a value that is found twice is hardly surpassed by more starts.
    best = np.sort(objectives)[:2]
    if best.size == 2 and best[1] > _SAME * best[0]:
        hints.append(
            f"the random starts disagree: 1 of {objectives.size} came within 1 % of the best, so a "
            f"better one may be left; try --n-init {5 * objectives.size}"
        )
    return hints


def _premise_hints(fit: FrameFit) -> list[str]:
    """Whether at least half of the frames show the background, as the method needs."""
    advice = "use a longer or calmer stretch (--start, --end)"
    if fit.estimator.scores_.shape[1] == fit.estimator.n_components:
        advice += ", or a higher --k"
    share = float(fit.table.outliers.mean())
    if share >= _NEARLY_HALF:
        hint = (
            f"{share:.0%} of the frames are outliers, but the method needs more than half of them "
            f"to show the background: {advice}"
        )
        return [hint]
    # A third of a grey level a pixel is what rounding leaves of a scene without noise.
    location = max(fit.estimator.error_location_, float(np.sqrt(fit.table.pixels)) / 3)
    if fit.estimator.error_scale_ > _SPREAD * location:
        hint = (
            "ordinary frames differ so much in their errors that outliers cannot be told from "
            f"them; foreground may be in more than half of the frames: {advice}"
        )
        return [hint]
    return []
