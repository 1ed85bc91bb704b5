"""Write frames as H.264 or FFV1 video files, folders of PNG images or Zarr arrays."""

from __future__ import annotations

import contextlib
import errno
import shutil
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

from bgsub.errors import InputError, OutputError
from bgsub.video import encode, pyav
from bgsub.video.encode import Pixels, as_picture, ffv1_frame, h264_frame, split
from bgsub.video.frames import Layout
from bgsub.video.images import Image, read_image, write_image
from bgsub.video.zarr_store import check_zarr

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
        message = f"{path}: cannot be read back after writing ({_reason(error)})"
        raise OutputError(f"{message}; check the disk and run again") from error
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
        message = f"{path}: holds {found} frames where {expected} were written"
        raise OutputError(f"{message}; check the disk and run again")


def output_error(path: Path, error: Exception) -> OutputError:
    """Return an error that names the file, why it could not be written, and what to do."""
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


SinkKind = Literal["mp4", "mkv", "png", "zarr"]

#: What to append to a result's name; PNG pictures live in a directory of that name.
SUFFIXES: dict[SinkKind, str] = {"mp4": ".mp4", "mkv": ".mkv", "png": "", "zarr": ".zarr"}


def find_written(folder: Path, name: str) -> Path | None:
    """Return what a sink wrote under a name, in whatever format; None if there is nothing."""
    places = (folder / f"{name}{suffix}" for suffix in SUFFIXES.values())
    return next((place for place in places if place.exists()), None)


class FrameSink(ABC):
    """Takes the frames of one result, in order.

    Attributes
    ----------
    name : str
        What the result is: "background", "mask", …
    path : Path
        The file or directory that is written.
    padded : bool
        Whether frames of odd size were continued to an even one (mp4 only).
    count : int
        Frames written so far.
    """

    def __init__(self, path: Path, name: str, layout: Layout) -> None:
        self.name, self.path = name, path
        self.padded, self.count = False, 0
        self._layout = layout
        self._state: Literal["open", "complete", "failed"] = "open"

    def write(self, frame: Image, time_s: float | None = None) -> None:
        """Add a frame; its bytes are copied.

        Parameters
        ----------
        frame : ndarray of uint8
            A vector in the layout, an (h, w) grey or an (h, w, 3) BGR picture; all frames of a
            video alike. Grey pictures may have 16 bits where the format is lossless.
        time_s : float, optional
            Time of the frame in the input; None means one frame interval after the one before.

        Raises
        ------
        OutputError
            If the file cannot be written.
        ValueError
            If the frame does not fit the layout, the format or the frames before, or the sink is
            closed.
        """
        if self._state != "open":
            raise ValueError(f"{self.path}: the sink is closed")
        self._write(frame, time_s)

    def close(self) -> int:
        """Finish, read the result again and return its number of frames, which is that written.

        Raises
        ------
        OutputError
            If it cannot be finished or does not hold the frames that were written. What is there is
            left for `abort` to remove.
        ValueError
            If the sink was aborted, or closing it has failed before.
        """
        if self._state == "failed":
            raise ValueError(f"{self.path}: the sink was aborted or could not be closed")
        if self._state == "open":
            self._state = "failed"
            if self.count == 0:
                raise OutputError(f"{self.path}: no frame was written to it; select some frames")
            self._finish()
            self._state = "complete"
        return self.count

    def abort(self) -> None:
        """Remove what was written. Never raises; does no harm when called twice or after close."""
        self._state = "failed"
        with contextlib.suppress(OSError):
            self._remove()

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
        make_empty_folder(path)

    def _file(self, number: int) -> Path:
        return self.path / f"{number:06d}.png"

    def _write(self, frame: Image, time_s: float | None) -> None:  # noqa: ARG002 - contract
        picture = as_picture(frame, self._layout)
        self.count += 1  # before writing, so that abort removes half a file too
        write_image(self._file(self.count), picture)

    def _finish(self) -> None:
        found = 0
        for number in range(1, self.count + 1):
            with contextlib.suppress(OSError):
                found += self._file(number).stat().st_size > 0
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


_CHUNK_BYTES = 4 << 20
_AXES = ("frame", "y", "x", "channel")


