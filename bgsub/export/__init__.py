"""Write the objects and events of a run for other programs, and cut films into clips."""

from __future__ import annotations

import functools
from datetime import datetime
from typing import Any, Literal

from bgsub.options import Declared, documented, option
from bgsub.rules import Choice, Duration, FileOfKind, Integer, Rule, Switch

_results = functools.partial(option, "Results")
_events = functools.partial(option, "Events")
_SECONDS = Duration(zero=True)


class _Moment(Rule):
    """A date with a time of day and without a zone, kept as ISO 8601 writes it."""

    meaning = "a date and a time, such as 2026-05-01T22:00:00"
    metavar = "TIME"

    def _read(self, _name: str, value: Any) -> str:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
        has_time = isinstance(value, datetime) or len(value) > len("2026-05-01")
        if moment.tzinfo is not None or not has_time:
            raise ValueError(value)
        return moment.isoformat()


@documented
class ClipOptions(Declared):
    """How a film is cut into clips; UsageError for a value out of range."""

    mode: Literal["encode", "copy"] = _results(
        "encode",
        Choice(("encode", "copy")),
        "encode: exact to the frame. copy: the film's own packets, from the key frame before.",
    )
    overlay: Literal["none", "boxes", "mask", "side-by-side"] = _results(
        "none",
        Choice(("none", "boxes", "mask", "side-by-side")),
        "Draw on encoded clips: boxes and numbers of the objects; the mask as a tint; or boxes, "
        "and the mask beside them.",
    )
    caption: bool = _results(
        False,
        Switch(),
        "Write the number of the event and the time on encoded clips, and on the reel; pictures "
        "narrower than 480 pixels are enlarged so that it can be read, as for --overlay.",
    )
    clock: str | None = _results(
        None,
        _Moment(),
        "When the film began, as 2026-05-01T22:00:00: captions show the time of day.",
    )
    reel: str | None = _results(
        None, FileOfKind((".mp4",)), "Join all clips into this file too, .mp4."
    )
    sheet: str | None = _results(
        None,
        FileOfKind((".jpeg", ".jpg", ".png")),
        "Write a contact sheet too: the peak frame of each event, with the overlay; .jpg or .png.",
    )
    before: float = _events(1.5, _SECONDS, "Time of the film before each event.")
    after: float = _events(2.0, _SECONDS, "Time of the film after each event.")
    merge: float = _events(2.0, _SECONDS, "Join clips with at most this time between them.")
    max_events: int | None = _events(None, Integer(1), "Keep the N clips with the largest objects.")

    @property
    def unused(self) -> list[str]:
        """What has no effect with the other options; for a warning."""
        copied = [
            f"{name} has no effect with --mode copy"
            for name, given in (("--overlay", self.overlay != "none"), ("--caption", self.caption))
            if given and self.mode == "copy" and not (name == "--overlay" and self.sheet)
        ]
        clock = self.clock is not None and not self.caption
        return [*copied, *(["--clock has no effect without --caption"] if clock else [])]
