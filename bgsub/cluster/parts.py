"""Share work among calls of bgsub that know nothing of each other, as of an array of SLURM."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from bgsub.errors import (
    BatchError,
    BgsubError,
    InputError,
    OutputError,
    UsageError,
    cannot_write,
    is_or_are,
)
from bgsub.options import RunOptions
from bgsub.pipeline.manifest import input_identity, load_manifest
from bgsub.pipeline.results import check_unchanged, is_complete
from bgsub.runtime.files import read_json, write_file
from bgsub.segments.plan import (
    FOLDER,
    PLAN,
    SegmentPlan,
    load_plan,
    segment_folder,
    segments_of,
)
from bgsub.segments.run import finish

LIST = ".parts.json"
"""In the folder of results: all inputs of a batch, and where the results of each go."""

_VERSION = 1
_PART = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")

AnyUnit = TypeVar("AnyUnit")


class Part(NamedTuple):
    """One of so many parts of some work: every `of`-th unit, from unit `number` (from 1) on."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def pick(self, units: Sequence[AnyUnit]) -> list[AnyUnit]:
        """Return the units of this part."""
        return list(units[self.number - 1 :: self.of])


def parse_part(text: str) -> Part:
    """Read ``i/N``; UsageError if it is something else."""
    match = _PART.fullmatch(text.strip())
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        message = f"--part {text}: must be i/N with i from 1 to N, such as 2/8"
        raise UsageError(message)
    return Part(int(match[1]), int(match[2]))


class Unit(NamedTuple):
    """An input, and the folder of its results within that of the batch: ``.`` is that itself."""

    input: str
    folder: str


class PartsList(NamedTuple):
    """All units of a batch, in the order of the inputs, and the number of parts."""

    units: tuple[Unit, ...]
    of: int

    def part_of(self, place: int) -> Part:
        """Return the part that the unit at a place, from 0, belongs to."""
        return Part(place % self.of + 1, self.of)

    def save(self, out: Path) -> None:
        """Write the list into a folder; OutputError if that holds the list of other units."""
        earlier = load_parts(out)
        if earlier is not None and earlier.units != self.units:
            message = f"{out}: was begun with the parts of other inputs"
            raise OutputError(f"{message}; give the same, or choose another --out")
        if earlier == self:
            return
        units = [unit._asdict() for unit in self.units]
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(out, error, "choose another --out") from error
        plain = {"version": _VERSION, "of": self.of, "units": units}
        write_file(out / LIST, json.dumps(plain, indent=1).encode() + b"\n")


def load_parts(out: Path) -> PartsList | None:
    """Read the list of a folder of results, None if there is none; InputError if it is damaged."""
    advice = "; remove it, and run all parts again"
    try:
        return read_json(out / LIST, "list of parts", _parts_list, advice=advice)
    except InputError as error:
        if isinstance(error.__cause__, FileNotFoundError | NotADirectoryError):
            return None
        raise


def _parts_list(plain: Any) -> PartsList:
    units, of = tuple(Unit(**unit) for unit in plain["units"]), plain["of"]
    for _, name in units:
        if name != "." and (name in {"", ".."} or Path(name).name != name):
            raise ValueError(f"{name[:40]!r} is the name of no folder in it")
    if plain["version"] != _VERSION or type(of) is not int or of < 1 or not units:
        raise ValueError(f"it has {len(units)} units in {of!r} parts")
    return PartsList(units, of)


def put_first(path: Path, text: str) -> bool:
    """Write a file unless others, here or on other machines, have been the first.

    Return whether it is this text that is there; OutputError if it cannot be written.
    """
    partial = path.with_name(f".{path.name}.{platform.node()}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8")
        try:
            os.link(partial, path)
        except FileExistsError:
            return False
        except OSError:  # a file system without links
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(path, error, "choose another --out") from error
    return True


def common_plan(footage: str, out: Path, options: RunOptions) -> SegmentPlan:
    """Return the plan of a video that all its parts follow: the first one that is made.

    It is kept in the folder of results if the video is divided. OutputError if that holds segments
    of another video or other options, or cannot be written.
    """
    path = out / FOLDER / PLAN
    if not path.exists():
        plan = SegmentPlan(input_identity(footage), options, segments_of(footage, options))
        if len(plan.segments) < 2:
            return plan
        folder = path.parent
        segments = folder.is_dir() and any(entry.name.isdigit() for entry in folder.iterdir())
        if segments and not path.exists():
            message = f"{folder}: holds segments without a plan"
            raise OutputError(f"{message}; remove it, and run all parts again")
        if put_first(path, json.dumps(plan.to_json(), indent=2) + "\n"):
            return plan
    # The video is compared by name and size: its contents were read for the plan.
    earlier, film = load_plan(out), Path(footage)
    is_same = replace(earlier, options=options).fingerprint == earlier.fingerprint
    is_same = is_same and (film.name or film.resolve().name) == earlier.identity["name"]
    if film.is_file():
        is_same = is_same and film.stat().st_size == earlier.identity["size_bytes"]
    if not is_same:
        message = f"{out}: its segments are of another input, or were made with other options"
        raise OutputError(f"{message}; give the same, or choose another --out")
    return earlier


