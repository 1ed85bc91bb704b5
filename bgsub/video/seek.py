"""Decode single frames, stretches and key frames of an input, by seeking where that is exact."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from itertools import islice, pairwise

import numpy as np
from av.error import FFmpegError
from numpy.typing import NDArray

from bgsub.errors import InputError
from bgsub.video import pyav
from bgsub.video.base import IndexedSource
from bgsub.video.film import VideoFileSource
from bgsub.video.film_index import FilmIndex, Place
from bgsub.video.frames import Frame
from bgsub.video.selection import sample_rows
from bgsub.video.source import FrameSource

_WITHOUT_STAMPS = {"avi"}
"""Containers whose frames are told apart by their order alone: nothing is sought there."""

_CHECKED = 48
"""Frames at the beginning that are decoded to see whether an index is right."""

_FEW = 20
"""Key frames below which they say too little of a film, and all of it is decoded."""


def key_frames(source: VideoFileSource, count: int) -> list[Frame]:
    """Decode key frames that are spread over a video, by seeking: fewer if it has fewer.

    Their numbers in the video are not known, and are 0. Seeks that fail, as in files without an
    index, give what has been found by then.
    """
    found: list[Frame] = []
    with source.opened() as (container, stream):
        stream.codec_context.skip_frame = "NONKEY"
        if source.duration_s is None or stream.time_base is None:
            return found
        start = stream.start_time or 0
        seen: set[int | None] = set()
        for index in range(count):
            target = source.duration_s * index / count / float(stream.time_base)
            try:
                container.seek(start + int(target), stream=stream)
                picture = next(pyav.pictures(container, stream), None)
            except FFmpegError:
                break
            if picture is None or picture.pts in seen or picture.is_corrupt:
                continue
            seen.add(picture.pts)
            frame = source.to_frame(picture, float(picture.time or 0.0))
            if frame is not None:
                found.append(frame)
    return found


def can_seek(source: VideoFileSource) -> bool:
    """Return whether a time leads to the same frame as reading from the beginning does."""
    with source.opened() as (container, stream):
        if container.format.name in _WITHOUT_STAMPS or stream.time_base is None:
            return False
        first = [pyav.stamp_of(picture) for picture in islice(pyav.pictures(container, stream), 8)]
    stamps = [stamp for stamp in first if stamp is not None]
    return len(stamps) == len(first) > 1 and all(one < two for one, two in pairwise(stamps))


def frames_between(
    source: VideoFileSource, start_s: float, end_s: float
) -> Generator[Frame, None, None]:
    """Decode the frames from one time to another, of a video of which `can_seek` is true.

    Times count from the first frame on; the numbers of the frames are not known, and are 0.
    """
    with source.opened() as (container, stream):
        origin = pyav.stamp_of(next(pyav.pictures(container, stream))) or 0.0
        half = 0.5 / float(source.rate or 25)
        pyav.seek(container, stream, origin + start_s)
        for picture in pyav.pictures(container, stream):
            stamp = pyav.stamp_of(picture)
            if stamp is None or picture.is_corrupt or stamp - origin < start_s - half:
                continue
            if stamp - origin > end_s + half:
                return
            frame = source.to_frame(picture, round(stamp - origin, 9))
            if frame is not None:
                yield frame


def index_film(source: VideoFileSource) -> FilmIndex | str:
    """List the frames of a video, so that any can be sought, or return why they cannot."""
    index = source.index()
    if isinstance(index, FilmIndex) and not _begins_with(source, index.stamps_s[:_CHECKED]):
        return "its packets are not one frame each"
    return index


def _begins_with(source: VideoFileSource, stamps: NDArray[np.float64]) -> bool:
    """Return whether the first frames that come out of a decoder have these timestamps."""
    with source.opened() as (container, stream):
        try:
            pictures = islice(pyav.pictures(container, stream), len(stamps))
            found = [pyav.stamp_of(picture) for picture in pictures]
        except FFmpegError:
            return False
    return found == list(stamps)


def frames_at(source: FrameSource, places: Sequence[Place]) -> Iterator[Frame]:
    """Decode single frames of a source that selects all; those that cannot be decoded are left out.

    The places are in order, all of them with a timestamp or none.
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
                pyav.seek(container, stream, place.key_s)
                decoded = pyav.pictures(container, stream)
            for picture in decoded:
                found = pyav.stamp_of(picture)
                if found is None or found < place.stamp_s:
                    continue
                here_s = found
                frame = source.to_frame(picture, place.time_s) if found == place.stamp_s else None
                if frame is not None:
                    yield Frame(place.number, place.time_s, frame.data, frame.layout)
                break


def glimpse(source: FrameSource, count: int, *, seed: int = 0) -> list[Frame]:
    """Return at most `count` frames that are spread over an input, in order of time.

    A sample by the `seed` where frames can be chosen freely. Of a video without a selection, key
    frames that are found by seeking; of one that has fewer than 20 of them, or of which a part is
    selected, all frames are decoded. InputError if none can be.
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
