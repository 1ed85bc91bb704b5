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

import numpy as np
from av.container import InputContainer
from av.error import FFmpegError
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from bgsub.errors import is_or_are, plural
from bgsub.video import pyav
from bgsub.video.base import Item
from bgsub.video.film_index import GAP_STEPS, RESTART_S, Entry, FilmHeader, Pace, PacketTimes

_PROBED = 40  # packets that show whether a film departs from the standard, which is no damage
# A packet below this size repeats the picture before (a "not coded" one of MPEG-4, for example);
# but in AV1 a few bytes show a picture that was sent before.
_LEAST_PACKET, _SHORT_CODECS = 8, {"libdav1d", "libaom-av1", "av1"}
_PACKETS_A_FRAME = 1.6  # of more, packets are not one frame each (but fields, for example)
_SAME_TIME = 0.3  # share of a step within which two frames have the same time
_LEAP_S = 10 * 86400.0  # a longer leap is no time that passed between two frames
_INCOMPLETE = "its data are incomplete"

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
    """Return whether damage can go unseen, empty if not; FFV1 may have checksums (`has_sums`)."""
    if codec in _WITHOUT_CHECKS or (codec == "ffv1" and not has_sums):
        return "cannot be seen"
    return "" if codec in _WITH_CHECKSUMS else "may go unseen"


def has_checksums(packet: bytes) -> bool:
    """Return whether a packet of FFV1 consists of slices whose checksums fit.

    FFmpeg's decoder shows parts of the frame before where one does not, and says so in its log
    alone. The slices are found from the last, whose size stands at its end, to the first.
    """
    # The sum is the CRC-32 of IEEE 802.3 with the highest bit of each byte first (zlib's has the
    # lowest), not inverted. What it begins with and an undamaged slice leaves, of both kinds:
    for plain in (0x00000000, 0x5E31029E):
        end = len(packet)
        while end >= 8:  # three bytes of size, one of state, four of checksum
            start = end - 8 - int.from_bytes(packet[end - 8 : end - 5], "big")
            left = ~plain & 0xFFFFFFFF
            if start < 0 or zlib.crc32(packet[start:end].translate(_REVERSED), left) != left:
                break
            end = start
        if end == 0 and packet:
            return True
    return False


_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


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
        least = 1 if self.codec in _SHORT_CODECS else _LEAST_PACKET
        if packet.is_discard or packet.size < least:
            return
        self.pictures += bool(packet.is_keyframe or self.pictures)
        unit = packet.time_base
        stamp_s = pyav.seconds(packet.pts, unit)
        if stamp_s is not None:
            self.latest_s = max(self.latest_s, stamp_s)
            length_s = pyav.seconds(packet.duration, unit) or 0.0
            self.end_s = max(self.end_s, stamp_s + length_s)


class Clock:
    """Turns timestamps into times of frames: 0 at the first, and always increasing."""

    def __init__(self, rate: Fraction | None) -> None:
        self._step = float(1 / rate) if rate else 0.04
        self._origin: float | None = None
        self._last: float | None = None
        self._stamped = self._seen_step = math.inf

    def read(self, stamp_s: float | None) -> float:
        """Return the time of the next frame from its timestamp; without one, at the rate."""
        step = self._step if math.isinf(self._seen_step) else self._seen_step
        time_s = following = 0.0 if self._last is None else self._last + step
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

    `times` returns the timestamps of all packets. In a pass over a film that `is_damaged`, what has
    no packet or no frame is counted; otherwise Damaged is raised where a packet gave no frame.
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
        self.number = self.good = self._unstamped = 0
        self.shown = (0, 0.0)  # number and time of the last good frame
        self._last_s: float | None = None
        self._spoilt = False
        self._missing_s: list[float] = []
        # Numbers of frames without a packet, with a damaged stamp, without a picture, at one time.
        self._gaps, self._strays, self._losses, self._doubles = (list[int]() for _ in range(4))

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
        is_frame_each &= self._header.codec not in pyav.HIDDEN_PACKETS
        return max(0, tally.pictures - self.number) if is_frame_each else 0

    def _missing(self, last_s: float, stamp_s: float) -> Iterator[Item]:
        """Yield the frames between two timestamps: of packets, and of the steps of a rate."""
        times = self._times()
        stamps: list[float] = []
        if self._header.codec not in pyav.HIDDEN_PACKETS:
            first = np.searchsorted(times.stamps, last_s, side="right")
            stamps = times.stamps[first : np.searchsorted(times.stamps, stamp_s)].tolist()
        if stamps and not self._is_damaged:
            raise Damaged
        pace, reason = times.pace, "the file holds no picture for its time"
        reason = "it depends on a damaged frame" if stamps else reason
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
        header, unsure, notes = self._header, "numbers and times are unsure", list[str]()
        pace = self._times().pace if self._is_damaged or self._gaps else Pace(None)
        counted = is_whole and 0 < header.announced <= self.number
        if self._gaps and self._gaps[0] < self.shown[0]:
            count, first = len(self._gaps), self._gaps[0]
            text = f"{plural(count, 'frame')} {is_or_are(count)} missing from the file"
            kept = "those behind keep their numbers and times"
            notes.append(f"{text}, the first is frame {first}; {kept}")
        if pace.missing and not pace.gives_numbers:
            text = f"timestamps leave out {pace.missing} frames, more than there are"
            kept = "numbers count the frames that are there, times are those of the file"
            notes.append(f"{text}: {kept}")
        if self._strays:
            count, first = len(self._strays), self._strays[0]
            which = f"{plural(count, 'timestamp')} {is_or_are(count)} damaged"
            notes.append(f"{which}, the first is that of frame {first}: {unsure} from there on")
        is_told = counted or pace.gives_numbers
        if self._losses and self._losses[0] < self.shown[0] and not is_told:
            text = "the file does not tell how many its damage took"
            notes.append(f"{unsure} from frame {self._losses[0]} on: {text}")
        if self._doubles:
            text = "two frames have the same time"
            notes.append(f"{unsure} from frame {self._doubles[0]} on: {text}")
        if is_whole and header.falls_short(tally.packets, tally.end_s) and not counted:
            what = f"decoded {plural(self.good, 'frame')}"
            if header.frames is not None and header.frames > self.good:
                what = f"decoded {self.good} of about {header.frames} frames"
            doubt = "" if header.step_s else f"; {unsure}"
            notes.append(f"{what}: the file is cut off or damaged{doubt}")
        if is_whole and (silent := self.silent(tally)):
            notes.append(f"{plural(silent, 'picture')} cannot be decoded: {unsure}")
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


