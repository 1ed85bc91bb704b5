"""Look up single frames of a film: by seeking where that is exact, or else in one pass."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from bgsub.errors import InputError
from bgsub.video import pyav
from bgsub.video.decoding import seek, stamp_of
from bgsub.video.entry import Place
from bgsub.video.frames import Frame
from bgsub.video.indexed import IndexedSource
from bgsub.video.source import FrameSource
from bgsub.video.video_file import VideoFileSource


def frames_at(source: FrameSource, places: Sequence[Place]) -> Iterator[Frame]:
    """Decode single frames.

    Parameters
    ----------
    source : FrameSource
        One that selects all of them.
    places : sequence of Place
        In order, all of them with a time stamp or none.

    Yields
    ------
    Frame
        Those of them that can be decoded.
    """
    if not places:
        return
    if isinstance(source, VideoFileSource) and places[0].stamp_s is not None:
        yield from _sought(source, places)
    elif isinstance(source, IndexedSource):
        numbers = [number for number, _ in source.moments()]
        for place in np.searchsorted(numbers, [place.number for place in places]).tolist():
            try:
                yield source[place]
            except InputError:
                continue
    else:
        yield from _passing(source, [place.number for place in places])


def _passing(source: FrameSource, numbers: Sequence[int]) -> Iterator[Frame]:
    """Pick frames from all, up to the last one of them."""
    wanted = set(numbers)
    for frame in source:
        if frame.number in wanted:
            yield frame
        if frame.number >= numbers[-1]:
            break


def _sought(source: VideoFileSource, places: Sequence[Place]) -> Iterator[Frame]:
    with source.opened() as (container, stream):
        here_s = -math.inf  # time stamp of the last frame that was decoded
        decoded = pyav.pictures(container, stream)
        for place in places:
            if place.stamp_s is None:
                continue
            if place.key_s is not None and place.key_s > here_s:
                seek(container, stream, place.key_s)
                decoded = pyav.pictures(container, stream)
            for picture in decoded:
                found = stamp_of(picture)
                if found is None or found < place.stamp_s:
                    continue
                here_s = found
                frame = source.to_frame(picture, place.time_s) if found == place.stamp_s else None
                if frame is not None:
                    yield Frame(place.number, place.time_s, frame.data, frame.layout)
                break
