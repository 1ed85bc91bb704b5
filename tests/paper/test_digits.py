from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from bgsub.errors import UsageError
from bgsub.paper.curves import OTHERS, VARIANTS, DigitOptions, Digits, draw_sets, run_digits

QUICK = tuple(v for v in VARIANTS if v.name in {"TRPCA", "PCA"})
SMALL = DigitOptions(
    true=0, outliers=("1", OTHERS), ks=(1, 2), shares=(0.2, 0.4), sets=1, samples=60
)


@pytest.fixture(scope="module")
def digits():
    """Ten kinds of pictures, each near a plane of its own."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(10), 50)
    centers, axes = rng.random((10, 30)), rng.normal(size=(10, 2, 30)) * 0.1
    scores = rng.normal(size=(500, 1, 2))
    X = centers[labels] + (scores @ axes[labels])[:, 0] + 0.01 * rng.normal(size=(500, 30))
    return Digits(X, labels, "made up")


def test_outliers_make_up_their_share_in_equal_proportion(digits):
    options = dataclasses.replace(SMALL, sets=2)
    for _, X, true in draw_sets(digits, OTHERS, 0.4, 50, options):
        assert X.shape == (50, 30)
        assert true.sum() == 30
        kinds = [digits.labels[(row == digits.X).all(axis=1)][0] for row in X]
        counts = np.bincount(np.array(kinds)[~true], minlength=10)
        assert counts[0] == 0
        assert counts[1:].min() >= 2 <= counts[1:].max() <= 3
        assert set(np.array(kinds)[true]) == {0}


def test_trpca_with_true_t_finds_the_true_digit(digits):
    points = run_digits(digits, SMALL, variants=QUICK)
    assert len(points) == 2 * 2 * 2 * 2
    assert {point["n"] for point in points} == {60}
    reached = {(p["variant"], p["outliers"], p["k"], p["share"]): p["tre_mean"] for p in points}
    for (variant, *panel), tre in reached.items():
        assert variant == "TRPCA" or reached["TRPCA", *panel] < tre / 10


def test_the_same_seed_gives_the_same_numbers(digits):
    first, second = (
        [{**p, "seconds": 0.0} for p in run_digits(digits, SMALL, variants=QUICK)] for _ in range(2)
    )
    assert first == second


def test_samples_are_what_the_data_have(digits):
    many = dataclasses.replace(SMALL, samples=10_000, ks=(1,), shares=(0.2,), outliers=("1",))
    points = run_digits(digits, many, variants=QUICK[:1])
    assert points[0]["n"] == 62  # 50 true ones are 80 %


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"true": 10}, "--true 10"),
        ({"outliers": ("1",)}, "--outliers 1: must be others or a digit other than 1"),
        ({"outliers": ("x",)}, "--outliers x"),
        ({"outliers": ("²",)}, "--outliers ²"),
    ],
)
def test_options_are_checked(changes, message):
    with pytest.raises(UsageError, match=message):
        DigitOptions(**changes)


def test_too_few_pictures_are_named(digits):
    few = Digits(digits.X[100:], digits.labels[100:], "few")
    with pytest.raises(UsageError, match="few: has too few pictures of digit 0"):
        run_digits(few, SMALL)
    with pytest.raises(UsageError, match="--k 30: must be below half of the 60"):
        run_digits(digits, dataclasses.replace(SMALL, ks=(30,)))
