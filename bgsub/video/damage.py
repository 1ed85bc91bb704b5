"""Number and time the frames of a damaged video, by what FFmpeg reports of its packets.

The video is decoded once on one thread, where the result does not depend on timing: what became of
each packet, and which frames came out. A packet that gave no frame, a stretch that the timestamps
leave out, and an entry of the file's index without a packet are frames that are missing: they are
counted, so that the frames behind them keep their numbers and times. What depends on a missing or
damaged frame, up to the next key frame, is doubtful: decoders show something stale or torn there.
"""

from __future__ import annotations

import bisect
import zlib
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from av.container import InputContainer
from av.error import FFmpegError
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from bgsub.video import pyav
from bgsub.video.base import Item
from bgsub.video.film_header import Clock, FilmHeader, Pace, has_stamps, pace_of

# Where this share of the packets gives no frame, a packet is not a frame (fields, for example).
_SPARSE_SHARE = 0.4
# Share of the packets that must have a timestamp.
_STAMPED_SHARE = 0.9
# Packets within which a frame comes out again that is shown before others.
_REORDERED = 32
# Bytes between the data of two packets where nothing is lost, besides what is usual in the file.
_USUAL_OVERHEAD = 64

# Share of a step within which two frames have the same time.
_SAME_TIME = 0.3

_INCOMPLETE = "its data are incomplete"
_DEPENDENT = "it depends on a damaged frame"
_NO_PACKET = "its data are missing"
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

    Examples
    --------
    >>> unseen_damage("ffv1", has_sums=True), unseen_damage("huffyuv", has_sums=False)
    ('', 'cannot be seen')
    >>> unseen_damage("h264", has_sums=False)
    'may go unseen'
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
    return any(_slices_fit(packet, remainder) for remainder in (0x00000000, 0x79408C7A))


def _slices_fit(packet: bytes, remainder: int) -> bool:
    end = len(packet)
    while end >= 8:  # three bytes of size, one of state, four of checksum
        start = end - 8 - int.from_bytes(packet[end - 8 : end - 5], "big")
        if start < 0 or _crc(packet[start:end], remainder) != remainder:
            return False
        end = start
    return end == 0 and bool(packet)


# FFV1's sums begin with the highest bit of each byte, zlib's with the lowest.
_REVERSED_BITS = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def _crc(data: bytes, start: int) -> int:
    """Compute the CRC-32 of IEEE 802.3, highest bit first, without any inversion."""
    value = zlib.crc32(data.translate(_REVERSED_BITS), _reversed(start) ^ 0xFFFFFFFF)
    return _reversed(value ^ 0xFFFFFFFF)


def _reversed(value: int) -> int:
    return int(f"{value:032b}"[::-1], 2)


@dataclass(slots=True)
class PacketNote:
    """What is known of a packet: times in seconds, place in the file, and what went wrong."""

    stamp_s: float | None
    decoding_s: float | None
    position: int | None
    size: int
    is_hidden: bool
    is_incomplete: bool
    error: str = ""


@dataclass(slots=True)
class FrameNote:
    """What is known of a frame that came out of the decoder, and the packet that it was in."""

    packet: int
    stamp_s: float | None
    is_key: bool
    is_damaged: bool


@dataclass
class Survey:
    """Packets with data in the order of the file, and frames in the order of presentation."""

    packets: list[PacketNote] = field(default_factory=list)
    frames: list[FrameNote] = field(default_factory=list)
    empty_packets: int = 0
    broke_off: str = ""

    @property
    def is_odd_kind(self) -> bool:
        """Whether nearly every frame departs from the standard: such a video is not damaged."""
        return 2 * sum(bool(packet.error) for packet in self.packets) > len(self.packets)

    def end_s(self, header: FilmHeader) -> float:
        """Return when the last packet ends, on the stream's clock."""
        stamps = [packet.stamp_s for packet in self.packets if packet.stamp_s is not None]
        return max(stamps, default=0.0) + (float(1 / header.rate) if header.rate else 0.0)


def survey(
    container: InputContainer, stream: VideoStream, *, strict: bool, has_sums: bool
) -> Survey:
    """Decode a stream that was just opened, and note what became of it.

    With `strict`, every departure from the standard is an error.
    """
    notes = Survey()
    for _ in _decode_alone(container, stream, notes, strict=strict, has_sums=has_sums):
        pass
    return notes


