"""Go through a damaged video on one thread and note what became of every packet.

On several threads, which frames are marked and which are lost depends on the number of threads; on
one it does not. `bgsub.video.timeline` works out from the notes what each picture is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from av.container import InputContainer
from av.error import FFmpegError
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from bgsub.video import pyav
from bgsub.video.decoding import error_reason, is_flush, prepare, stamp_of
from bgsub.video.film_header import Reach


@dataclass(slots=True)
class PacketNote:
    """What is known of a packet.

    Attributes
    ----------
    stamp_s : float or None
        Timestamp of presentation, in seconds on the stream's clock.
    decoding_s : float or None
        Timestamp of decoding.
    position, size : int or None, int
        Where its data are in the file, and how many bytes.
    is_hidden : bool
        Whether the container says that it is not to be shown.
    is_incomplete : bool
        Whether the container says that data are missing.
    error : str
        Why it could not be decoded.
    """

    stamp_s: float | None
    decoding_s: float | None
    position: int | None
    size: int
    is_hidden: bool
    is_incomplete: bool
    error: str = ""


@dataclass(slots=True)
class PictureNote:
    """What is known of a picture that came out of the decoder.

    Attributes
    ----------
    packet : int or None
        Index of the packet that it was decoded from.
    read : int
        Packets that had been read when it came out.
    stamp_s : float or None
        In seconds on the stream's clock.
    is_key : bool
        Whether it depends on no other.
    is_damaged : bool
        Whether the decoder says that a part of it is made up.
    """

    packet: int | None
    read: int
    stamp_s: float | None
    is_key: bool
    is_damaged: bool


@dataclass
class Survey:
    """Packets in the order of the file and pictures in the order of presentation.

    Attributes
    ----------
    packets : list of PacketNote
        Those with data.
    pictures : list of PictureNote
    empty_packets : int
    broke_off : str
        The error that the reading ended in, if any.
    """

    packets: list[PacketNote] = field(default_factory=list)
    pictures: list[PictureNote] = field(default_factory=list)
    empty_packets: int = 0
    broke_off: str = ""

    @property
    def errors(self) -> int:
        """Number of packets that could not be decoded."""
        return sum(bool(packet.error) for packet in self.packets)

    def reach(self, rate: Fraction | None) -> Reach:
        """Say how far the packets go, with the frames a second where they have no length."""
        stamps = [p.stamp_s for p in self.packets if p.stamp_s is not None]
        first_s, last_s = min(stamps, default=math.inf), max(stamps, default=0.0)
        place = None
        if self.packets and self.packets[-1].position is not None:
            place = self.packets[-1].position + self.packets[-1].size
        return Reach(first_s, last_s, last_s + (float(1 / rate) if rate else 0.0), place)

    def add_errors(self, other: Survey) -> None:
        """Take over what another way of decoding the same packets noticed."""
        for mine, theirs in zip(self.packets, other.packets, strict=False):
            mine.error = mine.error or theirs.error
        damaged = {picture.packet for picture in other.pictures if picture.is_damaged} - {None}
        for picture in self.pictures:
            picture.is_damaged |= picture.packet in damaged


def survey(
    container: InputContainer,
    stream: VideoStream,
    *,
    strict: bool,
    is_sound: Callable[[bytes], bool] | None = None,
) -> Survey:
    """Decode a stream that was just opened, and note what became of it.

    Parameters
    ----------
    container, stream
    strict : bool
        Whether every departure from the standard is an error.
    is_sound : callable, optional
        Whether the data of a packet are undamaged, where the codec lets that be computed.
    """
    notes = Survey()
    for _ in decode_alone(container, stream, strict=strict, is_sound=is_sound, notes=notes):
        pass
    return notes


def decode_alone(
    container: InputContainer,
    stream: VideoStream,
    *,
    strict: bool,
    is_sound: Callable[[bytes], bool] | None = None,
    notes: Survey | None = None,
) -> Iterator[VideoFrame]:
    """Give the pictures of a stream, decoded on one thread; always the same ones.

    Parameters
    ----------
    container, stream, strict, is_sound
        As for `survey`.
    notes : Survey, optional
        Is filled on the way.
    """
    prepare(stream, threads=1, strict=strict)
    # What comes out of a decoder says which packet it went in with. (Not on several threads: their
    # threads would wait for Python's lock to give a mark back, and whoever holds it for them.)
    stream.codec_context.copy_opaque = True
    notes = Survey() if notes is None else notes
    packets = pyav.demux(container, stream)
    while True:
        try:
            packet = next(packets, None)
        except FFmpegError as error:
            notes.broke_off = error_reason(error)
            return
        if packet is None:
            return
        if not is_flush(packet):
            if packet.size == 0:
                notes.empty_packets += 1
                continue
            packet.opaque = len(notes.packets)
            notes.packets.append(
                PacketNote(
                    stamp_s=pyav.seconds(packet.pts, packet.time_base),
                    decoding_s=pyav.seconds(packet.dts, packet.time_base),
                    position=packet.pos if packet.pos is None or packet.pos >= 0 else None,
                    size=packet.size,
                    is_hidden=packet.is_discard,
                    is_incomplete=packet.is_corrupt,
                )
            )
            if is_sound is not None and not is_sound(bytes(packet)):
                notes.packets[-1].error = "its checksum is wrong"
        try:
            for frame in pyav.decode(packet):
                origin = frame.opaque
                notes.pictures.append(
                    PictureNote(
                        packet=origin if isinstance(origin, int) else None,
                        read=len(notes.packets),
                        stamp_s=stamp_of(frame),
                        is_key=frame.key_frame,
                        is_damaged=frame.is_corrupt,
                    )
                )
                yield frame
        except FFmpegError as error:
            if not is_flush(packet):
                notes.packets[-1].error = notes.packets[-1].error or error_reason(error)
