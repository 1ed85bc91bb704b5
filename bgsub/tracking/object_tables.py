"""Write objects.csv, tracks.csv, the events and regions.csv of objects as their frames come."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bgsub.outliers.events import Event
from bgsub.tracking.event_files import write_events
from bgsub.tracking.events import EventCollector, SceneEvent, with_frame_events
from bgsub.tracking.flicker import small_area
from bgsub.tracking.object_options import ObjectOptions
from bgsub.tracking.regions import RegionCounter
from bgsub.tracking.tables import ObjectsWriter, write_tracks
from bgsub.tracking.tracker import Observation
from bgsub.tracking.tracks import Track, TrackRecorder


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
        small = small_area(area) if options.min_area is None else 0.0
        self._events = EventCollector(options.merge_gap_s, small)
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
