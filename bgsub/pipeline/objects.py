"""Make tables of objects, tracks and events of the frames of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bgsub.options import RunOptions
from bgsub.outliers.events import Event
from bgsub.pipeline.loop import SceneFrame, Sink
from bgsub.pipeline.scene import LearnedScene
from bgsub.tracking.detections import Detection
from bgsub.tracking.feedback import Feedback, drop_alike, read_feedback
from bgsub.tracking.recorder import ObjectOptions, ObjectRecorder, Recorded, View, describe
from bgsub.tracking.regions import Line, read_regions
from bgsub.tracking.tracker import Observation
from bgsub.video.source import FrameSource


def object_options(options: RunOptions) -> ObjectOptions:
    """Return the options of objects, and read the regions that they name."""
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
    """Read what is no object, where a file says so, of frames of a size."""
    if options.feedback is None:
        return None
    return Feedback(read_feedback(Path(options.feedback)), size, options.feedback)


def object_facts(found: Recorded, feedback: Feedback | None) -> dict[str, Any]:
    """Return what run.json says of objects."""
    kinds = [event.kind for event in found.events]
    objects = {
        "observations": found.observations,
        "tracks": len(found.tracks),
        "events": {kind: kinds.count(kind) for kind in ("object", "frame", "both")},
        "summary": describe(found),
    }
    return {**({} if feedback is None else feedback.facts()), "objects": objects}


class ObjectsOutput(Sink):
    """Follows the objects of masks into tables; `listeners` hear of a frame's some later."""

    needs = frozenset({"mask", "scores"})

    def __init__(
        self,
        folder: Path,
        scene: LearnedScene,
        source: FrameSource,
        options: RunOptions,
        watched: ObjectOptions,
    ) -> None:
        size, layout = source.input_size, source.layout
        view = View(size, options.source.roi or (0, 0, *size), (layout.width, layout.height))
        self.feedback = given_feedback(options, size)
        rate = float(source.rate or 25)
        self._recorder = ObjectRecorder(folder, view, rate=rate, options=watched)
        self._folder, self._scene = folder, scene
        self._score_level = 0 if scene.segmenter is None else scene.segmenter.score_level
        self.listeners: list[Callable[[list[Observation]], None]] = []

    def prepare(self, frame: SceneFrame) -> list[Detection]:
        """Find the regions of the mask of a frame."""
        return self._recorder.detect(
            frame.mask,
            picture=frame.seen,
            luma=frame.layout.luma(frame.row),
            background=lambda part: self._scene.background_of(frame, frame.result.shown, part),
            scores=frame.scores,
            score_level=self._score_level,
        )

    def write(self, frame: SceneFrame, prepared: list[Detection]) -> None:
        """Link what was found to the objects of the frames before."""
        picture = frame.seen if prepared else None
        self._announce(self._recorder.add(frame.number, frame.time_s, prepared, picture))

    def _announce(self, decided: list[list[Observation]]) -> None:
        for objects in decided:
            for listener in self.listeners:
                listener(objects)

    def close(self) -> None:
        """End all tracks; the tables wait until the events of whole frames are known."""
        self._announce(self._recorder.end_tracks())

    def finish(self, events: Sequence[Event]) -> Recorded:
        """Write the tables; `events` are those of whole frames."""
        recorder, found = self._recorder, self._recorder.finish(events)
        if self.feedback is None:
            return found
        region, options, end_s = recorder.view.region, recorder.options, recorder.end_s
        return drop_alike(self._folder, found, self.feedback, region, options, events, end_s)

    def abort(self) -> None:
        """Close the file that was begun; its folder is removed with it."""
        self._recorder.close()
