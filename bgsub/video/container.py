"""Video files that are written: container, time of frames, and whether all arrived."""

from __future__ import annotations

import errno
import math
from fractions import Fraction
from pathlib import Path
from typing import Literal

import av
from av.container import OutputContainer
from av.packet import Packet
from av.video.stream import VideoStream

from bgsub.errors import OutputError, plural
from bgsub.video import pyav

VideoKind = Literal["mp4", "mkv"]

# The rate of frames whose rate nobody knows, as image sequences are commonly played.
_DEFAULT_RATE = Fraction(25)
# MP4 has 32 bits for the time from one frame to the next: 20 hours and more. A step beyond that is
# no time of a recording but a damaged timestamp.
_LONGEST_STEP = 2**31 - 1


def open_container(path: Path, kind: VideoKind, *, title: str = "") -> OutputContainer:
    """Open a video file for writing; one that is there already is overwritten.

    av.FFmpegError or OSError where FFmpeg refuses, which may happen as late as the first packet.
    """
    # bitexact: the same frames give the same file, without dates and random identifiers.
    # An absolute path is never taken for the name of a protocol, whatever colons it has.
    options = {"fflags": "+bitexact"} | ({"movflags": "+faststart"} if kind == "mp4" else {})
    form = "mp4" if kind == "mp4" else "matroska"
    container = av.open(str(path.absolute()), "w", format=form, container_options=options)
    if title:
        container.metadata["title"] = title
    return container


class FrameClock:
    """Turns the times of frames into timestamps.

    Times that lie on the grid of the rate, up to the rounding of containers (a tenth of a frame or
    1 ms), get the grid's exact timestamps; others keep their own. The first frame is at 0.
    """

    def __init__(self, rate: Fraction | None, kind: VideoKind = "mp4") -> None:
        # What containers can hold: positive, with a denominator of at most 1001.
        limited = Fraction(0) if rate is None else Fraction(rate).limit_denominator(1001)
        self.rate = limited if 0 < limited <= 100_000 else _DEFAULT_RATE
        # A unit of time that frames of the rate fall on exactly, of 0.1 ms or less.
        self.time_base = Fraction(1, self.rate.numerator * math.ceil(10_000 / self.rate.numerator))
        self._tick_s = float(self.time_base)
        self._interval = int(1 / (self.rate * self.time_base))
        smallest_s = Fraction(1, 1000) if kind == "mkv" else self.time_base
        self._smallest_step = math.ceil(smallest_s / self.time_base)
        self._tolerance = max(0.1 * self._interval, 0.001 / self._tick_s)
        self._start_s: float | None = None
        self._last_s = -math.inf
        self._last = 0

    def tick(self, time_s: float | None) -> int:
        """Return the timestamp of the next frame, in units of ``time_base``, always increasing.

        No time, or one that does not advance or jumps by a day, means one frame interval after the
        frame before.
        """
        if time_s is not None and not math.isfinite(time_s):
            time_s = None
        if self._start_s is None:
            self._start_s = self._last_s = 0.0 if time_s is None else float(time_s)
            return 0
        following = self._last + max(self._interval, self._smallest_step)
        if time_s is not None and time_s > self._last_s:
            self._last_s = time_s
            exact = (time_s - self._start_s) / self._tick_s
            if exact - self._last > _LONGEST_STEP:
                self._start_s = time_s - following * self._tick_s
            else:
                on_grid = round(exact / self._interval) * self._interval
                snaps = abs(exact - on_grid) <= self._tolerance and on_grid > self._last
                stamp = on_grid if snaps else round(exact)
                following = max(stamp, self._last + self._smallest_step)
        self._last = following
        return following


def count_frames(path: Path) -> int:
    """Count the frames of a video file by its packets, decoding only its first and last ones.

    OutputError if the file cannot be read or these cannot be decoded.
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
        message = f"{path}: cannot be read back after writing ({_reason(error)})"
        raise OutputError(f"{message}; check the disk and run again") from error
    return count


def _decode_all(stream: VideoStream, packets: list[Packet[VideoStream]]) -> None:
    codec = stream.codec_context
    frames = sum(len(codec.decode(packet)) for packet in (*packets, None))
    codec.flush_buffers()
    if frames != len(packets):
        raise OSError(errno.EIO, f"{len(packets)} packets give {plural(frames, 'frame')}")


def check_count(path: Path, found: int, expected: int) -> None:
    """Raise OutputError when a result holds another number of frames than were written."""
    if found != expected:
        were = f"{expected} {'was' if expected == 1 else 'were'}"
        message = f"{path}: holds {plural(found, 'frame')} where {were} written"
        raise OutputError(f"{message}; check the disk and run again")


def output_error(path: Path, error: Exception) -> OutputError:
    """Return an error that names the file, why it could not be written, and what to do."""
    number = getattr(error, "errno", None)
    if number in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        advice = "the disk is full; free some space or choose another place with --out"
    elif number in {errno.EACCES, errno.EPERM, errno.EROFS}:
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
