"""Join the tables of segments row by row; objects that go on over a border keep their number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from bgsub.errors import InputError, cannot_write
from bgsub.outliers.events import Event
from bgsub.tracking.object_options import ObjectOptions
from bgsub.tracking.object_tables import ObjectTables
from bgsub.tracking.recorder import Recorded
from bgsub.tracking.tables import read_frames
from bgsub.tracking.tracker import Observation

_NEAR = 0.75
"""Sizes of an object that it may be away from where it should be behind a border."""

_LEAST_NEAR_PX = 6.0

_LIKE = 3.0
"""Factor by which its area may differ there."""

_SPEED_S = 0.5
"""Seconds before a border from which the speed of an object is taken."""


def join_errors(parts: Sequence[Path], out: Path) -> None:
    """Write the rows of several errors.csv under one header.

    Raises
    ------
    InputError
        If their columns differ.
    OutputError
        If the file cannot be written.
    """
    try:
        with out.open("wb") as target:
            header = b""
            for path in parts:
                with path.open("rb") as source:
                    own = source.readline()
                    header = header or own
                    if own != header:
                        raise InputError(f"{path}: has other columns than the segments before it")
                    target.write(own if path == parts[0] else b"")
                    while piece := source.read(1 << 20):
                        target.write(piece)
    except OSError as error:
        raise cannot_write(out, error) from error


@dataclass
class _Tail:
    """The last places of an object that may go on behind a border."""

    places: list[Observation] = field(default_factory=list)

    def add(self, seen: Observation) -> None:
        self.places.append(seen)
        while seen.time_s - self.places[0].time_s > _SPEED_S:
            del self.places[0]

    def distance(self, seen: Observation) -> float:
        """Distance from where it should be, in units of what may be; inf if it is another."""
        first, last = self.places[0], self.places[-1]
        areas = max(last.area, 1.0), max(seen.area, 1.0)
        if max(areas) > _LIKE * min(areas):
            return math.inf
        x, y = last.cx, last.cy
        if last.time_s > first.time_s:
            share = (seen.time_s - last.time_s) / (last.time_s - first.time_s)
            x, y = x + share * (last.cx - first.cx), y + share * (last.cy - first.cy)
        away = min(
            math.dist((seen.cx, seen.cy), (x, y)),
            math.dist((seen.cx, seen.cy), (last.cx, last.cy)),
        )
        size = math.sqrt(max(last.box[2] * last.box[3], 1.0))
        return away / max(_NEAR * size, _LEAST_NEAR_PX)


class TrackNumbers:
    """Number the tracks of a film through, segment by segment.

    Parameters
    ----------
    max_gap_s : float
        Seconds for which an object may be missed and keep its number.
    """

    def __init__(self, max_gap_s: float) -> None:
        self._gap = max_gap_s
        self._last = 0
        self._own: dict[int, int] = {}
        self._tails: dict[int, _Tail] = {}

    def begin(self, heads: Iterable[Observation]) -> None:
        """Begin the next segment; `heads` are its objects as they are first seen, near its start.

        Each goes on the nearest track that was there before, if there is one.
        """
        tails, self._tails = self._tails, {}
        pairs = sorted(
            (distance, number, seen.track)
            for seen in heads
            for number, tail in tails.items()
            if seen.time_s - tail.places[-1].time_s <= self._gap
            and (distance := tail.distance(seen)) <= 1.0
        )
        self._own = {}
        taken: set[int] = set()
        for _, number, track in pairs:
            if track not in self._own and number not in taken:
                self._own[track] = number
                taken.add(number)

    def number(self, seen: Observation) -> Observation:
        """Give an object its number in the film."""
        if seen.track not in self._own:
            self._last += 1
            self._own[seen.track] = self._last
        number = self._own[seen.track]
        self._tails.setdefault(number, _Tail()).add(seen)
        return replace(seen, track=number)

    def forget(self, now: float) -> None:
        """Forget tracks that are over."""
        for number, tail in list(self._tails.items()):
            if now - tail.places[-1].time_s > self._gap:
                del self._tails[number]


def join_objects(
    parts: Sequence[Path],
    folder: Path,
    area: tuple[int, int, int, int],
    options: ObjectOptions,
    *,
    frame_events: Sequence[Event],
    end_s: float,
) -> Recorded:
    """Write the tables of objects of a film from those of its segments.

    Parameters
    ----------
    parts : sequence of Path
        objects.csv of each segment.
    folder : Path
        Where the files are written.
    area : tuple of four ints
        x, y, width and height of what was looked at.
    options : ObjectOptions
    frame_events : sequence of Event
        Events of whole frames, to be listed too.
    end_s : float
        Time of the film's last frame, whether it shows objects or not.

    Raises
    ------
    InputError
        If a table is damaged.
    """
    tables = ObjectTables(folder, area, options)
    numbers = TrackNumbers(options.max_gap_s)
    try:
        for path in parts:
            frames = read_frames(path)
            early = _early(frames, options.max_gap_s)
            heads: dict[int, Observation] = {}
            for seen in (each for frame in early for each in frame):
                heads.setdefault(seen.track, seen)
            numbers.begin(heads.values())
            for frame in chain(early, frames):
                tables.add([numbers.number(seen) for seen in frame])
                numbers.forget(frame[0].time_s)
        tracks, found = tables.finish(frame_events, end_s)
    finally:
        tables.close()
    return Recorded(tuple(tracks), tuple(found), tables.rows)


def _early(frames: Iterator[list[Observation]], gap_s: float) -> list[list[Observation]]:
    """Take the first frames off, as many as lie within a gap of the first one."""
    taken: list[list[Observation]] = []
    for frame in frames:
        taken.append(frame)
        if frame[0].time_s - taken[0][0].time_s > gap_s:
            break
    return taken
