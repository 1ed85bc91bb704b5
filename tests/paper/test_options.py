"""What comparisons and experiments take, draw and fit, and what cannot be asked of them."""

from __future__ import annotations

import numpy as np
import pytest

from bgsub.errors import UsageError
from bgsub.options import RunOptions, SourceOptions
from bgsub.paper.options import (
    COLUMNS,
    OTHERS,
    PAPER_TIMES,
    CompareOptions,
    DigitOptions,
    MovedObjectOptions,
    SyntheticOptions,
    TimesOptions,
)
from bgsub.robustpca.competitors import METHODS

NUMBERS = np.arange(1, 11)
TRUTH = np.array([0] * 8 + [1] * 2, dtype=np.int8)


@pytest.mark.parametrize("share", [0.5, 0.7, -0.1])
def test_robust_methods_bear_less_than_half(share):
    with pytest.raises(UsageError, match=r"--shares .*: must be a share of 0 or more, below 0\.5"):
        SyntheticOptions(shares=(0.1, share))


def test_a_digit_is_no_outlier_among_its_own_kind():
    with pytest.raises(UsageError, match="--outliers 3: must be others or a digit other than 3"):
        DigitOptions(true=3, outliers=("3", OTHERS))
    assert DigitOptions(true=3, outliers=("7", OTHERS)).outliers == ("7", OTHERS)


@pytest.mark.parametrize("outliers", [("10",), ("some",), ()])
def test_outliers_are_digits(outliers):
    with pytest.raises(UsageError, match="--outliers"):
        DigitOptions(outliers=outliers)


def test_methods_with_a_t_run_with_both_and_others_once():
    entries = {entry.name: entry for entry in TimesOptions().entries(TRUTH)}
    assert set(PAPER_TIMES) < set(entries)
    for name in ("trpca", "orpca", "hrpca"):
        assert entries[name].support_fraction == 0.8
        assert entries[f"{name}(.5)"].support_fraction == 0.5
    assert entries["outlier-pursuit"].support_fraction == 0.8
    assert entries["hrpca"].max_removals > NUMBERS.size
    assert entries["pcp"].lam == 0.001
    assert {entry.method for entry in entries.values()} == set(METHODS)
    assert all(entry.lam is None for name, entry in entries.items() if name != "pcp")


def test_without_a_truth_only_half_is_known():
    entries = {entry.name: entry for entry in TimesOptions().entries(None)}
    assert "trpca" not in entries
    assert {"trpca(.5)", "orpca(.5)", "hrpca(.5)", "outlier-pursuit(.5)"} < set(entries)


def test_frames_that_are_not_labelled_do_not_count_for_t():
    labels = np.array([0, 0, 0, 1, -1, -1], dtype=np.int8)
    entries = {entry.name: entry for entry in TimesOptions().entries(labels)}
    assert entries["trpca"].support_fraction == 0.75


def test_more_outliers_than_half_are_refused():
    with pytest.raises(UsageError, match="calls 8 of 10 frames outliers"):
        TimesOptions().entries(1 - TRUTH)


def test_lambda_without_pcp_is_said():
    (said,) = TimesOptions(methods=("trpca",), pcp_lambda=0.5).unused
    assert "--lambda has no effect without pcp" in said
    assert TimesOptions(methods=("trpca",)).unused == []


def test_the_moved_object_is_that_of_the_paper_unless_a_truth_is_given(tmp_path):
    numbers = np.arange(1, 1746)
    labels = MovedObjectOptions().labels(numbers)
    assert int(labels.sum()) == (891 - 638 + 1) + (1502 - 1390 + 1)
    assert labels[637] == labels[890] == labels[1389] == labels[1501] == 1
    assert labels[636] == labels[891] == labels[1388] == labels[1502] == 0
    (tmp_path / "own.csv").write_text("first,last\n3,4\n")
    own = MovedObjectOptions(truth=str(tmp_path / "own.csv"))
    assert np.flatnonzero(own.labels(numbers)).tolist() == [2, 3]


@pytest.mark.parametrize(("last", "first"), [(633, 1), (800, 700)])
def test_footage_that_is_not_the_papers_needs_a_truth(first, last):
    numbers = np.arange(first, last + 1)
    with pytest.raises(UsageError, match=rf"frames 638-891 and .* {first} to {last} .*--truth"):
        MovedObjectOptions().labels(numbers)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"methods": ("svd",)}, "--methods svd: must be one of trpca"),
        ({"ks": ()}, "--k is empty: must be"),
        ({"ks": (0,)}, "--k 0"),
        ({"frames": (0,)}, "--frames 0"),
        ({"timeout": 0.0}, "--timeout 0"),
    ],
)
def test_options_of_a_comparison_are_checked(changes, message):
    with pytest.raises(UsageError, match=message):
        CompareOptions(**changes)


def test_options_are_plain_json():
    source = SourceOptions(every=2, roi=(0, 0, 8, 8))
    plain = CompareOptions(run=RunOptions(source=source), ks=(1, 3)).to_json()
    assert plain["k"] == [1, 3]
    assert plain["source"]["every"] == 2
    assert plain["methods"] == list(METHODS)


def test_methods_and_ks_come_in_the_order_of_the_rows(comparison):
    assert comparison.names == ["trpca", "pcp"]
    assert comparison.ks == [1, 3]
    assert [row.errors is None for row in comparison.rows] == [False, False, True, True]
    assert tuple(comparison.rows[0].cells()) == COLUMNS
