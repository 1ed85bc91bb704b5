"""Record the objects of a video, frame by frame, into tables of objects, tracks and events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import plural
from bgsub.outliers.events import Event
from bgsub.tracking.detections import Detection, find_detections, with_weak_regions
from bgsub.tracking.events import EventCollector, SceneEvent, with_frame_events, write_events
from bgsub.tracking.regions import Line, Region, RegionCounter
from bgsub.tracking.tables import ObjectsWriter, Track, TrackRecorder, write_tracks
from bgsub.tracking.tracker import Followed, Observation, Tracker
from bgsub.video.frames import Bytes


@dataclass(frozen=True)
class View:
    """Where the pixels of masks lie in the input's pictures.

    Attributes
    ----------
    size : tuple of int
        Width and height of the input's pictures.
    region : tuple of four ints
        x, y, width and height of the part that the masks show.
    mask_size : tuple of int
        Width and height of the masks.
    """

    size: tuple[int, int]
    region: tuple[int, int, int, int]
    mask_size: tuple[int, int]

    @property
    def scale(self) -> tuple[float, float]:
        """Pixels of the input for one of a mask, across and down."""
        return self.region[2] / self.mask_size[0], self.region[3] / self.mask_size[1]

    def on_mask(self, seen: Observation) -> Observation:
        """Move an object from the input's picture back into the mask."""
        (x0, y0), (across, down) = self.region[:2], self.scale
        x, y, width, height = seen.box
        return replace(
            seen, box=((x - x0) / across, (y - y0) / down, width / across, height / down)
        )

    def place(self, seen: Observation) -> Observation:
        """Move an object from the mask into the input's picture."""
        (x0, y0), (across, down) = self.region[:2], self.scale
        x, y, width, height = seen.box
        box = (x0 + across * x, y0 + down * y, across * width, down * height)
        cx, cy, area = x0 + across * seen.cx, y0 + down * seen.cy, across * down * seen.area
        return replace(seen, box=box, cx=cx, cy=cy, area=area)


@dataclass(frozen=True, kw_only=True)
class ObjectOptions:
    """What counts as an object, and for how long.

    Attributes
    ----------
    min_area, max_area : int, optional
        Pixels of the input picture; None is no limit, but that small things make events only where
        they move or stay.
    min_track : int
        Frames in which an object must have been seen.
    max_gap_s : float
        Seconds for which it may be missed and keep its number.
    merge_gap_s : float
        Seconds between events that become one.
    regions : tuple of Region
    lines : tuple of Line
    """

    min_area: int | None = None
    max_area: int | None = None
    min_track: int = 3
    max_gap_s: float = 1.0
    merge_gap_s: float = 1.0
    regions: tuple[Region, ...] = ()
    lines: tuple[Line, ...] = ()


