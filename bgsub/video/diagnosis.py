"""Find out what is damaged in a video, and give its frames as they are known then."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from typing import Protocol

from av.container import InputContainer
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from bgsub.video.base import Item
from bgsub.video.decoding import Decoder, Oddity
from bgsub.video.film_header import FilmHeader, Reach
from bgsub.video.survey import Survey, decode_alone
from bgsub.video.timeline import Timeline, make_timeline
from bgsub.wording import plural


class Look(Protocol):
    """Decodes a film on one thread, and notes what became of it."""

    def __call__(self, *, strict: bool) -> Survey:
        """Take every departure from the standard for an error if `strict`."""
        ...


def diagnose(header: FilmHeader, oddity: Oddity, look: Look) -> Timeline:
    """Work out the frames of a film in which something is odd.

    Parameters
    ----------
    header : FilmHeader
    oddity : Oddity
        What was noticed first.
    look : Look
    """
    found = complaints = look(strict=True)
    if complaints.errors or complaints.broke_off:
        found = look(strict=False)
    # Films whose every picture departs from the standard are not damaged.
    is_odd_kind = complaints.errors > len(found.packets) // 2 > found.errors
    if not is_odd_kind:
        found.add_errors(complaints)
    timeline = make_timeline(found, header)
    notes = shortfall(
        header,
        len(found.packets),
        found.empty_packets,
        found.reach(header.rate),
        timeline.good,
        is_damaged=bool(found.broke_off) or header.ends_early,
    )
    listed = len(header.table) or header.announced
    if 0 < listed <= len(timeline.entries) and not header.ends_early:
        notes = []  # the frames that are not there are named one by one
    entries = timeline.entries
    if is_odd_kind:
        notes.append("its codec departs from the standard: damage may go unseen")
    elif not (notes or timeline.notes or oddity.is_gap or oddity.is_guess) and not any(
        entry.reason or entry.doubtful for entry in entries
    ):
        notes.append(f"something is damaged ({oddity.reason}), but every frame can be decoded")
    timeline.notes.extend((len(entries) + 1, note) for note in notes)
    return timeline


def shortfall(
    header: FilmHeader,
    packets: int,
    empty: int,
    reach: Reach,
    good: int,
    *,
    is_damaged: bool = False,
) -> list[str]:
    """Say whether less was found than a film announces.

    Parameters
    ----------
    header : FilmHeader
    packets, empty : int
        Packets with and without data.
    reach : Reach
        How far these go.
    good : int
        Frames that could be decoded.
    is_damaged : bool
        Whether something else tells that the film is.
    """
    what = f"decoded {plural(good, 'frame')}"
    if header.falls_short(packets, empty, reach) or header.begins_late(reach):
        if header.frames is not None and header.frames > good:
            what = f"decoded {good} of about {header.frames} frames"
        if header.loses_count(reach):
            return [f"{what}: the file is damaged, numbers and times are unsure"]
    elif not (is_damaged or header.lacks_its_end(reach.place)):
        return []
    return [f"{what}: the file is cut off or damaged"]


def has_unknown_holes(header: FilmHeader, decoder: Decoder) -> bool:
    """Say whether a film holds less than it should although its decoder found nothing odd."""
    falls_short = header.falls_short(decoder.packets, decoder.empty_packets, decoder.reach)
    return header.ends_early or (falls_short and header.format == "avi" and not header.table)


def decode_timeline(
    timeline: Timeline,
    container: InputContainer,
    stream: VideoStream,
    make: Callable[[int, VideoFrame, float], Item],
    notes: list[str],
) -> Generator[Item, None, None]:
    """Give the frames of a damaged film as its timeline says.

    Parameters
    ----------
    timeline : Timeline
    container, stream
        Just opened.
    make : callable
        Makes an item of number, picture and time in seconds.
    notes : list of str
        Gets what is to be said of the frames that were given.
    """
    waiting = deque(timeline.notes)
    pictures = enumerate(decode_alone(container, stream, strict=False))
    wanted = {entry.picture for entry in timeline.entries}
    early: dict[int, VideoFrame] = {}  # behind damage pictures may come out of order
    for entry in timeline.entries:
        while waiting and waiting[0][0] <= entry.number:
            notes.append(waiting.popleft()[1])
        if entry.picture is None:
            yield Item(entry.number, entry.time_s, None, entry.reason)
            continue
        while entry.picture not in early:
            index, frame = next(pictures)
            if index in wanted:
                early[index] = frame
        item = make(entry.number, early.pop(entry.picture), entry.time_s)
        yield item._replace(doubtful=entry.doubtful)
    notes.extend(text for _, text in waiting)
