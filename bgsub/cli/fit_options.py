"""Options of the fit, as decorators."""

from __future__ import annotations

import click

from bgsub.cli import values
from bgsub.cli.help import option, together
from bgsub.options import RunOptions
from bgsub.robustpca.competitors.methods import METHODS

_DEFAULT = RunOptions()

k_option = option(
    "Fit",
    "--k",
    type=values.RANK,
    default=_DEFAULT.k,
    show_default=True,
    metavar="K|auto",
    help="Components of the background: 1 for a still scene, more where it moves.",
)
"""--k"""

fit_frames_option = option(
    "Fit",
    "--fit-frames",
    type=values.FRAMES,
    metavar="N|auto",
    help="Fit to a sample of N frames, evenly spaced.  [default: auto, all but 2000 at most]",
)
"""--fit-frames"""

fit_options = together(
    option(
        "Fit",
        "--method",
        type=click.Choice(list(METHODS)),
        default=_DEFAULT.method,
        show_default=True,
        help="What is fitted; `bgsub methods` says more.",
    ),
    k_option,
    option(
        "Fit",
        "--support-fraction",
        type=values.FRACTION,
        metavar="T",
        help="Share of the frames that surely show no object, 0.5 to 1.  [default: half]",
    ),
    option(
        "Fit",
        "--lambda",
        "lam",
        type=values.POSITIVE,
        metavar="L",
        help="λ of orpca, outlier-pursuit and pcp.  [default: that of the method]",
    ),
    option(
        "Fit",
        "--n-init",
        type=values.COUNT,
        default=_DEFAULT.n_init,
        show_default=True,
        metavar="N",
        help="Random starts, of which the best is kept.",
    ),
    option(
        "Fit",
        "--tol",
        type=values.TOLERANCE,
        default=_DEFAULT.tol,
        show_default=True,
        metavar="TOL",
        help="Stop when the objective falls by less than this share.",
    ),
    option(
        "Fit",
        "--max-iter",
        type=values.COUNT,
        default=_DEFAULT.max_iter,
        show_default=True,
        metavar="N",
        help="Stop after this many iterations.",
    ),
    option(
        "Fit",
        "--reweight/--no-reweight",
        default=True,
        show_default=True,
        help="Refit to all frames found to be inliers; the paper does not.",
    ),
    fit_frames_option,
    option(
        "Fit",
        "--seed",
        type=values.COUNT_OR_ZERO,
        default=_DEFAULT.seed,
        show_default=True,
        metavar="SEED",
        help="Seed of the random starts; the same seed gives the same result.",
    ),
)
"""--method --k --lambda --support-fraction --n-init --tol --max-iter --no-reweight --fit-frames
--seed"""
