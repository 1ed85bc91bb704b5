"""Declare how events are formed from the scores of frames."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any

from bgsub.errors import UsageError
from bgsub.options import Declared, documented, option
from bgsub.outliers.false_alarms import cutoff_for
from bgsub.rules import FalseAlarms, Integer, Number, Rule

_events = functools.partial(option, "Events")


class _Gap(Rule):
    """A number of frames, or of seconds such as ``1s``."""

    meaning = 'a whole number of frames, or seconds such as "1.5s"'
    metavar = "N|Ns"

    def convert(self, value: Any) -> int | str:
        """Check the number."""
        frames, seconds = gap_of(value)
        if frames is None and seconds is None:
            raise ValueError(value)
        return str(value) if frames is None else frames


def gap_of(value: int | str) -> tuple[int | None, float | None]:
    """Give the frames or the seconds that a gap means; two times None for anything else.

    Examples
    --------
    >>> gap_of(3), gap_of("3"), gap_of("1.5s"), gap_of("soon")
    ((3, None), (3, None), (None, 1.5), (None, None))
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return (value, None) if value >= 0 else (None, None)
    match = _GAP.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None, None
    if match[3]:
        return None, float(match[1])
    return (None if match[2] else int(match[1])), None


_GAP = re.compile(r"([0-9]{1,9}(\.[0-9]{1,9})?)(s)?")


@documented
@dataclass(frozen=True, kw_only=True)
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
        FalseAlarms(),
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
        given = [
            f"--{name.replace('_', '-')}"
            for name in ("cutoff", "false_alarms", "quantile")
            if getattr(self, name) is not None
        ]
        if len(given) > 1:
            raise UsageError(f"{' and '.join(given)} exclude each other; give one of them")

    @property
    def chosen_cutoff(self) -> float | None:
        """The cut-off that is asked for, by itself or as a rate of false alarms."""
        return self.cutoff if self.false_alarms is None else cutoff_for(self.false_alarms)
