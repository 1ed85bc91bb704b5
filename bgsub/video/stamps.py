"""Tell from timestamps whether a film has a constant rate, and which formats have timestamps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Formats that hold pictures one after the other and no times, or times that are guessed.
_WITHOUT_STAMPS = frozenset(
    {
        *("avi", "dv", "filmstrip", "h261", "h263", "h264", "hevc", "vvc", "mjpeg"),
        *("mpegvideo", "mpjpeg", "mxf", "obu", "rawvideo", "roq", "vc1", "yuv4mpegpipe", "swf"),
        *("mpeg", "gxf", "dirac", "dnxhd", "cavsvideo", "amv", "image2pipe", "jpeg_pipe"),
    }
)

#: Codecs with packets that are not to be seen.
CODECS_WITH_HIDDEN_PACKETS = frozenset({"vp8", "vp9", "libvpx", "libvpx-vp9"})

#: Formats that are meant to show each picture for a time of its own.
_OF_VARIABLE_RATE = frozenset({"gif", "apng", "webp_anim", "webp", "png_pipe", "webp_pipe"})

# Timestamps are rounded; beyond this share of a step they are not those of a constant rate.
_TOLERANCE = 0.2
# So many of the frames must follow each other at once for a rate to be called constant.
_STEADY_SHARE = 0.7
# A recording that was interrupted for longer than it lasts has no numbers but those of its frames.
_MOST_MISSING = 1.0


#: Formats in which nothing tells that whole pictures are missing.
_WITHOUT_NUMBERS = frozenset(
    {
        *("h261", "h263", "h264", "hevc", "vvc", "mjpeg", "mpegvideo", "mpjpeg", "obu", "vc1"),
        *("dirac", "dnxhd", "cavsvideo", "gif", "m4v", "mxf", "mpeg", "roq", "swf"),
    }
)


class Pace(NamedTuple):
    """How the frames of a film follow each other.

    Attributes
    ----------
    step_s : float or None
        Seconds from one to the next; None if the rate varies.
    missing : int
        Frames that the timestamps leave out.
    gives_numbers : bool
        Whether frames are to be numbered by their timestamps.
    """

    step_s: float | None
    missing: int = 0
    gives_numbers: bool = False


def has_stamps(form: str) -> bool:
    """Say whether timestamps of FFmpeg's format tell how many frames are missing from a film."""
    return form not in _WITHOUT_STAMPS | _OF_VARIABLE_RATE


def misses_losses(form: str) -> bool:
    """Say whether whole pictures may be missing from a file of FFmpeg's format unnoticed."""
    return form in _WITHOUT_NUMBERS


def pace_of(stamps: Sequence[float] | NDArray[np.float64], resolution_s: float = 0.001) -> Pace:
    """Find out whether timestamps are those of a constant rate.

    Parameters
    ----------
    stamps : sequence of float
        Seconds of the frames, in any order. Some may be missing.
    resolution_s : float
        What the stamps are rounded to.

    Examples
    --------
    >>> pace_of([0.0, 0.04, 0.08, 0.12, 0.16, 0.28, 0.32])
    Pace(step_s=0.04, missing=2, gives_numbers=True)
    >>> pace_of([0.0, 0.04, 0.08, 0.5, 0.54, 2.0])
    Pace(step_s=None, missing=0, gives_numbers=False)
    """
    steps = np.diff(np.unique(np.asarray(stamps, dtype=np.float64)))
    if steps.size < 2:
        return Pace(None)
    step = float(np.median(steps))
    single = np.abs(steps - step) <= _TOLERANCE * step + resolution_s
    if single.mean() < _STEADY_SHARE:
        return Pace(None)
    step = float(steps[single].mean())  # of 33 and 34 ms
    counts = np.rint(steps / step)
    away = np.abs(steps - counts * step)
    if np.any(counts < 1) or np.any(away > _TOLERANCE * step + resolution_s):
        return Pace(None)
    missing = int(counts.sum()) - steps.size
    return Pace(round(step, 9), missing, missing <= _MOST_MISSING * (steps.size + 1))
