"""Copy footage that browsers do not play into videos that they do."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from bgsub.errors import cannot_write
from bgsub.runtime.temporary import alone_in, make_folder
from bgsub.video.sink import open_sink
from bgsub.video.source import FrameSource, open_source

Progress = Callable[[str, int, int | None], None]
"""Called with a stage, the frames done and their number if it is known."""


def copy_footage(
    footage: str | Path,
    target: Path,
    options: Mapping[str, Any],
    *,
    rate: Fraction | None = None,
    progress: Progress,
) -> None:
    """Write the frames of some footage as H.264, under a temporary name until it is complete.

    Parameters
    ----------
    footage : path
        A video, images or an array, as `bgsub.open_source` takes them.
    target : Path
        The .mp4 file; its folder is made, and a file of that name replaced.
    options : mapping
        Keywords of `bgsub.open_source`: those of the run, so that the frames are the same.
    rate : Fraction, optional
        Frames a second, for footage that does not say.
    progress : callable

    Raises
    ------
    BgsubError
        If the footage cannot be read, or the file not be written; nothing is left then.

    Notes
    -----
    Decodes and encodes every frame: 5 to 10 ms each at 1280×720.
    """
    source = open_source(str(footage), **options)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with alone_in(target.parent):
            claim = make_folder(target.parent)
        staged = claim.path / target.name
        try:
            _encode(source, staged, source.rate or rate, progress)
            os.replace(staged, target)  # noqa: PTH105 - replaces on Windows too
        finally:
            claim.remove()
    except OSError as error:
        raise cannot_write(target, error, "free some space or choose another --out") from error


def _encode(source: FrameSource, path: Path, rate: Fraction | None, progress: Progress) -> None:
    sink = open_sink(path, path.stem, layout=source.layout, kind="mp4", rate=rate, threads=2)
    try:
        for done, frame in enumerate(source, start=1):
            sink.write(frame.data, frame.time_s)
            progress("copy", done, source.frames_estimate)
        sink.close()
    except BaseException:
        sink.abort()
        raise
