"""Index the packets of a video by their time stamps: what can be sought, and what be left out.

One pass over the packets, without decoding. What the list says holds where every packet is one
frame with a time stamp of its own; other films are decoded from their beginning.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from av.container import InputContainer
from av.error import FFmpegError
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from numpy.typing import NDArray

from bgsub.video import pyav
from bgsub.video.base import BadPicture, Item
from bgsub.video.film_header import RESTART_S, has_stamps, pace_of
from bgsub.video.geometry import Picture
from bgsub.video.selection import Picker, Selection

_INTRA = {"mjpeg", "ffv1", "prores", "dnxhd", "rawvideo", "huffyuv", "ffvhuff", "utvideo"}
_NEW_BEGINNINGS = {"h264": (0x1F, {5}, 4), "hevc": (0x7E, {19 << 1, 20 << 1}, 21)}
"""Bits of a unit's first byte that say what it is, and which of them are IDR pictures; and where
in a file's header it is said how long the lengths before units are."""

_MARGIN, _MARGIN_S = 64, 5.0
"""Frames and seconds behind the end of what is selected in which decoders may look."""

_DAY_S = 86400.0

# A frame that comes later than so many steps leaves a gap.
_GAP_STEPS = 1.5


class Entry(NamedTuple):
    """A key frame at which decoding may begin.

    `origin_s` is the stamp of frame 1, `packets` those before it in the file. Damage counts from
    frame `sound` on: what comes before it may depend on frames that are not decoded.
    """

    number: int
    stamp_s: float
    origin_s: float
    packets: int
    sound: int


class Place(NamedTuple):
    """Where a frame is found: its number from 1, its time, its timestamp and that of its key frame.

    Without a timestamp the video cannot be sought; without a key frame decoding begins at its
    start.
    """

    number: int
    time_s: float
    stamp_s: float | None = None
    key_s: float | None = None


