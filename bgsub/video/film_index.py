"""List the frames of a video by the time stamps of its packets, so that any can be sought.

One pass over the packets, without decoding. What the list says holds where every packet is one
frame with a time stamp of its own; other films are decoded from their beginning.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from av.error import FFmpegError
from numpy.typing import NDArray

from bgsub.video import pyav
from bgsub.video.decoding import is_flush, seek, stamp_of
from bgsub.video.frames import Frame
from bgsub.video.stamps import CODECS_WITH_HIDDEN_PACKETS, has_stamps, pace_of
from bgsub.video.video_file import Entry, VideoFileSource

_CHECKED = 48
"""Frames at the beginning that are decoded to see whether the list is right."""

_DAY_S = 86400.0


@dataclass(frozen=True, eq=False)
class FilmIndex:
    """Time stamps of all frames of a video.

    Attributes
    ----------
    stamps : ndarray of float64, shape (n,)
        Seconds on the stream's clock, increasing: that of frame 1, 2, ….
    keys : ndarray of int64, shape (m,)
        Places of the frames that depend on no other, from 0, increasing.
    packets : ndarray of int64, shape (m,)
        Packets before each of them in the file.
    """

    stamps: NDArray[np.float64]
    keys: NDArray[np.int64]
    packets: NDArray[np.int64]

    @property
    def times(self) -> NDArray[np.float64]:
        """Seconds of all frames from the first one on, shape (n,)."""
        return np.asarray(np.round(self.stamps - self.stamps[0], 9))

    def entry(self, number: int) -> Entry | None:
        """Give where decoding may begin so that a frame is what it is in a pass from the start.

        None where that is the start.
        """
        last = int(np.searchsorted(self.keys, number - 1, side="right")) - 1
        place = last - 1  # streams that are refreshed bit by bit need two
        if place <= 0:
            return None
        key = int(self.keys[place])
        return Entry(
            number=key + 1,
            stamp_s=float(self.stamps[key]),
            origin_s=float(self.stamps[0]),
            packets=int(self.packets[place]),
            sound=int(self.keys[last]) + 1,
        )


def index_film(source: VideoFileSource) -> FilmIndex | str:
    """List the frames of a video.

    Returns
    -------
    FilmIndex or str
        Or why its frames cannot be sought.
    """
    reason = _doubt_of_header(source)
    if reason:
        return reason
    stamps, keys, before = array("d"), array("d"), array("q")
    last_s = -np.inf
    with source.opened() as (container, stream):
        try:
            for packet in pyav.demux(container, stream):
                if is_flush(packet):
                    continue
                stamp_s = pyav.seconds(packet.pts, packet.time_base)
                decoded_s = pyav.seconds(packet.dts, packet.time_base) or last_s
                if stamp_s is None or decoded_s < last_s:
                    return "some packets have no time stamps, or wrong ones"
                if packet.size == 0 or packet.is_discard or packet.is_corrupt:
                    return "some packets are empty, damaged or not to be shown"
                last_s = decoded_s
                if packet.is_keyframe:
                    keys.append(stamp_s)
                    before.append(len(stamps))
                stamps.append(stamp_s)
        except FFmpegError:
            return "it is damaged"
    found = np.unique(np.array(stamps))
    reason = _doubt_of_stamps(source, found, len(stamps))
    if reason:
        return reason
    places = np.searchsorted(found, np.array(keys))
    order = np.argsort(places, kind="stable")
    return FilmIndex(found, places[order].astype(np.int64), np.array(before)[order])


def _doubt_of_header(source: VideoFileSource) -> str:
    """Say why frames have to be counted, as far as the header tells."""
    if not has_stamps(source.format):
        return f"{source.format} has no time stamps of frames"
    if source.codec in CODECS_WITH_HIDDEN_PACKETS:
        return f"{source.codec} has packets that are not to be seen"
    return source.unsure_numbers


def _doubt_of_stamps(source: VideoFileSource, stamps: NDArray[np.float64], packets: int) -> str:
    """Say why so many packets are not the frames of these different time stamps."""
    if stamps.size != packets or packets < 2:
        return "two frames have one time stamp"
    steps = np.diff(stamps)
    if steps.max() > _DAY_S or pace_of(stamps, source.resolution_s).missing:
        return "time stamps leave out frames"
    if not _begins_with(source, stamps[:_CHECKED]):
        return "its packets are not one frame each"
    return ""


def _begins_with(source: VideoFileSource, stamps: NDArray[np.float64]) -> bool:
    """Whether the first frames that come out of a decoder have these time stamps."""
    with source.opened() as (container, stream):
        try:
            pictures = islice(container.decode(stream), len(stamps))
            found = [stamp_of(picture) for picture in pictures]
        except FFmpegError:
            return False
    return list(stamps) == found


def frames_at(source: VideoFileSource, index: FilmIndex, numbers: Sequence[int]) -> Iterator[Frame]:
    """Decode single frames of a video, from the key frame before each on.

    Parameters
    ----------
    source : VideoFileSource
    index : FilmIndex
        Of the source.
    numbers : sequence of int
        Of the frames, from 1, increasing.

    Yields
    ------
    Frame
        Those of them that can be decoded.
    """
    with source.opened() as (container, stream):
        here = 0  # number of the frame before the next one that is decoded; 0 at the start
        decoded = container.decode(stream)
        for number in numbers:
            entry = index.entry(number)
            if entry is not None and entry.number > here + 1:
                seek(container, stream, entry.stamp_s)
                decoded = container.decode(stream)
            stamp_s = float(index.stamps[number - 1])
            for picture in decoded:
                found = stamp_of(picture)
                if found is None or found < stamp_s:
                    continue
                here = number
                time_s = round(stamp_s - float(index.stamps[0]), 9)
                frame = source.to_frame(picture, time_s) if found == stamp_s else None
                if frame is not None:
                    yield Frame(number, time_s, frame.data, frame.layout)
                break
