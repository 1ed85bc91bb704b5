"""Sum up tracks; write and read objects.csv and tracks.csv."""

from __future__ import annotations

import csv
import math
import os
import statistics
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from itertools import chain, combinations, groupby
from pathlib import Path
from typing import IO, Any, Literal, TypeVar

from bgsub.errors import InputError
from bgsub.runtime.files import open_csv, write_rows
from bgsub.tracking.detections import Box
from bgsub.tracking.events import SceneEvent, converted, read_events
from bgsub.tracking.tracker import Observation

Item = TypeVar("Item")
Side = Literal["left", "right", "top", "bottom", "inside"]
_BORDER = 0.015  # share of the picture's longer side within which a box is at the border
_STILL, _STILL_S = 0.1, 1.0  # own sizes that it may move in so many seconds and be at rest
_STEP = 0.1  # own sizes by which it must have moved for its path to grow: outlines breathe
_MOST_KEPT = 4096  # speeds kept of a track for their median, of which every second one goes then

OBJECT_COLUMNS = (  # header of objects.csv
    *("frame", "time_s", "track", "x", "y", "width", "height"),
    *("cx", "cy", "area", "score", "sign"),
)


@dataclass(frozen=True)
class Track:
    """An object from its first frame to its last.

    Attributes
    ----------
    track : int
        Number of the track, from 1.
    first_frame, last_frame : int
        Both included.
    start_s, end_s, duration_s : float
        Times of these frames, and what lies between them.
    path_px, displacement_px : float
        Length of its way, and distance between its first and its last place, in pixels.
    median_speed, peak_speed : float
        Pixels a second, over half a second each.
    median_area : float
        Pixels.
    entered, left : {"left", "right", "top", "bottom", "inside"}
        The side of the picture, or of what --roi keeps of it, that its first and last box touch.
    rest_s : float
        Seconds in which it moved by less than a tenth of its size a second.
    frames : int
        Frames in which it was seen.
    """

    track: int
    first_frame: int
    last_frame: int
    start_s: float
    end_s: float
    duration_s: float
    path_px: float
    displacement_px: float
    median_speed: float
    peak_speed: float
    median_area: float
    entered: Side
    left: Side
    rest_s: float
    frames: int

    def to_dict(self) -> dict[str, Any]:
        """Return the values by the names of the columns of tracks.csv."""
        return asdict(self)


class TrackRecorder:
    """Collect what a track in a region is summed up from; memory does not grow with its length."""

    def __init__(self, first: Observation, region: tuple[int, int, int, int]) -> None:
        self._region = region
        self._first = self.last = first
        self._anchor = (first.cx, first.cy)
        self._resting = (first.time_s, first.cx, first.cy)
        self._recent: deque[tuple[float, float, float]] = deque()
        self._path = self._rest = self._peak = 0.0
        self._speeds, self._areas = _Thinned(), _Thinned()
        self._frames = 0
        self.add(first)

    def add(self, seen: Observation) -> None:
        """Take in the object's next frame."""
        size = math.sqrt(max(seen.box[2] * seen.box[3], 1.0))
        place = (seen.cx, seen.cy)
        step = math.dist(place, self._anchor)
        if step > max(_STEP * size, 1.0):
            self._path += step
            self._anchor = place
        self._recent.append((seen.time_s, *place))
        while seen.time_s - self._recent[0][0] > 0.5 and len(self._recent) > 2:
            self._recent.popleft()
        lasts = seen.time_s - self._recent[0][0]
        if lasts > 0:
            speed = math.dist(self._recent[0][1:], place) / lasts
            self._speeds.add(speed)
            self._peak = max(self._peak, speed if lasts >= 0.2 else 0.0)
        if math.dist(self._resting[1:], place) > max(_STILL * size, 1.0):
            self._rest += self._present_rest()
            self._resting = (seen.time_s, *place)
        self._areas.add(seen.area)
        self._frames += 1
        self.last = seen

    def _present_rest(self) -> float:
        """Seconds for which it has been at rest, 0 while it moves."""
        still = self.last.time_s - self._resting[0]
        return still if still >= _STILL_S else 0.0

    def summary(self) -> Track:
        """Sum up the track as it is so far."""
        first, last = self._first, self.last
        speed = self._speeds.median()
        return Track(
            track=first.track,
            first_frame=first.frame,
            last_frame=last.frame,
            start_s=first.time_s,
            end_s=last.time_s,
            duration_s=last.time_s - first.time_s,
            path_px=self._path,
            displacement_px=math.dist((first.cx, first.cy), (last.cx, last.cy)),
            median_speed=speed,
            peak_speed=max(self._peak, speed),
            median_area=self._areas.median(),
            entered=side_of(first.box, self._region),
            left=side_of(last.box, self._region),
            rest_s=self._rest + self._present_rest(),
            frames=self._frames,
        )


