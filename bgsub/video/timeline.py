"""Work out number, time and state of every picture of a damaged video from the notes of a survey.

A packet that gave no picture, a stretch that the timestamps leave out, and an entry of the file's
table without a packet are frames that are missing: they are counted, so that the pictures behind
them keep their numbers and times. What depends on a missing or damaged picture, up to the next key
frame, is doubtful: decoders show something stale or torn there and call it good.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from bgsub.video.clock import Clock
from bgsub.video.film_header import FilmHeader, Reach
from bgsub.video.slots import NO_PACKET, Slot, arrange, by_order, decoding_orders, has_own_stamps
from bgsub.video.stamps import Pace, has_stamps, pace_of
from bgsub.video.strays import Mended, mend
from bgsub.video.survey import Survey
from bgsub.video.tears import Tears

# Bytes that may follow the last picture of an avi that was cut off.
_AVI_TAIL = 64

# Share of a step within which two frames have the same time.
_SAME_TIME = 0.3

_NOWHERE = "the file holds no picture for its time"


class Entry(NamedTuple):
    """A frame of the film, shown or not.

    Attributes
    ----------
    number : int
        From 1.
    time_s : float
    picture : int or None
        Which of the decoded pictures it is, from 0; None where there is none.
    reason : str
        Why it is no good; empty if it is.
    doubtful : bool
        Whether a good one may nevertheless be wrong.
    """

    number: int
    time_s: float
    picture: int | None
    reason: str = ""
    doubtful: bool = False


@dataclass(frozen=True)
class Timeline:
    """The frames of a film in order.

    Attributes
    ----------
    entries : list of Entry
    notes : list of (int, str)
        What is to be said, and from which frame on it matters.
    """

    entries: list[Entry]
    notes: list[tuple[int, str]]

    @property
    def good(self) -> int:
        """Number of frames that can be shown."""
        return sum(entry.picture is not None and not entry.reason for entry in self.entries)


def make_timeline(survey: Survey, header: FilmHeader) -> Timeline:
    """Work out the frames of a film.

    Parameters
    ----------
    survey : Survey
    header : FilmHeader
    """
    header = _with_sound_table(header, survey)
    orders = decoding_orders(survey, header)
    by_stamp = not header.has_decoding_times and has_own_stamps(survey)
    mended = mend(survey, header.latest_s) if by_stamp else Mended([])
    slots = arrange(survey, header, orders, by_stamp=by_stamp)
    _distrust_the_end(slots, header)
    # The places of an asf are those of blocks, in which other things stand too.
    tears = Tears(survey, header.data_start, knows_places=header.format != "asf")
    pace = Pace(None)
    if by_stamp and has_stamps(header.format):
        stamps = [slot.stamp_s for slot in slots if slot.stamp_s is not None]
        pace = pace_of(stamps, header.resolution_s)
        if pace.step_s is not None:
            slots = _fill_gaps(slots, pace.step_s, tears, adds=pace.gives_numbers)
    elif header.format == "avi" and not header.table:
        for slot in slots:
            if tears.before(slot.packet):
                slot.spoils = slot.follows_tear = True
    _distrust_neighbours(slots, tears)
    times = _times(slots, header, survey)
    entries = _entries(slots, times, intra_only=header.intra_only, by_stamp=by_stamp)
    doubts = [] if pace.step_s is None else _doubts_of_stamps(slots, pace.step_s)
    doubts += _notes_of_stamps(mended, entries)
    if pace.step_s is not None or (header.has_decoding_times and has_stamps(header.format)):
        doubts += _doubts_of_count(survey, slots, header.resolution_s, pace.step_s)
    if header.lacks_packets:
        text = "pictures at its beginning are lost, and nothing tells how many"
        doubts.append((1, f"numbers and times are unsure: {text}"))
    notes = _gap_notes(entries, pace, is_sure=not doubts) + doubts
    if not (pace.gives_numbers or header.lists_frames or header.table):
        notes += _doubts_of_numbers(slots, entries) or _doubts_of_all(survey, header)
    return Timeline(entries, notes)


def _with_sound_table(header: FilmHeader, survey: Survey) -> FilmHeader:
    """Leave out a table that does not fit the file."""
    places = {place for place, _ in header.table}
    fitting = sum(packet.position in places for packet in survey.packets)
    return header if fitting >= 0.9 * len(survey.packets) else replace(header, table=[])


def _distrust_the_end(slots: list[Slot], header: FilmHeader) -> None:
    """Mark the last picture of a file that breaks off, unless its format drops such a picture."""
    if not header.ends_early or not slots:
        return
    last = max(slots, key=by_order)
    last.spoils = True
    if header.format == "gif":
        last.reason = last.reason or "the file breaks off within it"


def _fill_gaps(slots: list[Slot], step: float, tears: Tears, *, adds: bool) -> list[Slot]:
    """Add the frames that the timestamps leave out, or only note what was lost there."""
    filled: list[Slot] = []
    for slot in slots:
        before = filled[-1] if filled else None
        if before is not None and before.stamp_s is not None and slot.stamp_s is not None:
            missing = round((slot.stamp_s - before.stamp_s) / step) - 1
            if missing > 0:
                spoils = slot.picture is None or tears.took(
                    before.stamp_s, slot.stamp_s, slot.packet
                )
                if adds:
                    times = [before.stamp_s + i * step for i in range(1, missing + 1)]
                    filled += [
                        Slot(slot.order - 0.5, time_s, None, _NOWHERE, spoils=spoils)
                        for time_s in times
                    ]
                else:
                    slot.spoils |= spoils
        filled.append(slot)
    return filled


def _times(slots: list[Slot], header: FilmHeader, survey: Survey) -> list[float]:
    """Give each slot its time in seconds."""
    clock = Clock(header.rate)
    if not header.has_decoding_times:
        return [clock.read(slot.stamp_s) for slot in slots]
    # Only the order of decoding has times there, and pictures are seen at the same pace.
    beats = sorted(
        [time_s for _, time_s in header.table]
        or [p.decoding_s for p in survey.packets if p.decoding_s is not None]
    )
    known = beats[: len(slots)]
    return [clock.read(beat) for beat in known] + [
        clock.read(None) for _ in range(len(slots) - len(known))
    ]


def _distrust_neighbours(slots: list[Slot], tears: Tears) -> None:
    """Mark the picture that was read before a hole, which may have begun within it."""
    in_order = sorted((slot for slot in slots if slot.order >= 0), key=by_order)
    for slot, following in pairwise(in_order):
        lost = following.packet is None and following.reason in {NO_PACKET, _NOWHERE}
        if slot.packet is not None and (
            (lost and following.spoils) or tears.before(following.packet)
        ):
            slot.spoils = True


def _entries(
    slots: list[Slot], times: list[float], *, intra_only: bool, by_stamp: bool
) -> list[Entry]:
    """Number the slots, and say which of them depend on what is damaged.

    Without timestamps the order in which pictures are seen is not to be trusted either, from
    damage up to the next key frame.
    """
    spoilt = sorted(slot.order for slot in slots if slot.spoils)
    healed = -1.0  # what was spoilt before this no longer matters
    passed = -1.0  # the latest that was spoilt and has been shown or left out
    entries = []
    for number, (slot, time_s) in enumerate(zip(slots, times, strict=True), 1):
        if slot.is_key and not slot.reason:
            healed = max(healed, slot.order)
        doubtful = False
        if slot.picture is not None and not slot.reason:
            place = bisect.bisect_left(spoilt, healed)
            depends = place < len(spoilt) and spoilt[place] < slot.order
            depends |= passed > healed and not by_stamp
            doubtful = slot.spoils or (depends and not intra_only)
        if slot.spoils:
            passed = max(passed, slot.order)
        picture = None if slot.reason else slot.picture
        entries.append(Entry(number, time_s, picture, slot.reason, doubtful))
    return entries


def _gap_notes(entries: list[Entry], pace: Pace, *, is_sure: bool) -> list[tuple[int, str]]:
    """Say which frames are missing from the file."""
    if pace.missing and not pace.gives_numbers:
        text = f"timestamps leave out {pace.missing} frames, more than there are"
        return [
            (1, f"{text}: numbers count the frames that are there, times are those of the file")
        ]
    gaps = [entry for entry in entries if entry.reason in {_NOWHERE, NO_PACKET}]
    last = max((entry.number for entry in entries if entry.picture is not None), default=0)
    if not gaps or gaps[0].number > last:
        return []
    frames = "1 frame is" if len(gaps) == 1 else f"{len(gaps)} frames are"
    text = f"{frames} missing from the file, the first is frame {gaps[0].number}"
    effect = "; those behind keep their numbers and times" if is_sure else ""
    return [(gaps[0].number, text + effect)]


def _doubts_of_stamps(slots: list[Slot], step: float) -> list[tuple[int, str]]:
    """Say from where on frames may be out of place: where two have one time, one of them is wrong.

    The stamp that was damaged may be that of either, and what was read before it may be there too.
    """
    for number, (slot, other) in enumerate(pairwise(slots), 1):
        if slot.stamp_s is None or other.stamp_s is None:
            continue
        if 0 <= other.stamp_s - slot.stamp_s < _SAME_TIME * step:
            text = f"numbers and times are unsure from frame {number} on"
            return [(number, f"{text}: two frames have the same time")]
    return []


def _notes_of_stamps(mended: Mended, entries: list[Entry]) -> list[tuple[int, str]]:
    """Say whose timestamps were damaged, and whether their places are known."""
    strays = set(mended.pictures)
    numbers = [entry.number for entry in entries if entry.picture in strays]
    if not numbers:
        return []
    which = f"{len(numbers)} timestamps are" if len(numbers) > 1 else "1 timestamp is"
    text = f"{which} damaged, the first is that of frame {numbers[0]}"
    if mended.is_sure:
        return [(numbers[0], f"{text}: these frames have times between those of their neighbours")]
    return [(numbers[0], f"{text}: numbers and times are unsure from there on")]


def _doubts_of_count(
    survey: Survey, slots: list[Slot], resolution_s: float, step: float | None
) -> list[tuple[int, str]]:
    """Say that frames are missing that are known by the timestamps of decoding alone."""
    stamps = [packet.decoding_s for packet in survey.packets if packet.decoding_s is not None]
    beat = pace_of(stamps, resolution_s).step_s
    if beat is None or (step is not None and abs(beat - step) > 0.01 * step):
        return []
    lacking = round((max(stamps) - min(stamps)) / beat) + 1 - len(slots)
    if lacking <= 0:
        return []
    which = f"{lacking} more frames are" if lacking > 1 else "1 more frame is"
    return [(1, f"{which} missing, and nothing tells where: numbers and times are unsure")]


def _doubts_of_numbers(slots: list[Slot], entries: list[Entry]) -> list[tuple[int, str]]:
    """Say from where on numbers and times may be too low, if frames follow the damage."""
    last = max((entry.number for entry in entries if entry.picture is not None), default=0)
    for slot, entry in zip(slots, entries, strict=True):
        if entry.number < last + slot.follows_tear and (entry.reason or slot.spoils):
            text = f"numbers and times are unsure from frame {entry.number} on"
            return [
                (entry.number, f"{text}: the file does not tell how many frames its damage took")
            ]
    return []


def _doubts_of_all(survey: Survey, header: FilmHeader) -> list[tuple[int, str]]:
    """Say that an avi lacks frames somewhere; where it was only cut off, it ends with a picture."""
    last = survey.packets[-1] if survey.packets else None
    if header.format != "avi" or last is None or last.position is None:
        return []
    cut_off = last.position + last.size + _AVI_TAIL > header.size
    if cut_off or not header.falls_short(len(survey.packets), survey.empty_packets, Reach()):
        return []
    return [(1, "numbers and times are unsure: frames are missing, and nothing tells where")]
