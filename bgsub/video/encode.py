"""Encode frames as packets, with the settings of all containers and codecs.

H.264 (``mp4``) is for looking at results: it plays in browsers and is made cheaply. FFV1 (``mkv``)
is for computing with them: reading it back gives the same bytes.

x264's ``ultrafast`` takes half the time of ``superfast`` and a third of ``veryfast`` for
background, foreground and mask of a street of 1280×720 at crf 20, at better PSNR and a quarter more
bytes. Deblocking keeps dark, flat backgrounds free of visible blocks, the 8×8 transform makes the
stream High profile, and without B-frames and lookahead an encoder holds few frames.
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Literal

import av
import cv2
import numpy as np
from av.container import OutputContainer
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from bgsub.video.frames import Bytes, Layout, Matrix
from bgsub.video.images import Image

Pixels = Literal["gray", "gray16", "yuv420", "bgr"]

#: FFmpeg's pixel formats in which FFV1 holds each kind of pixels without loss.
FFV1_FORMATS: dict[Pixels, str] = {
    "gray": "gray",
    "gray16": "gray16le",
    "bgr": "bgr0",
    "yuv420": "yuv420p",
}


def split(frame: Image, layout: Layout) -> tuple[Pixels, tuple[Image, ...]]:
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


def as_picture(frame: Image, layout: Layout) -> Image:
    """Return a frame as one picture, grey of 8 or 16 bits or BGR."""
    pixels, planes = split(frame, layout)
    if pixels == "yuv420":
        return layout.to_bgr(frame.astype(np.uint8, copy=False))
    return planes[0]


def _compress_luma(plane: Bytes, out: Bytes) -> None:
    """Compress a full-range luma plane to 16..235, rounded; a third of the time of a lookup."""
    cv2.convertScaleAbs(plane, dst=out, alpha=219 / 255, beta=16)


def _compress_chroma(plane: Bytes, out: Bytes) -> None:
    """Compress a full-range chroma plane to 16..240, rounded."""
    cv2.convertScaleAbs(plane, dst=out, alpha=224 / 255, beta=128 - 128 * 224 / 255)


def h264_frame(pixels: Pixels, planes: tuple[Image, ...]) -> VideoFrame:
    """Make a limited-range yuv420p frame of even size from full-range planes, see `split`.

    Odd sizes are continued by their last row and column. Colours of ``bgr`` are averaged over 2×2
    pixels, at half of swscale's cost (OpenCV's own conversion to I420 takes one pixel of four,
    which makes thin coloured edges flicker). ValueError for pictures of 16 bits.
    """
    if pixels == "gray16":
        raise ValueError("H.264 has no room for 16 bits; write mkv or png")
    parts = [plane.astype(np.uint8, copy=False) for plane in planes]
    height, width = parts[0].shape[:2]
    frame = VideoFrame(width + width % 2, height + height % 2, "yuv420p")
    views = plane_views(frame)
    luma = parts[0]
    if pixels == "bgr":
        luma = cv2.cvtColor(luma, cv2.COLOR_BGR2GRAY).astype(np.uint8, copy=False)
    _compress_luma(luma, views[0][:height, :width])
    views[0][:height, width:] = views[0][:height, width - 1 : width]
    views[0][height:] = views[0][height - 1]
    if pixels == "yuv420":
        for plane, view in zip(parts[1:], views[1:], strict=True):
            _compress_chroma(plane, view)
    elif pixels == "bgr":
        for plane, view in zip(_half_size_chroma(parts[0]), views[1:], strict=True):
            _compress_chroma(plane, view)
    else:
        for view in views[1:]:
            view[...] = 128
    return frame


def _half_size_chroma(image: Bytes) -> tuple[Bytes, Bytes]:
    """Return the full-range BT.601 U and V of a BGR picture, each value the mean of 2×2 pixels."""
    height, width = image.shape[:2]
    if height % 2 or width % 2:
        image = np.asarray(
            cv2.copyMakeBorder(image, 0, height % 2, 0, width % 2, cv2.BORDER_REPLICATE), np.uint8
        )
    half = (image.shape[1] // 2, image.shape[0] // 2)
    small = cv2.resize(image, half, interpolation=cv2.INTER_AREA)
    converted = cv2.cvtColor(small, cv2.COLOR_BGR2YCrCb).astype(np.uint8, copy=False)
    return converted[:, :, 2].copy(), converted[:, :, 1].copy()


def ffv1_frame(pixels: Pixels, planes: tuple[Image, ...]) -> VideoFrame:
    """Make a frame for the FFV1 encoder that holds exactly the given values, see `split`."""
    height, width = planes[0].shape[:2]
    frame = VideoFrame(width, height, FFV1_FORMATS[pixels])
    if pixels == "bgr":
        cv2.cvtColor(planes[0], cv2.COLOR_BGR2BGRA, dst=plane_views(frame, channels=4)[0])
        return frame
    if pixels == "gray16":
        pairs = plane_views(frame, channels=2)[0]
        pairs.view("<u2")[:, :, 0] = planes[0]
        return frame
    for plane, view in zip(planes, plane_views(frame), strict=True):
        view[...] = plane
    return frame


def plane_views(frame: VideoFrame, *, channels: int = 1) -> list[Bytes]:
    """Return writable arrays onto the planes of a frame, without the padding of their rows.

    (rows, columns) each, or (rows, columns, channels) of several interleaved channels. The frame
    must outlive them.
    """
    views: list[Bytes] = []
    for plane in frame.planes:
        rows = np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, plane.line_size)
        view = rows[:, : plane.width * channels]
        if channels > 1:
            view = rows.reshape(plane.height, -1, channels)[:, : plane.width]
        views.append(view)
    return views


VideoKind = Literal["mp4", "mkv"]

#: Options of libx264.
_H264_OPTIONS: dict[str, str] = {
    "preset": "ultrafast",
    "crf": "20",
    "profile": "high",
    "x264-params": "8x8dct=1:deblock=0,0",
}
#: Options of FFV1: version 3 with a checksum per slice; Golomb-Rice codes are the fast ones, and
#: for 16 bits FFmpeg takes a range coder instead.
_FFV1_OPTIONS: dict[str, str] = {"level": "3", "coder": "rice", "slicecrc": "1"}
#: Slices let several threads share a frame. FFmpeg refuses them for frames with a side of a few
#: pixels and for 4:2:0 of odd size, so those are not divided.
_FFV1_SLICES = 4
_FFV1_SLICED_SIDE = 64

#: The rate of frames whose rate nobody knows, as image sequences are commonly played.
DEFAULT_RATE = Fraction(25)
#: A player can jump to a keyframe only, and decodes from there.
_KEYFRAME_SECONDS = 2

_FORMATS: dict[VideoKind, str] = {"mp4": "mp4", "mkv": "matroska"}
# bitexact: the same frames give the same file, without dates and random identifiers.
_CONTAINER_OPTIONS: dict[VideoKind, dict[str, str]] = {
    "mp4": {"movflags": "+faststart", "fflags": "+bitexact"},
    "mkv": {"fflags": "+bitexact"},
}

# MP4 has 32 bits for the time from one frame to the next: 20 hours and more. A step beyond that is
# no time of a recording but a damaged timestamp.
_LONGEST_STEP = 2**31 - 1

# ITU-T H.273 code points.
_LIMITED, _FULL = 1, 2
_BT709, _SMPTE170M = 1, 6


def open_container(path: Path, kind: VideoKind, *, title: str = "") -> OutputContainer:
    """Open a video file for writing; one that is there already is overwritten.

    av.FFmpegError or OSError where FFmpeg refuses, which may happen as late as the first packet.
    """
    # An absolute path is never taken for the name of a protocol, whatever colons it has.
    name = str(path.absolute())
    container = av.open(
        name, "w", format=_FORMATS[kind], container_options=_CONTAINER_OPTIONS[kind]
    )
    if title:
        container.metadata["title"] = title
    return container


def add_stream(
    container: OutputContainer,
    kind: VideoKind,
    *,
    width: int,
    height: int,
    pixels: Pixels = "yuv420",
    matrix: Matrix = "bt601",
    rate: Fraction | None = None,
    threads: int = 1,
) -> VideoStream:
    """Add bgsub's H.264 (mp4) or FFV1 (mkv) stream to a container.

    Its ``encode`` takes frames of `h264_frame` (even sizes) or `ffv1_frame`, timed in units of a
    `FrameClock` of the same rate. `pixels` and `matrix` decide the colour tags.
    """
    rate = sane_rate(rate)
    if kind == "mp4":
        stream = container.add_stream("libx264", rate=rate, options=dict(_H264_OPTIONS))
        stream.pix_fmt = "yuv420p"
    else:
        odd = pixels == "yuv420" and (width % 2 or height % 2)
        slices = 1 if odd or min(width, height) < _FFV1_SLICED_SIDE else _FFV1_SLICES
        options = {**_FFV1_OPTIONS, "slices": str(slices)}
        stream = container.add_stream("ffv1", rate=rate, options=options)
        stream.pix_fmt = FFV1_FORMATS[pixels]
    stream.width, stream.height = width, height
    codec = stream.codec_context
    codec.time_base = time_base(rate)
    # Every FFV1 frame stands alone: about 1 % larger, and readable from anywhere.
    codec.gop_size = keyframe_interval(rate) if kind == "mp4" else 1
    codec.thread_count = max(1, threads)
    codec.thread_type = "FRAME" if kind == "mp4" else "SLICE"
    _tag_colors(stream, kind, pixels, matrix)
    return stream


def _tag_colors(stream: VideoStream, kind: VideoKind, pixels: Pixels, matrix: Matrix) -> None:
    """Tag the stream so that players show the input's colours."""
    codec = stream.codec_context
    codec.color_range = _LIMITED if kind == "mp4" else _FULL
    if kind == "mkv" and pixels != "yuv420":
        return  # there is no matrix between the file and the picture
    standard = _BT709 if matrix == "bt709" else _SMPTE170M
    if pixels == "yuv420":
        codec.colorspace = codec.color_primaries = codec.color_trc = standard
    else:  # a picture's own colours are sRGB's; only our conversion to YUV is BT.601
        codec.colorspace = _SMPTE170M
        codec.color_primaries = codec.color_trc = _BT709