class _Thinned:
    """Numbers for a median, at most so many: evenly thinned out as they become more."""

    def __init__(self) -> None:
        self._values = array("d")
        self._every, self._skip = 1, 0

    def add(self, value: float) -> None:
        self._skip += 1
        if self._skip < self._every:
            return
        self._skip = 0
        self._values.append(value)
        if len(self._values) > _MOST_KEPT:
            self._values = self._values[::2]
            self._every *= 2

    def median(self) -> float:
        return float(statistics.median(self._values)) if self._values else 0.0


def side_of(box: Box, region: tuple[int, int, int, int]) -> Side:
    """Return the side of a region that a box touches, the nearest of several; both in pixels."""
    x, y, width, height = region
    distances: dict[Side, float] = {
        "left": box[0] - x,
        "right": x + width - box[0] - box[2],
        "top": box[1] - y,
        "bottom": y + height - box[1] - box[3],
    }
    nearest = min(distances, key=lambda side: distances[side])
    return nearest if distances[nearest] <= max(_BORDER * max(width, height), 1.0) else "inside"


class ObjectsWriter:
    """Write objects.csv row by row; with `regions` a column tells the one that an object is in."""

    def __init__(self, file: IO[str], *, regions: bool = False) -> None:
        self._writer = csv.writer(file, lineterminator="\n")
        self._regions = regions
        self._writer.writerow([*OBJECT_COLUMNS, *(["region"] if regions else [])])

    def add(self, seen: Observation, region: str = "") -> None:
        """Write one object of one frame."""
        places = [_plain(value) for value in (*seen.box, seen.cx, seen.cy, seen.area)]
        score = "" if math.isnan(seen.score) else _plain(seen.score)
        row = [seen.frame, f"{seen.time_s:.10g}", seen.track, *places, score, seen.sign]
        self._writer.writerow([*row, *([region] if self._regions else [])])


_TRACK_COLUMNS = tuple(field.name for field in fields(Track))


def write_tracks(path: Path, tracks: Iterable[Track]) -> None:
    """Write tracks.csv."""

    def shown(name: str, value: Any) -> Any:
        if not isinstance(value, float):
            return value  # times are as exact as those of objects.csv
        return f"{value:.10g}" if name.endswith("_s") else _plain(value)

    rows = ([shown(*item) for item in asdict(track).items()] for track in tracks)
    write_rows(path, [_TRACK_COLUMNS, *rows])


def read_objects(path: Path) -> Iterator[Observation]:
    """Read objects.csv row by row, as `read_frames` does."""
    return chain.from_iterable(read_frames(path))


