"""Declare how a stream is opened and watched."""

from __future__ import annotations

import functools
import math
import re
from typing import Literal

from bgsub import rules
from bgsub.errors import UsageError
from bgsub.options import Declared, documented, option
from bgsub.rules import SECONDS, Choice, Duration, File, Integer, Rate, Switch, Text

_BYTES = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
KEEP = Text(
    r"\s*(?=[\d.]*[1-9])(\d+(?:\.\d+)?)\s*([KMGTsmhd])B?\s*",
    "an amount such as 10G, or a time such as 7d",
)


def parse_keep(text: str) -> tuple[float, float]:
    """Return the most bytes and seconds that a text of `KEEP` means: small letters are time.

    >>> parse_keep("10G"), parse_keep("7d")
    ((10000000000.0, inf), (inf, 604800.0))
    """
    number, unit = re.findall(KEEP.pattern, text, re.ASCII)[0]
    if unit in _BYTES:
        return float(number) * _BYTES[unit], math.inf
    return math.inf, float(number) * SECONDS[unit]


_stream, _model, _events, _supervision = (
    functools.partial(option, section) for section in ("Stream", "Model", "Events", "Supervision")
)


@documented
class StreamOptions(Declared):
    """What raw pictures on standard input are, or what a camera is asked for."""

    size: str | None = _stream(
        None,
        rules.PICTURE_SIZE,
        "Size of the raw pictures on standard input, or of a camera's.",
        metavar="WxH",
    )
    pixel_format: str | None = _stream(
        None, Text(), "Pixel format of raw pictures, such as yuv420p.", metavar="NAME"
    )
    rate: str | None = _stream(None, Rate(), "Frames per second of raw pictures.")


@documented
class WatchOptions(Declared):
    """How a stream is watched; UsageError for what is out of range or excludes each other."""

    stall_s: float = _stream(
        20.0, Duration(), "Open the stream again when no frame has come for this long."
    )
    drop: bool | None = _stream(
        None,
        Switch(),
        "Leave out frames that the analysis has no time for; clips keep them.",
        unset="drop, except for files",
    )
    window_s: float = _model(
        600.0,
        Duration(),
        "Learn from the frames of this most recent stretch of time, 500 of them at most.",
    )
    refresh_s: float = _model(30.0, Duration(), "Learn again at this interval.")
    warm_up_s: float = _model(
        5.0, Duration(), "Learn for this long at first; nothing is reported meanwhile."
    )
    model: str | None = _model(None, File(), "Use the model.npz of a run, and learn nothing.")
    scale: float | None = _model(
        None,
        rules.Number("a factor above 0, up to 1", 0, 1, open_least=True),
        "Resize the pictures that are analysed.",
        metavar="SCALE",
        unset="to about 480×320 pixels",
    )
    every_s: float | None = _model(
        None,
        Duration(),
        "Analyse one frame in every interval of this length; clips have all frames.",
        unset="every frame",
    )
    before_s: float = _events(
        5.0, Duration(), "Begin clips this long before an event, at the key frame before that."
    )
    after_s: float = _events(
        2.0, Duration(), "End an event when nothing has been in sight for this long."
    )
    min_track: int = _events(3, Integer(1), "Frames in which an object must be seen to count.")
    feedback: str | None = _events(
        None,
        File(),
        "File that `bgsub feedback` wrote: what is like what it says is no object makes no event.",
        metavar="JSON",
    )
    on_event: str | None = _events(
        None,
        Text(),
        "Run this program when an event starts, goes on and ends, with {event}, {id} and {file} "
        "filled in, and the JSON line on its standard input; no shell is used.",
        metavar="CMD",
    )
    clips: bool = _events(True, Switch(), "Write a clip of each event.")
    sound: bool = _events(True, Switch(), "Write the stream's sound into clips.")
    writes_masks: bool = _events(
        False,
        Switch(),
        "Write the masks of events beside their clips, as -mask.mkv (FFV1).",
        flag="--masks",
    )
    clip_format: Literal["auto", "mp4", "mkv"] = _events(
        "auto",
        Choice(("auto", "mp4", "mkv")),
        "Format of clips; auto is mp4 where it can hold the stream, else mkv.",
    )
    keep: str | None = _events(
        None,
        KEEP,
        "Remove the oldest clips when all take more than this (10G), or after this time (7d).",
        metavar="AMOUNT",
    )
    status: str | None = _supervision(
        None, File(), "Write the state of the watch to FILE as JSON, every two seconds."
    )
    metrics: int | None = _supervision(
        None,
        Integer(0, 65535),
        "Serve metrics for Prometheus on http://127.0.0.1:PORT/metrics.",
        metavar="PORT",
    )
    threads: int = option(
        "Resources",
        1,
        Integer(1, 1024),
        "Threads for learning. Decoding runs in a process of its own.",
    )

    def __post_init__(self) -> None:
        """Check every value, and those that go together."""
        super().__post_init__()
        if self.warm_up_s > self.window_s:
            raise UsageError("--warm-up is longer than --window; make it shorter")
        if self.writes_masks and not self.clips:
            left_out = "--masks belong to clips, which --no-clips leaves out"
            raise UsageError(f"{left_out}; give one of them")
