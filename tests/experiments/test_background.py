from __future__ import annotations

import numpy as np

from bgsub.comparison.result import Comparison, MethodRow
from bgsub.experiments.background import BACKGROUND_COLUMNS, time_rows
from bgsub.experiments.paper_times import PAPER_TIMES
from bgsub.robustpca.competitors.methods import METHODS


def test_the_papers_seconds_stand_beside_ours_and_unknown_ones_are_blank():
    rows = [MethodRow(method=name, k=1, t=5, seconds=0.5) for name in METHODS]
    numbers = np.arange(1, 11)
    comparison = Comparison(
        "a", rows, numbers, numbers / 25, 9, None, [], [], {}, {}, {}, []
    )  # fmt: skip
    table = {row["method"]: row for row in time_rows(comparison)}
    assert tuple(table["pca"]) == BACKGROUND_COLUMNS
    assert table["outlier-pursuit"]["paper_2014_seconds_low"] == 232_667
    assert table["hrpca"]["paper_2014_seconds_low"] == 45_990
    assert table["hrpca"]["paper_2014_seconds_high"] == 106_782
    assert table["trpca"]["paper_2014_seconds_high"] == 119
    assert "one start" in table["trpca"]["paper_note"]
    for name in set(METHODS) - set(PAPER_TIMES):
        assert table[name]["paper_2014_seconds_low"] is None
        assert table[name]["seconds"] == 0.5
