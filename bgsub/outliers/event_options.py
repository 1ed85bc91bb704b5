"""Declare how events are formed from the scores of frames."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from bgsub.declared import Declared, documented, option
from bgsub.errors import UsageError
from bgsub.rules import Integer, Number

_events = functools.partial(option, "Events")


@documented
@dataclass(frozen=True, kw_only=True)
class EventOptions(Declared):
    """How outlier frames are grouped into events."""

    cutoff: float | None = _events(
        None,
        Number("a finite number"),
        "Robust z-score above which a frame is an outlier.",
        metavar="Z",
        unset="that of the run, or 12",
    )
    quantile: float | None = _events(
        None,
        Number("a share of 0 or more, below 1", 0, 1, open_most=True),
        "Instead of a cut-off: with 0.99, the highest 1 % of the scores are outliers.",
        metavar="Q",
    )
    merge_gap: int = _events(
        0, Integer(0), "Join events with at most N ordinary frames between them."
    )
    min_length: int = _events(1, Integer(1), "Leave out events of fewer than N frames.")
    top: int | None = _events(
        None, Integer(1), "List only the N events with the highest scores, in order of time."
    )

    def __post_init__(self) -> None:
        """Check every value, and that a quantile is not given with a cut-off."""
        super().__post_init__()
        if self.cutoff is not None and self.quantile is not None:
            raise UsageError("--cutoff and --quantile exclude each other; give one of them")
