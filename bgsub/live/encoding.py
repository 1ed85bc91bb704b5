"""Encode raw pictures as H.264, for clips."""

from __future__ import annotations

import io
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import av
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from bgsub.live.messages import StreamPacket

RAW = {"rawvideo", "wrapped_avframe", "v210", "yuv4"}
"""Codecs whose packets are pictures as they are."""


class RawEncoder:
    """Encodes raw pictures as H.264: as they are, they would fill memory and disk.

    Parameters
    ----------
    frame : VideoFrame
        The first one; odd sides lose their last line.
    rate : Fraction
        Frames a second.
    base : Fraction
        Seconds of a tick of the stamps.
    """

    def __init__(self, frame: VideoFrame, rate: Fraction, base: Fraction) -> None:
        self._rate, self._base = rate, base
        self._container, self._stream = self._open(io.BytesIO(), frame)

    def _open(self, memory: io.BytesIO, frame: VideoFrame) -> tuple[Any, VideoStream]:
        container = av.open(memory, "w", format="nut")
        options = {"preset": "ultrafast", "tune": "zerolatency", "g": str(round(self._rate))}
        stream = container.add_stream("libx264", rate=self._rate, options=options)
        stream.width, stream.height = frame.width // 2 * 2, frame.height // 2 * 2
        stream.pix_fmt = "yuv420p"
        stream.codec_context.time_base = self._base
        return container, stream

    def sample(self, frame: VideoFrame) -> bytes:
        """Encode a picture alone, as a file that says how."""
        memory = io.BytesIO()
        container, stream = self._open(memory, frame)
        with container:
            container.mux(stream.encode(self._fitted(frame)))
            container.mux(stream.encode(None))
        return memory.getvalue()

    def _fitted(self, frame: VideoFrame) -> VideoFrame:
        width, height = self._stream.width, self._stream.height
        fitted = frame.reformat(width=width, height=height, format="yuv420p")
        fitted.pts, fitted.time_base = frame.pts, self._base
        return fitted

    def encode(self, frame: VideoFrame) -> Iterator[StreamPacket]:
        """Give the packets of a picture."""
        for packet in self._stream.encode(self._fitted(frame)):
            ticks = Fraction(packet.time_base or self._base) / self._base
            pts, dts = (round((stamp or 0) * ticks) for stamp in (packet.pts, packet.dts))
            key, time_s = bool(packet.is_keyframe), float(pts * self._base)
            yield StreamPacket(
                bytes(packet), pts, dts, round(1 / self._rate / self._base), key, time_s
            )
