"""Write the command that repeats a run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import Field, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError
from bgsub.options import (
    DEFAULT_OUTPUTS,
    EXTRA_OUTPUTS,
    OUTPUTS,
    Declared,
    RunOptions,
    declaration,
    declared_fields,
    flag,
)
from bgsub.outliers.errors_table import ErrorTable, read_csv
from bgsub.outliers.events import Event, find_events
from bgsub.outliers.scene_change import SceneChange
from bgsub.rules import Switch
from bgsub.tracking.events import SceneEvent, Selection, read_events, with_frame_events
from bgsub.tracking.tables import read_objects, read_tracks
from bgsub.tracking.tracker import Observation
from bgsub.tracking.tracks import Track


def command_line(manifest: Mapping[str, Any]) -> str | None:
    """Write the command that repeats a run from the folder that it was called in.

    Parameters
    ----------
    manifest : mapping
        Its run.json.

    Returns
    -------
    str or None
        None where the input was an array, which no command can be given.
    """
    path = manifest["input"]["path"]
    if path is None:
        return None
    options = RunOptions.from_json({**manifest["options"], "temp": None})
    command = manifest.get("command", "run")
    words = ["bgsub", command]
    if command == "apply":
        words.append(_operand(str(manifest.get("model", "model.npz"))))
    words.append(_operand(str(path)))
    for one, value in changed_options(options.source) + changed_options(options):
        words += output_words(value) if one.name == "outputs" else _option(one, value)
    return shlex.join([*words, "--out", "again/"])


def changed_options(options: Declared) -> list[tuple[Field[Any], Any]]:
    """List the options that differ from their defaults, with their values, in their order."""
    return [
        (one, getattr(options, one.name))
        for one in declared_fields(type(options))
        if declaration(one).repeated and getattr(options, one.name) != one.default
    ]


def _operand(path: str) -> str:
    """Keep a path from being taken for an option."""
    return f"./{path}" if path.startswith("-") else path


def output_words(chosen: frozenset[str]) -> list[str]:
    """Choose outputs: what is written besides by its own option, anything else by a list."""
    if chosen >= DEFAULT_OUTPUTS:
        extra = [name for name in OUTPUTS if name in chosen & EXTRA_OUTPUTS]
        return [f"--{'save-scores' if name == 'scores' else name}" for name in extra]
    return ["--only", ",".join(name for name in OUTPUTS if name in chosen)]


def _option(one: Field[Any], value: Any) -> list[str]:
    name, rule = flag(one), declaration(one).rule
    if isinstance(rule, Switch):
        return [name if value else f"--no-{name.removeprefix('--')}"]
    if one.name == "line":
        lines = (f"{label}:{','.join(f'{x:g}' for x in ends)}" for label, *ends in value)
        return [name, "; ".join(lines)]
    if isinstance(value, tuple):
        return [name, ",".join(str(each) for each in value)]
    return [name, str(value)]


_RATE = Fraction(25)
"""Frames a second where nothing says when frames were taken."""


@dataclass(frozen=True, eq=False)
class Result:
    """What a run left, read.

    Attributes
    ----------
    manifest : mapping
        What its run.json says.
    numbers : ndarray of int64, shape (n,)
        The frames that it used, from 1 in the input.
    times : ndarray of float64, shape (n,)
        Their seconds in the input.
    table : ErrorTable or None
        Their errors, where the run fitted them.
    objects : list of Observation
        In order of time.
    """

    folder: Path
    manifest: Mapping[str, Any]
    numbers: NDArray[np.int64]
    times: NDArray[np.float64]
    table: ErrorTable | None
    events: list[SceneEvent]
    tracks: list[Track]
    objects: list[Observation]

    @property
    def name(self) -> str:
        """File name of the input."""
        return str(self.manifest["input"]["name"])

    @property
    def region(self) -> tuple[int, int, int, int]:
        """What was looked at: x, y, width and height in pixels of the input."""
        roi = self.manifest["options"]["source"].get("roi")
        facts = self.manifest["input"]
        x, y, width, height = roi or (0, 0, facts.get("width", 0), facts.get("height", 0))
        return int(x), int(y), int(width), int(height)

    def place(self, number: int) -> int:
        """Return the place of a frame among those that were used, from 0, or of the next one."""
        found = int(np.searchsorted(self.numbers, number))
        return min(found, self.numbers.size - 1)

    def score(self, event: SceneEvent) -> float | None:
        """Return the highest score of an event's frames; None where no frame was fitted."""
        if self.table is None:
            return None
        first, last = self.place(event.first_frame), self.place(event.last_frame)
        return float(self.table.highest[first : last + 1].max())

    def trust(self, event: SceneEvent) -> float | None:
        """Return the mean trust that masks of an event's frames deserve; None if nothing says."""
        total, frames = 0.0, 0
        for first, last, trust in self.manifest.get("mask_trust") or []:
            both = min(last, event.last_frame) - max(first, event.first_frame) + 1
            if both > 0:
                total, frames = total + trust * both, frames + both
        return total / frames if frames else None


