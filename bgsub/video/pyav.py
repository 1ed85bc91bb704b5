"""What every module needs of PyAV, and what differs between its versions.

Release 19 lost the arguments of `av.open` that say how texts in a file are decoded (texts that
are not UTF-8 are escaped since), gives rates and time bases as `AVRational` and no longer None
where there is none, and iterates side data by type.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from fractions import Fraction
from typing import Any, cast

import av
import numpy as np
from av.container import InputContainer
from av.error import FFmpegError, InvalidDataError, tag_to_code
from av.packet import Packet
from av.sidedata.sidedata import Type as SideDataType
from av.stream import Stream
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter
from av.video.stream import VideoStream

from bgsub.video.base import BadPicture
from bgsub.video.frames import Bytes, Layout, LayoutKind, Matrix
from bgsub.video.geometry import Orientation, Picture

_MAJOR = int(av.__version__.split(".", maxsplit=1)[0])
# A title in Latin-1 is no reason to refuse a film.
_LENIENT: dict[str, Any] = {"metadata_errors": "replace"} if _MAJOR < 19 else {}

# Kinds of files that hold no pictures but say where they are: FFmpeg would open those files, or
# connect to other machines, and a file from a stranger must not decide that. Then what is no file
# at all, and texts, which FFmpeg draws as a terminal would.
_LISTS = {"concat", "dash", "hls", "imf", "sdp", "vobsub", "webm_dash_manifest"}
_DEVICES = {
    *("alsa", "fbdev", "jack", "kmsgrab", "lavfi", "oss", "pulse", "rtp", "rtsp", "sap", "tty"),
    *("video4linux2,v4l2", "x11grab", "xcbgrab"),
}
_TEXTS = {"adf", "bin", "idf", "xbin"}
#: Formats of single files and of pipes, none of which names other files.
READ = ",".join(sorted(av.formats_available - _LISTS - _DEVICES - _TEXTS))

HIDDEN_PACKETS = {"vp8", "vp9", "libvpx", "libvpx-vp9"}  # codecs with packets not to be seen
# Decoders that on several threads of slices keep to themselves what is wrong with one.
_QUIET_SLICES = {"mpeg1video", "mpeg2video"}

_YUV420 = re.compile(r"yuv(j420p|420p|a420p)")
_LUMA_PLANE_FIRST = re.compile(r"yuv[ja]?4\d\dp|nv(12|21|16|24|42)")
_GRAY = re.compile(r"gray|ya|mono")
_DEEP_GRAY = re.compile(r"gray(9|10|12|14|16)(le|be)")
_LIMITED_RANGE, _FULL_RANGE = 1, 2  # FFmpeg's AVCOL_RANGE_MPEG and AVCOL_RANGE_JPEG
_BT709 = 1  # FFmpeg's AVCOL_SPC_BT709


@contextmanager
def open_input(path: str | os.PathLike[str]) -> Iterator[InputContainer]:
    """Open a file for reading, whatever letters its name and its texts have; closes it at the end.

    av.FFmpegError or ValueError if FFmpeg refuses it: ArgumentError for a list of other files.
    """
    # The prefix keeps names such as "12:30.mp4" from being taken for a network protocol.
    address = f"file:{os.fspath(path)}"
    options = {"format_whitelist": READ, "protocol_whitelist": "file"}
    with av.open(address, mode="r", container_options=options, **_LENIENT) as container:
        try:
            yield container
        finally:
            # PyAV frees decoders with Python's lock held, and waits for their threads then. One
            # that has a message for Python (after `av.logging.set_level`), which it has about every
            # damaged frame, would wait for the lock: for ever. Flushing waits without the lock.
            for stream in container.streams.video:
                if stream.codec_context is not None:
                    stream.codec_context.flush_buffers()


def decode(packet: Packet[VideoStream]) -> list[VideoFrame]:
    """Decode a packet; raises av.FFmpegError.

    PyAV 19 says of a decoder that could not be opened for a damaged packet before this one, with an
    error of Python's, that it does not know the codec.
    """
    try:
        return packet.decode()
    except ValueError as error:
        if isinstance(error, FFmpegError):
            raise
        raise InvalidDataError(tag_to_code(b"INDA"), str(error)) from error


def demux(container: InputContainer, *streams: Stream) -> Iterator[Packet[Any]]:
    """Yield the packets of streams; raises av.FFmpegError.

    PyAV's own generator leaves some memory behind where it is not read to its end nor closed, as
    after each of many seeks; one of Python's closes it when it goes.
    """
    try:
        yield from container.demux(*streams)
    except IndexError as error:  # PyAV's, for a stream that the header has not announced
        text = "another stream begins amid the file"
        raise InvalidDataError(tag_to_code(b"INDA"), text) from error


def pictures(container: InputContainer, stream: VideoStream) -> Iterator[VideoFrame]:
    """Decode a stream from where its container is; raises av.FFmpegError."""
    for packet in demux(container, stream):
        yield from decode(packet)


def fraction(value: Any) -> Fraction | None:
    """Return a rate or time base as a Fraction; None where the file has none."""
    return Fraction(value.numerator, value.denominator) if value else None


def seconds(stamp: int | None, time_base: Any) -> float | None:
    """Return a timestamp in seconds; None where there is no stamp or no time base."""
    if stamp is None or not time_base:
        return None
    return float(stamp * time_base.numerator / time_base.denominator)  # rounded once


def is_flush(packet: Packet[VideoStream]) -> bool:
    """Return whether a packet is the one behind the last, which empties the decoder."""
    return packet.size == 0 and packet.dts is None


def prepare(stream: VideoStream, *, threads: int, strict: bool) -> None:
    """Set how a new stream is decoded; unless `strict`, what is left of a picture hides errors."""
    kind = "FRAME" if stream.codec_context.name in _QUIET_SLICES else "AUTO"
    stream.thread_type = "NONE" if threads == 1 else kind
    stream.codec_context.thread_count = threads
    if strict:
        stream.codec_context.options = {"err_detect": "explode+crccheck+bitstream+buffer"}


def stamp_of(frame: VideoFrame, *, by_decoding_order: bool = False) -> float | None:
    """Return a frame's timestamp in seconds, `by_decoding_order` where there is no other (avi)."""
    stamp = frame.dts if by_decoding_order or frame.pts is None else frame.pts
    return seconds(stamp, frame.time_base)


