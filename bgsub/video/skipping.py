"""Decode only what is needed of a film of which few frames are selected.

Pictures that no other refers to are left out one by one, and where a film begins anew at a key
frame, all packets before it that lead to no selected frame.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from av.container import InputContainer
from av.error import FFmpegError
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from numpy.typing import NDArray

from bgsub.video import pyav
from bgsub.video.base import BadPicture, Item
from bgsub.video.decoding import is_flush, prepare
from bgsub.video.film_index import FilmIndex
from bgsub.video.geometry import Picture
from bgsub.video.selection import Selection


class Unexpected(Exception):  # noqa: N818 - the film is then read in another way
    """A film does not do what its packets announce."""


@dataclass(frozen=True, eq=False)
class DecodingPlan:
    """What of a film is needed.

    Attributes
    ----------
    index : FilmIndex
        Its packets.
    times : ndarray of float64, shape (n,)
        Seconds of all frames from the first one on.
    is_wanted : ndarray of bool, shape (n,)
        Whether a frame is selected.
    is_needed : ndarray of bool, shape (n,)
        Whether a packet, in the order of the file, is to be decoded.
    """

    index: FilmIndex
    times: NDArray[np.float64]
    is_wanted: NDArray[np.bool_]
    is_needed: NDArray[np.bool_]


def plan_decoding(index: FilmIndex, selection: Selection) -> DecodingPlan:
    """Decide which packets of a film are needed for the frames that are selected."""
    times, picker = index.times, selection.picker()
    wanted = np.array([picker.wants(i + 1, time_s) for i, time_s in enumerate(times.tolist())])
    return DecodingPlan(index, times, wanted, index.needed(wanted))


def decode_needed(
    plan: DecodingPlan,
    container: InputContainer,
    stream: VideoStream,
    threads: int,
    make: Callable[[int, VideoFrame, float], Item],
) -> Generator[Item, None, None]:
    """Give all frames in order of presentation, also those that are left out.

    Parameters
    ----------
    plan : DecodingPlan
    container, stream
        Just opened.
    threads : int
    make : callable
        Makes an item of number, picture and time in seconds.

    Raises
    ------
    Unexpected
        If a selected frame does not come, or anything is odd.
    """
    following = 0
    try:
        for packet in _needed_packets(plan, container, stream, threads):
            for frame in pyav.decode(packet):
                index = _index_of(plan, frame, following)
                yield from _left_out(plan, following, index)
                yield make(index + 1, frame, float(plan.times[index]))
                following = index + 1
    except FFmpegError as error:
        raise Unexpected from error
    if plan.is_wanted[following:].any():
        raise Unexpected
    yield from _left_out(plan, following, len(plan.times))


def _left_out(plan: DecodingPlan, start: int, stop: int) -> Iterator[Item]:
    return (Item(i + 1, float(plan.times[i]), _not_decoded) for i in range(start, stop))


def _not_decoded() -> Picture:
    raise BadPicture("it was not decoded, since it is not selected")


def _needed_packets(
    plan: DecodingPlan, container: InputContainer, stream: VideoStream, threads: int
) -> Generator[Packet[Any], None, None]:
    """Give what is to be decoded, and before each tell the decoder what it may leave out."""
    prepare(stream, threads=threads, strict=True)
    left = int(plan.is_needed.sum())
    for place, packet in enumerate(pyav.demux(container, stream)):
        if not left:
            break
        if place >= len(plan.index.ranks) or is_flush(packet):
            raise Unexpected
        if plan.is_needed[place]:
            left -= 1
            is_wanted = plan.is_wanted[plan.index.ranks[place]]
            stream.codec_context.skip_frame = "DEFAULT" if is_wanted else "NONREF"
            yield packet
    end: Packet[Any] = Packet()
    end.stream = stream
    yield end


def _index_of(plan: DecodingPlan, frame: VideoFrame, following: int) -> int:
    """Find the place of a frame, which no selected one is missing before."""
    stamp = -1 if frame.pts is None else frame.pts
    stamps = plan.index.stamps
    index = int(np.searchsorted(stamps, stamp))
    is_known = following <= index < len(stamps) and stamps[index] == stamp
    if frame.is_corrupt or not is_known or plan.is_wanted[following:index].any():
        raise Unexpected
    return index


def held_back(
    items: Iterable[Item], count: int, is_sound: Callable[[], bool] = lambda: True
) -> Generator[Item, None, None]:
    """Give each item when so many more have come; the last ones only if all is sound by then."""
    held: deque[Item] = deque()
    for item in items:
        held.append(item)
        if len(held) > count:
            yield held.popleft()
    if is_sound():
        yield from held
