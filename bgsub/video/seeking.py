"""Seek in a video file: single frames, those of a stretch, key frames that are spread over it."""

from __future__ import annotations

from collections.abc import Generator
from itertools import islice, pairwise

import numpy as np
from av.error import FFmpegError
from numpy.typing import NDArray

from bgsub.video import pyav
from bgsub.video.decoding import seek, stamp_of
from bgsub.video.film_index import FilmIndex
from bgsub.video.frames import Frame
from bgsub.video.video_file import VideoFileSource

_WITHOUT_STAMPS = {"avi"}
"""Containers whose frames are told apart by their order alone: nothing is sought there."""

_CHECKED = 48
"""Frames at the beginning that are decoded to see whether an index is right."""


def key_frames(source: VideoFileSource, count: int) -> list[Frame]:
    """Decode key frames that are spread over a film, by seeking: fewer if it has fewer.

    Their numbers in the film are not known, and are 0. Seeks that fail, as in files without an
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
    """Say whether a time leads to the same frame as reading from the beginning does."""
    with source.opened() as (container, stream):
        if container.format.name in _WITHOUT_STAMPS or stream.time_base is None:
            return False
        first = [stamp_of(picture) for picture in islice(pyav.pictures(container, stream), 8)]
    stamps = [stamp for stamp in first if stamp is not None]
    return len(stamps) == len(first) > 1 and all(one < two for one, two in pairwise(stamps))


def frames_between(
    source: VideoFileSource, start_s: float, end_s: float
) -> Generator[Frame, None, None]:
    """Decode the frames of a stretch, from the key frame before it on.

    Parameters
    ----------
    source : VideoFileSource
        One of which `can_seek` is true.
    start_s, end_s : float
        Times of the first and last frame, from the film's first frame on.

    Yields
    ------
    Frame
        With its time in the film; its number is not known, and is 0.
    """
    with source.opened() as (container, stream):
        origin = stamp_of(next(pyav.pictures(container, stream))) or 0.0
        half = 0.5 / float(source.rate or 25)
        seek(container, stream, origin + start_s)
        for picture in pyav.pictures(container, stream):
            stamp = stamp_of(picture)
            if stamp is None or picture.is_corrupt or stamp - origin < start_s - half:
                continue
            if stamp - origin > end_s + half:
                return
            frame = source.to_frame(picture, round(stamp - origin, 9))
            if frame is not None:
                yield frame


def index_film(source: VideoFileSource) -> FilmIndex | str:
    """List the frames of a video, so that any can be sought.

    Returns
    -------
    FilmIndex or str
        Or why its frames cannot be sought.
    """
    if source.unsure_numbers:
        return source.unsure_numbers
    index = source.index()
    if isinstance(index, FilmIndex) and not _begins_with(source, index.stamps_s[:_CHECKED]):
        return "its packets are not one frame each"
    return index


def _begins_with(source: VideoFileSource, stamps: NDArray[np.float64]) -> bool:
    """Say whether the first frames that come out of a decoder have these time stamps."""
    with source.opened() as (container, stream):
        try:
            pictures = islice(pyav.pictures(container, stream), len(stamps))
            found = [stamp_of(picture) for picture in pictures]
        except FFmpegError:
            return False
    return found == list(stamps)