class ZarrSink(FrameSink):
    """Writes a Zarr array of frames, (n, h, w) or (n, h, w, 3) in RGB.

    Chunks hold full frames, as many as take 4 MiB, in one folder. It is of version 2 of the format,
    which every reader knows.
    """

    def __init__(self, path: Path, name: str, layout: Layout) -> None:
        super().__init__(path, name, layout)
        self._array: Any = None
        self._waiting: list[NDArray[Any]] = []
        check_zarr("--format zarr")
        make_empty_folder(path)

    def _write(self, frame: Image, time_s: float | None) -> None:  # noqa: ARG002 - contract
        picture = as_picture(frame, self._layout)
        if picture.ndim == 3:
            picture = cast("Image", cv2.cvtColor(picture, cv2.COLOR_BGR2RGB))
        if self._array is None:
            self._start(picture)
        elif picture.shape != self._array.shape[1:] or picture.dtype != self._array.dtype:
            raise ValueError(f"{self.path}: expected frames like the first, not {picture.shape}")
        self._waiting.append(picture.copy())
        self.count += 1
        if len(self._waiting) == self._array.chunks[0]:
            self._flush()

    def _start(self, first: NDArray[Any]) -> None:
        import zarr

        try:
            self._array = zarr.create_array(
                store=str(self.path),
                shape=(0, *first.shape),
                chunks=(max(1, _CHUNK_BYTES // first.nbytes), *first.shape),
                dtype=first.dtype,
                zarr_format=2,
                attributes={"_ARRAY_DIMENSIONS": list(_AXES[: first.ndim + 1]), "title": self.name},
                # A chunk that is missing is one that was lost.
                config={"write_empty_chunks": True},
                overwrite=True,
            )
        except OSError as error:
            raise output_error(self.path, error) from error

    def _flush(self) -> None:
        start = self.count - len(self._waiting)
        try:
            self._array.resize((self.count, *self._array.shape[1:]))
            self._array[start:] = np.stack(self._waiting)
        except OSError as error:
            raise output_error(self.path, error) from error
        self._waiting.clear()

    def _finish(self) -> None:
        """Count the chunks, and unpack the first and the last."""
        import zarr

        last = self._waiting[-1] if self._waiting else None
        if self._waiting:
            self._flush()
        try:
            written = zarr.open_array(store=str(self.path), mode="r", zarr_format=2)
            chunks = sum(entry.name[0] != "." for entry in self.path.iterdir())
            found = written.shape[0] if chunks == written.nchunks else 0
            check_count(self.path, found, self.count)
            ends = [np.asarray(written[place]) for place in (0, self.count - 1)]
        # Each codec has errors of its own.
        except (OSError, ValueError, RuntimeError) as error:
            raise output_error(self.path, error) from error
        if last is not None and not np.array_equal(ends[-1], last):
            message = f"{self.path}: holds another last frame than was written"
            raise OutputError(f"{message}; check the disk and run again")

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
        kind: encode.VideoKind,
        rate: Fraction | None,
        threads: int,
    ) -> None:
        super().__init__(path, name, layout)
        self._kind: encode.VideoKind = kind
        self._threads = threads
        self._clock = encode.FrameClock(rate, kind)
        self._form: tuple[Pixels, tuple[int, int]] | None = None
        self._container: OutputContainer | None = None
        self._stream: VideoStream | None = None
        self._held: VideoFrame | None = None
        try:  # FFmpeg opens the file at the first packet: too late to hear that it cannot
            path.open("wb").close()
        except OSError as error:
            raise output_error(path, error) from error

    def _write(self, frame: Image, time_s: float | None) -> None:
        """Encode the frame before and keep this one, as the last frame is to become a keyframe."""
        pixels, planes = split(frame, self._layout)
        height, width = planes[0].shape[:2]
        form = (pixels, (height, width))
        if self._form not in {None, form}:
            message = f"{self.path}: expected frames like the first, {self._form}, not {form}"
            raise ValueError(message)
        try:
            if self._stream is None:
                self._start(pixels, height, width)
            make = h264_frame if self._kind == "mp4" else ffv1_frame
            picture = make(pixels, planes)
            picture.pts = self._clock.tick(time_s)
            picture.time_base = self._clock.time_base
            if self._held is not None:
                self._encode(self._held)
            self._held = picture
        except (av.FFmpegError, OSError) as error:
            raise output_error(self.path, error) from error
        self._form = form
        self.count += 1

    def _start(self, pixels: Pixels, height: int, width: int) -> None:
        self.padded = self._kind == "mp4" and bool(height % 2 or width % 2)
        if self.padded:
            height, width = height + height % 2, width + width % 2
        self._container = encode.open_container(self.path, self._kind, title=self.name)
        try:
            self._stream = encode.add_stream(
                self._container,
                self._kind,
                width=width,
                height=height,
                pixels=pixels,
                matrix=self._layout.matrix,
                rate=self._clock.rate,
                threads=self._threads,
            )
        except av.codec.codec.UnknownCodecError as error:
            message = f"{self.path}: this PyAV has no encoder for {self._kind} ({error})"
            advice = "install PyAV's own wheel (pip install av) or use --format png"
            raise OutputError(f"{message}; {advice}") from error

    def _encode(self, picture: VideoFrame | None) -> None:
        container = cast("OutputContainer", self._container)
        for packet in cast("VideoStream", self._stream).encode(picture):
            container.mux(packet)

    def _finish(self) -> None:
        container, held = cast("OutputContainer", self._container), self._held
        try:
            if held is not None:
                # A keyframe is decoded alone, which makes checking it cheap, and so is jumping to
                # the end in a player.
                held.pict_type = PictureType.I
                self._encode(held)
                self._held = None
            self._encode(None)
            container.close()
        except (av.FFmpegError, OSError) as error:
            raise output_error(self.path, error) from error
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
    """Open a sink that writes directly to a path.

    Parameters
    ----------
    path : Path
        The file (mp4, mkv; replaced when it exists) or the directory (png, zarr; new or empty) to
        write.
    name : str
        What the result is; becomes the title of a video.
    layout : Layout
        Of the flat vectors that will be written. Pictures may have any size: the first decides.
    kind : {"mp4", "mkv", "png", "zarr"}
        H.264 for looking at, or lossless FFV1, or lossless pictures ``000001.png``, …, or a Zarr
        array in chunks.
    rate : Fraction, optional
        Nominal frames per second; 25 when not known. PNG and Zarr have no use for it.
    threads : int, optional
        Threads of this encoder alone.

    Raises
    ------
    OutputError
        If the path cannot be written.
    ValueError
        If the kind is unknown.

    Notes
    -----
    The colours of ``yuv420`` vectors reach H.264 without a colour conversion. FFV1 gives back the
    same bytes: grey as ``gray`` or ``gray16le``, pictures as ``bgr0``, ``yuv420`` planes as
    full-range 4:2:0.
    Sinks are not thread-safe; `bgsub.video.queued.QueuedSink` gives one a thread of its own.
    """
    if kind == "png":
        return PngSink(path, name, layout)
    if kind == "zarr":
        return ZarrSink(path, name, layout)
    if kind in {"mp4", "mkv"}:
        return VideoSink(path, name, layout, kind, rate, threads)
    raise ValueError(f"kind must be mp4, mkv, png or zarr, not {kind!r}")
