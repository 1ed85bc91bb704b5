"""Repeat the paper's experiment on digits: one is true, another one or all others are outliers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import UsageError
from bgsub.experiments.digit_data import Digits
from bgsub.experiments.options import OTHERS, DigitOptions
from bgsub.experiments.variants import (
    VARIANTS,
    Progress,
    Score,
    Variant,
    judge,
    measured,
)
from bgsub.runtime.libraries import one_blas_thread


@dataclass(frozen=True)
class DigitPoint:
    """A point of a curve: a variant with one share of outliers.

    Attributes
    ----------
    true : int
    outliers : str
    k, n : int
        Components, and pictures.
    share : float
    variant, method, t : str
        See `bgsub.experiments.variants.Variant`.
    sets : int
    tre_mean, tre_std : float
        Over the draws; pictures are scaled to a largest magnitude of 1.
    seconds : float
        Mean of a fit.
    converged : int
        Fits that converged.
    """

    true: int
    outliers: str
    k: int
    n: int
    share: float
    variant: str
    method: str
    t: str
    sets: int
    tre_mean: float
    tre_std: float
    seconds: float
    converged: int


DIGIT_COLUMNS = tuple(DigitPoint.__dataclass_fields__)
"""Header of digits.csv."""


def run_digits(
    digits: Digits,
    options: DigitOptions | None = None,
    *,
    variants: tuple[Variant, ...] = VARIANTS,
    progress: Progress | None = None,
) -> list[DigitPoint]:
    """Fit every variant to every draw.

    Parameters
    ----------
    digits : Digits
    options : DigitOptions, optional
    variants : tuple of Variant
    progress : callable, optional

    Returns
    -------
    list of DigitPoint
        Panel by panel, share by share. The same seed gives the same numbers, but for the seconds.

    Raises
    ------
    UsageError
        If there are too few pictures of a digit.
    """
    options = options or DigitOptions()
    progress = progress or (lambda _stage, _done, _total: None)
    n = _sample_size(digits, options)
    if max(options.ks) >= n // 2:
        raise UsageError(f"--k {max(options.ks)}: must be below half of the {n} pictures drawn")
    total = len(options.outliers) * len(options.shares) * options.sets
    points, done = [], 0
    with one_blas_thread():
        for outliers in options.outliers:
            for share in options.shares:
                scores: dict[tuple[int, str], list[Score]] = {
                    (k, variant.name): [] for k in options.ks for variant in variants
                }
                for seed, X, labels in draw_sets(digits, outliers, share, n, options):
                    for k in options.ks:
                        for variant in variants:
                            scores[k, variant.name].append(judge(variant, X, labels, k, seed))
                    done += 1
                    progress("draws", done, total)
                points += [
                    _point(options.true, outliers, k, n, share, variant, scores[k, variant.name])
                    for k in options.ks
                    for variant in variants
                ]
    return points


def _kinds(outliers: str, true: int) -> list[int]:
    return (
        [digit for digit in range(10) if digit != true] if outliers == OTHERS else [int(outliers)]
    )


def _sample_size(digits: Digits, options: DigitOptions) -> int:
    """Choose the pictures in each draw: as many for every share as the data have of each digit."""
    present = np.bincount(digits.labels[(digits.labels >= 0) & (digits.labels <= 9)], minlength=10)
    n = min(options.samples, int(present[options.true] / (1.0 - min(options.shares))))
    for outliers in options.outliers:
        kinds = _kinds(outliers, options.true)
        n = min(n, int(min(present[kind] for kind in kinds) * len(kinds) / max(options.shares)))
    if n < 20:
        message = (
            f"{digits.name}: has too few pictures of digit {options.true} or of the outliers "
            f"{', '.join(options.outliers)}; choose others with --true and --outliers"
        )
        raise UsageError(message)
    return n


def draw_sets(
    digits: Digits, outliers: str, share: float, n: int, options: DigitOptions
) -> Iterator[tuple[int, NDArray[np.float64], NDArray[np.bool_]]]:
    """Yield pictures, which of them are true, and the seed of the fits."""
    kinds = _kinds(outliers, options.true)
    count = round(share * n)
    for index in range(options.sets):
        key = [options.seed, options.true, len(kinds), kinds[0], round(1000 * share), index]
        sequence = np.random.SeedSequence(key)
        rng = np.random.default_rng(sequence)
        parts = [
            rng.choice(np.flatnonzero(digits.labels == options.true), n - count, replace=False)
        ]
        # Equal proportions; what is left over goes to some of them, drawn.
        extra = set(rng.permutation(len(kinds))[: count % len(kinds)].tolist())
        for place, kind in enumerate(kinds):
            wanted = count // len(kinds) + (place in extra)
            parts.append(rng.choice(np.flatnonzero(digits.labels == kind), wanted, replace=False))
        rows = np.concatenate(parts)
        order = rng.permutation(n)
        true = (np.arange(n) < n - count)[order]
        yield int(sequence.generate_state(2)[1]), digits.X[rows[order]], true


def _point(
    true: int, outliers: str, k: int, n: int, share: float, variant: Variant, scores: list[Score]
) -> DigitPoint:
    return DigitPoint(
        true=true,
        outliers=outliers,
        k=k,
        n=n,
        share=share,
        **measured(variant, scores),
    )
