"""Write frames as H.264 or FFV1 video files, folders of PNG images or Zarr arrays.

H.264 (``mp4``) is for looking at results: it plays in browsers and is made cheaply. FFV1 (``mkv``)
is for computing with them: reading it back gives the same bytes.

x264's ``ultrafast`` takes half the time of ``superfast`` and a third of ``veryfast`` for
background, foreground and mask of a street of 1280×720 at crf 20, at better PSNR and a quarter more
bytes. Deblocking keeps dark, flat backgrounds free of visible blocks, the 8×8 transform makes the
stream High profile, and without B-frames and lookahead an encoder holds few frames.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import math
import queue
import shutil
import threading
from abc import ABC, abstractmethod
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, cast

import av
import cv2
import numpy as np
from av.container import OutputContainer
from av.packet import Packet
from av.video.frame import PictureType, VideoFrame
from av.video.stream import VideoStream
from numpy.typing import NDArray

from bgsub.errors import InputError, OutputError, plural, was_or_were, writing
from bgsub.video import pyav
from bgsub.video.arrays import check_zarr
from bgsub.video.frames import Bytes, Layout
from bgsub.video.images import Image, read_image, write_image

_log = logging.getLogger(__name__)

VideoKind = Literal["mp4", "mkv"]
SinkKind = Literal["mp4", "mkv", "png", "zarr"]
Pixels = Literal["gray", "gray16", "yuv420", "bgr"]

#: What to append to a result's name; PNG pictures live in a directory of that name.
SUFFIXES: dict[SinkKind, str] = {"mp4": ".mp4", "mkv": ".mkv", "png": "", "zarr": ".zarr"}

# FFmpeg's pixel formats in which FFV1 holds each kind of pixels without loss.
_FFV1_FORMATS = {"gray": "gray", "gray16": "gray16le", "bgr": "bgr0", "yuv420": "yuv420p"}
_H264_OPTIONS = {"preset": "ultrafast", "crf": "20", "profile": "high"}
_H264_OPTIONS["x264-params"] = "8x8dct=1:deblock=0,0"
# Version 3 with a checksum per slice; Golomb-Rice codes are the fast ones, and for 16 bits FFmpeg
# takes a range coder instead.
_FFV1_OPTIONS = {"level": "3", "coder": "rice", "slicecrc": "1"}
# Slices let several threads share a frame. FFmpeg refuses them for frames with a side of a few
# pixels and for 4:2:0 of odd size, so those are not divided.
_FFV1_SLICES, _FFV1_SLICED_SIDE = 4, 64

# ITU-T H.273 code points.
_LIMITED, _FULL = 1, 2
_BT709, _SMPTE170M = 1, 6

_CHUNK_BYTES = 4 << 20
_AXES = ("frame", "y", "x", "channel")
_QUEUE_FRAMES = 8
_DEFAULT_RATE = Fraction(25)  # where nobody knows it, as image sequences are commonly played
# MP4 has 32 bits for the time from one frame to the next: 20 hours and more. A step beyond that is
# no time of a recording but a damaged timestamp.
_LONGEST_STEP = 2**31 - 1
_PATIENCE_S = 30.0  # a frame takes milliseconds, but where a file system has stopped answering


def open_container(path: Path, kind: VideoKind, *, title: str = "") -> OutputContainer:
    """Open a video file for writing; FFmpeg may refuse as late as the first packet."""
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

        No time, or one that does not advance or jumps by a day, means one frame interval later.
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
    """Count a video's packets, and decode the first and the last ones; OutputError if it fails."""
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
        reason = getattr(error, "strerror", None) or error
        message = f"{path}: cannot be read back after writing ({reason})"
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
        message = f"{path}: holds {plural(found, 'frame')} where {expected} {was_or_were(expected)}"
        raise OutputError(f"{message} written; check the disk and run again")


def writing_to(path: Path, *kinds: type[Exception]) -> contextlib.AbstractContextManager[None]:
    """Turn errors of FFmpeg, the system and some kinds into that of a result not written."""
    advice = "free some space, or choose another place with --out or another --format"
    return writing(path, advice, kinds=(av.FFmpegError, *kinds))


