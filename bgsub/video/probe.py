"""What an input is, found out by decoding it once."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from bgsub.video.base import BadFrame
from bgsub.video.source import open_source

#: Called with the stage, how much is done and of how much, where that is known.
ProgressCallback = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class SourceInfo:
    """What an input is.

    Attributes
    ----------
    name, kind : str
        The input's name; "video", "images" or "array".
    width, height : int
        Of the frames, after rotation, roi and scale.
    input_width, input_height : int
        Of the input, after rotation.
    frames : int
        How many frames were decoded and selected.
    rate : Fraction or None
        Frames a second, None if the input does not say.
    duration_s : float
        From the first selected frame to the end of the last.
    codec, pixel_format, layout : str
        The file's, and how frames are held in memory.
    frame_bytes : int
        Bytes of a frame in memory.
    bad_frames : list of BadFrame
    warnings : list of str
    """

    name: str
    kind: str
    width: int
    height: int
    input_width: int
    input_height: int
    frames: int
    rate: Fraction | None
    duration_s: float
    codec: str
    pixel_format: str
    layout: str
    frame_bytes: int
    bad_frames: list[BadFrame]
    warnings: list[str]


def probe(
    path: str | os.PathLike[str] | NDArray[Any],
    *,
    progress: ProgressCallback | None = None,
    **options: Any,
) -> SourceInfo:
    """Decode an input from beginning to end and say what it is.

    Parameters
    ----------
    path : path or ndarray
    progress : callable, optional
        Called after each frame.
    **options
        Those of `bgsub.video.source.open_source`.

    Returns
    -------
    SourceInfo

    Raises
    ------
    UsageError, InputError, EmptySelectionError
        As `open_source` and iterating its frames do.
    """
    source = open_source(path, **options)
    frames = 0
    first = last = before = 0.0
    for frame in source:
        before, last = last, frame.time_s
        if not frames:
            first = last
        frames += 1
        if progress is not None:
            progress("decode", frames, source.frames_estimate)
    step = last - before if frames > 1 else float(1 / source.rate) if source.rate else 0.04
    return SourceInfo(
        name=source.name,
        kind=source.kind,
        width=source.layout.width,
        height=source.layout.height,
        input_width=source.input_size[0],
        input_height=source.input_size[1],
        frames=frames,
        rate=source.rate,
        duration_s=last - first + step,
        codec=source.codec,
        pixel_format=source.pixel_format,
        layout=source.layout.kind,
        frame_bytes=source.layout.size,
        bad_frames=source.bad_frames,
        warnings=source.warnings,
    )
