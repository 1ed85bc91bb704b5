"""Check that a result can be written and was written completely, and say why when not."""

from __future__ import annotations

import errno
from pathlib import Path

import av
from av.packet import Packet
from av.video.stream import VideoStream

from bgsub.errors import OutputError
from bgsub.video import pyav

_FULL_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


def count_frames(path: Path) -> int:
    """Count the frames of a video file by its packets, decoding only its first and last ones.

    Raises
    ------
    OutputError
        If the file cannot be read or the frames at its ends cannot be decoded.
    """
    count = 0
    tail: list[Packet[VideoStream]] = []
    try:
        with pyav.open_input(path.absolute()) as container:
            stream = container.streams.video[0]
            for packet in container.demux(stream):
                if packet.size == 0 or packet.is_corrupt:
                    continue
                count += 1
                if packet.is_keyframe:
                    tail.clear()
                tail.append(packet)
                if count == 1:
                    _decode_all(stream, tail)
            _decode_all(stream, tail)
    except (av.FFmpegError, OSError, IndexError) as error:
        raise OutputError(
            f"{path}: cannot be read back after writing ({_reason(error)}); "
            "check the disk and run again"
        ) from error
    return count


def _decode_all(stream: VideoStream, packets: list[Packet[VideoStream]]) -> None:
    codec = stream.codec_context
    frames = [frame for packet in packets for frame in codec.decode(packet)]
    frames += codec.decode(None)
    codec.flush_buffers()
    if len(frames) != len(packets):
        raise OSError(errno.EIO, f"{len(packets)} packets give {len(frames)} frames")


def make_empty_folder(path: Path) -> None:
    """Make a folder for a result; raises OutputError if there is one with something in it."""
    try:
        path.mkdir(exist_ok=True)
        occupied = any(path.iterdir())
    except OSError as error:
        raise output_error(path, error) from error
    if occupied:
        raise OutputError(f"{path}: the directory is not empty; empty it or choose another")


def check_count(path: Path, found: int, expected: int) -> None:
    """Raise OutputError when a result holds another number of frames than were written."""
    if found != expected:
        raise OutputError(
            f"{path}: holds {found} frames where {expected} were written; "
            "check the disk and run again"
        )


def output_error(path: Path, error: Exception) -> OutputError:
    """Say in one line which file could not be written, why, and what to do."""
    number = getattr(error, "errno", None)
    if number in _FULL_DISK:
        advice = "the disk is full; free some space or choose another place with --out"
    elif number in _FORBIDDEN:
        advice = "writing is not allowed there; choose another place with --out"
    elif number in {errno.ENOENT, errno.ENOTDIR}:
        advice = "its directory does not exist; create it or choose another place with --out"
    elif number == errno.EISDIR:
        advice = "a directory has that name; remove it or choose another place with --out"
    else:
        advice = f"{_reason(error)}; try another place with --out or another --format"
    return OutputError(f"cannot write {path}: {advice}")


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).strip() or type(error).__name__
