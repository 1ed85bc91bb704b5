"""Take the pixels of a frame that PyAV decoded, with as few copies as its format allows."""

from __future__ import annotations

import re

import numpy as np
from av.error import FFmpegError
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter

from bgsub.video import pyav
from bgsub.video.base import BadPicture
from bgsub.video.frames import Bytes, Layout, LayoutKind, Matrix
from bgsub.video.geometry import Orientation, Picture

_YUV420 = re.compile(r"yuv(j420p|420p|a420p)")
_LUMA_PLANE_FIRST = re.compile(r"yuv[ja]?4\d\dp|nv(12|21|16|24|42)")
_GRAY = re.compile(r"gray|ya|mono")
_DEEP_GRAY = re.compile(r"gray(9|10|12|14|16)(le|be)")
_LIMITED_RANGE, _FULL_RANGE = 1, 2  # FFmpeg's AVCOL_RANGE_MPEG and AVCOL_RANGE_JPEG
_BT709 = 1  # FFmpeg's AVCOL_SPC_BT709


def native_kind(frame: VideoFrame) -> LayoutKind:
    """Return the kind of layout that is closest to the frame's own format."""
    name = frame.format.name
    if _GRAY.match(name):
        return "gray"
    return "yuv420" if _YUV420.fullmatch(name) else "bgr"


def matrix(frame: VideoFrame) -> Matrix:
    """Return the standard of the frame's colours; BT.601 where the file does not say."""
    return "bt709" if frame.colorspace == _BT709 else "bt601"


def orientation(frame: VideoFrame) -> Orientation:
    """Read how the frame is to be turned for viewing."""
    numbers = pyav.display_matrix(frame)
    if numbers is None:
        return Orientation()
    return Orientation.from_display_matrix([int(number) for number in numbers])


class PictureMaker:
    """Makes pictures that fit one layout from frames; reuses what conversions need."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._reformatter = VideoReformatter()

    def make(self, frame: VideoFrame) -> Picture:
        """Return the frame in a kind that the layout takes; BadPicture if there is no conversion.

        Gray, 8-bit 4:2:0 and, for the layout gray, the luma of all common formats are views of the
        decoder's memory. Everything else is converted to BGR by swscale, and keeps the file's luma
        beside it, and the chroma of 4:2:0 for layouts with chroma. Alpha is dropped.
        """
        name = frame.format.name
        try:
            if _GRAY.match(name):
                return Picture((self._gray(frame),), frame.color_range == _LIMITED_RANGE)
            limited = frame.color_range != _FULL_RANGE and not name.startswith("yuvj")
            if self._layout.kind == "yuv420" and _YUV420.fullmatch(name):
                return Picture((_plane(frame, 0), _plane(frame, 1), _plane(frame, 2)), limited)
            luma = _plane(frame, 0) if _LUMA_PLANE_FIRST.fullmatch(name) else None
            if self._layout.kind == "gray" and luma is not None:
                return Picture((luma,), limited)
            chroma: tuple[Bytes, ...] = ()
            if self._layout.with_chroma and _YUV420.fullmatch(name):
                chroma = _plane(frame, 1), _plane(frame, 2)
            return Picture((self._bgr(frame),), limited and luma is not None, luma, chroma)
        except (FFmpegError, ValueError) as error:
            reason = f"frames of the format {name} cannot be converted"
            raise BadPicture(reason) from error

    def _gray(self, frame: VideoFrame) -> Bytes:
        name = frame.format.name
        if name == "gray":
            return _plane(frame, 0)
        if match := _DEEP_GRAY.fullmatch(name):
            values = _plane(frame, 0, 2).view("<u2" if match[2] == "le" else ">u2")
            return (values >> (int(match[1]) - 8)).astype(np.uint8)
        return _plane(self._reformatter.reformat(frame, format="gray"), 0)

    def _bgr(self, frame: VideoFrame) -> Bytes:
        converted = frame
        if frame.format.name != "bgr24":
            converted = self._reformatter.reformat(frame, format="bgr24")
        rows = _plane(converted, 0, 3)
        return rows.reshape(converted.height, converted.width, 3)


def _plane(frame: VideoFrame, index: int, item: int = 1) -> Bytes:
    """View a plane as rows of bytes, `item` for each pixel, without the padding behind each row."""
    plane = frame.planes[index]
    rows = np.frombuffer(memoryview(plane), dtype=np.uint8).reshape(-1, abs(plane.line_size))
    rows = rows[:, : plane.width * item]
    # Bottom-up pictures have their last row first in memory.
    return rows[::-1] if plane.line_size < 0 else rows
