"""Number and time the frames of a video, and count what is missing or damaged.

What FFmpeg reports of packets and frames, and what timestamps leave out, are frames that are
missing: they are counted, so that the frames behind them keep their numbers and times. What depends
on a missing or damaged frame, up to the next key frame, is doubtful: decoders show something stale
or torn there.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any, NamedTuple

from av.container import InputContainer
from av.error import FFmpegError
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from bgsub.errors import is_or_are, plural
from bgsub.video import pyav
from bgsub.video.base import Item
from bgsub.video.film_index import GAP_STEPS, RESTART_S, Entry, FilmHeader, PacketTimes

# Packets that are decoded to see whether a film departs from the standard, which is no damage.
_PROBED = 40
# More packets for each frame than this are not one frame each (fields, for example).
_PACKETS_A_FRAME = 1.6
# Share of a step within which two frames have the same time.
_SAME_TIME = 0.3
#: A leap by more than this is no time that passed between two frames.
_LEAP_S = 10 * 86400.0

_INCOMPLETE = "its data are incomplete"
_DEPENDENT = "it depends on a damaged frame"
_NOWHERE = "the file holds no picture for its time"

# Codecs in which any bytes make a picture, or nearly any.
_WITHOUT_CHECKS = frozenset(
    {
        *("rawvideo", "wrapped_avframe", "bitpacked", "avrp", "avui", "v210"),
        *("v210x", "v308", "v408", "v410", "r10k", "r210", "y41p", "yuv4", "012v"),
        *("cljr", "frwu", "zero12v", "huffyuv", "ffvhuff", "hymt", "utvideo"),
        *("magicyuv", "vble", "lagarith", "ljpeg", "jpeg2000", "cinepak", "svq1"),
        *("asv1", "asv2", "cfhd", "dxv", "hap", "msvideo1", "rpza", "smc", "8bps"),
        *("ulti", "dvvideo", "flashsv", "flashsv2", "zmbv", "bmp", "dpx", "exr"),
        *("fits", "hdr", "pam", "pbm", "pfm", "pgm", "phm", "ppm", "qoi", "pgmyuv"),
        *("sunrast", "sgi", "targa", "tiff", "xwd", "vbn", "alias_pix"),
    }
)
_WITH_CHECKSUMS = frozenset({"ffv1", "png", "apng"})


def unseen_damage(codec: str, *, has_sums: bool) -> str:
    """Return whether damage to the frames of a codec can go unseen; empty if it cannot.

    Packets of FFV1 may have checksums or not (`has_sums`).
    """
    if codec in _WITHOUT_CHECKS or (codec == "ffv1" and not has_sums):
        return "cannot be seen"
    return "" if codec in _WITH_CHECKSUMS else "may go unseen"


def has_checksums(packet: bytes) -> bool:
    """Return whether a packet of FFV1 consists of slices whose checksums fit.

    FFmpeg's decoder shows parts of the frame before where one does not, and says so in its log
    alone. The slices are found from the last, whose size stands at its end, to the first.
    """
    # What the sum of an undamaged slice leaves, for the two kinds of sums that FFV1 knows.
    for remainder in (0x00000000, 0x79408C7A):
        end = len(packet)
        while end >= 8:  # three bytes of size, one of state, four of checksum
            start = end - 8 - int.from_bytes(packet[end - 8 : end - 5], "big")
            if start < 0 or _crc(packet[start:end], remainder) != remainder:
                break
            end = start
        if end == 0 and packet:
            return True
    return False


# FFV1's sums begin with the highest bit of each byte, zlib's with the lowest.
_REVERSED_BITS = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def _crc(data: bytes, start: int) -> int:
    """Compute the CRC-32 of IEEE 802.3, highest bit first, without any inversion."""
    value = zlib.crc32(data.translate(_REVERSED_BITS), _reversed(start) ^ 0xFFFFFFFF)
    return _reversed(value ^ 0xFFFFFFFF)


def _reversed(value: int) -> int:
    return int(f"{value:032b}"[::-1], 2)


class Damaged(Exception):  # noqa: N818 - the film is then decoded on one thread
    """FFmpeg reports damage, or a packet gives no frame."""


class Finding(NamedTuple):
    """A frame in order of presentation; None with the reason why there is no good one."""

    stamp_s: float | None
    frame: VideoFrame | None
    reason: str = ""
    doubtful: bool = False


@dataclass
class Tally:
    """What was read of a file: packets, those that should give a frame, and when the last ends."""

    codec: str
    packets: int = 0
    pictures: int = 0
    latest_s: float = -math.inf
    end_s: float = 0.0
    is_incomplete: bool = False
    broke_off: str = ""

    def count(self, packet: Packet[VideoStream]) -> None:
        """Count a packet; pictures are counted from the first key frame on."""
        self.packets += 1
        self.is_incomplete |= packet.is_corrupt
        if packet.is_discard or not pyav.is_picture(self.codec, packet.size):
            return
        self.pictures += bool(packet.is_keyframe or self.pictures)
        stamp_s = pyav.seconds(packet.pts, packet.time_base)
        if stamp_s is not None:
            self.latest_s = max(self.latest_s, stamp_s)
            length_s = pyav.seconds(packet.duration, packet.time_base) or 0.0
            self.end_s = max(self.end_s, stamp_s + length_s)


class Clock:
    """Turns timestamps into times of frames: 0 at the first, and always increasing.

    Without timestamps they follow each other at the rate.
    """

    def __init__(self, rate: Fraction | None) -> None:
        self._step = float(1 / rate) if rate else 0.04
        self._origin: float | None = None
        self._last: float | None = None
        self._stamped = self._seen_step = math.inf

    def read(self, stamp_s: float | None) -> float:
        """Return the time of the next frame from its timestamp in seconds, if it has one."""
        step = self._step if math.isinf(self._seen_step) else self._seen_step
        following = 0.0 if self._last is None else self._last + step
        time_s = following
        if stamp_s is not None:
            if self._origin is None:
                self._origin = stamp_s - following
            # Rates in headers may be twice those of the frames.
            if 0 < stamp_s - self._stamped < self._seen_step:
                self._seen_step = stamp_s - self._stamped
            self._stamped = stamp_s
            time_s = round(stamp_s - self._origin, 9)
            if self._last is not None and not self._last < time_s <= self._last + _LEAP_S:
                if abs(self._last - time_s) > RESTART_S:
                    self._origin, time_s = stamp_s - following, following
                else:
                    time_s = self._last + self._step / 2
        self._last = time_s = round(time_s, 9)
        return time_s


class Numbering:
    """Numbers and times the frames of one pass over a video, with those that are missing.

    `times` returns the timestamps of all packets when a gap is to be judged. In a pass over a film
    that `is_damaged`, what has no packet or no frame is counted; otherwise Damaged is raised where
    a packet gave no frame.
    """

    def __init__(
        self,
        header: FilmHeader,
        times: Callable[[], PacketTimes],
        make: Callable[[int, VideoFrame, float], Item],
        *,
        is_damaged: bool,
    ) -> None:
        self._header, self._times, self._make, self._is_damaged = header, times, make, is_damaged
        self._clock = Clock(header.rate)
        self.number = self.good = 0
        self.shown = (0, 0.0)
        self._last_s: float | None = None
        self._unstamped = 0
        self._spoilt = False
        self._missing_s: list[float] = []
        self._gaps: list[int] = []
        self._strays: list[int] = []
        self._losses: list[int] = []
        self._doubles: list[int] = []

    def begin(self, entry: Entry) -> None:
        """Begin at a key frame amid the video."""
        self.number = entry.number - 1
        self._clock.read(entry.origin_s)

    def place(self, found: Finding) -> Iterator[Item]:
        """Yield the item of a frame, behind those of the frames that are missing before it."""
        stamp_s, step_s, last_s = found.stamp_s, self._header.step_s, self._last_s
        if step_s and stamp_s is not None and last_s is not None:
            passed_s = stamp_s - last_s
            if passed_s < 0 and any(abs(at_s - stamp_s) < step_s / 2 for at_s in self._missing_s):
                return  # decoders give frames out of order behind damage
            if not 0 < passed_s <= GAP_STEPS * step_s:
                if stamp_s in self._times().strays:
                    self._strays.append(self.number + 1)
                    stamp_s = None
                else:
                    yield from self._missing(last_s, stamp_s)
            if self._is_damaged and stamp_s is not None and passed_s < _SAME_TIME * step_s:
                self._doubles.append(self.number)
        self._unstamped = self._unstamped + 1 if stamp_s is None else 0
        if stamp_s is not None:
            self._last_s = stamp_s
        time_s = self._clock.read(stamp_s)
        self.number += 1
        if found.frame is None:
            self._losses.append(self.number)
            yield Item(self.number, time_s, None, found.reason)
            return
        self._spoilt &= not (found.frame.key_frame or self._header.intra_only)
        self.good += 1
        self.shown = (self.number, time_s)
        doubtful = found.doubtful or self._spoilt
        yield self._make(self.number, found.frame, time_s)._replace(doubtful=doubtful)

    def end(self, tally: Tally) -> Iterator[Item]:
        """Yield the frames whose packets are behind the last frame."""
        if self._header.step_s and self._last_s is not None and self._last_s < tally.latest_s:
            yield from self._missing(self._last_s, math.inf)

    def silent(self, tally: Tally) -> int:
        """Return how many packets gave no frame, of a video of which each packet is one."""
        is_frame_each = tally.pictures <= _PACKETS_A_FRAME * self.number
        is_frame_each &= self._header.shows_all_packets
        return max(0, tally.pictures - self.number) if is_frame_each else 0

    def _missing(self, last_s: float, stamp_s: float) -> Iterator[Item]:
        """Yield the frames between two timestamps: of packets, and of the steps of a rate."""
        times = self._times()
        stamps = times.between(last_s, stamp_s) if self._header.shows_all_packets else []
        if stamps and not self._is_damaged:
            raise Damaged
        reason, pace = _DEPENDENT if stamps else _NOWHERE, times.pace
        until_s = stamps[-1] + (pace.step_s or 0) if stamps and math.isinf(stamp_s) else stamp_s
        if pace.step_s and pace.gives_numbers and math.isfinite(until_s):
            count = round((until_s - last_s) / pace.step_s) - 1 - self._unstamped
            stamps = [last_s + i * pace.step_s for i in range(1, count + 1)]
            self._gaps += range(self.number + 1, self.number + len(stamps) + 1)
        self._spoilt |= self._is_damaged and bool(stamps)
        self._missing_s += stamps
        for missing_s in stamps:
            self.number += 1
            yield Item(self.number, self._clock.read(missing_s), None, reason)

    def notes(self, tally: Tally, *, is_whole: bool) -> list[str]:
        """Return what is to be said of a pass; `is_whole` if it came to the end."""
        notes, header = [], self._header
        pace = self._times().pace if self._is_damaged or self._gaps else None
        counted = is_whole and 0 < header.announced <= self.number
        if self._gaps and self._gaps[0] < self.shown[0]:
            count, first = len(self._gaps), self._gaps[0]
            notes.append(
                f"{plural(count, 'frame')} {is_or_are(count)} missing from the file, the first is "
                f"frame {first}; those behind keep their numbers and times"
            )
        if pace is not None and pace.missing and not pace.gives_numbers:
            notes.append(
                f"timestamps leave out {pace.missing} frames, more than there are: numbers count "
                "the frames that are there, times are those of the file"
            )
        if self._strays:
            count, first = len(self._strays), self._strays[0]
            which = f"{plural(count, 'timestamp')} {is_or_are(count)} damaged"
            unsure = "numbers and times are unsure from there on"
            notes.append(f"{which}, the first is that of frame {first}: {unsure}")
        unsure = "numbers and times are unsure from frame"
        by_stamps = pace is not None and pace.gives_numbers
        if self._losses and self._losses[0] < self.shown[0] and not (counted or by_stamps):
            text = "the file does not tell how many its damage took"
            notes.append(f"{unsure} {self._losses[0]} on: {text}")
        if self._doubles:
            notes.append(f"{unsure} {self._doubles[0]} on: two frames have the same time")
        if is_whole and header.falls_short(tally.packets, tally.end_s) and not counted:
            what = f"decoded {plural(self.good, 'frame')}"
            if header.frames is not None and header.frames > self.good:
                what = f"decoded {self.good} of about {header.frames} frames"
            doubt = "" if header.step_s else "; numbers and times are unsure"
            notes.append(f"{what}: the file is cut off or damaged{doubt}")
        silent = tally.pictures - self.number
        is_frame_each = tally.pictures <= _PACKETS_A_FRAME * self.number
        if is_whole and silent > 0 and is_frame_each and header.shows_all_packets:
            notes.append(
                f"{plural(silent, 'picture')} cannot be decoded: numbers and times are unsure"
            )
        if tally.broke_off:
            notes.append(f"the file cannot be read to its end ({tally.broke_off})")
        if not notes and tally.is_incomplete and self.number == self.good:
            notes.append("something is damaged, but every frame can be decoded")
        return notes


def departs_from_standard(container: InputContainer, stream: VideoStream) -> bool:
    """Return whether most of a video's first packets are errors to a strict decoder."""
    pyav.prepare(stream, threads=1, strict=True)
    errors = packets = 0
    try:
        for packet in islice(pyav.demux(container, stream), _PROBED):
            packets += 1
            try:
                pyav.decode(packet)
            except FFmpegError:
                errors += 1
    except FFmpegError:
        pass
    return 2 * errors > packets


