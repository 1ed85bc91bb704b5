"""The paper's Table 1 beside ours."""

from __future__ import annotations

import numpy as np
import pytest

from bgsub.comparison.result import Comparison, MethodRow
from bgsub.errors import UsageError
from bgsub.experiments.background import TIMES_COLUMNS, table_one, time_rows
from bgsub.experiments.options import MovedObjectOptions, TimesOptions
from bgsub.experiments.paper_times import PAPER_TIMES
from bgsub.robustpca.competitors.methods import METHODS

NUMBERS = np.arange(1, 11)
TRUTH = np.array([0] * 8 + [1] * 2, dtype=np.int8)
NINE = ["trpca", "trpca(.5)", "orpca", "orpca(.5)", "hrpca", "hrpca(.5)", "lld", "rpca", "pcp"]


def comparison_of(entries, ks=(1, 5), seconds=0.512):
    rows = [
        MethodRow(method=entry.method, variant=entry.variant, k=k, t=5, seconds=seconds)
        for entry in entries
        for k in ks
    ]
    return Comparison(
        "a", rows, NUMBERS, NUMBERS / 25, 9, None, [], [], {}, {}, {}, []
    )  # fmt: skip


def test_the_papers_nine_columns_come_in_its_order_and_ours_below_them():
    header, rows = table_one(comparison_of(TimesOptions().entries(TRUTH)))
    assert header[:11] == ["k", "seconds of", *NINE]
    assert set(header[11:]) == {"trpca reweighted", "pca"}
    assert [(row["k"], row["seconds of"]) for row in rows] == [
        (1, "bgsub"), (1, "paper"), (5, "bgsub"), (5, "paper"),
    ]  # fmt: skip
    assert all(rows[0][name] == 0.51 for name in header[2:])
    assert rows[1]["hrpca"] == 45990
    assert rows[1]["lld"] is rows[1]["pcp"] is rows[1]["pca"] is None
    assert [rows[3][name] for name in NINE] == [
        64, 78, 2797, 3726, 72009, 77344, 232667, 3615, 875
    ]  # fmt: skip


def test_without_a_truth_lld_of_half_the_frames_stands_beside_the_papers_lld():
    header, rows = table_one(comparison_of(TimesOptions().entries(None)))
    here = header.index("lld")
    assert header[here : here + 2] == ["lld", "lld(.5)"]
    assert rows[2]["lld"] is None
    assert rows[2]["lld(.5)"] == 0.51
    assert rows[3]["lld"] == 232667
    assert rows[3]["lld(.5)"] is None


def test_a_k_that_the_paper_has_not_leaves_its_cells_empty():
    _, rows = table_one(comparison_of(TimesOptions().entries(None), ks=(4,), seconds=None))
    assert all(rows[1][name] is None for name in NINE)
    assert all(rows[0][name] is None for name in NINE)


def test_rows_of_the_file_have_the_papers_figure_of_the_same_column_and_k():
    rows = time_rows(comparison_of(TimesOptions().entries(TRUTH)))
    assert all(set(row) == set(TIMES_COLUMNS) for row in rows)
    cells = {(row["column"], row["k"]): row for row in rows}
    assert cells["orpca(.5)", 5]["paper_2014_seconds"] == 3726
    assert cells["orpca", 5]["paper_2014_seconds"] == 2797
    assert cells["pca", 5]["paper_2014_seconds"] is None
    assert "one" in cells["trpca", 1]["note"]


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


def test_lambda_wants_pcp():
    with pytest.raises(UsageError, match="--lambda has no effect without pcp"):
        TimesOptions(methods=("trpca",), pcp_lambda=0.5)
    assert TimesOptions(methods=("trpca",)).pcp_lambda == 0.001


def test_the_moved_object_is_that_of_the_paper_unless_a_truth_is_given(tmp_path):
    numbers = np.arange(1, 1746)
    labels = MovedObjectOptions().labels(numbers)
    assert int(labels.sum()) == (891 - 638 + 1) + (1502 - 1390 + 1)
    assert labels[637] == labels[890] == labels[1389] == labels[1501] == 1
    assert labels[636] == labels[891] == labels[1388] == labels[1502] == 0
    (tmp_path / "own.csv").write_text("first,last\n3,4\n")
    own = MovedObjectOptions(truth=str(tmp_path / "own.csv"))
    assert np.flatnonzero(own.labels(numbers)).tolist() == [2, 3]
