"""Make tables of objects, tracks and events of the frames of a run, and draw them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bgsub.options import RunOptions
from bgsub.outliers.events import Event
from bgsub.pipeline.consumers import Need
from bgsub.pipeline.frames import SceneFrame
from bgsub.pipeline.masker import Masker
from bgsub.tracking.detections import Detection
from bgsub.tracking.feedback import Feedback, drop_alike, read_feedback
from bgsub.tracking.recorder import ObjectOptions, ObjectRecorder, Recorded
from bgsub.tracking.regions import Line, read_regions
from bgsub.tracking.tracker import Observation
from bgsub.video.images import Image
from bgsub.video.sink import QueuedSink

_Listener = Callable[[list[Observation]], None]
"""Called for every frame, in order, with its objects in pixels of the mask."""


def object_options(options: RunOptions) -> ObjectOptions:
    """Take the options of objects, and read the regions that they name.

    Raises
    ------
    InputError
        If the file of regions cannot be read.
    """
    regions = [] if options.regions is None else read_regions(Path(options.regions))
    return ObjectOptions(
        min_area=options.min_area,
        max_area=options.max_area,
        min_track=options.min_track,
        max_gap_s=options.max_gap,
        regions=tuple(regions),
        lines=tuple(Line(name, (x1, y1), (x2, y2)) for name, x1, y1, x2, y2 in options.line),
    )


def given_feedback(options: RunOptions, size: tuple[int, int]) -> Feedback | None:
    """Read what is no object, where a file says so, for pictures of a size."""
    if options.feedback is None:
        return None
    return Feedback(read_feedback(Path(options.feedback)), size, options.feedback)


@dataclass(eq=False)
class ObjectsOutput:
    """A consumer that follows the objects of the masks.

    Attributes
    ----------
    recorder : ObjectRecorder
    folder : Path
        Where it writes.
    masker : Masker
        Says what the background of a frame is.
    found : Recorded or None
        Known when the run ends, see `finish`.
    listeners : list of callable
        Are told the objects of every frame, which are known some frames later.
    feedback : Feedback, optional
        Tells what is no object.
    end_s : float
        Time of the last frame so far.
    """

    recorder: ObjectRecorder
    folder: Path
    masker: Masker
    found: Recorded | None = None
    listeners: list[_Listener] = field(default_factory=list)
    feedback: Feedback | None = None
    end_s: float = 0.0
    needs: frozenset[Need] = field(default_factory=lambda: frozenset({"mask", "scores"}))

    def prepare(self, frame: SceneFrame) -> list[Detection]:
        """Find the regions of the mask of a frame."""
        return self.recorder.detect(
            frame.mask,
            picture=frame.seen,
            luma=frame.layout.luma(frame.row),
            background=self.masker.background(frame),
            scores=frame.scores,
            score_level=self.masker.score_level,
        )

    def take(self, frame: SceneFrame, prepared: list[Detection]) -> None:
        """Link what was found to the objects of the frames before."""
        self.end_s = frame.time_s
        picture = frame.seen if prepared else None
        decided = self.recorder.add(frame.number, frame.time_s, prepared, picture)
        self._announce(decided)

    def _announce(self, decided: list[list[Observation]]) -> None:
        for objects in decided:
            for listener in self.listeners:
                listener([self.recorder.view.on_mask(seen) for seen in objects])

    def close(self) -> None:
        """End all tracks; the tables wait until the events of whole frames are known."""
        self._announce(self.recorder.end_tracks())

    def finish(self, events: Sequence[Event]) -> Recorded:
        """Write the tables; `events` are those of whole frames."""
        self.found = self.recorder.finish(events)
        if self.feedback is not None:
            recorder = self.recorder
            self.found = drop_alike(
                self.folder,
                self.found,
                self.feedback,
                recorder.view.region,
                recorder.options,
                events,
                self.end_s,
            )
        return self.found

    def abort(self) -> None:
        """Close the file that was begun; its folder is removed with it."""
        self.recorder.close()


class ObjectsVideo:
    """A consumer that writes a picture of every frame in which its objects are drawn.

    Parameters
    ----------
    sink : QueuedSink
    needs : frozenset of str
    prepare : callable
        Does what can be done of a picture before its objects are known.
    draw : callable
        Gives the picture from what `prepare` gave and the objects, in pixels of the mask.
    objects : ObjectsOutput
        Must come before this among the consumers, so that it is closed first.

    Attributes
    ----------
    count : int
        Frames in the file, known when it is closed.
    """

    def __init__(
        self,
        sink: QueuedSink,
        needs: frozenset[Need],
        prepare: Callable[[SceneFrame], Any],
        draw: Callable[[Any, list[Observation]], Image],
        objects: ObjectsOutput,
    ) -> None:
        self.sink, self.needs, self.prepare = sink, needs, prepare
        self.count = 0
        self._draw = draw
        self._frames: deque[tuple[float, Any]] = deque()
        self._objects: deque[list[Observation]] = deque()
        objects.listeners.append(self._hear)

    def take(self, frame: SceneFrame, prepared: Any) -> None:
        """Keep a frame until its objects are known."""
        self._frames.append((frame.time_s, prepared))
        self._write()

    def _hear(self, objects: list[Observation]) -> None:
        self._objects.append(objects)
        self._write()

    def _write(self) -> None:
        while self._frames and self._objects:
            time_s, prepared = self._frames.popleft()
            self.sink.write(self._draw(prepared, self._objects.popleft()), time_s)

    def close(self) -> None:
        """Finish the file, read it again and count its frames."""
        self.count = self.sink.close()

    def abort(self) -> None:
        """Remove the file."""
        self.sink.abort()
