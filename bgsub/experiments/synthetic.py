"""Repeat the paper's Fig. 1, panels 1 to 4: synthetic data with more and more outliers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bgsub.experiments.options import SyntheticOptions
from bgsub.experiments.variants import (
    VARIANTS,
    Progress,
    Score,
    Variant,
    judge,
    measured,
)
from bgsub.robustpca.competitors.synthetic import SyntheticData, data1, data2
from bgsub.runtime.libraries import one_blas_thread

DATA = {"Data1": data1, "Data2": data2}


@dataclass(frozen=True)
class SyntheticPoint:
    """A point of a curve: a variant on data sets with one share of outliers.

    Attributes
    ----------
    data : str
        ``Data1`` or ``Data2``.
    p : int
    share : float
        λ.
    variant, method, t : str
        See `bgsub.experiments.variants.Variant`.
    sets : int
    tre_mean, tre_std : float
        Over the data sets; the standard deviation is that of the sample.
    seconds : float
        Mean of a fit.
    converged : int
        Fits that converged.
    """

    data: str
    p: int
    share: float
    variant: str
    method: str
    t: str
    sets: int
    tre_mean: float
    tre_std: float
    seconds: float
    converged: int


SYNTHETIC_COLUMNS = tuple(SyntheticPoint.__dataclass_fields__)
"""Header of synthetic.csv."""


def run_synthetic(
    options: SyntheticOptions | None = None,
    *,
    variants: tuple[Variant, ...] = VARIANTS,
    progress: Progress | None = None,
) -> list[SyntheticPoint]:
    """Fit every variant to every data set.

    Parameters
    ----------
    options : SyntheticOptions, optional
    variants : tuple of Variant
    progress : callable, optional

    Returns
    -------
    list of SyntheticPoint
        Panel by panel, share by share. The same seed gives the same numbers, but for the seconds:
        the matrix library runs on one thread, and each data set has a seed of its own that does not
        depend on which others are drawn.
    """
    options = options or SyntheticOptions()
    progress = progress or (lambda _stage, _done, _total: None)
    panels = [(name, p) for name in DATA for p in options.features]
    total = len(panels) * len(options.shares) * options.sets
    points, done = [], 0
    with one_blas_thread():
        for name, p in panels:
            for share in options.shares:
                scores: dict[str, list[Score]] = {variant.name: [] for variant in variants}
                for seed, data in _data_sets(name, p, share, options):
                    for variant in variants:
                        scores[variant.name].append(
                            judge(variant, data.X, data.labels, options.components, seed)
                        )
                    done += 1
                    progress("data sets", done, total)
                points += [_point(name, p, share, v, scores[v.name]) for v in variants]
    return points


def _data_sets(
    name: str, p: int, share: float, options: SyntheticOptions
) -> Iterator[tuple[int, SyntheticData]]:
    """Yield the data sets of a point with the seeds of their fits."""
    for index in range(options.sets):
        key = [options.seed, list(DATA).index(name), p, round(1000 * share), index]
        sequence = np.random.SeedSequence(key)
        data = DATA[name](
            options.samples,
            p,
            options.components,
            outlier_share=share,
            noise=options.noise,
            variance=options.sigma == "variance",
            random_state=np.random.default_rng(sequence),
        )
        yield int(sequence.generate_state(2)[1]), data


def _point(
    name: str, p: int, share: float, variant: Variant, scores: list[Score]
) -> SyntheticPoint:
    return SyntheticPoint(
        data=name,
        p=p,
        share=share,
        **measured(variant, scores),
    )