def _decode_alone(
    container: InputContainer,
    stream: VideoStream,
    notes: Survey,
    *,
    strict: bool,
    has_sums: bool = False,
) -> Iterator[VideoFrame]:
    """Yield the frames of a stream, decoded on one thread; always the same ones."""
    pyav.prepare(stream, threads=1, strict=strict)
    # What comes out of a decoder says which packet it went in with. (Not on several threads: their
    # threads would wait for Python's lock to give a mark back, and whoever holds it for them.)
    stream.codec_context.copy_opaque = True
    packets = pyav.demux(container, stream)
    while True:
        try:
            packet = next(packets, None)
        except FFmpegError as error:
            notes.broke_off = pyav.error_reason(error)
            return
        if packet is None:
            return
        if not pyav.is_flush(packet):
            if packet.size == 0:
                notes.empty_packets += 1
                continue
            packet.opaque = len(notes.packets)
            note = PacketNote(
                stamp_s=pyav.seconds(packet.pts, packet.time_base),
                decoding_s=pyav.seconds(packet.dts, packet.time_base),
                position=packet.pos if packet.pos is None or packet.pos >= 0 else None,
                size=packet.size,
                is_hidden=packet.is_discard,
                is_incomplete=packet.is_corrupt,
            )
            notes.packets.append(note)
            if has_sums and not has_checksums(bytes(packet)):
                note.error = "its checksum is wrong"
        try:
            for frame in pyav.decode(packet):
                origin = frame.opaque if isinstance(frame.opaque, int) else len(notes.packets) - 1
                stamp_s = pyav.stamp_of(frame)
                notes.frames.append(FrameNote(origin, stamp_s, frame.key_frame, frame.is_corrupt))
                yield frame
        except FFmpegError as error:
            if not pyav.is_flush(packet):
                notes.packets[-1].error = notes.packets[-1].error or pyav.error_reason(error)


class Entry(NamedTuple):
    """A frame of the video, numbered from 1, shown or not.

    `frame` is its place among the decoded ones, None where there is none or, for the `reason`, no
    good one. A doubtful one is there, but may be wrong.
    """

    number: int
    time_s: float
    frame: int | None
    reason: str = ""
    doubtful: bool = False


@dataclass(frozen=True)
class Timeline:
    """The frames of a video in order, and notes with the frame from which they matter."""

    entries: list[Entry]
    notes: list[tuple[int, str]]
    strict: bool = True

    def decode(
        self,
        container: InputContainer,
        stream: VideoStream,
        make: Callable[[int, VideoFrame, float], Item],
        notes: list[str],
    ) -> Generator[Item, None, None]:
        """Yield the frames of a video that was just opened as items.

        `notes` receives what is to be said.
        """
        waiting = list(self.notes)
        frames = enumerate(_decode_alone(container, stream, Survey(), strict=self.strict))
        early: dict[int, VideoFrame] = {}
        wanted = {entry.frame for entry in self.entries}
        for entry in self.entries:
            while waiting and waiting[0][0] <= entry.number:
                notes.append(waiting.pop(0)[1])
            if entry.frame is None:
                yield Item(entry.number, entry.time_s, None, entry.reason)
                continue
            while entry.frame not in early:
                place, frame = next(frames)
                if place in wanted:
                    early[place] = frame
            item = make(entry.number, early.pop(entry.frame), entry.time_s)
            yield item._replace(doubtful=entry.doubtful)
        notes.extend(text for _, text in waiting)


@dataclass(slots=True)
class _Slot:
    """A frame on its way to an entry; `order` is its place in the order of decoding.

    `spoils` is true of what later frames may depend on although it is damaged or missing.
    """

    order: float
    stamp_s: float | None
    frame: int | None
    reason: str = ""
    is_key: bool = False
    spoils: bool = False


def diagnose(header: FilmHeader, look: Callable[[bool], Survey]) -> Timeline:
    """Work out the frames of a video in which something is odd.

    `look` surveys it, strictly or not.
    """
    found = look(True)
    strict = not found.is_odd_kind
    if not strict:
        found = look(False)
    packets, end_s = len(found.packets) + found.empty_packets, found.end_s(header)
    is_short = header.falls_short(packets, end_s)
    timeline = make_timeline(found, header, ends_early=is_short or bool(found.broke_off))
    if is_short and not found.broke_off and header.announced == len(timeline.entries):
        timeline = make_timeline(found, header)  # what is missing is known: the end is whole
    good = sum(entry.frame is not None for entry in timeline.entries)
    notes = header.shortfall(packets, end_s, good)
    if notes and (len(header.table) or header.announced) in range(1, len(timeline.entries) + 1):
        notes = []  # the frames that are not there are named one by one
    if found.broke_off:
        notes.append(f"the file cannot be read to its end ({found.broke_off})")
    if not strict:
        notes.append("its codec departs from the standard: damage may go unseen")
    said = notes or timeline.notes or any(e.reason or e.doubtful for e in timeline.entries)
    if not said and any(packet.is_incomplete for packet in found.packets):
        notes.append("something is damaged, but every frame can be decoded")
    timeline.notes.extend((len(timeline.entries) + 1, note) for note in notes)
    return replace(timeline, strict=strict)


