"""The errors of a long film, thinned out for a plot."""

from __future__ import annotations

import numpy as np
import pytest

from bgsub.outliers.errors_table import ErrorTable, read_csv, write_csv
from bgsub.segments.join import MOST_ROWS, read_overview


def table(n, *, local=True):
    rng = np.random.default_rng(1)
    return ErrorTable(
        np.arange(1, n + 1),
        np.arange(n) / 25,
        rng.uniform(100, 200, n),
        100,
        rng.uniform(0, 5, n),
        local=rng.uniform(0, 5, n) if local else None,
    )


@pytest.mark.parametrize("local", [True, False])
def test_all_of_a_short_film_is_read(tmp_path, local):
    write_csv(table(500, local=local), tmp_path / "errors.csv")
    ours, theirs = (
        read_overview(tmp_path / "errors.csv", 500, 12.0),
        read_csv(tmp_path / "errors.csv"),
    )
    for name in ("frames", "times", "errors", "scores", "outliers", "rmse"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name))
    assert (ours.local is None) == (not local)


def test_of_a_long_film_what_stands_out_is_kept(tmp_path):
    n = 4 * MOST_ROWS
    whole = table(n)
    whole.scores[7777], whole.errors[12345], whole.local[20000] = 99.0, 1e6, 77.0
    write_csv(whole, tmp_path / "errors.csv")
    found = read_overview(tmp_path / "errors.csv", n, 12.0)
    assert found.frames.size <= MOST_ROWS
    assert (np.diff(found.frames) > 0).all()
    assert {7778, 12346, 20001} <= set(found.frames.tolist())
    assert set(found.frames[found.outliers].tolist()) == {7778, 20001}
    assert found.errors.min() == pytest.approx(whole.errors.min())
