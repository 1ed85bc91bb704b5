"""Remember what somebody said is no object, and drop what is like it.

An example is a track: where it was, how large, how far it got and how it looked (its shape, and
whether it was brighter or darker than the background). Another track is like the examples if nine
of ten of its observations lie where one of them was, have its size and its look, and if it gets
no farther than these did. Whoever only passes there leaves the place, so that it stays.
"""

from __future__ import annotations

import json
import math
import operator
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from bgsub.errors import UsageError, plural
from bgsub.outliers.events import Event
from bgsub.runtime.files import read_json, write_file
from bgsub.tracking.detections import Box, surround
from bgsub.tracking.recorder import ObjectOptions, ObjectTables, Recorded
from bgsub.tracking.tables import read_frames, read_objects
from bgsub.tracking.tracker import Observation

_ALIKE = 0.9  # share of a track's observations that must be like an example
_AREA, _SHAPE, _REACH = 2.5, 2.0, 1.5  # factors over an example's area, width over height, and way
_NEAR = 0.5  # sizes of an example's place, and of its largest box, by which its place is widened


@dataclass(frozen=True)
class Example:
    """A track that is no object, in pixels of pictures of a width and height, `size`.

    `place` is around its centres, `box` its largest width and height; `area` and `shape` least and
    largest area, and width over height; `signs` those of a tenth of its observations and more.
    """

    name: str
    size: tuple[int, int]
    place: Box
    box: tuple[float, float]
    area: tuple[float, float]
    shape: tuple[float, float]
    signs: tuple[str, ...]

    @classmethod
    def of(cls, name: str, size: tuple[int, int], track: Sequence[Observation]) -> Example:
        """Sum up a track."""
        areas, shapes = [each.area for each in track], [_shape(each) for each in track]
        signs = [each.sign for each in track]
        return cls(
            name,
            size,
            surround((each.cx, each.cy, 0.0, 0.0) for each in track),
            (max(each.box[2] for each in track), max(each.box[3] for each in track)),
            (min(areas), max(areas)),
            (min(shapes), max(shapes)),
            tuple(sorted(sign for sign in set(signs) if signs.count(sign) >= len(signs) / 10)),
        )

    def scaled(self, size: tuple[int, int]) -> Example:
        """Return it in pixels of pictures of another size."""
        if size == self.size:
            return self
        across, down = size[0] / self.size[0], size[1] / self.size[1]
        factors = {
            "place": (across, down) * 2,
            "box": (across, down),
            "area": (across * down,) * 2,
            "shape": (across / down,) * 2,
        }
        moved: dict[str, Any] = {
            name: tuple(map(operator.mul, getattr(self, name), by)) for name, by in factors.items()
        }
        return replace(self, size=size, **moved)

    def holds(self, seen: Observation) -> bool:
        """Return whether an observation is where this one was, and is as large and looks alike."""
        x, y, width, height = self.place
        near_x, near_y = _NEAR * (self.box[0] + width), _NEAR * (self.box[1] + height)
        return (
            x - near_x <= seen.cx <= x + width + near_x
            and y - near_y <= seen.cy <= y + height + near_y
            and self.area[0] / _AREA <= seen.area <= self.area[1] * _AREA
            and self.shape[0] / _SHAPE <= _shape(seen) <= self.shape[1] * _SHAPE
            and (not seen.sign or not any(self.signs) or seen.sign in self.signs)
        )


def _shape(seen: Observation) -> float:
    return max(seen.box[2], 1.0) / max(seen.box[3], 1.0)


@dataclass
class _Way:
    """Where a track was so far, and where the examples were that it is like."""

    frames: int = 0
    alike: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    n_alike: int = 0
    place: Box | None = None
    reached: Box | None = None
    room: float = 0.0

    @property
    def is_like(self) -> bool:
        """Whether it is like the examples, by all that was seen of it."""
        if self.place is None or self.reached is None:
            return False
        reach, farthest = math.hypot(*self.place[2:]), math.hypot(*self.reached[2:])
        is_alike = self.n_alike >= _ALIKE * self.frames
        return is_alike and reach <= _REACH * farthest + self.room


