"""Write frames as H.264 or FFV1 video files, directories of PNG pictures or Zarr arrays.

A sink writes to the path that it is given, checks what it wrote by reading it again, and leaves
naming, renaming and the order of files to its caller.
"""

from __future__ import annotations

import contextlib
from fractions import Fraction
from pathlib import Path
from typing import Literal, Protocol, cast

import av
from av.container import OutputContainer
from av.video.frame import PictureType, VideoFrame
from av.video.stream import VideoStream

from bgsub.errors import OutputError
from bgsub.video import encode
from bgsub.video.frames import Layout
from bgsub.video.images import Image
from bgsub.video.pictures import Pixels, ffv1_frame, h264_frame, split
from bgsub.video.png_sink import PngSink
from bgsub.video.verify import check_count, count_frames, output_error
from bgsub.video.zarr_sink import ZarrSink

SinkKind = Literal["mp4", "mkv", "png", "zarr"]

#: What to append to a result's name; PNG pictures live in a directory of that name.
SUFFIXES: dict[SinkKind, str] = {"mp4": ".mp4", "mkv": ".mkv", "png": "", "zarr": ".zarr"}


class FrameSink(Protocol):
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

    name: str
    path: Path
    padded: bool
    count: int

    def write(self, frame: Image, time_s: float | None = None) -> None:
        """Add a frame: a vector in the layout, an (h, w) grey or an (h, w, 3) BGR picture.

        Grey pictures may have 16 bits where the format is lossless.
        """

    def close(self) -> int:
        """Finish, read the result again and give its number of frames."""

    def abort(self) -> None:
        """Remove what was written. Never raises; does no harm when called twice or after close."""


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
        return PngSink(path, name, layout=layout)
    if kind == "zarr":
        return ZarrSink(path, name, layout=layout)
    if kind in {"mp4", "mkv"}:
        return VideoSink(path, name, layout=layout, kind=kind, rate=rate, threads=threads)
    raise ValueError(f"kind must be mp4, mkv, png or zarr, not {kind!r}")


class VideoSink:
    """Writes one video file; see `open_sink` for the parameters, `FrameSink` for the contract."""

    def __init__(
        self,
        path: Path,
        name: str,
        *,
        layout: Layout,
        kind: encode.VideoKind,
        rate: Fraction | None = None,
        threads: int = 1,
    ) -> None:
        self.name = name
        self.path = path
        self.padded = False
        self.count = 0
        self._layout = layout
        self._kind: encode.VideoKind = kind
        self._threads = threads
        self._clock = encode.FrameClock(rate, kind)
        self._form: tuple[Pixels, tuple[int, int]] | None = None
        self._container: OutputContainer | None = None
        self._stream: VideoStream | None = None
        self._held: VideoFrame | None = None
        self._finished = False
        self._complete = False
        try:  # FFmpeg opens the file at the first packet: too late to hear that it cannot
            path.open("wb").close()
        except OSError as error:
            raise output_error(path, error) from error

    def write(self, frame: Image, time_s: float | None = None) -> None:
        """Encode the frame before and keep this one, as the last frame is to become a keyframe.

        Parameters
        ----------
        frame : ndarray of uint8
            A vector in the layout, an (h, w) grey or an (h, w, 3) BGR picture; all frames of a sink
            alike. In mkv also an (h, w) grey one of uint16. Its bytes are copied.
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
        if self._finished:
            raise ValueError(f"{self.path}: the sink is closed")
        pixels, planes = split(frame, self._layout)
        height, width = planes[0].shape[:2]
        form = (pixels, (height, width))
        if self._form not in {None, form}:
            raise ValueError(
                f"{self.path}: expected frames like the first, {self._form}, not {form}"
            )
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
            raise OutputError(
                f"{self.path}: this PyAV has no encoder for {self._kind} ({error}); "
                "install PyAV's own wheel (pip install av) or use --format png"
            ) from error

    def _encode(self, picture: VideoFrame | None) -> None:
        container = cast("OutputContainer", self._container)
        for packet in cast("VideoStream", self._stream).encode(picture):
            container.mux(packet)

    def close(self) -> int:
        """Finish the file, read it again and count its frames.

        Every packet is read and counted, the first and the last frame are decoded. Decoding all
        would cost more than half of what encoding did, and find hardly more: the container's index
        says how long each packet is, and a codec decodes what it encoded.

        Returns
        -------
        int
            Number of frames in the file, which is the number written.

        Raises
        ------
        OutputError
            If the file cannot be finished or does not hold the frames that were written. The file
            is left for `abort` to remove.
        ValueError
            If the sink was aborted, or closing it has failed before.
        """
        if self._complete:
            return self.count
        if self._finished:
            raise ValueError(f"{self.path}: the sink was aborted or could not be closed")
        self._finished = True
        if self._container is None:
            raise OutputError(f"{self.path}: no frame was written to it; select some frames")
        try:
            if self._held is not None:
                # A keyframe is decoded alone, which makes checking it cheap, and so is jumping to
                # the end in a player.
                self._held.pict_type = PictureType.I
                self._encode(self._held)
                self._held = None
            self._encode(None)
            self._container.close()
        except (av.FFmpegError, OSError) as error:
            raise output_error(self.path, error) from error
        self._container = None
        check_count(self.path, count_frames(self.path), self.count)
        self._complete = True
        return self.count

    def abort(self) -> None:
        """Close and remove the file."""
        self._finished, self._complete, self._held = True, False, None
        if self._container is not None:
            with contextlib.suppress(av.FFmpegError, OSError):
                self._container.close()
            self._container = None
        with contextlib.suppress(OSError):
            self.path.unlink()
