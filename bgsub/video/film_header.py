"""Open a video file and read what it says of itself: rate, number of frames, duration, index."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import av
import numpy as np
from av.container import InputContainer
from av.error import FFmpegError
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from numpy.typing import NDArray

from bgsub.errors import InputError, plural
from bgsub.video import pyav

_TEXT_CODECS = {"ansi", "bintext", "idf", "xbin"}  # FFmpeg draws text as a terminal would

_DURATION_TAG = re.compile(r"(\d+):(\d+):(\d+(?:\.\d+)?)")
_MAX_RATE = 1000  # what files say beyond it is the resolution of their clock
_CHUNK_HEADER = 8  # of an avi, before the data that a packet's place is that of

#: Formats with a duration of their own; of others FFmpeg works it out from what is there.
_ANNOUNCING = {"matroska,webm", "flv", "asf", "gxf", "rm", "nut", "wtv", "ogg"}
#: Those of them whose duration is the time at which the last frame begins.
_TO_THE_LAST_FRAME = {"nut", "wtv"}
#: Formats that a writer begins with the first frame; streams may begin amid a group of frames.
_WITH_BEGINNING = {"avi", "mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm", "nut", "asf", "flv"}
_REORDERED = {"h264", "hevc", "mpeg4", "mpeg1video", "mpeg2video"}

#: Formats that hold frames one after the other and no times, or times that are guessed.
_WITHOUT_STAMPS = frozenset(
    {
        *("avi", "dv", "filmstrip", "h261", "h263", "h264", "hevc", "vvc", "mjpeg"),
        *("mpegvideo", "mpjpeg", "mxf", "obu", "rawvideo", "roq", "vc1", "yuv4mpegpipe", "swf"),
        *("mpeg", "gxf", "dirac", "dnxhd", "cavsvideo", "amv", "image2pipe", "jpeg_pipe"),
    }
)
#: Formats that are meant to show each frame for a time of its own.
_OF_VARIABLE_RATE = frozenset({"gif", "apng", "webp_anim", "webp", "png_pipe", "webp_pipe"})
#: Formats in which nothing tells that whole frames are missing.
_WITHOUT_NUMBERS = frozenset(
    {
        *("h261", "h263", "h264", "hevc", "vvc", "mjpeg", "mpegvideo", "mpjpeg", "obu", "vc1"),
        *("dirac", "dnxhd", "cavsvideo", "gif", "m4v", "mxf", "mpeg", "roq", "swf"),
    }
)

# Timestamps are rounded; beyond this share of a step they are not those of a constant rate.
_TOLERANCE = 0.2
# So many of the frames must follow each other at once for a rate to be called constant.
_STEADY_SHARE = 0.7

#: A step back in time by more than this is a new beginning of the clock, not a jittered timestamp.
RESTART_S = 1.0
#: A leap by more than this is no time that passed between two frames.
_LEAP_S = 10 * 86400.0


@contextmanager
def open_video(path: Path) -> Iterator[tuple[InputContainer, VideoStream]]:
    """Open a file and its video stream.

    InputError if it is no video, or FFmpeg does not know its codec.
    """
    with ExitStack() as stack:
        try:
            container = stack.enter_context(pyav.open_input(path))
        except (FFmpegError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            message = f"{path.name}: is not a video that can be read ({reason})"
            raise InputError(f"{message}; check that it is complete and plays") from error
        stream = container.streams.best("video")
        if not isinstance(stream, VideoStream):
            raise InputError(f"{path.name}: holds no video; give a video file or images")
        if stream.codec_context is None:
            message = f"{path.name}: its codec is unknown to FFmpeg"
            raise InputError(f"{message}; convert it to H.264 or FFV1")
        if stream.codec_context.name in _TEXT_CODECS:
            raise InputError(f"{path.name}: is a text, not a video; give a video file or images")
        yield container, stream


@dataclass
class FilmHeader:
    """What a video file says of itself; format and codec by FFmpeg's names."""

    format: str
    codec: str
    size: int = 0
    rate: Fraction | None = None
    announced: int = 0
    frames: int | None = None
    duration_s: float | None = None
    duration_is_exact: bool = True
    intra_only: bool = False
    resolution_s: float = 0.001
    table: list[tuple[int, float]] = field(default_factory=list)
    skipped: int = 0
    delay: int = 0
    begins_silently: bool = False

    @property
    def has_decoding_times(self) -> bool:
        """Whether timestamps are of decoding: avi and asf have no others for such codecs."""
        is_reordered = self.delay > 0 and self.codec in _REORDERED
        return self.format == "avi" or (self.format == "asf" and is_reordered)

    @property
    def step_s(self) -> float | None:
        """Seconds between two frames, where timestamps tell that some are missing."""
        return float(1 / self.rate) if self.rate and has_stamps(self.format) else None

    @property
    def has_beginning(self) -> bool:
        """Whether the first packet must give a frame."""
        return self.format in _WITH_BEGINNING and self.codec not in pyav.HIDDEN_PACKETS

    @property
    def lists_frames(self) -> bool:
        """Whether the header lists all frames, so that none can be missing in silence."""
        return self.announced > 0 and self.format.startswith("mov,")

    def blind_spots(self, unseen: str) -> list[str]:
        """Return what numbers and frames of the film do not tell; `unseen` is of its codec."""
        notes = []
        if self.skipped:
            notes.append(
                f"the recorder left out {plural(self.skipped, 'frame')}: numbers count the frames "
                "that are there, times are those of the recording"
            )
        if unseen == "cannot be seen":
            notes.append(f"{self.codec} without checksums: damage to single pictures {unseen}")
        if self.format in _WITHOUT_NUMBERS:
            text = f"{self.format} does not tell when whole pictures are missing"
            notes.append(f"{text}: numbers are unsure if the file is damaged")
        return notes

    def falls_short(self, packets: int, end_s: float) -> bool:
        """Return whether clearly less was found than is announced.

        The last frame ends at `end_s`.
        """
        if self.table:
            return packets < len(self.table)
        if self.announced:
            exact = self.format == "avi" or self.lists_frames
            return packets < self.announced - (0 if exact else max(1, self.announced // 100))
        if self.duration_s is None or self.rate is None or self.format not in _ANNOUNCING:
            return False
        slack_s = max(1.0, 0.1 * self.duration_s)  # sound may go on longer
        if self.duration_is_exact:
            slack_s = 0.01 * self.duration_s + 2 / float(self.rate)
        return end_s < self.duration_s - slack_s

    def shortfall(self, packets: int, end_s: float, good: int) -> list[str]:
        """Return a warning if less was found than is announced, with the number of good frames."""
        if not self.falls_short(packets, end_s):
            return []
        what = f"decoded {plural(good, 'frame')}"
        if self.frames is not None and self.frames > good:
            what = f"decoded {good} of about {self.frames} frames"
        return [f"{what}: the file is cut off or damaged"]


def read_header(container: InputContainer, stream: VideoStream) -> FilmHeader:
    """Return the header of a file that was just opened."""
    rate = pyav.fraction(stream.average_rate or stream.guessed_rate)
    duration_s, is_exact = _duration(container, stream)
    header = FilmHeader(
        format=container.format.name,
        codec=stream.codec_context.name,
        size=container.size,
        rate=rate if rate is not None and 0 < rate <= _MAX_RATE else None,
        announced=stream.frames,
        frames=stream.frames or None,
        duration_s=duration_s,
        duration_is_exact=is_exact,
        intra_only=stream.codec_context.codec.intra_only,
        resolution_s=pyav.seconds(1, stream.time_base) or 0.001,
        delay=stream.codec_context.has_b_frames,
    )
    if header.format == "avi":
        _read_table(header, stream)
    if header.rate is not None:
        if header.duration_s is not None and header.format in _TO_THE_LAST_FRAME:
            header.duration_s += float(1 / header.rate)
        if header.frames is None and header.duration_s is not None:
            header.frames = max(1, round(header.duration_s * header.rate))
        if header.duration_s is None and header.frames is not None:
            header.duration_s = float(header.frames / header.rate)
    return header


def _read_table(header: FilmHeader, stream: VideoStream) -> None:
    """Read an avi's index and count by it: the header counts frames that a recorder left out, too.

    An index of far fewer packets than the header has is none: FFmpeg made it of what it has read.
    """
    table = [
        (entry.pos + _CHUNK_HEADER, pyav.seconds(entry.timestamp, stream.time_base) or 0.0)
        for entry in stream.index_entries
    ]
    if header.rate is None or len(table) < 2 or 2 * len(table) < header.announced:
        return
    beats = [round((later - earlier) * header.rate) for (_, earlier), (_, later) in pairwise(table)]
    header.table, header.frames = table, len(table)
    beat = sorted(beats)[len(beats) // 2]
    if beat > 1 and beats.count(beat) >= 0.9 * len(beats):
        header.rate /= beat
    else:
        header.skipped = max(0, sum(beats) - len(beats))


def _duration(container: InputContainer, stream: VideoStream) -> tuple[float | None, bool]:
    """Return the duration in seconds and whether it is the video's own."""
    own = pyav.seconds(stream.duration, stream.time_base)
    if own:
        # A RealMedia file with sound says of all streams how long it is itself.
        return own, container.format.name != "rm" or len(container.streams) == 1
    if match := _DURATION_TAG.match(stream.metadata.get("DURATION", "")):
        return int(match[1]) * 3600 + int(match[2]) * 60 + float(match[3]), True
    if container.duration:
        return container.duration / av.time_base, len(container.streams) == 1
    return None, False


def first_frame(
    container: InputContainer, stream: VideoStream, name: str, header: FilmHeader
) -> tuple[VideoFrame, bytes]:
    """Return the first frame that can be decoded, and the data of the first packet.

    Notes in the header whether packets before it should have given one. InputError if nothing in
    the file can be decoded.
    """
    pyav.prepare(stream, threads=1, strict=False)
    reason, first, silent = "", b"", 0
    packets = pyav.demux(container, stream)
    while True:
        try:
            packet = next(packets, None)
            if packet is None:
                break
            if packet.size == 0 and not pyav.is_flush(packet):
                continue
            first = first or bytes(packet)
            silent += pyav.is_picture(header.codec, packet.size) and not packet.is_discard
            for frame in pyav.decode(packet):
                if not frame.is_corrupt:
                    # Each packet may be half of a frame.
                    late = silent > 2 * (stream.codec_context.has_b_frames + 1) + 1
                    header.begins_silently = late and header.has_beginning
                    return frame, first
        except FFmpegError as error:
            reason = reason or f" ({pyav.error_reason(error)})"
    message = f"{name}: no frame can be decoded{reason}"
    raise InputError(f"{message}; the file is empty, cut off or damaged")


class Pace(NamedTuple):
    """How the frames of a video follow each other.

    `step_s` is None if the rate varies; `missing` counts the frames that timestamps leave out.
    Frames are not numbered by timestamps (`gives_numbers`) in a recording that was interrupted for
    longer than it lasts.
    """

    step_s: float | None
    missing: int = 0
    gives_numbers: bool = False


def has_stamps(form: str) -> bool:
    """Return whether timestamps of FFmpeg's format tell how many frames are missing."""
    return form not in _WITHOUT_STAMPS | _OF_VARIABLE_RATE


def pace_of(stamps: Sequence[float] | NDArray[np.float64], resolution_s: float = 0.001) -> Pace:
    """Find out whether timestamps, rounded to a resolution, are those of a constant rate.

    Examples
    --------
    >>> pace_of([0.0, 0.04, 0.08, 0.12, 0.16, 0.28, 0.32])
    Pace(step_s=0.04, missing=2, gives_numbers=True)
    >>> pace_of([0.0, 0.04, 0.08, 0.5, 0.54, 2.0])
    Pace(step_s=None, missing=0, gives_numbers=False)
    """
    steps = np.diff(np.unique(np.asarray(stamps, dtype=np.float64)))
    if steps.size < 2:
        return Pace(None)
    step = float(np.median(steps))
    single = np.abs(steps - step) <= _TOLERANCE * step + resolution_s
    if single.mean() < _STEADY_SHARE:
        return Pace(None)
    step = float(steps[single].mean())  # of 33 and 34 ms
    counts = np.rint(steps / step)
    away = np.abs(steps - counts * step)
    if np.any(counts < 1) or np.any(away > _TOLERANCE * step + resolution_s):
        return Pace(None)
    missing = int(counts.sum()) - steps.size
    return Pace(round(step, 9), missing, missing <= steps.size + 1)


class Clock:
    """Turns timestamps into times of frames: 0 at the first, and always increasing.

    Without timestamps they follow each other at the rate.
    """

    def __init__(self, rate: Fraction | None) -> None:
        self._step = float(1 / rate) if rate else 0.04
        self._origin: float | None = None
        self._last: float | None = None
        self._stamped = self._seen_step = math.inf

    @property
    def end_s(self) -> float:
        """When the frame read last ends."""
        step = self._step if math.isinf(self._seen_step) else self._seen_step
        return 0.0 if self._last is None else self._last + step

    def read(self, stamp_s: float | None) -> float:
        """Return the time of the next frame from its timestamp in seconds, if it has one."""
        if stamp_s is None:
            time_s = self.end_s
        else:
            if self._origin is None:
                self._origin = stamp_s - self.end_s
            # Rates in headers may be twice those of the frames.
            if 0 < stamp_s - self._stamped < self._seen_step:
                self._seen_step = stamp_s - self._stamped
            self._stamped = stamp_s
            time_s = round(stamp_s - self._origin, 9)
            if self._last is not None and not self._last < time_s <= self._last + _LEAP_S:
                if abs(self._last - time_s) > RESTART_S:
                    self._origin = stamp_s - self.end_s
                    time_s = self.end_s
                else:
                    time_s = self._last + self._step / 2
        self._last = time_s = round(time_s, 9)
        return time_s
