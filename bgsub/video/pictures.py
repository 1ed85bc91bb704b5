"""Turn arrays into the frames that encoders take."""

from __future__ import annotations

from typing import Literal

import cv2
import numpy as np
from av.video.frame import VideoFrame

from bgsub.video.frames import Bytes, Layout
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
    """Find out what a frame is and give its planes: (Y,), (Y, U, V) or (BGR,), without a copy."""
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
    """Give a frame as one picture, grey of 8 or 16 bits or BGR."""
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
    """Make a limited-range yuv420p frame of even size for the H.264 encoder.

    Parameters
    ----------
    pixels : {"gray", "yuv420", "bgr"}
    planes : tuple of ndarray of uint8
        ``(Y,)``, ``(Y, U, V)`` or ``(BGR,)``, full range; Y (h, w), BGR (h, w, 3), U and V of half
        the size, rounded up. Odd sizes are continued by their last row and column.

    Returns
    -------
    VideoFrame
        yuv420 planes are scaled to limited range and not converted otherwise. Colours of ``bgr``
        are averaged over 2×2 pixels, at half of swscale's cost (OpenCV's own conversion to I420
        takes one pixel of four, which makes thin coloured edges flicker).

    Raises
    ------
    ValueError
        For pictures of 16 bits, which only lossless formats hold.
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
    """Give the full-range BT.601 U and V of a BGR picture, each value the mean of 2×2 pixels."""
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
    """Make a frame for the FFV1 encoder that holds exactly the given values.

    Parameters
    ----------
    pixels : {"gray", "gray16", "yuv420", "bgr"}
    planes : tuple of ndarray of uint8, or of uint16 for gray16
        As for `h264_frame`; any size.
    """
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
    """Give writable arrays onto the planes of a frame, without the padding of their rows.

    Parameters
    ----------
    frame : VideoFrame
        Must outlive the arrays.
    channels : int, optional
        Interleaved bytes per pixel.

    Returns
    -------
    list of ndarray of uint8
        (rows, columns) each, or (rows, columns, channels) when there are several channels.
    """
    views: list[Bytes] = []
    for plane in frame.planes:
        rows = np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, plane.line_size)
        view = rows[:, : plane.width * channels]
        if channels > 1:
            view = rows.reshape(plane.height, -1, channels)[:, : plane.width]
        views.append(view)
    return views