def sane_rate(rate: Fraction | None) -> Fraction:
    """Return a rate that containers can hold: positive, with a denominator of at most 1001."""
    if rate is None or rate <= 0:
        return DEFAULT_RATE
    limited = Fraction(rate).limit_denominator(1001)
    return limited if 0 < limited <= 100_000 else DEFAULT_RATE


def time_base(rate: Fraction) -> Fraction:
    """Return a unit of time that frames of a rate fall on exactly, of 0.1 ms or less."""
    return Fraction(1, rate.numerator * math.ceil(10_000 / rate.numerator))


def keyframe_interval(rate: Fraction) -> int:
    """Return the most frames from one keyframe to the next: 2 s, but 10 to 120 frames."""
    return max(10, min(120, round(_KEYFRAME_SECONDS * rate)))


class FrameClock:
    """Turns the times of frames into timestamps.

    Times that lie on the grid of the rate, up to the rounding of containers (a tenth of a frame or
    1 ms), get the grid's exact timestamps; others keep their own. The first frame is at 0.
    """

    def __init__(self, rate: Fraction | None, kind: VideoKind = "mp4") -> None:
        self.rate = sane_rate(rate)
        self.time_base = time_base(self.rate)
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
        if time_s is None or time_s <= self._last_s:
            self._last = following
            return following
        self._last_s = time_s
        exact = (time_s - self._start_s) / self._tick_s
        if exact - self._last > _LONGEST_STEP:
            self._start_s = time_s - following * self._tick_s
            self._last = following
            return following
        on_grid = round(exact / self._interval) * self._interval
        snaps = abs(exact - on_grid) <= self._tolerance and on_grid > self._last
        stamp = on_grid if snaps else round(exact)
        self._last = max(stamp, self._last + self._smallest_step)
        return self._last
