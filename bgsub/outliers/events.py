"""Find outlier frames and the events that they form."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import UsageError
from bgsub.options import Declared, documented, option
from bgsub.outliers.errors_table import BOTH, ErrorTable
from bgsub.outliers.false_alarms import DEFAULT_CUTOFF, cutoff_for, frame_scores, score_scale
from bgsub.outliers.scene_change import lasting_change
from bgsub.rules import FALSE_ALARMS, Integer, Number, Rule

if TYPE_CHECKING:
    from bgsub.robustpca.competitors import Estimator
    from bgsub.robustpca.gram import Gram


_events = functools.partial(option, "Events")
_GAP = re.compile(r"([0-9]+)|([0-9]{1,9}(?:\.[0-9]{1,9})?)s")


class _Gap(Rule):
    """A number of frames, or of seconds such as ``1s``."""

    meaning = 'a whole number of frames, or seconds such as "1.5s"'
    metavar = "N|Ns"

    def _read(self, _name: str, value: Any) -> int | str:
        frames, seconds = gap_of(value)
        if frames is None and seconds is None:
            raise ValueError(value)
        return str(value) if frames is None else frames


def gap_of(value: int | str) -> tuple[int | None, float | None]:
    """Return the frames (3, "3") or the seconds ("1.5s") of a gap; two times None otherwise."""
    match = _GAP.fullmatch(str(value))
    if match is None:
        return None, None
    return (int(match[1]), None) if match[1] else (None, float(match[2]))


@documented
class EventOptions(Declared):
    """How outlier frames are grouped into events."""

    cutoff: float | None = _events(
        None,
        Number("a finite number from -1e9 to 1e9", -1e9, 1e9),
        "Score above which a frame is an outlier. A frame has two: one for its error as a whole, "
        "one for the place in it that fits worst.",
        metavar="Z",
        unset="that of the run, or 12",
    )
    false_alarms: float | None = _events(
        None,
        FALSE_ALARMS,
        "Instead of a cut-off: the share of clean frames that each score may wrongly call "
        "outliers; 1/1000 is the cut-off 12.",
    )
    quantile: float | None = _events(
        None,
        Number("a share of 0 or more, below 1", 0, 1, open_most=True),
        "Instead of a cut-off: with 0.99, the highest 1 % of the scores are outliers.",
        metavar="Q",
    )
    merge_gap: int | str = _events(
        "1s",
        _Gap(),
        'Join events with at most N ordinary frames between them, or less than a time ("1s").',
    )
    min_length: int = _events(1, Integer(1), "Leave out events of fewer than N frames.")
    top: int | None = _events(
        None, Integer(1), "List only the N events with the highest scores, in order of time."
    )

    def __post_init__(self) -> None:
        """Check every value, and that outliers are not told in two ways."""
        super().__post_init__()
        ways = ("cutoff", "false_alarms", "quantile")
        given = [self.as_given(name) for name in ways if getattr(self, name) is not None]
        if len(given) > 1:
            raise UsageError(f"{' and '.join(given)} exclude each other; give one of them")

    @property
    def chosen_cutoff(self) -> float | None:
        """The cut-off that is asked for, by itself or as a rate of false alarms."""
        return self.cutoff if self.false_alarms is None else cutoff_for(self.false_alarms)


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
    pixels: int,
) -> ErrorTable:
    """Tabulate what a fit says of its frames, and with its Gram matrix of a lasting change."""
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
    runs = _merge(runs_of(outlier_frames(table)), table.times, chosen.merge_gap)
    runs = [(first, stop) for first, stop in runs if stop - first >= min_length]
    flags = table.flags
    events = [_event(table, flags, number, *run) for number, run in enumerate(runs, start=1)]
    highest = sorted(events, key=lambda event: (-event.peak_score, event.number))[:top]
    return sorted(highest, key=lambda event: event.number)


def outlier_frames(table: ErrorTable) -> NDArray[np.bool_]:
    """Mark the outlier frames before any lasting change of the scene, shape (n,)."""
    return table.outliers & _before_change(table)


def with_cutoff(
    table: ErrorTable, *, cutoff: float | None = None, quantile: float | None = None
) -> ErrorTable:
    """Return the table with a cut-off, or a quantile of the scores before any lasting change."""
    EventOptions(cutoff=cutoff, quantile=quantile)
    if quantile is not None:
        ordinary = table.highest[_before_change(table)]
        cutoff = float(np.quantile(ordinary, quantile)) if ordinary.size else table.cutoff
    return table if cutoff is None else replace(table, cutoff=cutoff, marked=None)


def _before_change(table: ErrorTable) -> NDArray[np.bool_]:
    if table.scene_change is None:
        return np.ones(table.frames.size, dtype=np.bool_)
    return table.frames < table.scene_change.first_frame


def runs_of(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Find first index and end (exclusive) of every run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return [(int(first), int(stop)) for first, stop in edges.reshape(-1, 2)]


def _merge(
    runs: list[tuple[int, int]], times: NDArray[np.float64], gap: int | str
) -> list[tuple[int, int]]:
    """Join runs with at most so many frames between them, or less than so many seconds apart."""
    frames, seconds = gap_of(gap)
    merged = runs[:1]
    for first, stop in runs[1:]:
        begin, before = merged[-1]
        is_near = first - before <= (frames or 0)
        if seconds is not None:
            is_near = bool(times[first] - times[before - 1] < seconds - 1e-6)
        merged[-1:] = [(begin, stop)] if is_near else [(begin, before), (first, stop)]
    return merged


def _event(table: ErrorTable, flags: list[str], number: int, first: int, stop: int) -> Event:
    highest = table.highest
    peak = first + int(highest[first:stop].argmax())
    kinds = set(flags[first:stop]) - {""}
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
        flag=kinds.pop() if len(kinds) == 1 else BOTH if kinds else "",
    )
