"""List the packets of a video by their time stamps: what can be sought, and what be left out.

One pass over the packets, without decoding. What the list says holds where every packet is one
frame with a time stamp of its own; other films are decoded from their beginning.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from av.container import InputContainer
from av.error import FFmpegError
from av.packet import Packet
from av.video.stream import VideoStream
from numpy.typing import NDArray

from bgsub.video import pyav
from bgsub.video.clock import RESTART_S
from bgsub.video.decoding import GAP_STEPS, Decoder, is_flush
from bgsub.video.entry import Entry, Place
from bgsub.video.selection import Picker
from bgsub.video.stamps import CODECS_WITH_HIDDEN_PACKETS, Pace, has_stamps, pace_of
from bgsub.video.strays import without_leaps

_INTRA = {"mjpeg", "ffv1", "prores", "dnxhd", "rawvideo", "huffyuv", "ffvhuff", "utvideo"}
_NEW_BEGINNINGS = {"h264": (0x1F, {5}, 4), "hevc": (0x7E, {19 << 1, 20 << 1}, 21)}
"""Bits of a unit's first byte that say what it is, and which of them are IDR pictures; and where
in a file's header it is said how long the lengths before units are."""

_MARGIN, _MARGIN_S = 64, 5.0
"""Frames and seconds behind the end of what is selected in which decoders may look."""

_DAY_S = 86400.0


@dataclass(frozen=True, eq=False)
class FilmIndex:
    """The packets of a video, each of which is one frame.

    Attributes
    ----------
    stamps : ndarray of int64, shape (n,)
        Of frame 1, 2, …: increasing, in steps of the stream's clock.
    base : Fraction
        Seconds of such a step.
    ranks : ndarray of intp, shape (n,)
        Place, from 0, of the frame of each packet, in the order of the file.
    is_key : ndarray of bool, shape (n,)
        Whether the frame of a packet depends on no other.
    begins_anew : ndarray of bool, shape (n,)
        Whether no packet from it on refers to one before it.
    is_partial : bool
        Whether there are more packets, far behind the frames that are selected.
    """

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
        """Packets before each of these frames in the file."""
        (packets,) = np.nonzero(self.is_key)
        return packets[np.argsort(self.ranks[packets], kind="stable")]

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
            stamp_s=float(self.stamps_s[key]),
            origin_s=float(self.stamps_s[0]),
            packets=int(self._packets[place]),
            sound=int(self.keys[last]) + 1,
        )

    def place(self, number: int, *, from_its_key: bool = False) -> Place:
        """Say how a frame is found.

        Parameters
        ----------
        number : int
        from_its_key : bool
            Decode from the key frame before it on, which gives another picture where that is
            refreshed bit by bit; by default from one before.
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
        """Say which packets are to be decoded for some of the frames.

        Parameters
        ----------
        is_wanted : ndarray of bool, shape (n,)
            Whether a frame is wanted.

        Returns
        -------
        ndarray of bool, shape (n,)
            In the order of the file: the packets from the beginning before wanted ones on.
        """
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
    decoder: Decoder,
    *,
    resolution_s: float,
    until: Picker | None = None,
) -> FilmIndex | str:
    """Look at the packets of a film.

    Parameters
    ----------
    container, stream
        Just opened.
    decoder : Decoder
        Of this stream; it is told the packets, and decodes nothing.
    resolution_s : float
        What time stamps are rounded to.
    until : Picker, optional
        Behind the end of what it selects no more is read than decoders may need.

    Returns
    -------
    FilmIndex or str
        Or why packets do not say which frames there will be.

    Notes
    -----
    Reads the file once. Takes 18 bytes for each frame, and 40 more until it is done.
    """
    form, codec = container.format.name, stream.codec_context.name
    base = pyav.fraction(stream.time_base)
    if not has_stamps(form) or base is None:
        return f"{form} has no time stamps of frames"
    if codec in CODECS_WITH_HIDDEN_PACKETS:
        return f"{codec} has packets that are not to be seen"
    stamps, keys, begins, is_partial = array("q"), bytearray(), bytearray(), False
    last_decoded: int | None = None
    try:
        for packet in pyav.demux(container, stream):
            if is_flush(packet):
                continue
            if packet.pts is None or _is_before(packet.dts, last_decoded):
                return "some packets have no time stamps, or wrong ones"
            if packet.size == 0 or packet.is_discard or decoder.look_at(packet):
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
    return _doubt(index, resolution_s, decoder.step_s) or index


def _is_before(stamp: int | None, other: int | None) -> bool:
    return stamp is not None and other is not None and stamp < other


def _doubt(index: FilmIndex, resolution_s: float, step_s: float | None) -> str:
    """Say why so many packets are not the frames of their time stamps."""
    # Where reading ended, pictures may be missing that are shown before others.
    stamps = index.stamps[: -(_MARGIN // 2)] if index.is_partial else index.stamps
    steps = _seconds(np.diff(stamps), index.base)
    if not steps.size or steps.min() <= 0:
        return "two frames have one time stamp"
    if index.ranks[0] != 0:
        return "it does not begin with its first frame"
    leaves_out = steps.max() > _DAY_S
    if index.is_partial:
        leaves_out |= step_s is None or steps.max() > GAP_STEPS * step_s
    else:
        leaves_out |= pace_of(_seconds(stamps, index.base), resolution_s).missing > 0
    if leaves_out:
        return "time stamps leave out frames"
    in_file = _seconds(index.stamps[index.ranks], index.base)
    leaps = np.abs(np.diff(in_file)).max() > RESTART_S
    if leaps and len(without_leaps(in_file.tolist())) < in_file.size:
        return "a time stamp is far from those of its neighbours"
    return ""


def pace_of_packets(container: InputContainer, stream: VideoStream, *, resolution_s: float) -> Pace:
    """Find out by the time stamps of all packets how the frames of a film follow each other."""
    stamps = []
    try:
        for packet in pyav.demux(container, stream):
            time_s = pyav.seconds(packet.pts, packet.time_base)
            if time_s is not None and not packet.is_discard and packet.size:
                stamps.append(time_s)
    except FFmpegError:
        pass  # what is wrong is found out when it is decoded
    return pace_of(without_leaps(stamps), resolution_s)


def _seconds(stamps: NDArray[np.int64], base: Fraction) -> NDArray[np.float64]:
    """Turn time stamps into seconds, rounded as `pyav.seconds` does."""
    return np.asarray(stamps * base.numerator / base.denominator)


def _begins_anew(packet: Packet[VideoStream], stream: VideoStream) -> bool:
    """Say whether nothing from this packet on refers to anything before it."""
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
