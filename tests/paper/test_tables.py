"""The paper's Table 1 beside ours, and curves with the shares side by side."""

from __future__ import annotations

import numpy as np

from bgsub.paper.figures import TIMES_COLUMNS, table_one, time_rows, tre_table
from bgsub.paper.options import Comparison, MethodRow, TimesOptions

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


def point(data, share, variant, value):
    return {"data": data, "p": 20, "share": share, "variant": variant, "tre_mean": value}


def test_panels_stay_together_and_shares_become_columns():
    points = [
        point("A", 0.1, "x", 1e-14), point("A", 0.1, "y", 0.1234),
        point("B", 0.1, "x", 2.0), point("A", 0.45, "x", 0.00056),
    ]  # fmt: skip
    header, rows = tre_table(points, ("data", "p"))
    assert header == ["data", "p", "variant", "λ = 0.1", "λ = 0.45"]
    assert rows == [
        {"data": "A", "p": 20, "variant": "x", "λ = 0.1": 0.0, "λ = 0.45": 0.00056},
        {"data": "A", "p": 20, "variant": "y", "λ = 0.1": 0.12, "λ = 0.45": None},
        {"data": "B", "p": 20, "variant": "x", "λ = 0.1": 2.0, "λ = 0.45": None},
    ]
