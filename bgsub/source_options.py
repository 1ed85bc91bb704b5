"""Declare the options of an input once: which frames and pixels are read, and how."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal

from bgsub.declared import Declared, documented, option
from bgsub.input_rules import File, Place, Rate, Rectangle
from bgsub.rules import POSITIVE, Choice
from bgsub.video.selection import Selection

_input = functools.partial(option, "Input")


@documented
@dataclass(frozen=True, kw_only=True)
class SourceOptions(Declared):
    """Which frames and pixels are read; see `bgsub.open_source`."""

    start: str | int | None = _input(
        None, Place(), 'First frame: a number from 1, seconds ("12.5s") or HH:MM:SS.mmm.'
    )
    end: str | int | None = _input(None, Place(), "Last frame, included.")
    every: str | int | None = _input(
        None,
        Place(step=True),
        'Take every fifth frame ("5"), or one every two seconds ("2s").',
        metavar="STEP",
    )
    scale: float = _input(
        1.0, POSITIVE, "Resize the frames: 0.5 halves width and height.", metavar="FACTOR"
    )
    roi: tuple[int, int, int, int] | None = _input(
        None,
        Rectangle(),
        "Keep only this part of the picture, in pixels of the input (before --scale).",
    )
    mask_image: str | None = _input(
        None,
        File(),
        "Image of the input's size. Pixels where it is black are left out of the fit and of the "
        "masks, and are written unchanged.",
        metavar="IMAGE",
    )
    fps: str | float | None = _input(
        None,
        Rate(),
        "Frames per second of a folder of images or of an array; a video has times of its own.",
        unset="25",
    )
    color: Literal["auto", "gray", "color"] = _input(
        "auto",
        Choice(("auto", "gray", "color")),
        "Write colour or grey; auto is as the input is.",
    )
    on_bad_frame: Literal["skip", "repeat", "fail"] = _input(
        "skip",
        Choice(("skip", "repeat", "fail")),
        "What to do with a frame that cannot be decoded: leave it out, take the frame before it "
        "again, or stop.",
    )

    def __post_init__(self) -> None:
        """Check every value, and that the end does not lie before the start."""
        super().__post_init__()
        Selection.parse(self.start, self.end, self.every)
