"""Open the outputs of a run that show frames, feed them, and say what became of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from bgsub.background.render import cutout, difference_picture, signed_difference
from bgsub.fit.blocks import queue_frames
from bgsub.fit.store import FrameBlock
from bgsub.options import ProgressCallback
from bgsub.pipeline.camera import CameraWatch
from bgsub.pipeline.consumers import FrameConsumer, Need, Renderer, feed
from bgsub.pipeline.directory import ResultsDirectory
from bgsub.pipeline.frames import SceneFrame
from bgsub.pipeline.mask_tally import MaskTally
from bgsub.pipeline.needs import VIDEOS
from bgsub.pipeline.output_names import video_kind
from bgsub.pipeline.preview import PreviewPanels, preview
from bgsub.pipeline.scene import LearnedScene
from bgsub.pipeline.still import StillOutput
from bgsub.runtime.threads import Workers
from bgsub.video.frames import Bytes
from bgsub.video.images import Image
from bgsub.video.sink import SUFFIXES, QueuedSink, SinkKind, open_sink

if TYPE_CHECKING:
    from bgsub.pipeline.activity import ActivityOutput
    from bgsub.pipeline.objects import ObjectsOutput, ObjectsVideo

ForegroundStyle = Literal["abs", "signed", "cutout"]

_SPAN_IN_THRESHOLDS = 6.0


@dataclass(frozen=True)
class Span:
    """The first and the last frame that have passed, with their seconds."""

    first_frame: int
    last_frame: int
    first_time_s: float
    last_time_s: float

    @classmethod
    def through(cls, before: Span | None, block: FrameBlock) -> Span:
        """Give the span that ends with a block of frames."""
        first, start_s = int(block.numbers[0]), float(block.times[0])
        if before is not None:
            first, start_s = before.first_frame, before.first_time_s
        return cls(first, int(block.numbers[-1]), start_s, float(block.times[-1]))


@dataclass(eq=False)
class VideoOutput:
    """A consumer that writes a picture of every frame to a file.

    Attributes
    ----------
    sink : QueuedSink
    needs : frozenset of str
    prepare : callable
        Draws the picture of a frame.
    count : int
        Frames in the file, known when it is closed.
    """

    sink: QueuedSink
    needs: frozenset[Need]
    prepare: Callable[[SceneFrame], Image]
    count: int = 0

    def take(self, frame: SceneFrame, prepared: Image) -> None:
        """Write a picture."""
        self.sink.write(prepared, frame.time_s)

    def close(self) -> None:
        """Finish the file, read it again and count its frames."""
        self.count = self.sink.close()

    def abort(self) -> None:
        """Remove the file."""
        self.sink.abort()


class FrameOutputs:
    """Everything that a run makes of its frames, one by one: videos and the tally of the masks.

    A context manager: leaving it early removes what was begun.

    Parameters
    ----------
    results : ResultsDirectory
    scene : LearnedScene
    wanted : collection of str
        Outputs that are asked for; those that do not show frames are passed over.
    video_format : {"mp4", "mkv", "png", "zarr"}
    style : {"abs", "signed", "cutout"}
        Of the foreground.
    rate : Fraction or None
        Frames a second.
    workers : Workers
    objects : ObjectsOutput, optional
        Follows the objects, where they are wanted.
    still : StillOutput, optional
        Makes one picture of the scene, where it is wanted.
    activity : ActivityOutput, optional
        Sums up the masks, where that is wanted.

    Attributes
    ----------
    tally : MaskTally or None
        None where no mask is wanted.
    frames : int
        Frames that have passed.
    span : Span or None
        The first and the last of them.
    counts : dict of str to int
        Frames written, by output.
    padded : bool
        Whether frames of odd size were continued to an even one.
    gain : float
        Factor on the differences that the foreground shows.
    """

    def __init__(
        self,
        results: ResultsDirectory,
        scene: LearnedScene,
        *,
        wanted: Collection[str],
        video_format: SinkKind,
        style: ForegroundStyle,
        rate: Fraction | None,
        workers: Workers,
        objects: ObjectsOutput | None = None,
        still: StillOutput | None = None,
        activity: ActivityOutput | None = None,
    ) -> None:
        self._scene, self._format, self._style = scene, video_format, style
        self._workers = workers
        threshold = None if scene.background is None else scene.background.threshold
        self.gain = 1.0
        if threshold is not None:
            self.gain = max(1.0, 255.0 / (_SPAN_IN_THRESHOLDS * max(threshold, 1.0)))
        self.tally: MaskTally | None = None
        self.camera: CameraWatch | None = None
        self._videos: dict[str, VideoOutput | ObjectsVideo] = {}
        self.objects, self.activity = objects, activity
        self.frames = 0
        self.span: Span | None = None
        self.consumers: list[FrameConsumer] = [] if objects is None else [objects]
        self.consumers += [] if still is None else [still]
        self.consumers += [] if activity is None else [activity]
        try:
            for output in VIDEOS:
                if output in wanted:
                    self._videos[output] = self._open(results, output, rate)
                    self.consumers.append(self._videos[output])
        except BaseException:
            self._abort()
            raise
        if any(video.needs & {"mask", "scores"} for video in self._videos.values()):
            self.tally = MaskTally(scene.n_inside)
            self.camera = CameraWatch()
            self.consumers += [self.tally, self.camera]

    def _open(
        self, results: ResultsDirectory, output: str, rate: Fraction | None
    ) -> VideoOutput | ObjectsVideo:
        layout, kind = self._scene.layout.plain, video_kind(output, self._format)
        path = results.stage(output + SUFFIXES[kind])
        sink = QueuedSink(
            open_sink(path, output, layout=layout, kind=kind, rate=rate), queue_frames(layout.size)
        )
        if self.objects is not None and output in {"preview", "overlay"}:
            return self._open_drawn(sink, output, self.objects)
        drawings: dict[str, tuple[set[Need], Callable[[SceneFrame], Image]]] = {
            "background": ({"background"}, self._draw_background),
            "foreground": (self._foreground_needs, lambda frame: frame.foreground),
            "mask": ({"mask"}, lambda frame: frame.mask),
            "preview": ({"background", "mask"}, lambda frame: preview(self._panels(frame))),
            "input": (set(), lambda frame: frame.row[: layout.size]),
            "overlay": (set(), lambda frame: _without_objects(frame.picture)),
            "scores": ({"scores"}, lambda frame: frame.scores),
        }
        needs, draw = drawings[output]
        return VideoOutput(sink, frozenset(needs), draw)

    def _open_drawn(self, sink: QueuedSink, output: str, objects: ObjectsOutput) -> ObjectsVideo:
        """Open a video in which objects are drawn, as soon as they are known."""
        from bgsub.pipeline.objects import ObjectsVideo
        from bgsub.tracking.drawing import draw_objects

        if output == "overlay":
            return ObjectsVideo(sink, frozenset(), _picture, draw_objects, objects)
        needs: frozenset[Need] = frozenset({"background", "mask"})
        return ObjectsVideo(sink, needs, self._panels, preview, objects)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._abort()

    def _abort(self) -> None:
        for consumer in self.consumers:
            consumer.abort()

    @property
    def _foreground_needs(self) -> set[Need]:
        return {"mask"} if self._style == "cutout" else {"background"}

    def write(
        self, blocks: Iterable[FrameBlock], total: int | None, progress: ProgressCallback
    ) -> None:
        """Give the frames of some blocks to all consumers; blocks pass even if there is none."""
        renderer, done = self._renderer(), 0
        stage = "write" if self.consumers else "errors"
        for frames in renderer.frames(self._passing(blocks), self._workers):
            if self.consumers:
                feed(frames, self.consumers, self._workers)
            done += len(frames)
            progress(stage, done, total)
        self.frames = done

    def _passing(self, blocks: Iterable[FrameBlock]) -> Iterator[FrameBlock]:
        for block in blocks:
            self.span = Span.through(self.span, block)
            yield block

    def _renderer(self) -> Renderer:
        scene, masker = self._scene, self._scene.masker
        needs: set[Need] = set().union(*(consumer.needs for consumer in self.consumers))
        masks = bool(needs & {"mask", "scores"})
        shown = "background" in needs or (masks and masker is not None and masker.needs_background)
        return Renderer(
            scene.layout,
            scene.background if shown else None,
            masker if masks or (shown and masker is not None) else None,
            scene.inside,
            self._draw_foreground,
            with_scores="scores" in needs,
        )

    def _draw_background(self, frame: SceneFrame) -> Image:
        return frame.own if self._format == "mp4" else frame.background

    def _draw_foreground(self, frame: SceneFrame) -> Bytes:
        if self._style == "abs":
            return difference_picture(frame.residual, self.gain)
        if self._style == "cutout":
            return cutout(frame.layout, frame.row, frame.mask)
        wrap = self._format != "mp4"
        return signed_difference(frame.layout, frame.row, frame.own, wrap=wrap)

    def _panels(self, frame: SceneFrame) -> PreviewPanels:
        front = frame.foreground
        score, background = frame.outlier_score, self._scene.background
        return PreviewPanels(
            {
                "input": frame.picture,
                "background": frame.background,
                "foreground": frame.layout.to_bgr(front) if front.ndim == 1 else front,
                "mask": frame.mask,
            },
            frame.number,
            frame.time_s,
            score,
            outlier=score is not None and background is not None and score > background.cutoff,
        )

    def close(self) -> None:
        """Finish all files side by side; each is read again and its frames are counted."""
        if self.objects is not None:
            self.objects.close()
        for video in self._videos.values():
            video.sink.finish()
        for consumer in self.consumers:
            consumer.close()
        self.counts = {name: video.count for name, video in self._videos.items()}
        self.padded = any(video.sink.padded for video in self._videos.values())


def _without_objects(picture: Bytes) -> Bytes:
    from bgsub.tracking.drawing import draw_objects

    return draw_objects(picture, [])


def _picture(frame: SceneFrame) -> Bytes:
    return frame.picture
