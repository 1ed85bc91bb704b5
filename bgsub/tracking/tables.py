"""Write and read objects.csv and tracks.csv; read the objects of a folder of results."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from itertools import combinations, groupby
from pathlib import Path
from typing import IO, Any

from bgsub.errors import InputError
from bgsub.tracking.events import SceneEvent, read_events
from bgsub.tracking.tracker import Observation
from bgsub.tracking.tracks import Track

OBJECT_COLUMNS = (
    *("frame", "time_s", "track", "x", "y", "width", "height"),
    *("cx", "cy", "area", "score", "sign"),
)
"""Header of objects.csv."""

_TRACK_COLUMNS = tuple(field.name for field in fields(Track))
"""Header of tracks.csv."""


class ObjectsWriter:
    """Write objects.csv row by row, as a run goes.

    Parameters
    ----------
    file : text file
        Open for writing; the header is written at once.
    regions : bool
        Whether there is a column for the region that an object is in.
    """

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


def write_tracks(file: IO[str], tracks: Iterable[Track]) -> None:
    """Write tracks.csv."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_TRACK_COLUMNS)
    for track in tracks:
        writer.writerow([_shown(name, value) for name, value in asdict(track).items()])


def _shown(name: str, value: Any) -> Any:
    """Write a value of a column of tracks.csv: times as exact as those of objects.csv."""
    if not isinstance(value, float):
        return value
    return f"{value:.10g}" if name.endswith("_s") else _plain(value)


def read_objects(path: Path) -> Iterator[Observation]:
    """Read objects.csv row by row, as `read_frames` does."""
    for frame in read_frames(path):
        yield from frame


def read_frames(path: Path) -> Iterator[list[Observation]]:
    """Read the objects of one frame after the other from objects.csv.

    Objects have merged where they share the area, the score and the sign of a region that is large
    enough to reach from one to the other.

    Raises
    ------
    InputError
        If it is no objects.csv; names the line and what is wrong.
    """
    for _, group in groupby(_read_rows(path), lambda seen: seen.frame):
        frame = list(group)
        regions: dict[Any, list[Observation]] = {}
        for seen in frame:
            regions.setdefault((seen.area, f"{seen.score}", seen.sign), []).append(seen)
        merged = {
            seen.track
            for alike in regions.values()
            for pair in combinations(alike, 2)
            if _gap(*pair) <= pair[0].area
            for seen in pair
        }
        yield [replace(s, merged=True) if s.track in merged else s for s in frame]


def _gap(one: Observation, other: Observation) -> float:
    """Give how many pixels lie between two boxes, along the axis that has more of them."""
    return max(
        max(one.box[axis], other.box[axis])
        - min(one.box[axis] + one.box[axis + 2], other.box[axis] + other.box[axis + 2])
        for axis in (0, 1)
    )


def _read_rows(path: Path) -> Iterator[Observation]:
    for line, row in _rows(path, OBJECT_COLUMNS):
        try:
            numbers = {name: float(row[name]) for name in OBJECT_COLUMNS[3:10]}
            yield Observation(
                frame=int(row["frame"]),
                time_s=float(row["time_s"]),
                track=int(row["track"]),
                box=(numbers["x"], numbers["y"], numbers["width"], numbers["height"]),
                cx=numbers["cx"],
                cy=numbers["cy"],
                area=numbers["area"],
                score=float(row["score"] or "nan"),
                sign=row["sign"],
            )
        except (TypeError, ValueError) as error:
            raise InputError(f"{path}: line {line} is no object of a frame ({error})") from error


def read_tracks(path: Path) -> Iterator[Track]:
    """Read tracks.csv row by row.

    Raises
    ------
    InputError
        If it is no tracks.csv; names the line and what is wrong.
    """
    kinds: dict[str, Any] = {"int": int, "float": float, "Side": str}
    for line, row in _rows(path, _TRACK_COLUMNS):
        try:
            yield Track(**{f.name: kinds[str(f.type)](row[f.name]) for f in fields(Track)})
        except (TypeError, ValueError) as error:
            raise InputError(f"{path}: line {line} is no track ({error})") from error


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            missing = [name for name in columns if name not in (reader.fieldnames or [])]
            if missing:
                message = f"{path}: has no column {missing[0]!r}, so it is no {path.name} of bgsub"
                raise InputError(message)
            for row in reader:
                yield reader.line_num, row
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: is not a CSV text file ({error})") from error


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