class ObjectTables:
    """Write what there is to say of objects that are followed already.

    Parameters
    ----------
    folder : Path
        Where the files are written.
    area : tuple of four ints
        x, y, width and height of what was looked at: the picture, or the part that --roi keeps.
    options : ObjectOptions, optional

    Attributes
    ----------
    rows : int
        Objects of single frames that were written.

    Notes
    -----
    Memory grows with the number of tracks and events, not with the frames.
    """

    def __init__(
        self, folder: Path, area: tuple[int, int, int, int], options: ObjectOptions | None = None
    ) -> None:
        options = options or ObjectOptions()
        self._folder, self._area, self._max_gap_s = folder, area, options.max_gap_s
        self._going: dict[int, TrackRecorder] = {}
        self._over: list[Track] = []
        self._events = EventCollector(options.merge_gap_s)
        regions, lines = options.regions, options.lines
        self._counter: RegionCounter | None = None
        if regions or lines:
            self._counter = RegionCounter(regions, lines, max_gap_s=options.max_gap_s)
        self._file = (folder / "objects.csv").open("w", encoding="utf-8", newline="")
        self._writer = ObjectsWriter(self._file, regions=bool(regions))
        self.rows = 0

    def add(self, objects: Sequence[Observation]) -> None:
        """Take in the objects of the next frame that has any, in pixels of the input."""
        self._events.add(objects)
        places = [""] * len(objects) if self._counter is None else self._counter.add(objects)
        for seen, place in zip(objects, places, strict=True):
            self._writer.add(seen, place)
            self.rows += 1
            if seen.track in self._going:
                self._going[seen.track].add(seen)
            else:
                self._going[seen.track] = TrackRecorder(seen, self._area)
        if objects:
            self._end_old(objects[0].time_s)

    def _end_old(self, now: float) -> None:
        """Sum up the tracks that can go on no more."""
        for number, recorder in list(self._going.items()):
            if now - recorder.last_time_s > self._max_gap_s + 1:
                self._over.append(recorder.summary())
                del self._going[number]

    def finish(
        self, frame_events: Sequence[Event] = (), end_s: float = 0.0
    ) -> tuple[list[Track], list[SceneEvent]]:
        """End all tracks and write the other tables.

        Parameters
        ----------
        frame_events : sequence of Event
            Events of whole frames, to be listed too.
        end_s : float
            Time of the last frame, whether it shows objects or not.
        """
        self.close()
        ended = [recorder.summary() for recorder in self._going.values()]
        tracks = sorted([*self._over, *ended], key=lambda track: track.track)
        with (self._folder / "tracks.csv").open("w", encoding="utf-8", newline="") as file:
            write_tracks(file, tracks)
        events = with_frame_events(self._events.finish(), frame_events)
        write_events(events, self._folder)
        if self._counter is not None:
            self._counter.end(end_s)
            with (self._folder / "regions.csv").open("w", encoding="utf-8", newline="") as file:
                self._counter.write(file)
        return tracks, events

    def close(self) -> None:
        """Close the file that is being written, without finishing it."""
        self._file.close()


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
        self.view = view
        gap, least = self.options.max_gap_s, self.options.min_track
        self._tracker = Tracker(
            view.mask_size,
            rate=rate,
            max_gap_s=gap,
            min_track=least,
            takes_all=self.options.min_area is not None,
        )
        self._end_s = 0.0
        self._tables = ObjectTables(folder, view.region, self.options)

    def close(self) -> None:
        """Close the file that is being written, without finishing it."""
        self._tables.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def detect(
        self,
        mask: Bytes,
        *,
        scores: NDArray[np.uint8] | NDArray[np.uint16] | None = None,
        score_level: int = 1,
        **pictures: Bytes | None,
    ) -> list[Detection]:
        """Find the regions of a mask that may be objects; in any thread, frames in any order.

        The arguments are those of `bgsub.tracking.detections.find_detections`.
        """
        across, down = self.view.scale
        least, most = self.options.min_area or 0, self.options.max_area
        if scores is not None and self.options.min_area is None:
            mask = with_weak_regions(mask, scores, score_level)
        return find_detections(
            mask,
            min_area=max(1, round(least / (across * down))),
            max_area=None if most is None else round(most / (across * down)),
            scores=scores,
            score_level=score_level,
            **pictures,
        )

    def add(
        self,
        frame: int,
        time_s: float,
        found: list[Detection],
        picture: Bytes | None = None,
    ) -> list[list[Observation]]:
        """Take in what `detect` found in the next frame, as `Tracker.update` does.

        Returns
        -------
        list of list of Observation
            The objects of the frames that can be shown by now, in pixels of the input. The tables
            also get what is known later.
        """
        self._end_s = time_s
        return self._record(self._tracker.update(frame, time_s, found, picture))

    def _record(self, followed: Followed) -> list[list[Observation]]:
        for frame in followed.settled:
            self._tables.add([self.view.place(seen) for seen in frame])
        return [[self.view.place(seen) for seen in frame] for frame in followed.shown]

    def end_tracks(self) -> list[list[Observation]]:
        """End all tracks, and return the objects of the frames that were not shown."""
        return self._record(self._tracker.finish())

    def finish(self, frame_events: Sequence[Event] = ()) -> Recorded:
        """End all tracks and write the other tables; `frame_events` are listed too."""
        self.end_tracks()
        tracks, events = self._tables.finish(frame_events, self._end_s)
        return Recorded(tuple(tracks), tuple(events), self._tables.rows)


_MANY = 4
"""Objects of an event from which a list of times alone says little, as on a busy street."""


def describe(found: Recorded) -> str:
    """Describe what was found in one line."""
    if not found.tracks:
        return "no object was found"
    tracks, events = len(found.tracks), len(found.events)
    longest = max(track.duration_s for track in found.tracks)
    each = "; `bgsub events --by track` lists each of them" if tracks > _MANY * events else ""
    found_in = f"{plural(tracks, 'object')} in {plural(events, 'event')}"
    return f"{found_in}, in sight for up to {longest:.1f} s{each}"
