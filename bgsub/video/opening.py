"""Open a video file, find its stream of pictures, and look for the first one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from av.container import InputContainer
from av.error import FFmpegError
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from bgsub.errors import InputError
from bgsub.video import pyav
from bgsub.video.beginnings import lacks_its_beginning
from bgsub.video.checksums import has_checksums
from bgsub.video.decoding import error_reason, is_picture, prepare
from bgsub.video.film_header import FilmHeader

_TEXT_CODECS = {"ansi", "bintext", "idf", "xbin"}  # FFmpeg draws text as a terminal would


@contextmanager
def open_video(path: Path) -> Iterator[tuple[InputContainer, VideoStream]]:
    """Open a file and its video stream.

    Parameters
    ----------
    path : Path

    Raises
    ------
    InputError
        If it is no video, or FFmpeg does not know its codec.
    """
    with ExitStack() as stack:
        try:
            container = stack.enter_context(pyav.open_input(path))
        except (FFmpegError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            message = f"{path.name}: is not a video that can be read ({reason})"
            raise InputError(f"{message}; check that it is complete and plays") from error
        yield container, _video_stream(container, path.name)


def _video_stream(container: InputContainer, name: str) -> VideoStream:
    stream = container.streams.best("video")
    if not isinstance(stream, VideoStream):
        raise InputError(f"{name}: holds no video; give a video file or images")
    if stream.codec_context is None:
        message = f"{name}: its codec is unknown to FFmpeg"
        raise InputError(f"{message}; convert it to H.264 or FFV1")
    if stream.codec_context.name in _TEXT_CODECS:
        raise InputError(f"{name}: is a text, not a video; give a video file or images")
    return stream


def first_frame(
    container: InputContainer, stream: VideoStream, path: Path, header: FilmHeader
) -> VideoFrame:
    """Decode the first frame, and note in the header what its packets say of the film.

    Parameters
    ----------
    container, stream
        Just opened.
    path : Path
    header : FilmHeader
        Is changed.

    Raises
    ------
    InputError
        If nothing in the file can be decoded.
    """
    prepare(stream, threads=1, strict=False)
    reason, silent, is_first = "", 0, True
    packets = pyav.demux(container, stream)
    while True:
        try:
            packet = next(packets, None)
            if packet is None:
                break
            if packet.size == 0 and packet.dts is not None:
                continue
            if is_first:
                _look_at_first(packet, path, header, is_alone=len(container.streams) == 1)
            is_first = False
            if header.codec == "ffv1" and packet.size and not header.has_checksums:
                header.has_checksums = has_checksums(bytes(packet))
            silent += is_picture(header.codec, packet.size) and not packet.is_discard
            for frame in pyav.decode(packet):
                if not frame.is_corrupt:
                    header.begins_silently = silent > _longest_delay(stream)
                    return frame
        except FFmpegError as error:
            reason = reason or f" ({error_reason(error)})"
    message = f"{path.name}: no frame can be decoded{reason}"
    raise InputError(f"{message}; the file is empty, cut off or damaged")


def _look_at_first(
    packet: Packet[VideoStream], path: Path, header: FilmHeader, *, is_alone: bool
) -> None:
    """Note what the first packet says of the film: what comes before it, how many there are."""
    if (
        is_alone
        and packet.pos is not None
        and packet.stream is not None
        and lacks_its_beginning(header.format, path, packet.pos, packet.stream.id)
    ):
        header.lacks_packets = True
        header.table = []  # FFmpeg counts its places from the first packet
    if header.format == "dv" and packet.size:
        header.announced = header.size // packet.size  # all are as long


def _longest_delay(stream: VideoStream) -> int:
    """Give the packets that a decoder may take for its first frame: each may be half of one."""
    return 2 * (stream.codec_context.has_b_frames + 1) + 1
