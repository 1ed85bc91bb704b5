"""Lay out the axes of the plot of errors: scale, ticks and the place of the cut-off."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from bgsub.outliers.errors_table import ErrorTable

GREY = "#595959"

# A highest error this many times the median would flatten everything else on a linear axis.
_LOG_SPREAD = 6.0

_TIME_STEPS = (
    *(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0),
    *(60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0),
)


def cutoff_rmse(table: ErrorTable) -> float:
    """Root mean square error per pixel that corresponds to the cut-off, in grey levels.

    The score of a fitted frame is that of its error as if it had been left out, so no single error
    corresponds to the cut-off exactly; found from the frames just below and above it, else from a
    straight line through the lowest and the highest. NaN if all scores are equal.
    """
    order = np.argsort(table.scores, kind="stable")
    scores, rmse, marked = table.scores[order], table.rmse[order], table.outliers[order]
    first = int(np.searchsorted(scores, table.cutoff, side="right"))
    if scores[0] == scores[-1]:
        return float("nan")
    if 0 < first < scores.size:
        level = float(np.interp(table.cutoff, scores, rmse))
    else:
        slope = max((rmse[-1] - rmse[0]) / (scores[-1] - scores[0]), 0.0)
        level = float(rmse[0] + slope * (table.cutoff - scores[0]))
    # The line must lie where a reader expects it of the marks, if any line can.
    below = float(rmse[~marked].max(initial=0.0))
    above = float(rmse[marked].min(initial=np.inf))
    return min(max(level, below), above) if below <= above else level


def set_error_axis(axes: Axes, table: ErrorTable) -> None:
    """Scale and label the axis of errors; logarithmic where a linear one would flatten them."""
    rmse = table.rmse
    median, highest = float(np.median(rmse)), float(rmse.max())
    line = cutoff_rmse(table)
    top = max(highest, line if np.isfinite(line) and line < 3 * highest else 0.0)
    axes.set_ylabel("RMS error per pixel (grey levels)")
    if median <= 0 or highest < _LOG_SPREAD * median:
        axes.set_ylim(0.0, 1.15 * top if top > 0 else 1.0)
        return
    # One frame without any error must not stretch the axis by ten decades.
    bottom = max(float(rmse.min()), median / 10)
    axes.set_yscale("log")
    axes.set_ylim(bottom / 1.3, top * (top / bottom) ** 0.12)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    decades = np.log10(top / bottom)
    axes.yaxis.set_minor_formatter(
        FuncFormatter(_minor_label) if decades < 2.5 else NullFormatter()
    )


def _minor_label(value: float, _: int | None) -> str:
    """Label 2 and 5 between the powers of ten."""
    leading = f"{value:.0e}"[0]
    return f"{value:g}" if leading in "25" else ""


def add_times(axes: Axes, table: ErrorTable) -> None:
    """Mark round times on a second axis, where the timestamps say, evenly spaced or not."""
    times = np.maximum.accumulate(table.times)
    span = times[-1] - times[0]
    if span <= 0:
        return
    step = next((s for s in _TIME_STEPS if span <= 9 * s), 3600 * np.ceil(span / (9 * 3600)))
    ticks = step * np.arange(np.ceil(times[0] / step), np.floor(times[-1] / step) + 1)
    over = axes.twiny()
    over.set_xlim(axes.get_xlim())
    over.set_xticks(np.interp(ticks, times, table.frames), [_clock(t, step) for t in ticks])
    over.set_xlabel("time", fontsize=10)
    over.tick_params(labelsize=10, colors=GREY)
    over.xaxis.label.set_color(GREY)
    for side in ("right", "left"):
        over.spines[side].set_visible(False)
    over.spines["top"].set_color(GREY)


def _clock(seconds: float, step: float) -> str:
    """Write a time as short as the step between its neighbours allows.

    Examples
    --------
    >>> _clock(75, 15), _clock(3.2, 0.1), _clock(7200, 600)
    ('1:15', '0:03.2', '2:00:00')
    """
    decimals = 0 if step >= 1 else int(np.ceil(-np.log10(step)))
    minutes, rest = divmod(round(seconds, decimals), 60)
    hours, minutes = divmod(int(minutes), 60)
    tail = f"{rest:0{3 + decimals if decimals else 2}.{decimals}f}"
    return f"{hours}:{minutes:02d}:{tail}" if hours else f"{minutes}:{tail}"