def read_frames(path: Path) -> Iterator[list[Observation]]:
    """Read the objects of one frame after the other from objects.csv; InputError names the line.

    Objects have merged that share area and sign, and lie no farther apart than √area.
    """
    objects = _read(path, OBJECT_COLUMNS, _observation, "object of a frame")
    for _, group in groupby(objects, lambda seen: seen.frame):
        frame = list(group)
        regions: dict[Any, list[Observation]] = {}
        for seen in frame:
            regions.setdefault((seen.area, seen.sign), []).append(seen)
        merged = {
            seen.track
            for alike in regions.values()
            for pair in combinations(alike, 2)
            if _gap(*pair) <= math.sqrt(pair[0].area)
            for seen in pair
        }
        yield [replace(s, merged=True) if s.track in merged else s for s in frame]


def _gap(one: Observation, other: Observation) -> float:
    """Return how many pixels lie between two boxes, along the axis that has more of them."""
    return max(
        max(one.box[axis], other.box[axis])
        - min(one.box[axis] + one.box[axis + 2], other.box[axis] + other.box[axis + 2])
        for axis in (0, 1)
    )


def _observation(row: dict[str, Any]) -> Observation:
    unknown = dict.fromkeys(("first_s",) if row["score"] else ("first_s", "score"), math.nan)
    plain = converted(Observation, {**row, **dict.fromkeys(unknown, 0)}) | unknown
    x, y, width, height = (float(row[name]) for name in ("x", "y", "width", "height"))
    return Observation(**plain, box=(x, y, width, height), sign=row["sign"])


def read_tracks(path: Path) -> Iterator[Track]:
    """Read tracks.csv row by row; raises InputError, which names the line, if it is none."""

    def track(row: dict[str, Any]) -> Track:
        return Track(**converted(Track, row), entered=row["entered"], left=row["left"])

    return _read(path, _TRACK_COLUMNS, track, "track")


def _read(
    path: Path, columns: tuple[str, ...], make: Callable[[dict[str, Any]], Item], what: str
) -> Iterator[Item]:
    with open_csv(path, "is not a CSV text file") as file:
        reader = csv.DictReader(file, strict=True)
        missing = [name for name in columns if name not in (reader.fieldnames or [])]
        if missing:
            message = f"{path}: has no column {missing[0]!r}, so it is no {path.name} of bgsub"
            raise InputError(message)
        for row in reader:
            try:
                yield make(row)
            except (TypeError, ValueError) as error:
                message = f"{path}: line {reader.line_num} is no {what} ({error})"
                raise InputError(message) from error


def _plain(value: float) -> str:
    """Write a number with at most two decimals, without those that say nothing."""
    return f"{value:.2f}".rstrip("0").rstrip(".") or "0"


@dataclass(frozen=True)
class Objects:
    """What was found in a film.

    Attributes
    ----------
    observations : tuple of Observation
        An object in a frame each, in order of time.
    tracks : tuple of Track
    events : tuple of SceneEvent
    """

    observations: tuple[Observation, ...]
    tracks: tuple[Track, ...]
    events: tuple[SceneEvent, ...]

    def __repr__(self) -> str:
        """Count them."""
        counts = len(self.observations), len(self.tracks), len(self.events)
        return "Objects({} observations, {} tracks, {} events)".format(*counts)


def objects(results: str | os.PathLike[str]) -> Objects:
    """Read objects, tracks and events that ``bgsub run`` or ``bgsub objects`` wrote.

    Each is a dataclass with `to_dict`, so that ``pandas.DataFrame(o.to_dict() for o in
    found.observations)`` is a table of them.

    Parameters
    ----------
    results : str or Path
        The folder of results.

    Returns
    -------
    Objects

    Raises
    ------
    InputError
        If a table is missing or damaged.
    """
    folder = Path(results)
    for name in ("objects.csv", "tracks.csv", "events.json"):
        if not (folder / name).is_file():
            message = f"{folder}: holds no {name}; bgsub run writes it"
            raise InputError(f"{message}, and bgsub objects from masks")
    return Objects(
        tuple(read_objects(folder / "objects.csv")),
        tuple(read_tracks(folder / "tracks.csv")),
        tuple(read_events(folder / "events.json")),
    )