@dataclass(slots=True)
class _Lost:
    """A packet that gave no good frame."""

    index: int
    stamp_s: float | None
    reason: str


def decode_alone(
    container: InputContainer,
    stream: VideoStream,
    header: FilmHeader,
    tally: Tally,
    *,
    strict: bool,
    is_sound: Callable[[bytes], bool],
) -> Iterator[Finding]:
    """Decode a stream on one thread, where the result does not depend on timing.

    Frames come in order of presentation, those that packets with errors should have given among
    them. With `strict`, every departure from the standard is an error.
    """
    pyav.prepare(stream, threads=1, strict=strict)
    # What comes out of a decoder says which packet it went in with. (Not on several threads: their
    # threads would wait for Python's lock to give a mark back, and whoever holds it for them.)
    stream.codec_context.copy_opaque = True
    by_stamp = header.step_s is not None and not header.has_decoding_times
    # A transport stream marks the packet in which it notices that something is missing, which need
    # not be the one that is incomplete.
    marks_are_late = header.format == "mpegts"
    waiting: list[_Lost] = []
    spoilt: list[int] = []
    healed, index = -1, -1
    errors: dict[int, str] = {}

    def lose(stamp_s: float | None, reason: str) -> None:
        if index not in errors:
            errors[index] = reason
            waiting.append(_Lost(index, stamp_s if by_stamp else None, reason))
            spoilt.append(index)

    def due(index: float, stamp_s: float | None) -> Iterator[Finding]:
        for lost in list(waiting):
            by_time = lost.stamp_s is not None and stamp_s is not None
            if (lost.stamp_s or 0.0) < (stamp_s or 0.0) if by_time else lost.index < index:
                waiting.remove(lost)
                yield Finding(lost.stamp_s, None, lost.reason)

    for packet in _packets(container, stream, tally):
        packet_s = pyav.seconds(packet.pts, packet.time_base)
        if not pyav.is_flush(packet):
            index += 1
            packet.opaque = index
            if packet.is_corrupt and marks_are_late:
                spoilt.append(index)
            elif packet.is_corrupt or not is_sound(bytes(packet)):
                lose(packet_s, _INCOMPLETE if packet.is_corrupt else "its checksum is wrong")
        try:
            frames = pyav.decode(packet)
        except FFmpegError as error:
            if not pyav.is_flush(packet):
                lose(packet_s, pyav.error_reason(error))
            continue
        for frame in frames:
            origin = frame.opaque if isinstance(frame.opaque, int) else index
            stamp_s = pyav.stamp_of(frame, by_decoding_order=header.has_decoding_times)
            yield from due(origin, stamp_s if by_stamp else None)
            if origin in errors:
                continue
            if frame.is_corrupt:
                spoilt.append(origin)
                yield Finding(stamp_s, None, "its data are damaged")
                continue
            healed = max(healed, origin) if frame.key_frame else healed
            depends = any(healed < i and (i < origin or not by_stamp) for i in spoilt)
            doubtful = origin in spoilt or (depends and not header.intra_only)
            yield Finding(stamp_s, frame, "", doubtful)
    yield from due(math.inf, math.inf)


def _packets(container: InputContainer, stream: VideoStream, tally: Tally) -> Iterator[Packet[Any]]:
    """Yield the packets with data, and the one behind the last, as far as they can be read."""
    packets = pyav.demux(container, stream)
    while True:
        try:
            packet = next(packets, None)
        except FFmpegError as error:
            tally.broke_off = pyav.error_reason(error)
            return
        if packet is None:
            return
        if not pyav.is_flush(packet):
            tally.count(packet)
        if packet.size or pyav.is_flush(packet):
            yield packet
