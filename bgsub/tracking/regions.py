"""Watch named regions and lines: who is in them, comes, goes, crosses, and for how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError, UsageError
from bgsub.runtime.files import read_json, write_rows
from bgsub.tracking.tracker import Observation

Point = tuple[float, float]
# Header of regions.csv; of a line, entries cross it from its left to its right, exits back.
REGION_COLUMNS = ("region", "kind", "entries", "exits", "dwell_s", "tracks")


@dataclass(frozen=True, eq=False)
class Region:
    """A named polygon in pixels of the input picture."""

    name: str
    polygon: NDArray[np.float32]

    def holds(self, x: float, y: float) -> bool:
        """Return whether a point is in it or on its border."""
        return cv2.pointPolygonTest(self.polygon, (x, y), measureDist=False) >= 0


class Line(NamedTuple):
    """A named line from one point to another, in pixels of the input picture."""

    name: str
    start: Point
    end: Point

    def side(self, x: float, y: float) -> float:
        """Above 0 to the right of the line as seen from its start, below 0 to the left."""
        (x0, y0), (x1, y1) = self.start, self.end
        return (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0)

    def crossing(self, old: Point, new: Point) -> int:
        """Return 1 for a step across it from left to right, -1 for one back, else 0."""
        before, after = self.side(*old), self.side(*new)
        if (before > 0) == (after > 0):
            return 0
        other = Line("", old, new)
        if (other.side(*self.start) > 0) == (other.side(*self.end) > 0):
            return 0  # past one of its ends
        return 1 if after > 0 else -1


def check_inside(
    name: str, size: tuple[int, int], regions: Sequence[Region], lines: Sequence[Line] = ()
) -> None:
    """Raise UsageError for what lies outside of the pictures or covers less than a pixel."""
    shapes = [("region", region.name, region.polygon) for region in regions]
    shapes += [("line", line.name, np.array([line.start, line.end])) for line in lines]
    for kind, own, points in shapes:
        low, high = points.min(axis=0), points.max(axis=0)
        if (high <= 0).any() or (low >= size).any():
            wrong = f"lies outside of {name}, whose pictures are {size[0]}×{size[1]}"
        elif kind == "region" and (high - low < 1).any():
            wrong = "is smaller than a pixel"
        else:
            continue
        raise UsageError(f"{kind} {own!r} {wrong}; its points are x and y in pixels of the input")


def read_regions(path: Path) -> list[Region]:
    """Read ``{"name": [[x, y], …], …}``, polygons in pixels of the input; InputError if not."""
    plain = read_json(path, "JSON file", lambda it: it, pairs=partial(_named_once, path))
    if not isinstance(plain, dict) or not plain:
        raise InputError(f'{path}: must hold one object, {{"name": [[x, y], …], …}}')
    return [Region(name, _polygon(path, name, points)) for name, points in plain.items()]


def _named_once(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a dictionary of an object of the file, in which no name may be there twice."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise InputError(f"{path}: {name!r} is there twice; give each region its own name")
        found[name] = value
    return found


def _polygon(path: Path, name: str, points: Any) -> NDArray[np.float32]:
    if not name.strip():
        raise InputError(f"{path}: a region needs a name, since objects outside all have none")
    if not isinstance(points, list) or len(points) < 3 or not all(map(_is_point, points)):
        raise InputError(f"{path}: region {name!r} must be a list of three or more points [x, y]")
    return np.array(points, dtype=np.float32)


def _is_point(point: Any) -> bool:
    is_pair = isinstance(point, list) and len(point) == 2
    return is_pair and all(type(each) in {int, float} and abs(each) < 1e6 for each in point)


@dataclass
class _Visits:
    """What happened at one region or line."""

    entries: int = 0
    exits: int = 0
    dwell_s: float = 0.0
    tracks: set[int] = field(default_factory=set)


class RegionCounter:
    """Count entries, exits, dwell and crossings; who is not seen for `max_gap_s` has left."""

    def __init__(
        self, regions: Sequence[Region], lines: Sequence[Line], *, max_gap_s: float = 1.0
    ) -> None:
        self._regions, self._lines, self._gap = regions, lines, max_gap_s
        self._visits = {(r.name, "region"): _Visits() for r in regions}
        self._visits |= {(line.name, "line"): _Visits() for line in lines}
        self._inside: dict[int, set[str]] = {}
        self._places: dict[int, tuple[float, Point]] = {}

    def add(self, objects: Sequence[Observation]) -> list[str]:
        """Take in the objects of the next frame; return the name of each one's region, or ""."""
        if objects:
            self.end(objects[0].time_s)
        return [self._place(seen) for seen in objects]

    def _place(self, seen: Observation) -> str:
        place = (seen.cx, seen.cy)
        names = [region.name for region in self._regions if region.holds(*place)]
        before = self._inside.get(seen.track, set())
        time_s, old = self._places.get(seen.track, (seen.time_s, place))
        for name in names:
            visits = self._visits[name, "region"]
            visits.tracks.add(seen.track)
            if name in before:
                visits.dwell_s += seen.time_s - time_s
            else:
                visits.entries += 1
        for name in before - set(names):
            self._visits[name, "region"].exits += 1
        for line in self._lines:
            way = line.crossing(old, place)
            if way:
                visits = self._visits[line.name, "line"]
                visits.tracks.add(seen.track)
                visits.entries += way > 0
                visits.exits += way < 0
        self._inside[seen.track] = set(names)
        self._places[seen.track] = (seen.time_s, place)
        return names[0] if names else ""

    def end(self, time_s: float) -> None:
        """Let those leave who have not been seen for long at a time, that of the video's end."""
        for track, (seen_s, _) in list(self._places.items()):
            if time_s - seen_s > self._gap:
                del self._places[track]
                for name in self._inside.pop(track):
                    self._visits[name, "region"].exits += 1

    def write(self, path: Path) -> None:
        """Write regions.csv; whoever is in a region at the end has not left it."""
        rows: list[Sequence[object]] = [REGION_COLUMNS]
        for (name, kind), visits in self._visits.items():
            dwell = f"{visits.dwell_s:.2f}" if kind == "region" else ""
            rows.append([name, kind, visits.entries, visits.exits, dwell, len(visits.tracks)])
        write_rows(path, rows)
