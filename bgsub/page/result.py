"""Read what a page shows from a folder of results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError
from bgsub.outliers.errors_table import ErrorTable, read_csv
from bgsub.outliers.events import Event
from bgsub.outliers.scene_change import SceneChange
from bgsub.tracking.event_files import read_events
from bgsub.tracking.events import SceneEvent, with_frame_events
from bgsub.tracking.tables import read_objects, read_tracks
from bgsub.tracking.tracker import Observation
from bgsub.tracking.tracks import Track

_RATE = Fraction(25)
"""Frames a second where nothing says when frames were taken."""


@dataclass(frozen=True, eq=False)
class Result:
    """What a run left, read.

    Attributes
    ----------
    folder : Path
    manifest : mapping
        What its run.json says.
    numbers : ndarray of int64, shape (n,)
        The frames that it used, from 1 in the input.
    times : ndarray of float64, shape (n,)
        Their seconds in the input.
    table : ErrorTable or None
        Their errors, where the run fitted them.
    events : list of SceneEvent
    tracks : list of Track
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
        """Give the place of a frame among those that were used, from 0, or of the next one."""
        found = int(np.searchsorted(self.numbers, number))
        return min(found, self.numbers.size - 1)

    def score(self, event: SceneEvent) -> float | None:
        """Give the highest score of an event's frames; None where no frame was fitted."""
        if self.table is None:
            return None
        first, last = self.place(event.first_frame), self.place(event.last_frame)
        return float(self.table.highest[first : last + 1].max())

    def trust(self, event: SceneEvent) -> float | None:
        """Give the mean trust that masks of an event's frames deserve; None if nothing says."""
        total, frames = 0.0, 0
        for first, last, trust in self.manifest.get("mask_trust") or []:
            both = min(last, event.last_frame) - max(first, event.first_frame) + 1
            if both > 0:
                total, frames = total + trust * both, frames + both
        return total / frames if frames else None


def read_result(folder: Path, manifest: Mapping[str, Any]) -> Result:
    """Read the tables of a run.

    Parameters
    ----------
    folder : Path
    manifest : mapping
        Its run.json, as `bgsub.pipeline.manifest.load_manifest` gives it.

    Raises
    ------
    InputError
        If it is no run, none of its frames is left, or a table is damaged.
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
    objects, tracks = folder / "objects.csv", folder / "tracks.csv"
    return Result(
        folder,
        manifest,
        numbers,
        times,
        table,
        _events(folder, manifest),
        list(read_tracks(tracks)) if tracks.is_file() else [],
        list(read_objects(objects)) if objects.is_file() else [],
    )


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
