"""The files that a run makes of its frames: videos, tables, and the statistics of its masks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bgsub.background.render import cutout, difference_picture, signed_difference
from bgsub.fit.memory import queue_frames
from bgsub.fit.store import FrameBlock
from bgsub.options import ProgressCallback, RunOptions
from bgsub.pipeline.camera import CameraWatch
from bgsub.pipeline.inputs import VIDEOS, needs_still, output_name, video_kind, videos_of
from bgsub.pipeline.loop import Loop, Need, SceneFrame, Sink
from bgsub.pipeline.results import ResultsDirectory
from bgsub.pipeline.scene import LearnedScene
from bgsub.runtime.threads import Workers
from bgsub.segmenter.protocol import LeftOut
from bgsub.video.frames import Bytes
from bgsub.video.images import Image
from bgsub.video.sink import QueuedSink, open_sink
from bgsub.video.source import FrameSource

if TYPE_CHECKING:
    from bgsub.outliers.events import Event
    from bgsub.pipeline.activity import ActivityOutput
    from bgsub.pipeline.objects import ObjectsOutput
    from bgsub.tracking.recorder import ObjectOptions
    from bgsub.tracking.tracker import Observation

_SPAN_IN_THRESHOLDS = 6.0
_WHITE_ON_BLACK = (255, 255, 255), (0, 0, 0)


class VideoOutput(Sink):
    """Writes a picture of every frame to a file; `count` is their number, once it is closed.

    With `objects`, which must come before this among the sinks, `prepare` draws what is needed
    before these are known, and `draw` makes the picture of that and of objects, on the mask.
    """

    def __init__(
        self,
        sink: QueuedSink,
        needs: Iterable[Need],
        prepare: Callable[[SceneFrame], Any],
        objects: ObjectsOutput | None = None,
        draw: Callable[[Any, Sequence[Observation]], Image] | None = None,
    ) -> None:
        self.sink, self._prepare, self._draw = sink, prepare, draw
        self.needs, self.count = frozenset(needs), 0
        self._frames: deque[tuple[float, Any]] = deque()
        self._objects: deque[Sequence[Observation]] = deque()
        if objects is not None:
            objects.listeners.append(self._write_known)

    def prepare(self, frame: SceneFrame) -> Any:
        """Draw a picture, as far as that is possible."""
        return self._prepare(frame)

    def write(self, frame: SceneFrame, prepared: Any) -> None:
        """Write a picture, or keep it until the objects of its frame are known."""
        if self._draw is None:
            self.sink.write(prepared, frame.time_s)
        else:
            self._frames.append((frame.time_s, prepared))
            self._write_known()

    def _write_known(self, *objects: Sequence[Observation]) -> None:
        self._objects.extend(objects)
        while self._draw is not None and self._frames and self._objects:
            time_s, prepared = self._frames.popleft()
            self.sink.write(self._draw(prepared, self._objects.popleft()), time_s)

    def close(self) -> None:
        """Finish the file, read it again and count its frames."""
        self.count = self.sink.close()

    def abort(self) -> None:
        """Remove the file."""
        self.sink.abort()


@dataclass
class MaskStatistics(Sink):
    """Counts what masks amount to, of which `pixels` of a frame can be foreground.

    Of `frames` some are `empty`, and some `crowded`: over 80 % foreground. `covered` and `left_out`
    sum the shares of the frames that are foreground and that other options would mark. `confidence`
    has first and last of frames whose masks deserve the same, in tenths, as far as it is known.
    """

    pixels: int
    frames: int = 0
    empty: int = 0
    crowded: int = 0
    covered: float = 0.0
    confidence: list[tuple[int, int, float]] = field(default_factory=list)
    left_out: LeftOut = field(default_factory=LeftOut)

    needs = frozenset({"mask"})

    def prepare(self, frame: SceneFrame) -> float:
        """Return the share of a frame that is foreground."""
        return float(np.count_nonzero(frame.mask)) / max(self.pixels, 1)

    def write(self, frame: SceneFrame, prepared: float) -> None:
        """Count the share of a frame."""
        self.frames += 1
        self.empty += prepared == 0.0
        self.crowded += prepared > 0.8
        self.covered += prepared
        result = frame.result
        if result.confidence is not None:
            tenths, start = round(result.confidence, 1), frame.number
            if self.confidence and self.confidence[-1][2] == tenths:
                start = self.confidence.pop()[0]
            self.confidence.append((start, frame.number, tenths))
        if result.left_out is not None:
            self.left_out = LeftOut(*map(sum, zip(self.left_out, result.left_out, strict=True)))

    @property
    def mean_share(self) -> float:
        """Mean share of a frame that is foreground."""
        return self.covered / max(self.frames, 1)


class FrameOutputs(AbstractContextManager["FrameOutputs"]):
    """Everything that a run makes of its frames, one by one.

    Leaving the context early removes what was begun. `gain` is a factor on the
    differences that the foreground shows; there are `statistics` where a video shows masks.
    """

    def __init__(
        self,
        results: ResultsDirectory,
        scene: LearnedScene,
        source: FrameSource,
        options: RunOptions,
        watched: ObjectOptions | None,
        workers: Workers,
    ) -> None:
        self.results, self.scene, self.source = results, scene, source
        self.options, self._workers = options, workers
        threshold = 255.0 if scene.background is None else scene.background.threshold
        self.gain = max(1.0, 255.0 / (_SPAN_IN_THRESHOLDS * max(threshold, 1.0)))
        self.statistics: MaskStatistics | None = None
        self.camera: CameraWatch | None = None
        self.objects: ObjectsOutput | None = None
        self.activity: ActivityOutput | None = None
        self.frames = 0
        self._first = self._last = (0, 0.0)
        self._videos: dict[str, VideoOutput] = {}
        self.sinks: list[Sink] = []
        try:
            if scene.segmenter is not None:  # what is made of all masks together
                folder = results.stage("")
                if watched is not None:
                    from bgsub.pipeline.objects import ObjectsOutput

                    self.objects = ObjectsOutput(folder, scene, source, options, watched)
                    self.sinks.append(self.objects)
                if needs_still(options):
                    from bgsub.pipeline.still import StillOutput

                    self.sinks.append(StillOutput(folder / output_name("still", options), scene))
                if wanted := options.outputs & {"heatmap", "activity"}:
                    from bgsub.pipeline.activity import ActivityOutput

                    regions = () if watched is None else watched.regions
                    place = options.source.roi or (0, 0, *source.input_size)
                    self.activity = ActivityOutput(folder, wanted, scene, regions, place)
                    self.sinks.append(self.activity)
            for output in VIDEOS:
                if output in videos_of(options):
                    self._videos[output] = self._open(output)
                    self.sinks.append(self._videos[output])
        except BaseException:
            self._abort()
            raise
        if any(video.needs & {"mask", "all scores"} for video in self._videos.values()):
            inside = scene.layout.pixels if scene.inside is None else np.count_nonzero(scene.inside)
            self.statistics, self.camera = MaskStatistics(int(inside)), CameraWatch()
            self.sinks += [self.statistics, self.camera]

    def _open(self, output: str) -> VideoOutput:
        layout, kind = self.scene.layout.plain, video_kind(output, self.options.format)
        path = self.results.stage(output_name(output, self.options))
        file = open_sink(path, output, layout=layout, kind=kind, rate=self.source.rate)
        sink = QueuedSink(file, queue_frames(layout.size))
        if output == "overlay":
            from bgsub.tracking.drawing import draw_objects

            return VideoOutput(sink, (), lambda frame: frame.picture, self.objects, draw_objects)
        if output == "preview":
            needs: set[Need] = {"background", "mask"}
            return VideoOutput(sink, needs, self._panels, self.objects, draw_preview)
        shown_by: Need = "mask" if self.options.foreground == "cutout" else "background"
        is_exact = self.options.format != "mp4"
        drawings: dict[str, tuple[set[Need], Callable[[SceneFrame], Image]]] = {
            "background": (
                {"background"},
                lambda frame: frame.layout.to_bgr(frame.own) if is_exact else frame.own,
            ),
            "foreground": ({shown_by}, self._draw_foreground),
            "mask": ({"mask"}, lambda frame: frame.mask),
            "input": (set(), lambda frame: frame.row[: layout.size]),
            "scores": ({"all scores"}, lambda frame: frame.scores),
        }
        return VideoOutput(sink, *drawings[output])

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._abort()

    def _abort(self) -> None:
        for sink in self.sinks:
            sink.abort()

    def write(
        self, blocks: Iterable[FrameBlock], total: int | None, progress: ProgressCallback
    ) -> None:
        """Pass frames to all sinks, and finish these side by side; each file is read again."""
        needs: set[Need] = set().union(*(sink.needs for sink in self.sinks))
        loop = Loop(self.scene, self._workers, needs, self.options.still_objects)
        stage = "write" if self.sinks else "errors"
        for frame in loop.feed(blocks, self.sinks):
            if not self.frames:
                self._first = frame.number, frame.time_s
            self._last = frame.number, frame.time_s
            self.frames += 1
            progress(stage, self.frames, total)
        if self.objects is not None:
            self.objects.close()
        for video in self._videos.values():
            video.sink.finish()
        for sink in self.sinks:
            sink.close()

    def _draw_foreground(self, frame: SceneFrame) -> Bytes:
        style = self.options.foreground
        if style == "abs":
            return difference_picture(frame.residual, self.gain)
        if style == "cutout":
            return cutout(frame.layout, frame.row, frame.mask)
        wrap = self.options.format != "mp4"
        return signed_difference(frame.layout, frame.row, frame.own, wrap=wrap)

    def _panels(self, frame: SceneFrame) -> Preview:
        front, score = self._draw_foreground(frame), frame.outlier_score
        panels = {
            "input": frame.picture,
            "background": frame.layout.to_bgr(frame.own),
            "foreground": frame.layout.to_bgr(front) if front.ndim == 1 else front,
            "mask": frame.mask,
        }
        text, model = f"frame {frame.number}   {frame.time_s:.2f} s", self.scene.background
        if score is None or model is None:
            return Preview(panels, text)
        return Preview(panels, f"{text}   score {score:z.1f}", bool(score > model.cutoff))

    def facts(self) -> dict[str, Any]:
        """Return what was made of the frames, as JSON values for run.json."""
        if not self.sinks:
            return {}
        (first, first_s), (last, last_s) = self._first, self._last
        span = {"first_frame": first, "last_frame": last}
        counts = {name: video.count for name, video in self._videos.items()}
        facts: dict[str, Any] = {
            "frames_passed": self.frames,
            "span": {**span, "first_time_s": first_s, "last_time_s": last_s},
            "frames_written": counts,
            "padded_to_even_size": any(video.sink.padded for video in self._videos.values()),
            "foreground_gain": round(self.gain, 3),
        }
        segmenter, masks = self.scene.segmenter, self.statistics
        if segmenter is not None and masks is not None:
            facts |= {"min_area": segmenter.min_area, "mask_model": segmenter.name}
            local = self.scene.local
            facts |= {"mask_notes": []} if local is None else local.facts()
            facts["mask_share"] = round(masks.mean_share, 6)
            facts |= {"mask_frames": masks.frames, "empty_masks": masks.empty}
            if masks.confidence:
                facts["mask_trust"] = [list(one) for one in masks.confidence]
            if "scores" in counts:
                facts["score_level"] = segmenter.score_level
        return facts

    def object_facts(self, events: Sequence[Event]) -> dict[str, Any]:
        """Write the tables of objects, with events of whole frames, and return what was found."""
        if self.objects is None:
            return {}
        from bgsub.pipeline.objects import object_facts

        found = self.objects.finish(events)
        if self.activity is not None:
            self.activity.finish(found.events)
        return object_facts(found, self.objects.feedback)


class Preview(NamedTuple):
    """A picture of a preview: four panels by caption, of one size; an outlier is named, too."""

    panels: dict[str, Bytes]
    text: str
    is_outlier: bool = False


def draw_preview(shown: Preview, objects: Sequence[Observation] = ()) -> Bytes:
    """Draw a picture of a preview, (H, W, 3), both even; the objects are in the first panel."""
    from bgsub.tracking.drawing import draw_objects, letter_height, write_on_plate

    height, width = next(iter(shown.panels.values())).shape[:2]
    # Small pictures grow and large ones shrink; strips of a few pixels stay pictures.
    factor = max(1.0, 320.0 / max(width, height)) if width < 640 else 640.0 / width
    size = (max(2 * round(width * factor / 2), 2), max(2 * round(height * factor / 2), 2))
    tiles = []
    for index, (caption, picture) in enumerate(shown.panels.items()):
        tile = draw_objects(picture, objects if index == 0 else (), size=size)
        write_on_plate(tile, caption, (3, 7 + letter_height(tile)), *_WHITE_ON_BLACK)
        tiles.append(tile)
    bar = np.full((28, 2 * size[0], 3), 40, dtype=np.uint8)
    if shown.is_outlier:
        bar[:] = (0, 0, 190)
    text = shown.text + "   OUTLIER" * shown.is_outlier
    write_on_plate(bar, text, (5, 23), *_WHITE_ON_BLACK)
    return np.vstack([bar, np.hstack(tiles[:2]), np.hstack(tiles[2:])])