class Feedback:
    """Recognise tracks, in pictures of a `size`, that are like examples of a file, its `name`."""

    def __init__(self, examples: Sequence[Example], size: tuple[int, int], name: str = "") -> None:
        self._examples = [each.scaled(size) for each in examples]
        self._ways: dict[int, _Way] = defaultdict(_Way)
        self.name = name

    def takes(self, seen: Observation) -> bool:
        """Add the next observation of a track; return whether the track is an object by now."""
        way = self._ways[seen.track]
        way.frames += 1
        here: Box = (seen.cx, seen.cy, 0.0, 0.0)
        way.place = here if way.place is None else surround([way.place, here])
        alike = [each for each in self._examples if each.holds(seen)]
        way.n_alike += bool(alike)
        for each in alike:
            way.alike[each.name] += 1
            way.reached = surround([way.reached or each.place, each.place])
            way.room = max(way.room, math.hypot(*each.box))
        return not way.is_like

    @property
    def dropped(self) -> dict[int, str]:
        """The example that each track that is like one resembles most, by track."""
        ways = {track: way for track, way in self._ways.items() if way.is_like}
        return {track: max(way.alike, key=way.alike.__getitem__) for track, way in ways.items()}

    def describe(self) -> str:
        """Describe what was dropped and how to have it back; empty where nothing was."""
        if not (dropped := self.dropped):
            return ""
        counts = Counter(dropped.values())
        named = ", ".join(f"{count} like {name}" for name, count in list(counts.items())[:3])
        more = ", …" if len(counts) > 3 else ""
        verb = "was" if len(dropped) == 1 else "were"
        return (
            f"{plural(len(dropped), 'track')} {verb} dropped as no object ({named}{more}); without "
            "--feedback they are kept, and an example that is removed from "
            f"{self.name} drops nothing"
        )

    def facts(self) -> dict[str, Any]:
        """Return what run.json says of what was dropped; nothing where nothing was."""
        if not self.dropped:
            return {}
        return {"feedback": {"dropped": len(self.dropped), "summary": self.describe()}}


def read_feedback(path: Path) -> list[Example]:
    """Read the examples of a file; raises InputError if it is something else."""
    what = "file that `bgsub feedback` wrote"
    return read_json(path, what, lambda plain: [_example(each) for each in plain["not_objects"]])


def _example(plain: dict[str, Any]) -> Example:
    found: dict[str, Any] = {}
    for name, count in {"size": 2, "place": 4, "box": 2, "area": 2, "shape": 2}.items():
        found[name] = values = tuple(float(value) for value in plain[name])
        least = 1 if name == "size" else 0
        if len(values) != count or not all(least <= value < 1e9 for value in values):
            raise ValueError(f"{name} {plain[name]!r}")
    found["size"] = tuple(int(side) for side in found["size"])
    return Example(str(plain["name"]), signs=tuple(map(str, plain["signs"])), **found)


def write_feedback(path: Path, examples: Iterable[Example]) -> None:
    """Write examples to a file, whole or not at all; raises OutputError if that fails."""
    plain = [asdict(each) for each in {each.name: each for each in examples}.values()]
    text = json.dumps({"schema_version": 1, "not_objects": plain}, indent=1, allow_nan=False)
    write_file(path, (text + "\n").encode())


def read_choice(path: Path) -> list[int]:
    """Read the event numbers that a page has saved; raises InputError if there are none."""
    what = "file that a page has saved"
    return read_json(path, what, lambda plain: [int(number) for number in plain["not"]])


def examples_of(
    name: str, objects: Path, size: tuple[int, int], tracks: Collection[int]
) -> list[Example]:
    """Sum up some tracks of an objects.csv; raises UsageError if one of them is not in it."""
    ways: dict[int, list[Observation]] = {track: [] for track in tracks}
    for seen in read_objects(objects):
        if seen.track in ways:
            ways[seen.track].append(seen)
    for track, way in ways.items():
        if not way:
            raise UsageError(f"{objects.parent}: has no track {track}")
    return [Example.of(f"{name} track {track}", size, way) for track, way in ways.items()]


def drop_alike(
    folder: Path,
    found: Recorded,
    feedback: Feedback,
    area: tuple[int, int, int, int],
    options: ObjectOptions,
    frame_events: Sequence[Event],
    end_s: float,
) -> Recorded:
    """Write the tables of a folder anew, without the tracks that are like examples."""
    for seen in read_objects(folder / "objects.csv"):
        feedback.takes(seen)
    if not (dropped := feedback.dropped):
        return found
    everything = folder / "objects-all.csv"
    (folder / "objects.csv").replace(everything)
    try:
        with closing(ObjectTables(folder, area, options)) as tables:
            for frame in read_frames(everything):
                tables.add([seen for seen in frame if seen.track not in dropped])
            return tables.finish(frame_events, end_s)
    finally:
        everything.unlink()
