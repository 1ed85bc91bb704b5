"""Take the sound of a stream along for clips: its packets as they are, or what they decode to."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from av.audio.resampler import AudioResampler
from av.audio.stream import AudioStream
from av.container import InputContainer, OutputContainer
from av.error import FFmpegError
from av.packet import Packet

from bgsub.live.messages import StreamPacket
from bgsub.video import pyav

IN_MP4 = {"aac", "mp2", "mp3", "opus", "alac"}
_COPIED = {*IN_MP4, "ac3", "eac3", "flac", "vorbis", "pcm_s16le"}
"""What mkv holds; all else, such as the G.711 of cameras, becomes plain samples of 16 bits."""

_FARTHEST_S = 5.0
"""Seconds between sound and pictures from which one of them has the stamps of another time."""


class Sound:
    """The sound of a stream.

    Parameters
    ----------
    stream : AudioStream

    Attributes
    ----------
    codec : str
        As it is in clips.
    base : Fraction
        Seconds of a tick of its packets.
    is_ready : bool
        Whether enough is known to write it; of AAC with headers in its packets (ADTS), as transport
        streams have it, only after the first of them.
    """

    def __init__(self, stream: AudioStream) -> None:
        context = stream.codec_context
        self.stream, self.codec = stream, context.name
        self.base = pyav.fraction(stream.time_base) or Fraction(1, 1000)
        self._config = context.extradata
        self.is_ready = self.codec != "aac" or self._config is not None
        self._plain: AudioResampler | None = None
        if self.codec not in _COPIED:
            self.codec = "pcm_s16le"
            self._plain = AudioResampler("s16", context.layout, context.sample_rate)

    @classmethod
    def of(cls, container: InputContainer) -> Sound | None:
        """Find the sound of what was opened; None where there is none that can be decoded."""
        stream = container.streams.best("audio")
        known = isinstance(stream, AudioStream) and stream.codec_context is not None
        return cls(stream) if known and isinstance(stream, AudioStream) else None

    def take(self, packet: Packet[Any], shift_s: Fraction, near_s: float) -> StreamPacket | None:
        """Give a packet with the stamps of the pictures; None where it belongs to another time.

        Parameters
        ----------
        packet : Packet
        shift_s : Fraction
            What is added to the stamps of pictures.
        near_s : float
            When the latest picture is shown, by stamps that are mended.
        """
        stamp = packet.pts if packet.pts is not None else packet.dts
        data = b"" if packet.is_corrupt else self._data(packet)
        if stamp is None or not data:
            return None
        if self.codec == "aac" and _has_header(data):
            self._config, self.is_ready = _configuration(data), True
            data = data[7 if data[1] & 1 else 9 :]
        stamp += round(shift_s / self.base)
        if abs(float(stamp * self.base) - near_s) > _FARTHEST_S or not self.is_ready:
            return None
        return StreamPacket(data, stamp, stamp, packet.duration or 0, False, 0.0, is_sound=True)

    def _data(self, packet: Packet[Any]) -> bytes:
        """Give a packet as it is in clips; empty if it cannot be decoded."""
        if self._plain is None:
            return bytes(packet)
        try:
            heard: list[Any] = list(packet.decode())
            frames = [plain for frame in heard for plain in self._plain.resample(frame)]
        except FFmpegError:
            return b""
        return b"".join(frame.to_ndarray().tobytes() for frame in frames)

    def add_to(self, target: OutputContainer) -> None:
        """Announce it in a file that is about to be written."""
        if self._plain is not None:
            context = self.stream.codec_context
            target.add_stream("pcm_s16le", rate=context.sample_rate, layout=context.layout)
            return
        own: Any = target.add_stream_from_template(self.stream)
        own.codec_context.extradata = self._config


def _has_header(data: bytes) -> bool:
    """Say whether a packet of AAC begins with an ADTS header."""
    return len(data) > 9 and data[0] == 0xFF and data[1] & 0xF6 == 0xF0


def _configuration(data: bytes) -> bytes:
    """Give what an ADTS header says in the form of files: ISO/IEC 14496-3, AudioSpecificConfig."""
    kind, rate = (data[2] >> 6) + 1, data[2] >> 2 & 15
    channels = (data[2] & 1) << 2 | data[3] >> 6
    return bytes([kind << 3 | rate >> 1, (rate & 1) << 7 | channels << 3])
