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
from bgsub.video.decoding import GAP_STEPS, Clock, Decoder, is_flush, prepare
from bgsub.video.geometry import Picture
from bgsub.video.selection import Selection
from bgsub.video.stamps import CODECS_WITH_HIDDEN_PACKETS

_INTRA = {"mjpeg", "ffv1", "prores", "dnxhd", "rawvideo", "huffyuv", "ffvhuff", "utvideo"}
_NEW_BEGINNINGS = {"h264": (0x1F, {5}, 4), "hevc": (0x7E, {19 << 1, 20 << 1}, 21)}
"""Bits of a unit's first byte that say what it is, and which of them are IDR pictures; and where
in a file's header it is said how long the lengths before units are."""


_MARGIN, _MARGIN_S = 64, 5.0
"""Frames and seconds behind the end of what is selected in which decoders may look."""


class Unexpected(Exception):  # noqa: N818 - the film is then read in another way
    """A film does not do what its packets announce."""


@dataclass(frozen=True, eq=False)
class DecodingPlan:
    """What of a film is needed.

    Attributes
    ----------
    stamps : ndarray of shape (n,), int64
        Of all frames, in order of presentation.
    times : ndarray of shape (n,), float64
        Seconds from the first frame on.
    is_wanted : ndarray of shape (n,), bool
        Whether a frame is selected.
    is_needed : ndarray of shape (n,), bool
        Whether a packet, in the order of the file, is to be decoded.
    ranks : ndarray of shape (n,), int64
        The frame of a packet.
    is_partial : bool
        Whether there are more packets, none of which is needed.
    """

    stamps: NDArray[np.int64]
    times: NDArray[np.float64]
    is_wanted: NDArray[np.bool_]
    is_needed: NDArray[np.bool_]
    ranks: NDArray[np.int64]
    is_partial: bool


def plan_decoding(
    container: InputContainer,
    stream: VideoStream,
    decoder: Decoder,
    clock: Clock,
    selection: Selection,
) -> DecodingPlan:
    """Look at the packets of a film, and decide which are needed.

    Parameters
    ----------
    container, stream
        Just opened.
    decoder : Decoder
        Of this stream; it is told the packets, and decodes nothing.
    clock : Clock
    selection : Selection

    Raises
    ------
    Unexpected
        If packets do not say which frames there will be: all is to be decoded then.

    Notes
    -----
    Reads the file once, up to the end of the selection. Takes 42 bytes for each of its frames.
    """
    if stream.codec_context.name in CODECS_WITH_HIDDEN_PACKETS or stream.time_base is None:
        raise Unexpected
    stamps, begins, is_partial = [], [], False
    picker = selection.picker()
    try:
        for packet in pyav.demux(container, stream):
            if is_flush(packet):
                continue
            if packet.size == 0 or packet.pts is None or packet.is_discard:
                raise Unexpected
            if decoder.look_at(packet):
                raise Unexpected
            stamps.append(packet.pts)
            begins.append(_begins_anew(packet, stream))
            time_s = pyav.seconds(packet.pts - stamps[0], stream.time_base) or 0.0
            if picker.is_past(len(stamps) - _MARGIN, time_s - _MARGIN_S):
                is_partial = True
                break
    except FFmpegError as error:
        raise Unexpected from error
    in_file = np.array(stamps, dtype=np.int64)
    order = np.argsort(in_file)
    ordered = in_file[order]
    # Where reading ended, pictures may be missing that are shown before others.
    _check(ordered[: -(_MARGIN // 2)] if is_partial else ordered, order, decoder, stream)
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    times = np.array([clock.read(pyav.seconds(int(one), stream.time_base)) for one in ordered])
    wanted = np.array([picker.wants(i + 1, float(t)) for i, t in enumerate(times)])
    needed = _needed(wanted[ranks], in_file, np.array(begins))
    return DecodingPlan(ordered, times, wanted, needed, ranks, is_partial)


def _check(
    stamps: NDArray[np.int64], order: NDArray[np.int64], decoder: Decoder, stream: VideoStream
) -> None:
    """Refuse films whose frames cannot be numbered by the stamps of their packets."""
    steps = np.diff(stamps)
    if not len(stamps) or order[0] != 0 or (steps <= 0).any() or stream.time_base is None:
        raise Unexpected
    base = stream.time_base.numerator / stream.time_base.denominator
    if decoder.step_s is not None and (steps * base > GAP_STEPS * decoder.step_s).any():
        raise Unexpected


def _needed(
    wanted: NDArray[np.bool_], stamps: NDArray[np.int64], begins: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Say which packets lead to wanted ones: those from the beginning before these on."""
    needed = np.zeros(len(wanted), dtype=np.bool_)
    begins[0] = True
    starts = np.flatnonzero(begins)
    for start, stop in zip(starts, [*starts[1:], len(wanted)], strict=True):
        (places,) = np.nonzero(wanted[start:stop])
        if len(places):
            needed[start : start + places[-1] + 1] = True
        if stamps[start:stop].min() < stamps[start]:
            # It shows something before its beginning, which may refer to what was before.
            return np.ones(len(wanted), dtype=np.bool_)
    return needed


def _begins_anew(packet: Packet[VideoStream], stream: VideoStream) -> bool:
    """Whether nothing from this packet on refers to anything before it."""
    context = stream.codec_context
    if context.name in _INTRA:
        return bool(packet.is_keyframe)
    if context.name not in _NEW_BEGINNINGS or not packet.is_keyframe:
        return False
    bits, beginnings, place = _NEW_BEGINNINGS[context.name]
    header = context.extradata or b""
    size = (header[place] & 3) + 1 if len(header) > place and header[0] == 1 else 0
    return any(first & bits in beginnings for first in _units(bytes(packet), size))


def _units(data: bytes, size: int) -> Iterator[int]:
    """Give the first byte of each unit of a packet, which is behind its length of `size` bytes.

    Streams have no lengths, but 0 0 1 before each unit: there `size` is 0.
    """
    place = 0
    while size and place + size < len(data):
        yield data[place + size]
        place += size + int.from_bytes(data[place : place + size])
    place = -1 if size else data.find(b"\0\0\1")
    while 0 <= place < len(data) - 3:
        yield data[place + 3]
        place = data.find(b"\0\0\1", place + 3)


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
        if place >= len(plan.ranks) or is_flush(packet):
            raise Unexpected
        if plan.is_needed[place]:
            left -= 1
            is_wanted = plan.is_wanted[plan.ranks[place]]
            stream.codec_context.skip_frame = "DEFAULT" if is_wanted else "NONREF"
            yield packet
    end: Packet[Any] = Packet()
    end.stream = stream
    yield end


def _index_of(plan: DecodingPlan, frame: VideoFrame, following: int) -> int:
    """Find the place of a frame, which no selected one is missing before."""
    stamp = -1 if frame.pts is None else frame.pts
    index = int(np.searchsorted(plan.stamps, stamp))
    is_known = following <= index < len(plan.stamps) and plan.stamps[index] == stamp
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
