from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from bgsub.outliers.errors_table import ErrorTable
from bgsub.report.plots import add_times, cutoff_rmse, set_error_axis


def make_table(rmse, scores=None, *, times=None, cutoff: float = 12.0) -> ErrorTable:
    rmse = np.asarray(rmse, dtype=float)
    n = rmse.size
    return ErrorTable(
        frames=np.arange(1, n + 1),
        times=np.arange(n) / 10 if times is None else np.asarray(times, dtype=float),
        errors=100 * rmse**2,
        pixels=100,
        scores=(rmse - 1) * 20 if scores is None else np.asarray(scores, dtype=float),
        cutoff=cutoff,
    )


@given(st.lists(st.floats(0.1, 50), min_size=2, max_size=30, unique=True))
def test_cutoff_where_score_follows_error(rmse) -> None:
    table = make_table(rmse)
    if np.ptp(table.scores) > 1e-6:
        assert cutoff_rmse(table) == pytest.approx(1.6, rel=1e-6, abs=1e-6)


def test_cutoff_parts_outliers_from_the_others() -> None:
    # A frame with a lower error but a higher score: one that the fit bent itself to.
    table = make_table([1.0, 1.4, 1.5, 9.0], [0, 8, 16, 100])
    assert 1.4 <= cutoff_rmse(table) <= 1.5


def test_cutoff_lies_above_all_that_are_no_outliers() -> None:
    # Between the scores of 10 and 16 the errors would say 1.5.
    table = make_table([1.0, 1.6, 1.4, 1.7, 9.0], [0, 8, 10, 16, 100])
    assert cutoff_rmse(table) == pytest.approx(1.6)


def test_no_line_can_be_drawn() -> None:
    assert np.isnan(cutoff_rmse(make_table([2.0, 2.0, 2.0], [0, 0, 0])))


def axis_of(rmse) -> tuple[str, tuple[float, float]]:
    axes = Figure().add_subplot()
    set_error_axis(axes, make_table(rmse))
    return axes.get_yscale(), axes.get_ylim()


def test_scale_follows_the_spread() -> None:
    scale, (low, high) = axis_of([1.0, 1.1, 1.2, 3.0])
    assert (scale, low) == ("linear", 0.0)
    assert 3.0 < high < 4.0
    scale, (low, high) = axis_of([1.0, 1.1, 1.2, 30.0])
    assert scale == "log"
    assert 0.5 < low < 1.0
    assert 30.0 < high < 60.0


def test_a_frame_without_error_does_not_stretch_the_axis() -> None:
    scale, (low, _) = axis_of([0.0, 1.0, 1.0, 1.0, 30.0])
    assert scale == "log"
    assert low > 0.05


def test_all_errors_zero() -> None:
    assert axis_of([0.0, 0.0]) == ("linear", (0.0, 1.0))


def time_marks(times) -> tuple[list[float], list[str]]:
    axes = Figure().add_subplot()
    axes.set_xlim(0.5, len(times) + 0.5)
    add_times(axes, make_table(np.ones(len(times)), times=times))
    if len(axes.figure.axes) == 1:
        return [], []
    over = axes.figure.axes[1]
    return list(over.get_xticks()), [label.get_text() for label in over.get_xticklabels()]


def test_times_lie_where_the_timestamps_say() -> None:
    # A second of ten frames, then one frame a second.
    times = [*np.arange(10) / 10, *range(1, 10)]
    places, labels = time_marks(times)
    assert labels[:3] == ["0:00", "0:01", "0:02"]
    assert places[:3] == pytest.approx([1, 11, 12])


def test_times_are_round() -> None:
    assert (
        time_marks(np.arange(1300) / 10)[1]
        == [f"{m}:{s:02d}" for m in (0, 1, 2) for s in (0, 15, 30, 45)][:9]
    )
    assert time_marks(np.arange(900) * 20.0)[1][-1] == "4:00:00"
    assert time_marks(np.arange(5) / 100)[1][1] == "0:00.01"


def test_without_times() -> None:
    assert time_marks([0.0])[0] == []
    assert time_marks([3.0, 3.0])[0] == []
