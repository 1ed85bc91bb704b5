"""Decode single frames and key frames of an input, by seeking where that is exact."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice

import numpy as np
from av.error import FFmpegError

from bgsub.errors import InputError
from bgsub.video import pyav
from bgsub.video.base import FrameSource, IndexedSource
from bgsub.video.film import VideoFileSource
from bgsub.video.film_index import FilmIndex, Place, index_packets
from bgsub.video.frames import Frame
from bgsub.video.selection import sample_rows

_CHECKED = 48  # frames at the beginning that are decoded to see whether an index is right
_FEW = 20  # key frames below which they say too little of a film, and all of it is decoded


def index_film(source: VideoFileSource) -> FilmIndex | str:
    """List the frames of a video, so that any can be sought, or return why they cannot."""
    with source.opened() as (container, stream):
        index = index_packets(container, stream)
    if isinstance(index, FilmIndex):
        announced = list(index.stamps_s[:_CHECKED])
        with source.opened() as (container, stream), suppress(FFmpegError):
            decoded = islice(pyav.pictures(container, stream), len(announced))
            if [pyav.stamp_of(picture) for picture in decoded] == announced:
                return index
        return "its packets are not one frame each"
    return index


def frames_at(source: FrameSource, places: Sequence[Place]) -> Iterator[Frame]:
    """Decode frames at places in order, all with a timestamp or none; bad ones are left out."""
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
        wanted = {place.number for place in places}
        for frame in source:
            if frame.number in wanted:
                yield frame
            if frame.number >= places[-1].number:
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
                if found == place.stamp_s and (frame := source.to_frame(picture, place)):
                    yield frame
                break


def glimpse(source: FrameSource, count: int, *, seed: int = 0) -> list[Frame]:
    """Return at most `count` frames that are spread over an input, in order of time.

    A sample by the `seed` where frames can be chosen freely. Of a video without a selection, key
    frames that are found by seeking, with the number 0; where there are few of them, or a part is
    selected, all frames are decoded. InputError if none can be.
    """
    if isinstance(source, IndexedSource):
        return [source[place] for place in sample_rows(len(source), count, seed).tolist()]
    if isinstance(source, VideoFileSource) and source.options.selection.is_everything:
        found = _key_frames(source, count)
        if len(found) >= min(count, _FEW):
            return found
    # Every frame, then every second, fourth, … as they become more than twice as many.
    kept: list[Frame] = []
    every = 1
    for index, frame in enumerate(source):
        if index % every == 0:
            kept.append(Frame(frame.number, frame.time_s, frame.data.copy(), frame.layout))
        if len(kept) > 2 * count:
            kept, every = kept[::2], 2 * every
    if not kept:
        raise InputError(f"{source.name}: no frame can be decoded")
    step = max(1.0, len(kept) / count)
    return [kept[int(place * step)] for place in range(min(count, len(kept)))]


def _key_frames(source: VideoFileSource, count: int) -> list[Frame]:
    """Decode key frames that are spread over a video; what was found where a seek fails."""
    found: list[Frame] = []
    with source.opened() as (container, stream):
        stream.codec_context.skip_frame = "NONKEY"
        if source.duration_s is None or stream.time_base is None:
            return found
        seen: set[int | None] = set()
        for index in range(count):
            target = source.duration_s * index / count / float(stream.time_base)
            try:
                container.seek((stream.start_time or 0) + int(target), stream=stream)
                picture = next(pyav.pictures(container, stream), None)
            except FFmpegError:
                break
            if picture is None or picture.pts in seen:
                continue
            seen.add(picture.pts)
            if frame := source.to_frame(picture, Place(0, float(picture.time or 0.0))):
                found.append(frame)
    return found
