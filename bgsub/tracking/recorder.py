"""Record the objects of a video, frame by frame, into tables of objects, tracks and events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import plural
from bgsub.outliers.events import Event
from bgsub.tracking.detections import Detection, find_detections, with_weak_regions
from bgsub.tracking.events import EventCollector, SceneEvent, with_frame_events, write_events
from bgsub.tracking.regions import Line, Region, RegionCounter
from bgsub.tracking.tables import ObjectsWriter, Track, TrackRecorder, write_tracks
from bgsub.tracking.tracker import Followed, Observation, Tracker
from bgsub.video.frames import Bytes, Pixels

# What a recorder writes; regions.csv too where there are regions or lines.
FILES = ("objects.csv", "tracks.csv", "events.csv", "events.json")
_MANY = 4  # objects of an event from which a list of times alone says little, as on a busy street


class View(NamedTuple):
    """Where masks of `mask_size` lie in pictures of `size`: in `region`, x, y, width and height."""

    size: tuple[int, int]
    region: tuple[int, int, int, int]
    mask_size: tuple[int, int]

    @property
    def scale(self) -> tuple[float, float]:
        """Pixels of the input for one of a mask, across and down."""
        return self.region[2] / self.mask_size[0], self.region[3] / self.mask_size[1]

    def place(self, seen: Observation) -> Observation:
        """Move an object from the mask into the input's picture."""
        (x0, y0), (across, down) = self.region[:2], self.scale
        x, y, width, height = seen.box
        box = (x0 + across * x, y0 + down * y, across * width, down * height)
        cx, cy, area = x0 + across * seen.cx, y0 + down * seen.cy, across * down * seen.area
        return replace(seen, box=box, cx=cx, cy=cy, area=area)


@dataclass(frozen=True, kw_only=True)
class ObjectOptions:
    """What counts as an object, by its area in pixels of the input, and for how long.

    Without `min_area` small things make events only where they move or stay. An object must have
    been seen in `min_track` frames, and may be missed for `max_gap_s` and keep its number.
    """

    min_area: int | None = None
    max_area: int | None = None
    min_track: int = 3
    max_gap_s: float = 1.0
    regions: tuple[Region, ...] = ()
    lines: tuple[Line, ...] = ()


class Recorded(NamedTuple):
    """What was found, in order of numbers and of time; observations are rows of objects.csv."""

    tracks: tuple[Track, ...] = ()
    events: tuple[SceneEvent, ...] = ()
    observations: int = 0


class ObjectTables:
    """Write tables of objects in an `area` of the input; memory grows with tracks and events."""

    def __init__(
        self, folder: Path, area: tuple[int, int, int, int], options: ObjectOptions | None = None
    ) -> None:
        options = options or ObjectOptions()
        self._folder, self._area, self._max_gap_s = folder, area, options.max_gap_s
        self._going: dict[int, TrackRecorder] = {}
        self._over: list[Track] = []
        self._events = EventCollector()
        regions, lines = options.regions, options.lines
        self._is_watched = bool(regions or lines)
        self._counter = RegionCounter(regions, lines, max_gap_s=options.max_gap_s)
        self._file = (folder / "objects.csv").open("w", encoding="utf-8", newline="")
        self._writer = ObjectsWriter(self._file, regions=bool(regions))
        self._rows = 0

    def add(self, objects: Sequence[Observation]) -> None:
        """Take in the objects of the next frame, in pixels of the input."""
        if not objects:
            return
        self._events.add(objects)
        self._rows += len(objects)
        for seen, place in zip(objects, self._counter.add(objects), strict=True):
            self._writer.add(seen, place)
            if seen.track in self._going:
                self._going[seen.track].add(seen)
            else:
                self._going[seen.track] = TrackRecorder(seen, self._area)
        for number, recorder in list(self._going.items()):
            if objects[0].time_s - recorder.last.time_s > self._max_gap_s + 1:  # it is over
                self._over.append(recorder.summary())
                del self._going[number]

    def finish(self, frame_events: Sequence[Event] = (), end_s: float = 0.0) -> Recorded:
        """End all tracks and write the other tables, with events of whole frames."""
        self.close()
        ended = [recorder.summary() for recorder in self._going.values()]
        tracks = sorted([*self._over, *ended], key=lambda track: track.track)
        write_tracks(self._folder / "tracks.csv", tracks)
        events = with_frame_events(self._events.finish(), frame_events)
        write_events(events, self._folder)
        if self._is_watched:
            self._counter.end(end_s)
            self._counter.write(self._folder / "regions.csv")
        return Recorded(tuple(tracks), tuple(events), self._rows)

    def close(self) -> None:
        """Close the file that is being written, without finishing it."""
        self._file.close()


class ObjectRecorder:
    """Follow the objects of a film of a `rate` and write their tables as the frames come."""

    def __init__(
        self, folder: Path, view: View, *, rate: float, options: ObjectOptions | None = None
    ) -> None:
        self.options = options = options or ObjectOptions()
        self.view, self.end_s = view, 0.0
        self._tracker = Tracker(
            view.mask_size,
            rate=rate,
            max_gap_s=options.max_gap_s,
            min_track=options.min_track,
            takes_all=options.min_area is not None,
        )
        self._tables = ObjectTables(folder, view.region, options)
        self.close = self._tables.close

    def detect(
        self,
        mask: Bytes,
        *,
        scores: NDArray[np.uint8] | NDArray[np.uint16] | None = None,
        score_level: int = 1,
        **pictures: Any,
    ) -> list[Detection]:
        """Find the regions of a mask that may be objects, by `find_detections`; in any thread."""
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
        self, frame: int, time_s: float, found: list[Detection], picture: Pixels | None = None
    ) -> list[list[Observation]]:
        """Take in what `detect` found; return objects that can be shown by now, on their masks."""
        self.end_s = time_s
        return self._record(self._tracker.update(frame, time_s, found, picture))

    def _record(self, followed: Followed) -> list[list[Observation]]:
        for frame in followed.settled:
            self._tables.add(list(map(self.view.place, frame)))
        return followed.shown

    def end_tracks(self) -> list[list[Observation]]:
        """End all tracks, and return the objects of the frames that were not shown."""
        return self._record(self._tracker.finish())

    def finish(self, frame_events: Sequence[Event] = ()) -> Recorded:
        """End all tracks and write the other tables; `frame_events` are listed too."""
        self.end_tracks()
        return self._tables.finish(frame_events, self.end_s)


def describe(found: Recorded) -> str:
    """Describe what was found in one line."""
    if not found.tracks:
        return "no object was found"
    tracks, events = len(found.tracks), len(found.events)
    longest = max(track.duration_s for track in found.tracks)
    each = "; `bgsub events --by track` lists each of them" if tracks > _MANY * events else ""
    found_in = f"{plural(tracks, 'object')} in {plural(events, 'event')}"
    return f"{found_in}, in sight for up to {longest:.1f} s{each}"