def read_result(
    folder: Path, manifest: Mapping[str, Any], selection: Selection | None = None
) -> Result:
    """Read the tables of a run.

    Parameters
    ----------
    manifest : mapping
        Its run.json, as `bgsub.pipeline.manifest.load_manifest` gives it.
    selection : Selection, optional
        Which of its events and objects are wanted; all of them without it.
    """
    if manifest.get("command", "run") not in {"run", "apply"}:
        message = f"{folder}: was written by bgsub {manifest['command']}"
        raise InputError(f"{message}; a page is made of what bgsub run or bgsub apply wrote")
    table = _table(folder, manifest)
    if table is None:
        used = int(manifest["frames"]["used"])
        numbers = np.arange(1, used + 1, dtype=np.int64)
        rate = Fraction(manifest["input"].get("rate") or _RATE) or _RATE
        times = np.asarray((numbers - 1) / float(rate))
    else:
        numbers, times = table.frames, table.times
    if numbers.size == 0:
        raise InputError(f"{folder}: its run used no frame, so there is nothing to look at")
    tables = folder / "objects.csv", folder / "tracks.csv"
    objects = list(read_objects(tables[0])) if tables[0].is_file() else []
    tracks = list(read_tracks(tables[1])) if tables[1].is_file() else []
    if selection is None:
        events = _events(folder, manifest)
    else:
        events = selection.events(objects, [] if table is None else find_events(table))
        objects = selection.objects(objects, events)
        seen = {each.track for each in objects}
        tracks = [track for track in tracks if track.track in seen]
    return Result(folder, manifest, numbers, times, table, events, tracks, objects)


def _table(folder: Path, manifest: Mapping[str, Any]) -> ErrorTable | None:
    path = folder / "errors.csv"
    if not path.is_file():
        return None
    table, cutoff = read_csv(path), manifest.get("cutoff")
    change = manifest.get("scene_change")
    return ErrorTable(
        frames=table.frames,
        times=table.times,
        errors=table.errors,
        pixels=table.pixels,
        scores=table.scores,
        cutoff=table.cutoff if cutoff is None else float(cutoff),
        scene_change=None
        if change is None
        else SceneChange(change["first_frame"], change["first_time_s"]),
        marked=table.outliers,
        doubtful=table.doubtful,
        local=table.local,
    )


def _events(folder: Path, manifest: Mapping[str, Any]) -> list[SceneEvent]:
    """Read the events of objects and frames, or of frames alone where no object was followed."""
    path = folder / "events.json"
    if path.is_file():
        return read_events(path)
    try:
        plain = [Event(**each) for each in manifest.get("events") or []]
    except TypeError as error:
        raise InputError(f"{folder}: the events of its run.json are damaged ({error})") from error
    return with_frame_events([], plain)


def headline(manifest: Mapping[str, Any]) -> str:
    """Return in a sentence what was found.

    Examples
    --------
    >>> headline({"findings": ["2 of 9 frames stand out", "3 objects in 1 event"]})
    '2 of 9 frames stand out; 3 objects in 1 event.'
    """
    findings = [str(each) for each in manifest.get("findings") or []]
    text = "; ".join(findings) or "the run says of nothing that it was found"
    return f"{text[:1].upper()}{text[1:]}."


def cautions(manifest: Mapping[str, Any]) -> list[str]:
    """List what somebody should know before relying on the result."""
    names = ("warnings", "hints", "fit_warnings")
    notes = [str(each) for name in names for each in manifest.get(name) or []]
    return list(dict.fromkeys(notes))


def option_rows(manifest: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """List the options that were given: name, value, what it does."""
    options = RunOptions.from_json({**manifest["options"], "temp": None})
    changed = changed_options(options.source) + changed_options(options)
    rows = [
        (flag(one), _text(value), declaration(one).help)
        for one, value in changed
        if one.name != "outputs"
    ]
    if options.outputs != DEFAULT_OUTPUTS:
        words = output_words(options.outputs)
        named = words[0] == "--only"
        rows.append(("--only" if named else " ".join(words), words[1] if named else "", ""))
    return rows


def fact_rows(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List what the run was made of and what it learned."""
    source, memory = manifest["input"], manifest.get("memory") or {}
    width, height = manifest.get("frame_size") or (source.get("width"), source.get("height"))
    rows = [
        ("Input", source.get("absolute_path") or source["name"]),
        ("Size of the input", f"{source.get('width')} × {source.get('height')} pixels"),
        ("Size that was worked on", f"{width} × {height} pixels"),
        ("Frames a second", source.get("rate")),
        ("Codec", source.get("codec")),
        ("SHA-256 of the input", source.get("sha256")),
        ("Frames used", manifest["frames"]["used"]),
        ("Frames that could not be decoded", manifest["frames"].get("bad")),
        ("Doubtful frames", manifest["frames"].get("doubtful")),
        ("Damage to single pictures", source.get("unseen_damage")),
        ("Components of the background", manifest.get("components")),
        ("The fit converged", _yes(manifest.get("converged"))),
        ("Cut-off of the score", _text(manifest.get("cutoff"))),
        ("Masks by", manifest.get("mask_model")),
        ("Frames were kept in", memory.get("frames_kept")),
        ("Peak memory", _megabytes(manifest.get("peak_memory_bytes"))),
        ("Folder of the run", manifest.get("directory")),
    ]
    return [(name, str(value)) for name, value in rows if value not in {None, ""}]


def _yes(value: Any) -> str | None:
    return None if value is None else "yes" if value else "no"


def _megabytes(size: Any) -> str | None:
    return None if not size else f"{size / 1e6:.0f} MB"


def _text(value: Any) -> str:
    if isinstance(value, (tuple, frozenset, list)):
        items = sorted(value) if isinstance(value, frozenset) else value
        return ", ".join(_text(each) for each in items)
    if isinstance(value, bool):
        return "on" if value else "off"
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