def _split(frame: Image, layout: Layout) -> tuple[Pixels, tuple[Image, ...]]:
    """Return what a frame is and its planes: (Y,), (Y, U, V) or (BGR,), without a copy."""
    if frame.dtype == np.uint16 and frame.ndim == 2 and frame.size:
        return "gray16", (frame,)
    if frame.dtype != np.uint8:
        raise ValueError(f"expected a frame of uint8, or a grey one of uint16, not {frame.dtype}")
    frame = frame.astype(np.uint8, copy=False)
    if frame.ndim == 1:
        if frame.size != layout.size:
            raise ValueError(f"expected a vector of {layout.size} bytes, not of {frame.size}")
        planes = layout.planes(frame)
        return layout.kind, planes[1:] if layout.kind == "bgr" else planes
    if frame.ndim == 2 and frame.size:
        return "gray", (frame,)
    if frame.ndim == 3 and frame.shape[2] == 3 and frame.size:
        return "bgr", (frame,)
    raise ValueError(f"expected a vector, (h, w) or (h, w, 3), not an array of {frame.shape}")


def _as_picture(frame: Image, layout: Layout) -> Image:
    """Return a frame as one picture, grey of 8 or 16 bits or BGR."""
    pixels, planes = _split(frame, layout)
    if pixels == "yuv420":
        return layout.to_bgr(frame.astype(np.uint8, copy=False))
    return planes[0]