class Joined(NamedTuple):
    """What was joined: so many "inputs" or "segments", or "results" that were complete already."""

    out: Path
    units: int
    what: str


def join(out: Path, *, progress: Callable[[int, int], None] | None = None) -> Joined:
    """Join the segments of a video, or check the results of a batch, that parts have made.

    Reads every file of a batch once; `progress` is called with the results that were checked and
    their number. BatchError names what is missing or damaged and the parts that make it; InputError
    if there is nothing to join.
    """
    parts = load_parts(out)
    if (out / FOLDER / PLAN).exists():
        plan = load_plan(out)
        _check_segments(out, plan, parts)
        finish(out, plan)
        joined = Joined(out, len(plan.segments), "segments")
    elif parts is not None and (len(parts.units) > 1 or parts.units[0].folder != "."):
        _check_batch(out, parts, progress or (lambda _done, _total: None))
        joined = Joined(out, len(parts.units), "inputs")
    elif is_complete(out):
        _check_results(out)
        joined = Joined(out, 1, "results")
    elif parts is not None:
        name = parts.units[0].input
        again = f"run `bgsub run {shlex.quote(name)} --part 1/{parts.of} …` again"
        raise BatchError(f"{out}: nothing of {name} is there yet; {again}")
    elif out.is_dir():
        message = f"{out}: holds nothing to join"
        raise InputError(f"{message}; it is for what `bgsub run --part` or --segment left there")
    else:
        raise InputError(f"{out}: no such folder; name the --out of the parts")
    with contextlib.suppress(OSError):
        (out / LIST).unlink(missing_ok=True)
    return joined


def _some(names: Sequence[Any]) -> str:
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return ", ".join(map(str, names[:10])) + more


def _again(parts: Iterable[Part]) -> str:
    return f"run again --part {_some(sorted(set(parts)))}"


def _check_segments(out: Path, plan: SegmentPlan, parts: PartsList | None) -> None:
    """Raise BatchError unless all segments are there, as their runs wrote them."""
    missing = plan.missing(out)
    if missing:
        total, name = len(plan.segments), plan.identity["name"]
        many = f"{len(missing)} of {total} segments of {name} {is_or_are(len(missing))} missing"
        advice = "make them with the same `bgsub run` and --resume"
        if parts is not None:
            advice = _again(parts.part_of(number - 1) for number in missing)
        raise BatchError(f"{out}: {many} ({_some(missing)}); {advice}")
    for segment in plan.segments:
        folder = segment_folder(out, segment.number)
        try:
            _check_results(folder)
        except BgsubError as error:
            message = f"{error}; remove {folder} and make segment {segment.number} again"
            raise BatchError(message) from error


def _check_results(folder: Path) -> None:
    """Raise InputError unless a folder holds all that its run.json says, to the bit."""
    for name, facts in load_manifest(folder)["outputs"].items():
        path = folder / name
        if not os.path.lexists(path):
            raise InputError(f"{path}: is missing")
        try:
            check_unchanged(path, facts)
        except BgsubError as error:
            raise InputError(f"{path}: is not what its run wrote there") from error


def _check_batch(out: Path, parts: PartsList, progress: Callable[[int, int], None]) -> None:
    """Raise BatchError unless the results of all inputs are there."""
    total = len(parts.units)
    missing: list[str] = []
    damaged: list[str] = []
    again: list[Part] = []
    for place, unit in enumerate(parts.units):
        progress(place, total)
        try:
            if is_complete(out / unit.folder):
                _check_results(out / unit.folder)
                continue
            missing.append(unit.input)
        except InputError as error:
            damaged.append(str(error))
        again.append(parts.part_of(place))
    progress(total, total)
    said = []
    if missing:
        many = f"{len(missing)} of {total} inputs {is_or_are(len(missing))} missing"
        said.append(f"{many} ({_some(missing)})")
    if damaged:
        said.append(f"{len(damaged)} damaged ({damaged[0]}; remove its folder)")
    if said:
        raise BatchError(f"{out}: {', '.join(said)}; {_again(again)}")