def error_reason(error: FFmpegError) -> str:
    """Return in a few words why something could not be decoded."""
    if isinstance(error, InvalidDataError):
        return "its data are damaged"
    return (error.strerror or str(error)).lower()


def seek(container: InputContainer, stream: VideoStream, stamp_s: float) -> None:
    """Go to a key frame that is not behind a time stamp in seconds, the last one but for a few.

    Some containers are sought by the time at which a frame is decoded, which may be before the
    stamp where the frame is shown behind it; then it goes further back.
    """
    unit = fraction(stream.time_base)
    if unit is None:
        return
    base, start = float(unit), stream.start_time or 0
    target, back = round(stamp_s / base), 0
    while True:
        container.seek(max(target - back, min(start, target)), stream=stream)
        packets = (packet for packet in demux(container, stream) if packet.pts is not None)
        first = next(packets, None)
        is_late = first is not None and first.pts is not None and first.pts > target
        if not is_late or target - back <= start:
            break
        back = 2 * back + round(0.5 / base)
    container.seek(max(target - back, min(start, target)), stream=stream)


def native(frame: VideoFrame) -> tuple[LayoutKind, Matrix, Orientation]:
    """Return the closest layout, the standard (BT.601 if it has none), and how a frame is shown."""
    name, turn = frame.format.name, Orientation()
    kind: LayoutKind = "yuv420" if _YUV420.fullmatch(name) else "bgr"
    with suppress(KeyError, ValueError):  # PyAV 18 raises where a kind of side data is new to it
        side_data = cast("Mapping[SideDataType, Any]", frame.side_data)
        matrix = np.frombuffer(memoryview(side_data[SideDataType.DISPLAYMATRIX]), np.int32)
        turn = Orientation.from_display_matrix(matrix.tolist())
    standard: Matrix = "bt709" if frame.colorspace == _BT709 else "bt601"
    return "gray" if _GRAY.match(name) else kind, standard, turn


class PictureMaker:
    """Makes pictures that fit one layout from frames; reuses what conversions need."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._reformatter = VideoReformatter()

    def make(self, frame: VideoFrame) -> Picture:
        """Return the frame in a kind that the layout takes; BadPicture if there is no conversion.

        Gray, 8-bit 4:2:0 and, for the layout gray, the luma of all common formats are views of the
        decoder's memory. Everything else is converted to BGR by swscale, and keeps the file's luma
        beside it, and the chroma of 4:2:0 for layouts with chroma. Alpha is dropped.
        """
        name, kind = frame.format.name, self._layout.kind
        is_420 = _YUV420.fullmatch(name) is not None
        try:
            is_limited = frame.color_range == _LIMITED_RANGE
            if match := _DEEP_GRAY.fullmatch(name):
                deep = _plane(frame, 0, 2).view("<u2" if match[2] == "le" else ">u2")
                grey = (deep >> (int(match[1]) - 8)).astype(np.uint8)
                return Picture((grey,), is_limited)
            if _GRAY.match(name):
                if name != "gray":
                    frame = self._reformatter.reformat(frame, format="gray")
                return Picture((_plane(frame, 0),), is_limited)
            limited = frame.color_range != _FULL_RANGE and not name.startswith("yuvj")
            if kind == "yuv420" and is_420:
                return Picture((_plane(frame, 0), _plane(frame, 1), _plane(frame, 2)), limited)
            luma = _plane(frame, 0) if _LUMA_PLANE_FIRST.fullmatch(name) else None
            if kind == "gray" and luma is not None:
                return Picture((luma,), limited)
            chroma: tuple[Bytes, ...] = ()
            if self._layout.with_chroma and is_420:
                chroma = _plane(frame, 1), _plane(frame, 2)
            if name != "bgr24":
                frame = self._reformatter.reformat(frame, format="bgr24")
            bgr = _plane(frame, 0, 3).reshape(frame.height, frame.width, 3)
            return Picture((bgr,), limited and luma is not None, luma, chroma)
        except (FFmpegError, ValueError) as error:
            raise BadPicture(f"frames of the format {name} cannot be converted") from error


def _plane(frame: VideoFrame, index: int, item: int = 1) -> Bytes:
    """View a plane as rows of bytes, `item` for each pixel, without the padding behind each row."""
    plane = frame.planes[index]
    rows = np.frombuffer(memoryview(plane), dtype=np.uint8).reshape(-1, abs(plane.line_size))
    rows = rows[:, : plane.width * item]
    # Bottom-up pictures have their last row first in memory.
    return rows[::-1] if plane.line_size < 0 else rows