def decode(
    container: InputContainer,
    stream: VideoStream,
    header: FilmHeader,
    tally: Tally,
    *,
    is_sound: Callable[[bytes], bool],
    tolerant: bool,
) -> Iterator[Finding]:
    """Decode a stream that was prepared; frames come in order of presentation.

    With `tolerant`, which takes one thread, those that packets with errors should have given are
    among them; or else Damaged is raised for the first error, and a frame that FFmpeg calls corrupt
    is doubtful.
    """
    # What comes out of a decoder says which packet it went in with. (Not on several threads: their
    # threads would wait for Python's lock to give a mark back, and whoever holds it for them.)
    stream.codec_context.copy_opaque = tolerant
    by_stamp = header.step_s is not None and not header.has_decoding_times
    waiting: list[tuple[int, float | None, str]] = []  # packets that gave no good frame
    spoilt: list[int] = []
    lost: set[int] = set()
    healed, index = -1, -1

    def lose(stamp_s: float | None, reason: str) -> None:
        if not tolerant:
            raise Damaged(reason)
        if index not in lost:
            lost.add(index)
            waiting.append((index, stamp_s if by_stamp else None, reason))
            spoilt.append(index)

    def due(index: float, stamp_s: float | None) -> Iterator[Finding]:
        for one in list(waiting):
            at, at_s, reason = one
            if at < index if at_s is None or stamp_s is None else at_s < stamp_s:
                waiting.remove(one)
                yield Finding(at_s, None, reason)

    for packet in _packets(container, stream, tally):
        packet_s = pyav.seconds(packet.pts, packet.time_base)
        if not pyav.is_flush(packet):
            index += 1
            if tolerant:
                packet.opaque = index
            # A transport stream marks the packet in which it notices that something is missing,
            # which need not be the one that is incomplete.
            if packet.is_corrupt and header.format == "mpegts" and tolerant:
                spoilt.append(index)
            elif packet.is_corrupt or not is_sound(bytes(packet)):
                lose(packet_s, _INCOMPLETE if packet.is_corrupt else "its checksum is wrong")
        try:
            frames = pyav.decode(packet)
        except FFmpegError as error:
            if not (tolerant and pyav.is_flush(packet)):
                lose(packet_s, pyav.error_reason(error))
            continue
        for frame in frames:
            origin = frame.opaque if isinstance(frame.opaque, int) else index
            stamp_s = pyav.stamp_of(frame, by_decoding_order=header.has_decoding_times)
            yield from due(origin, stamp_s if by_stamp else None)
            if origin in lost:
                continue
            if frame.is_corrupt and tolerant:
                spoilt.append(origin)
                yield Finding(stamp_s, None, "its data are damaged")
                continue
            healed = max(healed, origin) if frame.key_frame else healed
            depends = any(healed < i and (i < origin or not by_stamp) for i in spoilt)
            doubtful = origin in spoilt or (depends and not header.intra_only)
            yield Finding(stamp_s, frame, "", doubtful or frame.is_corrupt)
    if tally.broke_off and not tolerant:
        raise Damaged(tally.broke_off)
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
        # An empty packet repeats a frame; a decoder would take it for the end.
        if packet.size or pyav.is_flush(packet):
            yield packet
