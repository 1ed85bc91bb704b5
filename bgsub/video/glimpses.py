"""Look at a few frames that are spread over a whole input, without reading all of it."""

from __future__ import annotations

from collections import deque

from bgsub.errors import InputError
from bgsub.video.frames import Frame
from bgsub.video.indexed import IndexedSource
from bgsub.video.sample import sample_rows
from bgsub.video.seeking import key_frames
from bgsub.video.source import FrameSource
from bgsub.video.video_file import VideoFileSource

_FEW = 20
"""Key frames below which they say too little of a film, and all of it is decoded."""


def glimpse(source: FrameSource, count: int, *, seed: int = 0) -> list[Frame]:
    """Give frames that are spread over an input.

    Parameters
    ----------
    source : FrameSource
    count : int
        How many at most.
    seed : int
        Of the sample, where frames can be chosen freely.

    Returns
    -------
    list of Frame
        In order of time. Of a video without a selection, key frames that are found by seeking; of
        one that has fewer than 20 of them, or of which a part is selected, all frames are decoded.

    Raises
    ------
    InputError
        If no frame can be decoded.
    """
    if isinstance(source, IndexedSource):
        return [source[place] for place in sample_rows(len(source), count, seed).tolist()]
    if isinstance(source, VideoFileSource) and source.options.selection.is_everything:
        found = key_frames(source, count)
        if len(found) >= min(count, _FEW):
            return found
    found = _thinned(source, count)
    if not found:
        raise InputError(f"{source.name}: no frame can be decoded")
    return found


def _thinned(source: FrameSource, count: int) -> list[Frame]:
    """Keep every frame, then every second, fourth, … as they become more than twice as many."""
    kept: deque[Frame] = deque()
    every = 1
    for index, frame in enumerate(source):
        if index % every == 0:
            kept.append(Frame(frame.number, frame.time_s, frame.data.copy(), frame.layout))
        if len(kept) > 2 * count:
            kept = deque(list(kept)[::2])
            every *= 2
    step = max(1.0, len(kept) / count)
    return [kept[int(place * step)] for place in range(min(count, len(kept)))]
