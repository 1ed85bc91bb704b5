"""Declare where objects count, and which events are listed."""

from __future__ import annotations

import functools
from typing import Literal

from bgsub.errors import UsageError
from bgsub.options import Declared, documented, option
from bgsub.rules import Choice, Duration, File, Integer, Text

_events = functools.partial(option, "Events")


@documented
class PlaceOptions(Declared):
    """Which objects count by their size and place; UsageError for a value out of range."""

    max_area: int | None = _events(
        None,
        Integer(1),
        "Leave out objects larger than this, in pixels of the input.",
        metavar="PIXELS",
    )
    regions: str | None = _events(
        None, File(), "File of named regions, as for bgsub run.", metavar="JSON"
    )
    region: str | None = _events(
        None, Text(), "Count only objects in the region of this name in --regions.", metavar="NAME"
    )
    ignore: str | None = _events(
        None,
        File(),
        "Image of the input's size: objects do not count where it is white.",
        metavar="IMAGE",
    )

    def __post_init__(self) -> None:
        """Check every value, and that a region's file is there."""
        super().__post_init__()
        if self.region is not None and self.regions is None:
            raise UsageError("--region needs --regions, the file that says where it is")


@documented
class ListingOptions(Declared):
    """Which of the events that a run has found are listed, cut, exported or shown."""

    min_area: int | None = _events(
        None,
        Integer(1),
        "Leave out objects smaller than this, in pixels of the input.",
        metavar="PIXELS",
    )
    min_length: int = _events(1, Integer(1), "Leave out events of fewer than N frames.")
    merge_gap: float = _events(
        1.0, Duration(zero=True), "Join events with at most this time between them."
    )
    by: Literal["event", "track", "region"] = _events(
        "event",
        Choice(("event", "track", "region")),
        "What an event is: a time in which anything is in sight; one object, followed from frame "
        "to frame; or a stay in one of the --regions.",
    )
