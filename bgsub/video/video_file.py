"""Read video files through PyAV, which carries FFmpeg."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import av
from av.container import InputContainer
from av.error import FFmpegError
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from bgsub.errors import InputError
from bgsub.video import pixels, pyav
from bgsub.video.base import BaseSource, Item, Options
from bgsub.video.decoding import Clock, Damage, Decoder

_TEXT_CODECS = {"ansi", "bintext", "idf", "xbin"}  # FFmpeg draws text as a terminal would
_DURATION_TAG = re.compile(r"(\d+):(\d+):(\d+(?:\.\d+)?)")
# Formats that begin with their duration; for others FFmpeg works it out from what is there.
_ANNOUNCING = {"matroska,webm", "flv", "asf"}
# Threads report an error only when frames behind the bad one have come out, up to as many as there
# are threads and a few more: so many are held back.
_LATE_ERRORS = 4
_MAX_THREADS = 16
_MAX_RATE = 1000  # what files say beyond it is the resolution of their clock


class VideoFileSource(BaseSource):
    """The frames of a video file, decoded by FFmpeg on `threads` threads.

    Parameters
    ----------
    path : Path
    options : Options

    Raises
    ------
    InputError
        If nothing in the file can be decoded.
    """

    kind = "video"

    def __init__(self, path: Path, options: Options) -> None:
        super().__init__(path.name, str(path), options)
        self._file = path
        self._is_damaged = False
        with self._open() as container:
            stream = self._video_stream(container)
            self._describe(container, stream)
            frame = self._first_frame(container, stream)
        self.pixel_format = frame.format.name
        self._native_size = (frame.width, frame.height)
        self._plan(
            self._native_size,
            pixels.native_kind(frame),
            orientation=pixels.orientation(frame),
            matrix=pixels.matrix(frame),
        )
        self._maker = pixels.PictureMaker(self.layout)

    @contextmanager
    def _open(self) -> Iterator[InputContainer]:
        with ExitStack() as stack:
            try:
                container = stack.enter_context(pyav.open_input(self._file))
            except (FFmpegError, ValueError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                message = f"{self.name}: is not a video that can be read ({reason})"
                raise InputError(f"{message}; check that it is complete and plays") from error
            yield container

    def _video_stream(self, container: InputContainer) -> VideoStream:
        stream = container.streams.best("video")
        if not isinstance(stream, VideoStream):
            raise InputError(f"{self.name}: holds no video; give a video file or images")
        if stream.codec_context is None:
            message = f"{self.name}: its codec is unknown to FFmpeg"
            raise InputError(f"{message}; convert it to H.264 or FFV1")
        if stream.codec_context.name in _TEXT_CODECS:
            raise InputError(f"{self.name}: is a text, not a video; give a video file or images")
        return stream

    def _describe(self, container: InputContainer, stream: VideoStream) -> None:
        self.codec = stream.codec_context.name
        self._format = container.format.name
        rate = pyav.fraction(stream.average_rate or stream.guessed_rate)
        self.rate = rate if rate is not None and 0 < rate <= _MAX_RATE else None
        self._packets_announced = stream.frames
        self.input_frames = stream.frames or None
        self.duration_s, self._duration_is_exact = _duration(container, stream)
        if self.rate is not None:
            if self.input_frames is None and self.duration_s is not None:
                self.input_frames = max(1, round(self.duration_s * self.rate))
            if self.duration_s is None and self.input_frames is not None:
                self.duration_s = float(self.input_frames / self.rate)

    def _first_frame(self, container: InputContainer, stream: VideoStream) -> VideoFrame:
        reason = ""
        for event in Decoder(container, stream, threads=1):
            if isinstance(event, Damage):
                reason = reason or f" ({event.reason})"
            elif not event.is_corrupt:
                return event
        message = f"{self.name}: no frame can be decoded{reason}"
        raise InputError(f"{message}; the file is empty, cut off or damaged")

    def _items(self, notes: list[str]) -> Generator[Item, None, None]:
        given = 0
        threads = self.options.threads or min(_available_processors() + 1, _MAX_THREADS)
        if threads != 1 and not self._is_damaged:
            held: deque[Item] = deque()
            for item in self._decode(threads, notes):
                if item is None:
                    # What several threads make of damage depends on their number: from here on
                    # it is done again on one, which takes longer and loses no good frame.
                    self._is_damaged = True
                    break
                held.append(item)
                if len(held) > threads + _LATE_ERRORS:
                    given += 1
                    yield held.popleft()
            else:
                yield from held
                return
        for item in self._decode(1, notes):
            if item is not None and item.number > given:
                yield item

    def _decode(self, threads: int, notes: list[str]) -> Generator[Item | None, None, None]:
        """Give the frames; None stands for damage that is known of but is no frame."""
        clock = Clock(self.rate, by_decoding_order=self._format == "avi")
        number = good = 0
        with self._open() as container:
            decoder = Decoder(container, self._video_stream(container), threads)
            for event in decoder:
                bad = isinstance(event, Damage) or event.is_corrupt
                if (bad and threads != 1) or (isinstance(event, Damage) and not event.is_frame):
                    yield None
                    continue
                number += 1
                good += not bad
                yield self._item(number, event, clock.read(event))
        if self._falls_short(decoder):
            notes.append(
                f"decoded {good} of about {self.input_frames} frames: "
                "the file is cut off or damaged"
            )
        elif decoder.is_damaged or self._lacks_its_end(decoder.position):
            notes.append(f"decoded {good} frames: the file is cut off or damaged")

    def _item(self, number: int, event: VideoFrame | Damage, time_s: float) -> Item:
        if isinstance(event, Damage):
            return Item(number, time_s, None, event.reason)
        if event.is_corrupt:
            return Item(number, time_s, None, "its data are damaged")
        width, height = event.width, event.height
        if (width, height) != self._native_size:
            expected = "{}×{}".format(*self._native_size)
            return Item(number, time_s, None, f"its size is {width}×{height}, not {expected}")
        return Item(number, time_s, partial(self._maker.make, event))

    def _falls_short(self, decoder: Decoder) -> bool:
        """Whether clearly less was found than the file's header announces."""
        if self._packets_announced:
            slack = max(1, self._packets_announced // 100)
            return decoder.packets < self._packets_announced - slack
        if self.duration_s is None or self.rate is None or self._format not in _ANNOUNCING:
            return False
        slack_s = 0.01 * self.duration_s + 2 / float(self.rate)
        if not self._duration_is_exact:  # that of the whole file, in which sound may go on longer
            slack_s = max(1.0, 0.1 * self.duration_s)
        return decoder.end_s < self.duration_s - slack_s

    def _lacks_its_end(self, position: int | None) -> bool:
        """Whether a file of a kind that announces nothing does not end as it must."""
        size = self._file.stat().st_size
        if self._format == "yuv4mpegpipe":  # pictures of one size, the last one incomplete
            return position is not None and position < size
        if self._format != "gif":
            return False
        with self._file.open("rb") as file:
            file.seek(max(0, size - 64))
            return not file.read().rstrip(b"\0").endswith(b";")


def _available_processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _duration(container: InputContainer, stream: VideoStream) -> tuple[float | None, bool]:
    """Give the duration in seconds and whether it is the video's own."""
    own = pyav.seconds(stream.duration, stream.time_base)
    if own:
        return own, True
    if match := _DURATION_TAG.match(stream.metadata.get("DURATION", "")):
        return int(match[1]) * 3600 + int(match[2]) * 60 + float(match[3]), True
    if container.duration:
        return container.duration / av.time_base, len(container.streams) == 1
    return None, False
