"""Find outlier frames and the events that they form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bgsub.outliers.errors_table import BOTH, ErrorTable
from bgsub.outliers.event_options import EventOptions, gap_of
from bgsub.outliers.false_alarms import DEFAULT_CUTOFF
from bgsub.outliers.frame_scores import frame_scores, score_scale
from bgsub.outliers.scene_change import lasting_change

if TYPE_CHECKING:
    from bgsub.robustpca.competitors import Estimator
    from bgsub.robustpca.gram import Gram

__all__ = [
    "DEFAULT_CUTOFF",
    "Event",
    "find_events",
    "fit_table",
    "outlier_frames",
    "with_cutoff",
]


@dataclass(frozen=True)
class Event:
    """Consecutive outlier frames.

    Attributes
    ----------
    number : int
        Counted from 1 in order of time, before `find_events` keeps the highest ones.
    first_frame, last_frame : int
        Frame numbers of the input, both included.
    start_s, end_s : float
        Times of these two frames in seconds.
    peak_frame : int
        The frame of the highest score, the first of them if there are several.
    peak_time_s : float
        Its time in seconds.
    peak_score : float
        The higher of its two scores.
    n_frames : int
        Frames of the table from the first to the last.
    flag : str
        What made its frames outliers: "whole", "place" or "both"; empty where somebody marked them.
    """

    number: int
    first_frame: int
    last_frame: int
    start_s: float
    end_s: float
    peak_frame: int
    peak_time_s: float
    peak_score: float
    n_frames: int
    flag: str = ""


def fit_table(
    estimator: Estimator,
    gram: Gram | None,
    *,
    frames: NDArray[np.int64],
    times: NDArray[np.float64],
    cutoff: float | None = None,
    pixels: int | None = None,
) -> ErrorTable:
    """Tabulate what a fit says of its frames, a lasting change of the scene included.

    Parameters
    ----------
    estimator : Estimator
    gram : Gram, optional
        What it was fitted to with `fit_gram`; without it a lasting change is not looked for.
    frames, times : ndarray of shape (n,)
        Frame numbers from 1 and seconds.
    cutoff : float, optional
        None is `DEFAULT_CUTOFF`.
    pixels : int, optional
        p; None is that of the Gram matrix.

    Returns
    -------
    ErrorTable
    """
    if pixels is None:
        if gram is None:
            raise ValueError("fit_table: without a Gram matrix pixels is needed")
        pixels = gram.n_features
    location, scale = estimator.error_location_, estimator.error_scale_
    cutoff = DEFAULT_CUTOFF if cutoff is None else cutoff
    scores = frame_scores(location + scale * estimator.outlier_scores_, location, scale, pixels)
    change = None
    if gram is not None:
        change = lasting_change(
            gram.values,
            estimator.component_weights_,
            scores=scores,
            cutoff=cutoff,
            location=location,
            scale=score_scale(location, scale, pixels),
            frames=frames,
            times=times,
        )
    return ErrorTable(frames, times, estimator.errors_, pixels, scores, cutoff, change)


def find_events(
    table: ErrorTable,
    *,
    cutoff: float | None = None,
    top: int | None = None,
    quantile: float | None = None,
    min_length: int = 1,
    merge_gap: int | str = "1s",
) -> list[Event]:
    """Group outlier frames into events.

    Frames after a lasting change of the scene belong to no event.

    Parameters
    ----------
    table : ErrorTable
    cutoff, top, quantile, min_length, merge_gap
        See `EventOptions`; a cut-off of None is that of the table. Events are merged before those
        that are too short are left out.

    Returns
    -------
    list of Event
        In order of time.

    Raises
    ------
    UsageError
        For a value out of range, or both a cut-off and a quantile.
    """
    chosen = EventOptions(top=top, min_length=min_length, merge_gap=merge_gap)
    table = with_cutoff(table, cutoff=cutoff, quantile=quantile)
    runs = _merge(_runs(outlier_frames(table)), table.times, *gap_of(chosen.merge_gap))
    runs = [(first, stop) for first, stop in runs if stop - first >= min_length]
    events = [_event(table, number, *run) for number, run in enumerate(runs, start=1)]
    if top is None or top >= len(events):
        return events
    highest = sorted(events, key=lambda event: (-event.peak_score, event.number))[:top]
    return sorted(highest, key=lambda event: event.number)


def outlier_frames(table: ErrorTable) -> NDArray[np.bool_]:
    """Mark the outlier frames before any lasting change of the scene, shape (n,)."""
    return table.outliers & _before_change(table)


def with_cutoff(
    table: ErrorTable, *, cutoff: float | None = None, quantile: float | None = None
) -> ErrorTable:
    """Give the same table with another cut-off; unchanged if neither is given.

    Parameters
    ----------
    table : ErrorTable
    cutoff : float, optional
        Of either score.
    quantile : float, optional
        In [0, 1), of the scores of the frames before any lasting change of the scene.

    Raises
    ------
    UsageError
        For a value out of range, or if both are given.
    """
    EventOptions(cutoff=cutoff, quantile=quantile)
    if quantile is not None:
        ordinary = table.highest[_before_change(table)]
        cutoff = float(np.quantile(ordinary, quantile)) if ordinary.size else table.cutoff
    if cutoff is None:
        return table
    return replace(table, cutoff=cutoff, marked=None)


def _before_change(table: ErrorTable) -> NDArray[np.bool_]:
    if table.scene_change is None:
        return np.ones(table.frames.size, dtype=np.bool_)
    return table.frames < table.scene_change.first_frame


def _runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Find first index and end (exclusive) of every run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return [(int(first), int(stop)) for first, stop in edges.reshape(-1, 2)]


def _merge(
    runs: list[tuple[int, int]],
    times: NDArray[np.float64],
    frames: int | None,
    seconds: float | None,
) -> list[tuple[int, int]]:
    """Join runs with at most so many frames between them, or less than so many seconds apart."""

    def is_near(before: int, first: int) -> bool:
        if seconds is None:
            return first - before <= (frames or 0)
        return bool(times[first] - times[before - 1] < seconds - 1e-6)

    merged: list[tuple[int, int]] = []
    for first, stop in runs:
        if merged and is_near(merged[-1][1], first):
            merged[-1] = (merged[-1][0], stop)
        else:
            merged.append((first, stop))
    return merged


def _event(table: ErrorTable, number: int, first: int, stop: int) -> Event:
    highest = table.highest
    peak = first + int(highest[first:stop].argmax())
    flags = set(table.flags[first:stop]) - {""}
    return Event(
        number=number,
        first_frame=int(table.frames[first]),
        last_frame=int(table.frames[stop - 1]),
        start_s=float(table.times[first]),
        end_s=float(table.times[stop - 1]),
        peak_frame=int(table.frames[peak]),
        peak_time_s=float(table.times[peak]),
        peak_score=float(highest[peak]),
        n_frames=stop - first,
        flag=flags.pop() if len(flags) == 1 else BOTH if flags else "",
    )