def make_timeline(found: Survey, header: FilmHeader, *, ends_early: bool = False) -> Timeline:
    """Work out number, time and state of every frame of a film from a survey of it.

    The last packet of one that ends early may be there in part.
    """
    table = _fitting_table(found, header)
    orders = _decoding_orders(found, table)
    stamped = sum(packet.stamp_s is not None for packet in found.packets)
    by_stamp = has_stamps(header.format) and not header.has_decoding_times
    by_stamp &= stamped >= _STAMPED_SHARE * len(found.packets)
    torn = _torn(found, knows_places=header.format != "asf")
    slots = _arrange(found, header, orders, by_stamp=by_stamp, missing=bool(table))
    if ends_early and slots:
        max(slots, key=lambda slot: slot.order).spoils = True
    strays = _drop_strays(slots) if by_stamp else []
    pace = Pace(None)
    if by_stamp:
        pace = pace_of([s.stamp_s for s in slots if s.stamp_s is not None], header.resolution_s)
        if pace.step_s is not None:
            slots = _fill_gaps(slots, pace, orders, torn, found)
    for slot in slots:
        # What was read right before a tear may have begun within it.
        place = bisect.bisect_left(orders, slot.order)
        slot.spoils |= (
            bool(torn[place : place + 2].any()) and slot.order in orders[place : place + 1]
        )
    entries = _entries(slots, _times(slots, header, found, table), header, by_stamp=by_stamp)
    notes = _gap_notes(entries, pace)
    if strays:
        number = next(entry.number for entry in entries if entry.frame == strays[0])
        which = "1 timestamp is" if len(strays) == 1 else f"{len(strays)} timestamps are"
        text = f"{which} damaged, the first is that of frame {number}"
        notes.append((number, f"{text}: numbers and times are unsure from there on"))
    if header.table and not table:
        notes.append((1, "numbers and times are unsure: its index does not fit its frames"))
    elif not (pace.gives_numbers or header.lists_frames or table):
        notes += _doubts_of_numbers(slots, entries) or _doubts_of_all(found, header, ends_early)
    if pace.step_s is not None:
        notes += _doubts_of_stamps(slots, pace.step_s)
    return Timeline(entries, sorted(notes))


def _fitting_table(found: Survey, header: FilmHeader) -> dict[int, int]:
    """Return the rank of each packet in the file's index by its place, if the index fits."""
    ranks = {place: rank for rank, (place, _) in enumerate(header.table)}
    fitting = sum(packet.position in ranks for packet in found.packets)
    return ranks if fitting >= 0.9 * len(found.packets) else {}


def _decoding_orders(found: Survey, ranks: dict[int, int]) -> list[int]:
    """Return each packet's rank in the index of the file; in the order of reading without one."""
    orders: list[int] = []
    for packet in found.packets:
        following = orders[-1] + 1 if orders else 0
        rank = following if packet.position is None else ranks.get(packet.position, following)
        orders.append(max(rank, following))
    return orders