@dataclass(frozen=True, eq=False)
class FilmIndex:
    """The packets of a video, each of which is one frame."""

    stamps: NDArray[np.int64]
    base: Fraction
    ranks: NDArray[np.intp]
    is_key: NDArray[np.bool_]
    begins_anew: NDArray[np.bool_]
    is_partial: bool = False

    @cached_property
    def stamps_s(self) -> NDArray[np.float64]:
        """Seconds of all frames on the stream's clock, shape (n,)."""
        return _seconds(self.stamps, self.base)

    @cached_property
    def times(self) -> NDArray[np.float64]:
        """Seconds of all frames from the first one on, shape (n,)."""
        return np.asarray(np.round(self.stamps_s - self.stamps_s[0], 9))

    @cached_property
    def keys(self) -> NDArray[np.intp]:
        """Places of the frames that depend on no other, from 0, increasing."""
        return np.sort(self.ranks[self.is_key])

    @cached_property
    def _packets(self) -> NDArray[np.intp]:
        """Number of packets before each of these frames in the file."""
        (packets,) = np.nonzero(self.is_key)
        return packets[np.argsort(self.ranks[packets], kind="stable")]

    def entry(self, number: int) -> Entry | None:
        """Return where decoding may begin so that a frame is the one of a pass from the start.

        None where that is the start.
        """
        last = int(np.searchsorted(self.keys, number - 1, side="right")) - 1
        place = last - 1  # streams that are refreshed bit by bit need two
        if place <= 0:
            return None
        key = int(self.keys[place])
        return Entry(
            number=key + 1,
            stamp_s=float(self.stamps_s[key]),
            origin_s=float(self.stamps_s[0]),
            packets=int(self._packets[place]),
            sound=int(self.keys[last]) + 1,
        )

    def place(self, number: int, *, from_its_key: bool = False) -> Place:
        """Return where a frame is found, decoded from the second key frame before it on.

        `from_its_key` begins at the first one, which gives another picture where that is refreshed
        bit by bit.
        """
        keys = int(np.searchsorted(self.keys, number - 1, side="right"))
        place = keys - (1 if from_its_key else 2)
        return Place(
            number=number,
            time_s=float(self.times[number - 1]),
            stamp_s=float(self.stamps_s[number - 1]),
            key_s=None if place <= 0 else float(self.stamps_s[self.keys[place]]),
        )

    def needed(self, is_wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which packets, in the file's order, are to be decoded for wanted frames."""
        is_wanted, in_file = is_wanted[self.ranks], self.stamps[self.ranks]
        needed = np.zeros(len(is_wanted), dtype=np.bool_)
        starts = np.flatnonzero(self.begins_anew)
        for start, stop in zip(starts, [*starts[1:], len(is_wanted)], strict=True):
            (places,) = np.nonzero(is_wanted[start:stop])
            if len(places):
                needed[start : start + places[-1] + 1] = True
            if in_file[start:stop].min() < in_file[start]:
                # It shows something before its beginning, which may refer to what was before.
                return np.ones(len(is_wanted), dtype=np.bool_)
        return needed


def index_packets(
    container: InputContainer,
    stream: VideoStream,
    *,
    resolution_s: float,
    step_s: float | None = None,
    until: Picker | None = None,
    is_sound: Callable[[bytes], bool] = lambda _: True,
) -> FilmIndex | str:
    """List the packets of a video that was just opened, or return why they do not tell its frames.

    Parameters
    ----------
    container, stream
    resolution_s : float
        What timestamps are rounded to.
    step_s : float, optional
        Seconds between frames, by the header.
    until : Picker, optional
        Behind the end of what it selects no more is read than decoders may need.
    is_sound : callable
        Whether the data of a packet are undamaged, where the codec lets that be computed.
    """
    form, codec = container.format.name, stream.codec_context.name
    base = pyav.fraction(stream.time_base)
    if not has_stamps(form) or base is None:
        return f"{form} has no time stamps of frames"
    if codec in pyav.HIDDEN_PACKETS:
        return f"{codec} has packets that are not to be seen"
    stamps, keys, begins, is_partial = array("q"), bytearray(), bytearray(), False
    last_decoded: int | None = None
    try:
        for packet in pyav.demux(container, stream):
            if pyav.is_flush(packet):
                continue
            if packet.pts is None or _is_before(packet.dts, last_decoded):
                return "some packets have no time stamps, or wrong ones"
            is_good = packet.size and not packet.is_discard and not packet.is_corrupt
            if not is_good or not is_sound(bytes(packet)):
                return "some packets are empty, damaged or not to be shown"
            last_decoded = packet.dts if packet.dts is not None else last_decoded
            stamps.append(packet.pts)
            keys.append(packet.is_keyframe)
            begins.append(not begins or _begins_anew(packet, stream))
            time_s = float((packet.pts - stamps[0]) * base)
            if until is not None and until.is_past(len(stamps) - _MARGIN, time_s - _MARGIN_S):
                is_partial = True
                break
    except FFmpegError:
        return "it is damaged"
    in_file = np.array(stamps)
    order = np.argsort(in_file, kind="stable")
    index = FilmIndex(
        in_file[order],
        base,
        np.argsort(order, kind="stable"),
        np.array(keys, dtype=np.bool_),
        np.array(begins, dtype=np.bool_),
        is_partial,
    )
    return _doubt(index, resolution_s, step_s) or index


def _is_before(stamp: int | None, other: int | None) -> bool:
    return stamp is not None and other is not None and stamp < other


def _doubt(index: FilmIndex, resolution_s: float, step_s: float | None) -> str:
    """Return why so many packets are not the frames of their timestamps; empty if they are."""
    # Where reading ended, pictures may be missing that are shown before others.
    stamps = index.stamps[: -(_MARGIN // 2)] if index.is_partial else index.stamps
    steps = _seconds(np.diff(stamps), index.base)
    if not steps.size or steps.min() <= 0:
        return "two frames have one time stamp"
    if index.ranks[0] != 0:
        return "it does not begin with its first frame"
    leaves_out = steps.max() > _DAY_S
    if index.is_partial:
        leaves_out |= step_s is None or steps.max() > _GAP_STEPS * step_s
    else:
        leaves_out |= pace_of(_seconds(stamps, index.base), resolution_s).missing > 0
    if leaves_out:
        return "time stamps leave out frames"
    in_file = _seconds(index.stamps[index.ranks], index.base)
    if np.diff(in_file).min() < -RESTART_S:
        return "a time stamp is far from those of its neighbours"
    return ""


def packet_step(
    container: InputContainer, stream: VideoStream, *, resolution_s: float
) -> float | None:
    """Return the seconds between frames by the time stamps of all packets; None if they vary."""
    stamps = []
    try:
        for packet in pyav.demux(container, stream):
            time_s = pyav.seconds(packet.pts, packet.time_base)
            if time_s is not None and not packet.is_discard and packet.size:
                stamps.append(time_s)
    except FFmpegError:
        pass  # what is wrong is found out when it is decoded
    around = np.lib.stride_tricks.sliding_window_view(np.pad(stamps, 4, "edge"), 9)
    strays = np.abs(np.median(around, axis=1) - stamps) > RESTART_S if stamps else []
    return pace_of(np.asarray(stamps)[~np.asarray(strays, bool)], resolution_s).step_s


def _seconds(stamps: NDArray[np.int64], base: Fraction) -> NDArray[np.float64]:
    """Turn time stamps into seconds, rounded as `pyav.seconds` does."""
    return np.asarray(stamps * base.numerator / base.denominator)


def _begins_anew(packet: Packet[VideoStream], stream: VideoStream) -> bool:
    """Return whether nothing from this packet on refers to anything before it."""
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
    """Yield the first byte of each unit of a packet, behind its length of `size` bytes.

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


class Unexpected(Exception):  # noqa: N818 - the film is then read in another way
    """A film does not do what its packets announce."""


@dataclass(frozen=True, eq=False)
class DecodingPlan:
    """Which frames of a video are wanted, and which packets are decoded for them."""

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
    """Yield all frames in order of presentation, also those that are left out.

    Raises Unexpected if a selected frame does not come, or anything is odd.
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
    """Yield what is to be decoded, and before each tell the decoder what it may leave out."""
    pyav.prepare(stream, threads=threads, strict=True)
    left = int(plan.is_needed.sum())
    for place, packet in enumerate(pyav.demux(container, stream)):
        if not left:
            break
        if place >= len(plan.index.ranks) or pyav.is_flush(packet):
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
