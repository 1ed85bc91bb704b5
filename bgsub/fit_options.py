"""Declare the options of a fit: the method, the components, and what the solver may do."""

from __future__ import annotations

import functools
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from bgsub.declared import Declared, declared_fields, documented, flag, option
from bgsub.robustpca.competitors import METHODS
from bgsub.rules import POSITIVE, Choice, Integer, Number, Or, OrAuto, Switch

MOST_AUTO_COMPONENTS = 10
"""Most components that ``k="auto"`` chooses; memory is planned for so many."""

_fit = functools.partial(option, "Fit")


@documented
@dataclass(frozen=True, kw_only=True)
class FitOptions(Declared):
    """How the background of frames is fitted."""

    method: str = _fit(
        "trpca", Choice(tuple(METHODS)), "Method of robust PCA; `bgsub methods` describes them."
    )
    k: int | Literal["auto"] = _fit(
        "auto",
        OrAuto(Integer(1)),
        "Components of the background: 1 for a still scene, more where it moves; auto chooses "
        f"from the frames, {MOST_AUTO_COMPONENTS} at most.",
        metavar="K|auto",
    )
    support_fraction: float | None = _fit(
        None,
        Number("a share of the frames from 0.5 to 1", 0.5, 1),
        "Share of the frames that certainly show no object, 0.5 to 1.",
        metavar="T",
        unset="half",
    )
    lam: float | None = _fit(
        None,
        POSITIVE,
        "λ of the methods orpca, outlier-pursuit and pcp.",
        metavar="L",
        flag="--lambda",
        unset="that of the method",
    )
    n_init: int = _fit(10, Integer(1), "Number of random starts; the best result is kept.")
    tol: float = _fit(
        1e-5,
        Number("a number of 0 or more", 0),
        "Stop when an iteration lowers the objective by less than this share.",
        metavar="TOL",
    )
    max_iter: int = _fit(1000, Integer(1), "Stop after this many iterations.")
    reweight: bool = _fit(
        True, Switch(), "Fit again, to all frames found to be inliers, which the paper does not."
    )
    fit_frames: int | Literal["all"] | None = _fit(
        None,
        OrAuto(Or(Choice(("all",)), Integer(2)), auto=None),
        "Fit to a sample of N evenly spaced frames, or to all of them; the memory needed grows as "
        "the square of their number.",
        metavar="N|all|auto",
        unset="auto, all up to 2000",
    )
    seed: int = _fit(
        0,
        Integer(0),
        "Seed of the random starts; the same seed gives the same result.",
        metavar="SEED",
    )

    @property
    def k_limit(self) -> int:
        """The number of components that memory is planned for: `k`, or the most "auto" takes."""
        return MOST_AUTO_COMPONENTS if self.k == "auto" else self.k

    def without_effect(self, given: Collection[str]) -> dict[str, str]:
        """Return those of the given options that the others leave without effect, and why.

        Parameters
        ----------
        given : collection of str
            Names of options that somebody has given, be it with the value of their default.

        Returns
        -------
        dict of str to str
            From names to what they have no effect with.
        """
        parameters = METHODS[self.method].parameters
        others = {
            one.name
            for one in declared_fields(type(self))
            if one.name in {"support_fraction", "lam"} and flag(one) not in parameters
        }
        if self.method != "trpca":
            others |= {"n_init", "tol", "max_iter", "reweight"}
        return dict.fromkeys(others.intersection(given), f"--method {self.method}")