def _h264_frame(pixels: Pixels, planes: tuple[Image, ...]) -> VideoFrame:
    """Make a limited-range yuv420p frame of even size from full-range planes, see `_split`.

    Odd sizes are continued by their last row and column. Colours of ``bgr`` are averaged over 2×2
    pixels, at half of swscale's cost (OpenCV's own conversion to I420 takes one pixel of four,
    which makes thin coloured edges flicker). ValueError for pictures of 16 bits.
    """
    if pixels == "gray16":
        raise ValueError("H.264 has no room for 16 bits; write mkv or png")
    parts = [plane.astype(np.uint8, copy=False) for plane in planes]
    luma, chroma = parts[0], parts[1:]
    height, width = luma.shape[:2]
    frame = VideoFrame(width + width % 2, height + height % 2, "yuv420p")
    views = _plane_views(frame)
    if pixels == "bgr":
        odd = (0, height % 2, 0, width % 2)
        even = cv2.copyMakeBorder(luma, *odd, cv2.BORDER_REPLICATE) if any(odd) else luma
        half = (even.shape[1] // 2, even.shape[0] // 2)
        small = cv2.resize(even, half, interpolation=cv2.INTER_AREA)
        converted = np.asarray(cv2.cvtColor(small, cv2.COLOR_BGR2YCrCb), np.uint8)
        luma = cv2.cvtColor(luma, cv2.COLOR_BGR2GRAY).astype(np.uint8, copy=False)
        chroma = [converted[:, :, 2].copy(), converted[:, :, 1].copy()]
    # A third of the time of a lookup; both are rounded.
    cv2.convertScaleAbs(luma, dst=views[0][:height, :width], alpha=219 / 255, beta=16)
    views[0][:height, width:] = views[0][:height, width - 1 : width]
    views[0][height:] = views[0][height - 1]
    for view in () if chroma else views[1:]:
        view[...] = 128
    for view, plane in zip(views[1:], chroma, strict=False):
        cv2.convertScaleAbs(plane, dst=view, alpha=224 / 255, beta=128 - 128 * 224 / 255)
    return frame


def _ffv1_frame(pixels: Pixels, planes: tuple[Image, ...]) -> VideoFrame:
    """Make a frame for the FFV1 encoder that holds exactly the given values, see `_split`."""
    height, width = planes[0].shape[:2]
    frame = VideoFrame(width, height, _FFV1_FORMATS[pixels])
    if pixels == "bgr":
        cv2.cvtColor(planes[0], cv2.COLOR_BGR2BGRA, dst=_plane_views(frame, channels=4)[0])
    elif pixels == "gray16":
        _plane_views(frame, channels=2)[0].view("<u2")[:, :, 0] = planes[0]
    else:
        for plane, view in zip(planes, _plane_views(frame), strict=True):
            view[...] = plane
    return frame


def _plane_views(frame: VideoFrame, *, channels: int = 1) -> list[Bytes]:
    """Return writable views of a frame's planes, which must outlive them, without padding."""
    views: list[Bytes] = []
    for plane in frame.planes:
        shape = (plane.height, plane.line_size) if channels == 1 else (plane.height, -1, channels)
        rows: Bytes = np.frombuffer(memoryview(plane), np.uint8).reshape(shape)
        views.append(rows[:, : plane.width])
    return views


def find_written(folder: Path, name: str) -> Path | None:
    """Return what a sink wrote under a name, in whatever format; None if there is nothing."""
    places = (folder / f"{name}{suffix}" for suffix in SUFFIXES.values())
    return next((place for place in places if place.exists()), None)


class FrameSink(ABC):
    """Takes the frames of one result; `padded` says whether odd sizes became even (mp4 only)."""

    def __init__(self, path: Path, name: str, layout: Layout) -> None:
        self.name, self.path = name, path
        self.padded, self.count = False, 0
        self._layout = layout

    def write(self, frame: Image, time_s: float | None = None) -> None:
        """Add a frame; its bytes are copied.

        A vector in the layout, an (h, w) grey or an (h, w, 3) BGR picture; all frames of a video
        alike. Grey pictures may have 16 bits where the format is lossless. Without a time it comes
        one frame interval after the one before. ValueError if it does not fit.
        """
        with writing_to(self.path):
            self._write(frame, time_s)

    def close(self) -> int:
        """Finish, read the result again and return its number of frames, which is that written."""
        if self.count == 0:
            raise OutputError(f"{self.path}: no frame was written to it; select some frames")
        with writing_to(self.path):
            self._finish()
        return self.count

    def abort(self) -> None:
        """Remove what was written. Never raises; does no harm when called twice or after close."""
        with contextlib.suppress(OSError):
            self._remove()

    def _make_folder(self) -> None:
        with writing_to(self.path):
            self.path.mkdir(exist_ok=True)
            if any(self.path.iterdir()):
                message = f"{self.path}: the directory is not empty"
                raise OutputError(f"{message}; empty it or choose another")

    @abstractmethod
    def _write(self, frame: Image, time_s: float | None) -> None:
        """Write a frame and count it."""

    @abstractmethod
    def _finish(self) -> None:
        """Finish the result and check it."""

    @abstractmethod
    def _remove(self) -> None:
        """Remove what was written."""


class PngSink(FrameSink):
    """Writes a directory of numbered PNG pictures; the first and the last are read again."""

    def __init__(self, path: Path, name: str, layout: Layout) -> None:
        super().__init__(path, name, layout)
        self._make_folder()

    def _file(self, number: int) -> Path:
        return self.path / f"{number:06d}.png"

    def _write(self, frame: Image, time_s: float | None) -> None:  # noqa: ARG002 - contract
        picture = _as_picture(frame, self._layout)
        self.count += 1  # before writing, so that abort removes half a file too
        write_image(self._file(self.count), picture)

    def _finish(self) -> None:
        files = map(self._file, range(1, self.count + 1))
        found = sum(file.exists() and file.stat().st_size > 0 for file in files)
        check_count(self.path, found, self.count)
        for number in {1, self.count}:
            try:
                read_image(self._file(number))
            except InputError as error:
                raise OutputError(f"cannot be read back after writing: {error}") from error

    def _remove(self) -> None:
        for number in range(1, self.count + 1):
            self._file(number).unlink(missing_ok=True)
        self.path.rmdir()


def begin_zarr(
    folder: Path, shape: tuple[int, ...], dtype: Any, chunk: int, names: dict[str, Any]
) -> Any:
    """Begin an array of frames, so many in a chunk, in the version 2 that every reader knows."""
    import zarr

    return zarr.create_array(
        store=str(folder),
        shape=(0, *shape),
        chunks=(chunk, *shape),
        dtype=dtype,
        zarr_format=2,
        attributes=names,
        config={"write_empty_chunks": True},  # one that is missing was lost
        overwrite=True,
    )


class ZarrSink(FrameSink):
    """Writes a Zarr array of frames, (n, h, w) or (n, h, w, 3) in RGB, in one folder of chunks."""

    def __init__(self, path: Path, name: str, layout: Layout) -> None:
        super().__init__(path, name, layout)
        self._array: Any = None
        self._waiting: list[NDArray[Any]] = []
        check_zarr("--format zarr")
        self._make_folder()

    def _write(self, frame: Image, time_s: float | None) -> None:  # noqa: ARG002 - contract
        picture = _as_picture(frame, self._layout)
        if picture.ndim == 3:
            picture = cast("Image", cv2.cvtColor(picture, cv2.COLOR_BGR2RGB))
        if self._array is None:
            names = {"_ARRAY_DIMENSIONS": list(_AXES[: picture.ndim + 1]), "title": self.name}
            chunk = max(1, _CHUNK_BYTES // picture.nbytes)
            self._array = begin_zarr(self.path, picture.shape, picture.dtype, chunk, names)
        elif picture.shape != self._array.shape[1:] or picture.dtype != self._array.dtype:
            raise ValueError(f"{self.path}: expected frames like the first, not {picture.shape}")
        self._waiting.append(picture.copy())
        self.count += 1
        if len(self._waiting) == self._array.chunks[0]:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._array.append(np.stack(self._waiting))
        self._waiting.clear()

    def _finish(self) -> None:
        """Count the chunks, and unpack the first and the last."""
        import zarr

        self._flush()
        with writing_to(self.path, ValueError, RuntimeError):  # each codec has errors of its own
            written = zarr.open_array(store=str(self.path), mode="r", zarr_format=2)
            chunks = sum(entry.name[0] != "." for entry in self.path.iterdir())
            found = written.shape[0] if chunks == written.nchunks else 0
            check_count(self.path, found, self.count)
            for place in (0, self.count - 1):
                written[place]

    def _remove(self) -> None:
        self._waiting.clear()
        shutil.rmtree(self.path)


class VideoSink(FrameSink):
    """Writes one video file.

    When it is closed, every packet is read and counted, and the first and the last frame are
    decoded. Decoding all would cost more than half of what encoding did, and find hardly more: the
    container's index says how long each packet is, and a codec decodes what it encoded.
    """

    def __init__(
        self,
        path: Path,
        name: str,
        layout: Layout,
        kind: VideoKind,
        rate: Fraction | None,
        threads: int,
    ) -> None:
        super().__init__(path, name, layout)
        self._kind: VideoKind = kind
        self._threads = max(1, threads)
        self._clock = FrameClock(rate, kind)
        self._form: tuple[Pixels, int, int] | None = None
        self._container: OutputContainer | None = None
        self._held: VideoFrame | None = None
        with writing_to(path):  # FFmpeg opens the file at the first packet: too late to hear of it
            path.open("wb").close()

    def _write(self, frame: Image, time_s: float | None) -> None:
        """Encode the frame before and keep this one, as the last frame is to become a keyframe."""
        pixels, planes = _split(frame, self._layout)
        form = (pixels, *planes[0].shape[:2])
        if self._form not in {None, form}:
            message = f"{self.path}: expected frames like the first, {self._form}, not {form}"
            raise ValueError(message)
        picture = (_h264_frame if self._kind == "mp4" else _ffv1_frame)(pixels, planes)
        if self._container is None:
            self.padded = (picture.height, picture.width) != form[1:]
            self._container = open_container(self.path, self._kind, title=self.name)
            try:
                self._add_stream(self._container, picture.width, picture.height, pixels)
            except av.codec.codec.UnknownCodecError as error:
                message = f"{self.path}: this PyAV has no encoder for {self._kind} ({error})"
                advice = "install PyAV's own wheel (pip install av) or use --format png"
                raise OutputError(f"{message}; {advice}") from error
        picture.pts = self._clock.tick(time_s)
        picture.time_base = self._clock.time_base
        if self._held is not None:
            self._encode(self._held)
        self._held, self._form = picture, form
        self.count += 1

    def _add_stream(
        self, container: OutputContainer, width: int, height: int, pixels: Pixels
    ) -> None:
        """Begin to encode, with tags by which players show the input's colours."""
        is_h264, rate = self._kind == "mp4", self._clock.rate
        if is_h264:
            stream = container.add_stream("libx264", rate=rate, options=dict(_H264_OPTIONS))
            stream.pix_fmt = "yuv420p"
        else:
            odd = pixels == "yuv420" and (width % 2 or height % 2)
            slices = 1 if odd or min(width, height) < _FFV1_SLICED_SIDE else _FFV1_SLICES
            options = {**_FFV1_OPTIONS, "slices": str(slices)}
            stream = container.add_stream("ffv1", rate=rate, options=options)
            stream.pix_fmt = _FFV1_FORMATS[pixels]
        stream.width, stream.height = width, height
        codec = stream.codec_context
        codec.time_base = self._clock.time_base
        # Every FFV1 frame stands alone: about 1 % larger, and readable from anywhere. A player can
        # jump to a keyframe only, so these come every two seconds.
        codec.gop_size = max(10, min(120, round(2 * rate))) if is_h264 else 1
        codec.thread_count = self._threads
        codec.thread_type = "FRAME" if is_h264 else "SLICE"
        codec.color_range = _LIMITED if is_h264 else _FULL
        if pixels == "yuv420":
            standard = _BT709 if self._layout.matrix == "bt709" else _SMPTE170M
            codec.colorspace = codec.color_primaries = codec.color_trc = standard
        elif is_h264:  # a picture's own colours are sRGB's; only our conversion to YUV is BT.601
            codec.colorspace = _SMPTE170M
            codec.color_primaries = codec.color_trc = _BT709

    def _encode(self, picture: VideoFrame | None) -> None:
        if self._container is not None:
            self._container.mux(self._container.streams.video[0].encode(picture))

    def _finish(self) -> None:
        if self._held is not None:
            # A keyframe is decoded alone, which makes checking it cheap, and so is jumping to the
            # end in a player.
            self._held.pict_type = PictureType.I
            self._encode(self._held)
            self._held = None
        self._encode(None)
        if self._container is not None:
            self._container.close()
        self._container = None
        check_count(self.path, count_frames(self.path), self.count)

    def _remove(self) -> None:
        self._held = None
        if self._container is not None:
            with contextlib.suppress(av.FFmpegError, OSError):
                self._container.close()
            self._container = None
        self.path.unlink()


def open_sink(
    path: Path,
    name: str,
    *,
    layout: Layout,
    kind: SinkKind,
    rate: Fraction | None = None,
    threads: int = 1,
) -> FrameSink:
    """Open a sink that writes a file (mp4, mkv), or an empty directory (png, zarr); OutputError.

    Flat vectors are in the layout; pictures may have any size: the first decides. The name becomes
    the title of a video, whose nominal rate is 25 when not known. The colours of ``yuv420`` vectors
    reach H.264 without a colour conversion, FFV1 gives back the same bytes. Sinks are not
    thread-safe; `QueuedSink` gives one a thread of its own.
    """
    if kind in {"mp4", "mkv"}:
        return VideoSink(path, name, layout, kind, rate, threads)
    if kind == "png":
        return PngSink(path, name, layout)
    return ZarrSink(path, name, layout)


class QueuedSink:
    """Hands frames to another sink through a bounded queue and one thread.

    A frame is handed over, not copied: **do not modify an array after it was written**. An error of
    the sink is raised by the next ``write`` and by ``close``. Its caller is one thread at a time.
    Several sinks finish at the same time when ``finish`` of all is called before one is closed.
    """

    def __init__(self, sink: FrameSink, queue_frames: int = _QUEUE_FRAMES) -> None:
        self.name, self.path = sink.name, sink.path
        self._sink = sink
        self._waiting: queue.Queue[tuple[Image, float | None] | None] = queue.Queue(queue_frames)
        self._is_closing = self._is_aborted = False
        self._ended = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name=f"bgsub-{sink.name}", daemon=True)
        self._thread.start()

    @property
    def padded(self) -> bool:
        """Whether frames were continued to an even size, as far as they are written."""
        return self._sink.padded

    def write(self, frame: Image, time_s: float | None = None) -> None:
        """Queue a frame, waiting while the queue is full; raises what an earlier one raised."""
        if self._error is not None:
            raise self._error
        if self._is_closing:
            raise ValueError(f"{self.path}: the sink is closed")
        self._waiting.put((frame, time_s))

    def finish(self) -> None:
        """Let the thread finish the file when the queue is empty; returns at once."""
        if not self._is_closing:
            self._is_closing = True
            self._waiting.put(None)

    def close(self) -> int:
        """Write what waits, finish and check the file; see `FrameSink.close`."""
        self.finish()
        # Not `Thread.join` alone: up to Python 3.12 a thread counts as dead once a Ctrl-C has
        # interrupted that, whatever it is still writing.
        self._ended.wait()
        self._thread.join()
        if self._error is not None:
            raise self._error
        if self._is_aborted:
            raise ValueError(f"{self.path}: the sink was aborted")
        return self._sink.count

    def abort(self) -> None:
        """Forget what waits, end the thread and remove what was written; never raises."""
        self._is_aborted = self._is_closing = True
        with contextlib.suppress(queue.Empty):
            while True:
                self._waiting.get_nowait()
        self._waiting.put(None)  # there is room: nobody else writes
        if self._ended.wait(_PATIENCE_S):
            self._thread.join()
            self._sink.abort()
        else:  # the thread still writes: only it can clear up safely
            _log.warning("%s: its writer does not answer; the file may be left behind", self.path)

    def _work(self) -> None:
        """Write what comes, up to the end; after an error, what comes is only taken."""
        while (item := self._waiting.get()) is not None:
            try:
                if not (self._error or self._is_aborted):
                    self._sink.write(*item)
            except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
                self._error = error
            del item  # or the frame would be held while waiting for the next
        try:
            if not (self._error or self._is_aborted):
                self._sink.close()
        except BaseException as error:  # noqa: BLE001 - as above
            self._error = error
        if self._is_aborted:  # perhaps nobody waits any more
            self._sink.abort()
        self._ended.set()  # only now: then another thread may use the sink
