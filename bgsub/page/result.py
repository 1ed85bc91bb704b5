"""Read what a run left, and put its facts into words."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgsub import options as opts
from bgsub.errors import InputError
from bgsub.options import RunOptions
from bgsub.outliers.errors_table import ErrorTable, read_csv
from bgsub.outliers.events import Event, find_events
from bgsub.outliers.scene_change import SceneChange
from bgsub.rules import Switch
from bgsub.tracking.events import EventFilter, SceneEvent, read_events, with_frame_events
from bgsub.tracking.tables import Track, read_objects, read_tracks
from bgsub.tracking.tracker import Observation


def command_line(manifest: Mapping[str, Any]) -> str | None:
    """Return the command that repeats a run from its folder; None where the input was an array."""
    path = manifest["input"]["path"]
    if path is None:
        return None
    command = manifest.get("command", "run")
    operands = [str(manifest.get("model", "model.npz"))] if command == "apply" else []
    operands.append(str(path))
    # An operand must not be taken for an option.
    words = ["bgsub", command, *(f"./{one}" if one.startswith("-") else one for one in operands)]
    for one, value in _changed_options(manifest):
        words += _output_words(value) if one.name == "outputs" else _option(one, value)
    return shlex.join([*words, "--out", "again/"])


def _changed_options(manifest: Mapping[str, Any]) -> list[tuple[opts.Declaration, Any]]:
    """List the options that differ from their defaults, with their values, in their order."""
    options = RunOptions.from_json({**manifest["options"], "temp": None})
    return [
        (one, getattr(some, one.name))
        for some in (options.source, options)
        for one in opts.declared_options(type(some))
        if one.repeated and getattr(some, one.name) != one.default
    ]


def _output_words(chosen: frozenset[str]) -> list[str]:
    """Return options that choose outputs: one for each besides the usual ones, else a list."""
    if chosen >= opts.DEFAULT_OUTPUTS:
        extra = [name for name in opts.OUTPUTS if name in chosen & opts.EXTRA_OUTPUTS]
        return [f"--{'save-scores' if name == 'scores' else name}" for name in extra]
    return ["--only", ",".join(name for name in opts.OUTPUTS if name in chosen)]


def _option(one: opts.Declaration, value: Any) -> list[str]:
    name, rule = one.flag, one.rule
    if isinstance(rule, Switch):
        return [name if value else f"--no-{name.removeprefix('--')}"]
    if one.name == "line":
        lines = (f"{label}:{','.join(f'{x:g}' for x in ends)}" for label, *ends in value)
        return [name, "; ".join(lines)]
    if isinstance(value, tuple):
        return [name, ",".join(str(each) for each in value)]
    return [name, str(value)]


@dataclass(frozen=True, eq=False)
class Result:
    """What a run left: run.json, frames by number and second, errors if fitted, objects."""

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
    folder: Path, manifest: Mapping[str, Any], selection: EventFilter | None = None
) -> Result:
    """Read the tables of a run, those events and objects that are selected."""
    if manifest.get("command", "run") not in {"run", "apply"}:
        message = f"{folder}: was written by bgsub {manifest['command']}"
        raise InputError(f"{message}; a page is made of what bgsub run or bgsub apply wrote")
    table = None
    if (folder / "errors.csv").is_file():
        table, change = read_csv(folder / "errors.csv"), manifest.get("scene_change")
        cutoff = manifest.get("cutoff")
        table = replace(
            table,
            cutoff=table.cutoff if cutoff is None else float(cutoff),
            scene_change=change and SceneChange(change["first_frame"], change["first_time_s"]),
            marked=table.outliers,
        )
        numbers, times = table.frames, table.times
    else:
        numbers = np.array(frames_used(manifest), dtype=np.int64)
        rate = Fraction(manifest["input"].get("rate") or 0) or 25
        times = np.asarray((numbers - 1) / float(rate))
    if numbers.size == 0:
        raise InputError(f"{folder}: its run used no frame, so there is nothing to look at")
    tables = folder / "objects.csv", folder / "tracks.csv"
    objects = list(read_objects(tables[0])) if tables[0].is_file() else []
    tracks = list(read_tracks(tables[1])) if tables[1].is_file() else []
    if selection is not None:
        events = selection.events(objects, [] if table is None else find_events(table))
        objects = selection.objects(objects, events)
        seen = {each.track for each in objects}
        tracks = [track for track in tracks if track.track in seen]
    elif (folder / "events.json").is_file():
        events = read_events(folder / "events.json")
    else:  # no object was followed: events are those of frames alone
        try:
            plain = [Event(**each) for each in manifest.get("events") or []]
        except TypeError as error:
            message = f"{folder}: the events of its run.json are damaged ({error})"
            raise InputError(message) from error
        events = with_frame_events([], plain)
    return Result(folder, manifest, numbers, times, table, events, tracks, objects)


def frames_used(manifest: Mapping[str, Any]) -> list[int]:
    """Return the numbers of the used frames if no table has them, nearly if times part them."""
    bad = {int(each["frame"]) for each in manifest.get("bad_frames", [])}
    every = manifest["options"]["source"].get("every")
    step = int(every) if str(every).isdecimal() else 1
    found: list[int] = []
    for part in manifest.get("segments", [manifest]):
        used, span = int(part["frames"]["used"]), part.get("span")
        total = int(manifest["input"].get("frames") or used)
        first, last = (span["first_frame"], span["last_frame"]) if span else (1, total)
        numbers = [number for number in range(first, last + 1, step) if number not in bad]
        if len(numbers) != used:
            numbers = np.linspace(first, last, used).round().astype(int).tolist()
        found += numbers
    return found


def headline(manifest: Mapping[str, Any]) -> str:
    """Return in a sentence what was found."""
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
    rows, outputs = [], []
    for one, value in _changed_options(manifest):
        if one.name != "outputs":
            rows.append((one.flag, _text(value), one.help))
            continue
        name, *words = _output_words(value)
        only = name == "--only"
        outputs = [(name, words[0], "") if only else (" ".join([name, *words]), "", "")]
    return rows + outputs


def fact_rows(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List what the run was made of and what it learned."""
    source, memory = manifest["input"], manifest.get("memory") or {}
    peak = manifest.get("peak_memory_bytes")
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
        ("The fit converged", {"True": "yes", "False": "no"}.get(str(manifest.get("converged")))),
        ("Cut-off of the score", _text(manifest.get("cutoff"))),
        ("Masks by", manifest.get("mask_model")),
        ("Frames were kept in", memory.get("frames_kept")),
        ("Peak memory", f"{peak / 1e6:.0f} MB" if peak else None),
        ("Folder of the run", manifest.get("directory")),
    ]
    return [(name, str(value)) for name, value in rows if value not in {None, ""}]


def _text(value: Any) -> str:
    if isinstance(value, (tuple, frozenset, list)):
        items = sorted(value) if isinstance(value, frozenset) else value
        return ", ".join(_text(each) for each in items)
    if isinstance(value, bool):
        return "on" if value else "off"
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
