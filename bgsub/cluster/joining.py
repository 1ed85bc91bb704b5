"""Join what the parts of some work have made, or say what of it is missing."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bgsub.cluster.parts import Part, PartsList, forget_parts, load_parts
from bgsub.errors import BatchError, BgsubError, InputError
from bgsub.pipeline.directory import is_complete
from bgsub.pipeline.earlier import check_unchanged
from bgsub.pipeline.manifest import load_manifest
from bgsub.segments.plan import FOLDER, PLAN, SegmentPlan, load_plan, segment_folder
from bgsub.segments.run import finish
from bgsub.wording import is_or_are

_NAMED = 10


@dataclass(frozen=True)
class Joined:
    """What was joined.

    Attributes
    ----------
    out : Path
    units : int
        Inputs of a batch, or segments of a film; 0 where nothing was left to join.
    what : str
        "inputs", "segments", or "results" where they were complete already.
    """

    out: Path
    units: int
    what: str


def join(out: Path, *, progress: Callable[[int, int], None] | None = None) -> Joined:
    """Join the segments of a film, or check the results of a batch, that parts have made.

    Parameters
    ----------
    out : Path
        What the parts were given as --out.
    progress : callable, optional
        Called with the results that were checked and their number.

    Raises
    ------
    BatchError
        If something is missing or damaged, with the parts that make it.
    InputError
        If there is nothing to join.
    OutputError
        If the results cannot be written.

    Notes
    -----
    Reads every file of a batch once, for its SHA-256.
    """
    parts = load_parts(out)
    if (out / FOLDER / PLAN).exists():
        plan = load_plan(out)
        missing = plan.missing(out)
        if missing:
            raise BatchError(_missing_segments(out, plan, missing, parts))
        _check_segments(out, plan)
        finish(out, plan)
        forget_parts(out)
        return Joined(out, len(plan.segments), "segments")
    if parts is not None and not _is_film(parts):
        _check_batch(out, parts, progress or (lambda _done, _total: None))
        forget_parts(out)
        return Joined(out, len(parts.units), "inputs")
    if is_complete(out):
        _check_results(out)
        forget_parts(out)
        return Joined(out, 1, "results")
    if parts is not None:
        unit = shlex.quote(parts.units[0].input)
        message = f"{out}: nothing of {parts.units[0].input} is there yet"
        raise BatchError(f"{message}; run `bgsub run {unit} --part 1/{parts.of} …` again")
    if not out.is_dir():
        raise InputError(f"{out}: no such folder; name the --out of the parts")
    message = f"{out}: holds nothing to join"
    raise InputError(f"{message}; it is for what `bgsub run --part` or --segment has left there")


def _is_film(parts: PartsList) -> bool:
    """Say whether the parts are those of one film, whose results lie in the folder itself."""
    return len(parts.units) == 1 and parts.units[0].folder == "."


def _missing_segments(
    out: Path, plan: SegmentPlan, missing: Sequence[int], parts: PartsList | None
) -> str:
    total, name = len(plan.segments), plan.identity["name"]
    many = f"{len(missing)} of {total} segments of {name} {is_or_are(len(missing))} missing"
    message = f"{out}: {many} ({_some(missing)})"
    if parts is None:
        return f"{message}; make them with the same `bgsub run` and --resume"
    return f"{message}; run again {_parts([parts.part_of(number - 1) for number in missing])}"


def _some(names: Sequence[Any]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(str(name) for name in names[:_NAMED]) + more


def _parts(parts: Sequence[Part]) -> str:
    different = sorted(set(parts), key=lambda part: part.number)
    return f"--part {_some(different)}"


def _check_segments(out: Path, plan: SegmentPlan) -> None:
    """Raise BatchError if the results of a segment are not those that its run wrote."""
    for segment in plan.segments:
        folder = segment_folder(out, segment.number)
        try:
            _check_results(folder)
        except BgsubError as error:
            message = f"{error}; remove {folder} and make segment {segment.number} again"
            raise BatchError(message) from error


def _check_results(folder: Path) -> None:
    """Raise an error unless a folder holds all that its run.json says, to the bit.

    Raises
    ------
    InputError
        If something is missing or damaged.
    """
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
    missing, damaged = [], []
    for place, unit in enumerate(parts.units):
        progress(place, len(parts.units))
        folder = out / unit.folder
        if not is_complete(folder):
            missing.append(place)
            continue
        try:
            _check_results(folder)
        except InputError as error:
            damaged.append((place, str(error)))
    progress(len(parts.units), len(parts.units))
    if not missing and not damaged:
        return
    said = []
    if missing:
        names = [parts.units[place].input for place in missing]
        many = f"{len(missing)} of {len(parts.units)} inputs {is_or_are(len(missing))} missing"
        said.append(f"{many} ({_some(names)})")
    if damaged:
        said.append(f"{len(damaged)} damaged ({damaged[0][1]}; remove its folder)")
    again = [parts.part_of(place) for place in [*missing, *(place for place, _ in damaged)]]
    raise BatchError(f"{out}: {', '.join(said)}; run again {_parts(again)}")
