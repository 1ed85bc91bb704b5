"""Declare what `bgsub background` makes of the empty scene besides its picture."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from bgsub.options import Declared, documented, option
from bgsub.rules import FileOfKind, Switch

PICTURE = FileOfKind((".png", ".tif", ".tiff"))
"""Files of pictures without loss, of 8 or 16 bits."""

_results = functools.partial(option, "Results")


@documented
@dataclass(frozen=True, kw_only=True)
class PlateOptions(Declared):
    """What is made of the empty scene besides its picture."""

    per_state: bool = _results(
        False,
        Switch(),
        "Make a picture for each state of the scene (lights on, lights off): FILE-1, FILE-2, …",
    )
    coverage: str | None = _results(
        None,
        PICTURE,
        "Write a 16-bit picture too: in how many of the frames that are looked at the background "
        "of each pixel is seen; with --per-state, a picture of those of each state. Pixels with 0 "
        "are filled in from around them.",
    )
