"""Read the objects of a folder of results."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from bgsub.errors import InputError
from bgsub.tracking.event_files import read_events
from bgsub.tracking.events import SceneEvent
from bgsub.tracking.tables import read_objects, read_tracks
from bgsub.tracking.tracker import Observation
from bgsub.tracking.tracks import Track


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
