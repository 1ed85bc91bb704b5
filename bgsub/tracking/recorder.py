"""Record the objects of a film, frame by frame, into tables of objects, tracks and events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bgsub.outliers.events import Event
from bgsub.tracking.detections import Detection, find_detections
from bgsub.tracking.events import SceneEvent
from bgsub.tracking.hindsight import Hindsight
from bgsub.tracking.object_options import ObjectOptions
from bgsub.tracking.object_tables import ObjectTables
from bgsub.tracking.steadiness import Recognized
from bgsub.tracking.tracker import Observation, Tracker
from bgsub.tracking.tracks import Track
from bgsub.tracking.view import View
from bgsub.video.frames import Bytes
from bgsub.wording import plural

FILES = ("objects.csv", "tracks.csv", "events.csv", "events.json")
"""What a recorder writes; regions.csv too where there are regions or lines."""


@dataclass(frozen=True)
class Recorded:
    """What was found.

    Attributes
    ----------
    tracks : tuple of Track
        In order of their numbers.
    events : tuple of SceneEvent
        In order of time.
    observations : int
        Rows of objects.csv.
    """

    tracks: tuple[Track, ...] = ()
    events: tuple[SceneEvent, ...] = ()
    observations: int = 0


class ObjectRecorder:
    """Follow the objects of a film and write what there is to say of them.

    A context manager; `finish` ends it.

    Parameters
    ----------
    folder : Path
        Where the files are written.
    view : View
    rate : float
        Frames a second; of a film without a constant rate its mean.
    options : ObjectOptions

    Notes
    -----
    Rows are written as the frames come; memory grows with the number of tracks and events, not with
    the frames.
    """

    def __init__(
        self, folder: Path, view: View, *, rate: float, options: ObjectOptions | None = None
    ) -> None:
        self.options = options or ObjectOptions()
        self._view = view
        gap, least = self.options.max_gap_s, self.options.min_track
        self._tracker = Tracker(view.mask_size, rate=rate, max_gap_s=gap, min_track=least)
        self._end_s = 0.0
        self._hindsight = Hindsight(view, self.options.max_area, gap)
        self._tables = ObjectTables(folder, view.region, self.options)

    @property
    def view(self) -> View:
        """Where the pixels of masks lie in the input's pictures."""
        return self._view

    def close(self) -> None:
        """Close the file that is being written, without finishing it."""
        self._tables.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def detect(
        self,
        mask: Bytes,
        *,
        picture: Bytes | None = None,
        luma: Bytes | None = None,
        background: Bytes | None = None,
        scores: NDArray[np.uint16] | None = None,
        score_level: int = 1,
    ) -> list[Detection]:
        """Find the regions of a mask that may be objects; in any thread, frames in any order.

        Parameters
        ----------
        mask : ndarray of shape (h, w), uint8
        picture, luma, background, scores, score_level
            As for `bgsub.tracking.detections.find_detections`.
        """
        across, down = self._view.scale
        least, most = self.options.min_area or 0, self.options.max_area
        return find_detections(
            mask,
            min_area=max(1, round(least / (across * down))),
            max_area=None if most is None else round(most / (across * down)),
            picture=picture,
            luma=luma,
            background=background,
            scores=scores,
            score_level=score_level,
        )

    def add(
        self,
        frame: int,
        time_s: float,
        found: list[Detection],
        picture: Bytes | None = None,
        recognized: Sequence[Recognized] = (),
    ) -> list[list[Observation]]:
        """Take in the next frame.

        Parameters
        ----------
        frame : int
            Its number, from 1.
        time_s : float
        found : list of Detection
            What `detect` gave for its mask.
        picture : ndarray of shape (h, w) or (h, w, 3), uint8, optional
            See `bgsub.tracking.tracker.Tracker.update`.
        recognized : sequence of Recognized
            Which of these were specks before, see `bgsub.tracking.specks.SpeckFilter`.

        Returns
        -------
        list of list of Observation
            The objects of the frames that are decided by now, in pixels of the input.
        """
        self._end_s = time_s
        self._hindsight.begin(frame, time_s, recognized)
        return self._record(self._tracker.update(frame, time_s, found, picture))

    def _record(self, frames: list[list[Observation]]) -> list[list[Observation]]:
        placed = [[self._view.place(seen) for seen in frame] for frame in frames]
        for frame in placed:
            for known in self._hindsight.decide(frame):
                self._tables.add(known)
        return placed

    def end_tracks(self) -> list[list[Observation]]:
        """End all tracks, and give the objects of the frames that were not decided."""
        decided = self._record(self._tracker.finish())
        for known in self._hindsight.finish():
            self._tables.add(known)
        return decided

    def finish(self, frame_events: Sequence[Event] = ()) -> Recorded:
        """End all tracks and write the other tables.

        Parameters
        ----------
        frame_events : sequence of Event
            Events of whole frames, to be listed too.
        """
        self.end_tracks()
        tracks, events = self._tables.finish(frame_events, self._end_s)
        return Recorded(tuple(tracks), tuple(events), self._tables.rows)


def describe(found: Recorded) -> str:
    """Say what was found in one line."""
    if not found.tracks:
        return "no object was found"
    tracks, events = len(found.tracks), len(found.events)
    longest = max(track.duration_s for track in found.tracks)
    return (
        f"{plural(tracks, 'object')} in "
        f"{plural(events, 'event')}, in sight for up to {longest:.1f} s"
    )