def _torn(found: Survey, *, knows_places: bool) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return before which packets, and behind the last, the file holds more than is usual."""
    between = np.full(len(found.packets) + 2, -1.0)
    for place, (one, other) in enumerate(pairwise(found.packets), 1):
        if not knows_places or one.position is None or other.position is None:
            continue
        if other.position != one.position:  # or they are of one block
            between[place] = max(0, other.position - one.position - one.size)
    known = between[between >= 0]
    usual = 4 * float(np.percentile(known, 75)) + _USUAL_OVERHEAD if known.size else np.inf
    return np.asarray(between > usual)


def _arrange(
    found: Survey, header: FilmHeader, orders: list[int], *, by_stamp: bool, missing: bool
) -> list[_Slot]:
    """Put frames, and packets that should have given one, into the order of presentation."""
    shown: list[_Slot] = []
    lost = _lost_packets(found, header, orders)
    for index, frame in enumerate(found.frames):
        packet = found.packets[frame.packet]
        # A transport stream marks the packet in which it notices that something is missing, which
        # need not be the one that is incomplete.
        is_unsure = packet.is_incomplete and header.format == "mpegts"
        reason = packet.error or (_INCOMPLETE if packet.is_incomplete and not is_unsure else "")
        reason = reason or ("its data are damaged" if frame.is_damaged else "")
        order, spoils = orders[frame.packet], bool(reason) or is_unsure
        slot = _Slot(order, frame.stamp_s, index, reason, frame.is_key, spoils)
        (lost if reason else shown).append(slot)  # decoders give damaged ones out of order
    if missing:
        ranks = sorted(set(range(max(orders, default=-1))) - set(orders))
        lost += [_Slot(rank, None, None, _NO_PACKET, spoils=True) for rank in ranks]
    for slot in sorted(lost, key=lambda slot: slot.order):
        stamp_s = slot.stamp_s if by_stamp else None
        later = (place for place, other in enumerate(shown) if _is_behind(other, slot, stamp_s))
        shown.insert(next(later, len(shown)), slot)
    return shown


def _is_behind(slot: _Slot, lost: _Slot, stamp_s: float | None) -> bool:
    """Return whether a frame is shown after one that was lost, by its stamp or its order."""
    if stamp_s is None or slot.stamp_s is None or slot.order > lost.order + _REORDERED:
        return slot.order > lost.order
    return slot.stamp_s > stamp_s and slot.order > lost.order - _REORDERED


def _lost_packets(found: Survey, header: FilmHeader, orders: list[int]) -> list[_Slot]:
    """Return the packets that should have given a frame and did not."""
    seen = {frame.packet for frame in found.frames}
    first = min(seen, default=len(found.packets))
    silent = [
        index
        for index, packet in enumerate(found.packets)
        if index not in seen and not packet.is_hidden and pyav.is_picture(header.codec, packet.size)
    ]
    reasons = {
        index: found.packets[index].error
        or (_INCOMPLETE if found.packets[index].is_incomplete else "")
        for index in silent
    }
    without_reason = sum(not reason for reason in reasons.values())
    counts = header.codec not in pyav.HIDDEN_PACKETS
    counts &= without_reason < _SPARSE_SHARE * len(found.packets)
    slots, has_errors = [], header.begins_silently
    for index in silent:
        has_errors |= bool(reasons[index])
        if reasons[index] or (counts and (index > first or has_errors)):
            reason = reasons[index] or _DEPENDENT
            stamp_s = found.packets[index].stamp_s
            slots.append(_Slot(orders[index], stamp_s, None, reason, spoils=True))
    return slots


def _drop_strays(slots: list[_Slot]) -> list[int]:
    """Remove the stamps of frames that do not lie between those of their neighbours."""
    strays = []
    last: float | None = None
    for slot, other in pairwise(slots):
        if slot.stamp_s is None:
            continue
        following = other.stamp_s
        is_rise = last is not None and following is not None and last < following
        if is_rise and not (last or 0.0) < slot.stamp_s < (following or 0.0):
            slot.stamp_s, slot.spoils = None, True
            if slot.frame is not None and not slot.reason:
                strays.append(slot.frame)
        else:
            last = slot.stamp_s
    return strays


def _fill_gaps(
    slots: list[_Slot],
    pace: Pace,
    orders: list[int],
    torn: np.ndarray[tuple[int], np.dtype[np.bool_]],
    found: Survey,
) -> list[_Slot]:
    """Add the frames that the timestamps leave out, or only note what was lost there."""
    filled: list[_Slot] = []
    last: float | None = None
    unstamped = 0
    for slot in slots:
        if last is not None and slot.stamp_s is not None and pace.step_s:
            missing = round((slot.stamp_s - last) / pace.step_s) - 1 - unstamped
            if missing > 0:
                place = bisect.bisect_left(orders, slot.order)
                near = slice(max(0, place - 3), place + 2)
                spoils = slot.frame is None or bool(torn[near].any())
                spoils |= any(note.error or note.is_incomplete for note in found.packets[near])
                if pace.gives_numbers:
                    times = [last + i * pace.step_s for i in range(1, missing + 1)]
                    filled += [
                        _Slot(slot.order - 0.5, t, None, _NOWHERE, spoils=spoils) for t in times
                    ]
                else:
                    slot.spoils |= spoils
        unstamped = unstamped + 1 if slot.stamp_s is None else 0
        last = slot.stamp_s if slot.stamp_s is not None else last
        filled.append(slot)
    return filled


def _times(
    slots: list[_Slot], header: FilmHeader, found: Survey, table: dict[int, int]
) -> list[float]:
    clock = Clock(header.rate)
    if not header.has_decoding_times:
        return [clock.read(slot.stamp_s) for slot in slots]
    # Only the order of decoding has times there, and frames are seen at the same pace.
    known = sorted(
        [time_s for _, time_s in header.table]
        if table
        else [p.decoding_s for p in found.packets if p.decoding_s is not None]
    )
    beats: list[float | None] = [*known, *[None] * (len(slots) - len(known))]
    return [clock.read(beat) for beat in beats[: len(slots)]]


def _entries(
    slots: list[_Slot], times: list[float], header: FilmHeader, *, by_stamp: bool
) -> list[Entry]:
    """Number the slots, and find out which of them depend on what is damaged.

    Without timestamps the order in which frames are seen is not to be trusted either, from damage
    up to the next key frame.
    """
    spoilt = sorted(slot.order for slot in slots if slot.spoils)
    ahead = 0 if by_stamp else header.delay  # the places of reordered frames are guessed
    near = {place - i for place, slot in enumerate(slots) if slot.spoils for i in range(ahead + 1)}
    healed = -1.0  # what was spoilt before this no longer matters
    passed = -1.0  # the latest that was spoilt and has been shown or left out
    entries = []
    for place, (slot, time_s) in enumerate(zip(slots, times, strict=True)):
        if slot.is_key and not slot.reason:
            healed = max(healed, slot.order)
        first = bisect.bisect_left(spoilt, healed)
        depends = first < len(spoilt) and spoilt[first] < slot.order
        depends |= passed > healed and not by_stamp
        if slot.spoils:
            passed = max(passed, slot.order)
        is_good = slot.frame is not None and not slot.reason
        doubtful = is_good and (place in near or (depends and not header.intra_only))
        frame = slot.frame if is_good else None
        entries.append(Entry(place + 1, time_s, frame, slot.reason, doubtful))
    return entries


def _gap_notes(entries: list[Entry], pace: Pace) -> list[tuple[int, str]]:
    """Return a note on frames that are missing from the file."""
    if pace.missing and not pace.gives_numbers:
        text = f"timestamps leave out {pace.missing} frames, more than there are"
        return [
            (1, f"{text}: numbers count the frames that are there, times are those of the file")
        ]
    gaps = [entry for entry in entries if entry.reason in {_NOWHERE, _NO_PACKET}]
    last = max((entry.number for entry in entries if entry.frame is not None), default=0)
    if not gaps or gaps[0].number > last:
        return []
    frames = "1 frame is" if len(gaps) == 1 else f"{len(gaps)} frames are"
    text = f"{frames} missing from the file, the first is frame {gaps[0].number}"
    return [(gaps[0].number, f"{text}; those behind keep their numbers and times")]


def _doubts_of_numbers(slots: list[_Slot], entries: list[Entry]) -> list[tuple[int, str]]:
    """Return from where on numbers and times may be too low, if frames follow the damage."""
    last = max((entry.number for entry in entries if entry.frame is not None), default=0)
    for slot, entry in zip(slots, entries, strict=True):
        if entry.number < last and (entry.reason or slot.spoils):
            text = f"numbers and times are unsure from frame {entry.number} on"
            return [(entry.number, f"{text}: the file does not tell how many its damage took")]
    return []


def _doubts_of_all(found: Survey, header: FilmHeader, ends_early: bool) -> list[tuple[int, str]]:
    """Return that frames are missing somewhere, unless the file ends with its last packet."""
    last = found.packets[-1] if found.packets else None
    if not ends_early or last is None or last.position is None:
        return []
    if last.position + last.size + _USUAL_OVERHEAD > header.size:
        return []
    return [(1, "numbers and times are unsure: frames are missing, and nothing tells where")]


def _doubts_of_stamps(slots: list[_Slot], step_s: float) -> list[tuple[int, str]]:
    """Return from where on frames may be out of place: of two that have one time, one is wrong."""
    for number, (slot, other) in enumerate(pairwise(slots), 1):
        if slot.stamp_s is None or other.stamp_s is None:
            continue
        if abs(other.stamp_s - slot.stamp_s) < _SAME_TIME * step_s:
            text = f"numbers and times are unsure from frame {number} on"
            return [(number, f"{text}: two frames have the same time")]
    return []
