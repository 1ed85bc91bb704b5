"""Hold what differs between the versions of PyAV, so that the other modules need not know.

Release 19 lost the arguments of `av.open` that say how texts in a file are decoded (texts that
are not UTF-8 are escaped since), gives rates and time bases as `AVRational` and no longer None
where there is none, and iterates side data by type.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol, cast

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
from numpy.typing import NDArray

from bgsub.errors import BgsubError, InputError

#: The major versions that bgsub's tests were run with.
_TESTED = (18, 19)

_MAJOR = int(av.__version__.split(".", maxsplit=1)[0])
# A title in Latin-1 is no reason to refuse a film.
_LENIENT: dict[str, Any] = {"metadata_errors": "replace"} if _MAJOR < 19 else {}


#: Kinds of files that hold no pictures but say where they are: FFmpeg would open those files, or
#: connect to other machines, and a file from a stranger must not decide that. Then what is no file
#: at all.
LISTS = frozenset({"concat", "dash", "hls", "imf", "sdp", "vobsub", "webm_dash_manifest"})
_DEVICES = frozenset(
    {"alsa", "fbdev", "jack", "kmsgrab", "lavfi", "oss", "pulse", "rtp", "rtsp", "sap", "tty"}
    | {"video4linux2,v4l2", "x11grab", "xcbgrab"}
)
#: Formats of single files and of pipes, none of which names other files.
READ = ",".join(sorted(av.formats_available - LISTS - _DEVICES))
# How lists begin; a byte order mark or empty lines may come before.
_LIST_BEGINNINGS = {
    b"#extm3u": "an HLS playlist",
    b"ffconcat": "a list of files for FFmpeg (ffconcat)",
    b"v=0": "a session description (SDP)",
    b"<mpd": "a DASH manifest",
    b"<compositionplaylist": "an IMF playlist",
    b"<assetmap": "an IMF asset map",
    b"# vobsub": "an index of subtitles (VobSub)",
}
_XML_PROLOGUE = re.compile(rb"(<\?.*?\?>|<!--.*?-->|\s)*", re.DOTALL)


class Ratio(Protocol):
    """A fraction of FFmpeg's or of Python's."""

    @property
    def numerator(self) -> int:
        """The number above the line."""
        ...

    @property
    def denominator(self) -> int:
        """The number below the line."""
        ...


@contextmanager
def open_input(path: str | os.PathLike[str]) -> Iterator[InputContainer]:
    """Open a file for reading, whatever letters its name and its texts have; closes it at the end.

    Raises
    ------
    av.FFmpegError, ValueError
        If there is no such file, or FFmpeg finds nothing in it that it reads.
    InputError
        If it is a list of other files.
    """
    kind = _list_kind(path)
    if kind is not None:
        message = f"{Path(path).name}: is {kind}, which names other files and holds no video"
        raise InputError(f"{message}; give the video itself, or join the parts into one file")
    # The prefix keeps names such as "12:30.mp4" from being taken for a network protocol. What the
    # beginnings above do not know of, FFmpeg refuses itself.
    container: InputContainer = av.open(
        f"file:{os.fspath(path)}",
        mode="r",
        container_options={"format_whitelist": READ, "protocol_whitelist": "file"},
        **_LENIENT,
    )
    with container:
        try:
            yield container
        finally:
            _end_threads(container)


def _end_threads(container: InputContainer) -> None:
    """Wait until no thread of a decoder is at work.

    PyAV frees decoders with Python's lock held, and waits for their threads then. One that has a
    message for Python (after `av.logging.set_level`), which it has about every damaged frame, would
    wait for the lock: for ever. Flushing waits for the threads without the lock.
    """
    for stream in container.streams.video:
        if stream.codec_context is not None:
            stream.codec_context.flush_buffers()


def _list_kind(path: str | os.PathLike[str]) -> str | None:
    """Say which list of other files a file is, by how it begins; None for all else."""
    try:
        with Path(path).open("rb") as file:
            beginning = file.read(4096)
    except OSError:
        return None
    text = beginning.removeprefix(b"\xef\xbb\xbf").lower()
    prologue = _XML_PROLOGUE.match(text)
    text = text[prologue.end() :] if prologue else text
    return next((kind for start, kind in _LIST_BEGINNINGS.items() if text.startswith(start)), None)


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
    """Give the packets of streams.

    PyAV's own generator leaves some memory behind where it is not read to its end nor closed, as
    after each of many seeks; one of Python's closes it when it goes.

    Raises
    ------
    av.FFmpegError
        If the file cannot be read further.
    """
    try:
        yield from container.demux(*streams)
    except IndexError as error:  # PyAV's, for a stream that the header has not announced
        raise InvalidDataError(
            tag_to_code(b"INDA"), "another stream begins amid the file"
        ) from error


def pictures(container: InputContainer, stream: VideoStream) -> Iterator[VideoFrame]:
    """Decode a stream from where its container is; leaves no memory behind, as `demux` says.

    Raises
    ------
    av.FFmpegError
        If the file cannot be read further, or a packet cannot be decoded.
    """
    for packet in demux(container, stream):
        yield from decode(packet)


def fraction(value: Ratio | None) -> Fraction | None:
    """Give a rate or time base as a Fraction; None where the file has none."""
    return Fraction(value.numerator, value.denominator) if value else None


def seconds(stamp: int | None, time_base: Ratio | None) -> float | None:
    """Give a timestamp in seconds; None where there is no stamp or no time base."""
    if stamp is None or not time_base:
        return None
    return stamp * time_base.numerator / time_base.denominator  # rounded once, as a Fraction is


def display_matrix(frame: VideoFrame) -> NDArray[np.int32] | None:
    """Read the nine numbers by which a frame is turned for viewing, None where it has none."""
    try:
        side_data = cast("Mapping[SideDataType, Any]", frame.side_data)
        data = side_data[SideDataType.DISPLAYMATRIX]
    except (KeyError, ValueError):  # PyAV 18 raises where a kind of side data is new to it
        return None
    return np.frombuffer(memoryview(data), dtype=np.int32)


def _try_out() -> None:
    """Write and read a film of two pictures in memory, with what bgsub uses of PyAV."""
    memory = io.BytesIO()
    with av.open(memory, "w", format="matroska") as container:
        stream = container.add_stream("ffv1", rate=Fraction(25), options={"level": "3"})
        stream.width, stream.height, stream.pix_fmt = 16, 16, "gray"
        stream.codec_context.time_base = Fraction(1, 1000)
        for index in range(2):
            frame = VideoFrame(16, 16, "gray")
            np.frombuffer(memoryview(frame.planes[0]), np.uint8)[:] = 40 * index
            frame.pts, frame.time_base = 40 * index, Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    memory.seek(0)
    with av.open(memory, mode="r", **_LENIENT) as container:
        stream = container.streams.best("video")
        rate, frames = fraction(stream.average_rate), 0
        for packet in container.demux(stream):
            if packet.is_corrupt or packet.is_discard or (packet.size and packet.pos is None):
                raise ValueError("a sound packet is said to be damaged")
            for frame in packet.decode():
                colors = VideoReformatter().reformat(frame, format="bgr24")
                level = int(np.frombuffer(memoryview(colors.planes[0]), np.uint8)[0])
                found = (seconds(frame.pts, frame.time_base), level, display_matrix(frame))
                if found != (0.04 * frames, 40 * frames, None) or frame.is_corrupt:
                    raise ValueError(f"frame {frames + 1} came back as {found}")
                frames += 1
    if rate != Fraction(25) or frames != 2:
        raise ValueError(f"2 frames at 25 a second came back as {frames} at {rate}")


def check_version(version: str) -> None:
    """Try out a major version of PyAV that bgsub was not tested with, before it is needed.

    Parameters
    ----------
    version : str
        Such as "20.1.0". Nothing is done for those of `_TESTED`; the trial of others takes some
        hundredths of a second.

    Raises
    ------
    BgsubError
        If PyAV is older than any that works, or does not do what bgsub needs.
    """
    major = int(version.split(".", maxsplit=1)[0])
    if major in _TESTED:
        return
    reason = "it is too old"
    if major > _TESTED[-1]:
        try:
            _try_out()
        except Exception as error:  # noqa: BLE001 - whatever it is, the user hears of it
            reason = f"{type(error).__name__}: {error}"
        else:
            return
    bounds = f'"av>={_TESTED[0]}.1,<{_TESTED[-1] + 1}"'
    message = f"PyAV {version} does not work with this version of bgsub ({reason})"
    raise BgsubError(f"{message}; install another with: pip install {bounds}")


check_version(av.__version__)
