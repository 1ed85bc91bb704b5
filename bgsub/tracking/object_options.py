"""Say what counts as an object, and how objects make tracks and events."""

from __future__ import annotations

from dataclasses import dataclass

from bgsub.tracking.regions import Line, Region


@dataclass(frozen=True, kw_only=True)
class ObjectOptions:
    """What counts as an object, and for how long.

    Attributes
    ----------
    min_area, max_area : int, optional
        Pixels of the input picture; None is no limit, but that small things make events only where
        they move or stay.
    min_track : int
        Frames in which an object must have been seen.
    max_gap_s : float
        Seconds for which it may be missed and keep its number.
    merge_gap_s : float
        Seconds between events that become one.
    regions : tuple of Region
    lines : tuple of Line
    """

    min_area: int | None = None
    max_area: int | None = None
    min_track: int = 3
    max_gap_s: float = 1.0
    merge_gap_s: float = 1.0
    regions: tuple[Region, ...] = ()
    lines: tuple[Line, ...] = ()
