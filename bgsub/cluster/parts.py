"""Share work among calls of bgsub that know nothing of each other, as of an array of SLURM."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from bgsub.errors import BatchError, BgsubError, InputError, OutputError, UsageError, is_or_are
from bgsub.pipeline.outcome import some
from bgsub.pipeline.results import check_unchanged, is_complete, load_manifest
from bgsub.runtime.files import read_json, write_in
from bgsub.segments.plan import FOLDER, PLAN, SegmentPlan, load_plan, segment_folder
from bgsub.segments.run import finish

LIST = ".parts.json"  # in the results: all inputs of a batch, and where the results of each go
_VERSION = 1
_PART = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")

AnyUnit = TypeVar("AnyUnit")


class Part(NamedTuple):
    """One of so many parts of some work: every `of`-th unit, from unit `number` (from 1) on."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Part:
        """Read ``i/N``; UsageError if it is something else."""
        match = _PART.fullmatch(text.strip())
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise UsageError(f"--part {text}: must be i/N with i from 1 to N, such as 2/8")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def pick(self, units: Sequence[AnyUnit]) -> list[AnyUnit]:
        """Return the units of this part."""
        return list(units[self.number - 1 :: self.of])


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
        plain = {"version": _VERSION, "of": self.of, "units": units}
        write_in(out, LIST, json.dumps(plain, indent=1).encode() + b"\n")


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


def join(out: Path, *, progress: Callable[[int, int], None] | None = None) -> str:
    """Join the segments of a video, or check the results of a batch, that parts have made.

    Return what was done, empty for results that were complete already. Reads every file of a batch
    once; `progress` is called with the results that were checked and their number. BatchError names
    what is missing or damaged and the parts that make it; InputError if there is nothing to join.
    """
    parts, done = load_parts(out), ""
    if (out / FOLDER / PLAN).exists():
        plan = load_plan(out)
        _check_segments(out, plan, parts)
        finish(out, plan)
        done = f"{len(plan.segments)} segments are joined"
    elif parts is not None and (len(parts.units) > 1 or parts.units[0].folder != "."):
        _check_batch(out, parts, progress or (lambda _done, _total: None))
        done = f"the results of {len(parts.units)} inputs are complete"
    elif is_complete(out):
        _check_results(out)
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
    return done


def _again(parts: Iterable[Part]) -> str:
    return f"run again --part {some(sorted(set(parts)))}"


def _check_segments(out: Path, plan: SegmentPlan, parts: PartsList | None) -> None:
    """Raise BatchError unless all segments are there, as their runs wrote them."""
    missing = plan.missing(out)
    if missing:
        total, name = len(plan.segments), plan.identity["name"]
        many = f"{len(missing)} of {total} segments of {name} {is_or_are(len(missing))} missing"
        advice = "make them with the same `bgsub run` and --resume"
        if parts is not None:
            advice = _again(parts.part_of(number - 1) for number in missing)
        raise BatchError(f"{out}: {many} ({some(missing)}); {advice}")
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
    many = f"{len(missing)} of {total} inputs {is_or_are(len(missing))} missing"
    said = [f"{many} ({some(missing)})"] if missing else []
    if damaged:
        said.append(f"{len(damaged)} damaged ({damaged[0]}; remove its folder)")
    if said:
        raise BatchError(f"{out}: {', '.join(said)}; {_again(again)}")
