"""Cut a film into clips of its events, with overlays, a reel and a contact sheet."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import av
import cv2
import numpy as np

from bgsub.errors import InputError
from bgsub.export import ClipOptions
from bgsub.export.run_data import RunData
from bgsub.options import ProgressCallback, no_progress
from bgsub.runtime.files import write_rows
from bgsub.tracking.detections import Box
from bgsub.tracking.drawing import draw_objects, letter_height, write_on_plate
from bgsub.tracking.events import SceneEvent
from bgsub.tracking.tracker import Observation
from bgsub.video.base import IndexedSource
from bgsub.video.clip import Excerpt, add_sound, copy_excerpt, encode_excerpt
from bgsub.video.film import VideoFileSource
from bgsub.video.film_index import FilmIndex, Place
from bgsub.video.frames import Bytes, Frame, in_color
from bgsub.video.seek import frames_at, index_film
from bgsub.video.selection import format_time
from bgsub.video.source import FrameSource, is_there, open_source

_TINT, _OPACITY = (66, 228, 240), 0.45  # colour of the mask upon the picture, BGR, and its share
_ACROSS = 3
_LEAST_WIDTH, _MOST_WIDTH = 480, 640  # pixels that show an animal of 25×10 pixels of the film
CLIP_COLUMNS = ("clip", "file", "start_s", "end_s", "frames", "events", "tracks", "peak_frame")
# A copied clip begins with a key frame, so its frames are not counted.


class Stretches:
    """Stretches of a film in order of time, sought where that is exact, or else read through."""

    def __init__(self, source: FrameSource) -> None:
        self.source = source
        self._half = 0.5 / float(source.rate or 25)
        self._rest = iter(source)
        self._latest: Frame | None = None

    @cached_property
    def _index(self) -> FilmIndex | str:
        return index_film(self.source) if isinstance(self.source, VideoFileSource) else ""

    def frames(self, start_s: float, end_s: float) -> Iterator[Frame]:
        """Yield the frames of a stretch, with their numbers."""
        low, high = start_s - self._half, end_s + self._half
        if isinstance(self.source, IndexedSource):
            places = [Place(*one) for one in self.source.moments() if low <= one[1] <= high]
            yield from frames_at(self.source, places)
        elif isinstance(self._index, FilmIndex):
            first, stop = np.searchsorted(self._index.times, [low, high]).tolist()
            numbers = range(first + 1, stop + 1)
            yield from frames_at(self.source, list(map(self._index.place, numbers)))
        else:
            frame = self._latest or next(self._rest, None)
            while frame is not None and frame.time_s <= high:
                self._latest = frame  # which the next stretch may begin with, too
                if frame.time_s >= low:
                    yield frame
                frame = next(self._rest, None)
            self._latest = frame


class Painter:
    """Draws on frames of clips, which come in order of time."""

    def __init__(self, run: RunData, options: ClipOptions) -> None:
        self._options, overlay = options, options.overlay
        self._shows_masks = overlay in {"mask", "side-by-side"}
        self._masks = zip(*run.masks(), strict=True) if self._shows_masks else iter(())
        self._shown = self._next = next(self._masks, None)  # masks with the numbers of their frames
        self._step = run.step
        self._objects = run.by_frame() if overlay in {"boxes", "side-by-side"} else {}
        self._numbers = list(self._objects)

    def of(self, events: Sequence[SceneEvent]) -> Callable[[Frame], Bytes]:
        """Return what draws on the frames of a clip of these events."""

        def draw(frame: Frame) -> Bytes:
            canvas = self._draw(frame)
            if self._options.caption:
                time_s, margin = frame.time_s, letter_height(canvas) // 2
                nearest = min(
                    events, key=lambda each: max(each.start_s - time_s, time_s - each.end_s, 0.0)
                )
                clock = format_time(time_s)
                if self._options.clock is not None:
                    now = datetime.fromisoformat(self._options.clock) + timedelta(seconds=time_s)
                    clock = f"{now:%Y-%m-%d %H:%M:%S}"
                at = (margin, canvas.shape[0] - margin)
                text = f"event {nearest.number}   {clock}"
                write_on_plate(canvas, text, at, (255, 255, 255), (0, 0, 0))
            return canvas

        return draw

    def _draw(self, frame: Frame) -> Bytes:
        picture = frame.layout.to_bgr(frame.data)
        if not self._shows_masks:
            return draw_objects(picture, self._near(frame.number))
        while self._next is not None and self._next[0] <= frame.number:
            self._shown, self._next = self._next, next(self._masks, None)
        mask = np.zeros(picture.shape[:2], np.uint8)  # of a frame that the run left out
        if self._shown is not None and 0 <= frame.number - self._shown[0] < self._step:
            mask = self._shown[1]
        if self._options.overlay == "mask":
            return draw_objects(tinted(picture, mask), [])
        shown = draw_objects(picture, self._near(frame.number))
        size = (shown.shape[1], shown.shape[0])
        beside = cv2.resize(mask, size, interpolation=cv2.INTER_NEAREST)
        return np.hstack([shown, np.repeat(beside[..., None], 3, axis=2)]).astype(np.uint8)

    def _near(self, number: int) -> list[Observation]:
        """Return the objects of a frame; of one that the run left out those of the one before."""
        place = bisect_right(self._numbers, number) - 1
        if place < 0 or number - self._numbers[place] >= self._step:
            return []
        return self._objects[self._numbers[place]]


def tinted(picture: Bytes, mask: Bytes) -> Bytes:
    """Tint what a mask, (h, w), marks in a picture, with an outline that shows on any ground."""
    colored = in_color(picture).copy()
    inside = mask > 0
    colored[inside] = (1 - _OPACITY) * colored[inside] + _OPACITY * np.array(_TINT)
    outlines, _ = cv2.findContours(mask, cv2.RETR_LIST, cv2.CHAIN_APPROX_NONE)
    thick = max(1, round(max(mask.shape) / 640))
    cv2.drawContours(colored, outlines, -1, _TINT, thick)
    return np.asarray(colored, dtype=np.uint8)


def contact_sheet(
    film: Stretches, events: Sequence[SceneEvent], *, painter: Painter | None = None
) -> Bytes:
    """Draw the peak frames of events side by side, with their numbers and times.

    Of a larger video, the part around the event's box is shown, in its own pixels if the box fits:
    a small animal would vanish in the whole. Without an event it is a dark picture.
    """
    width = min(max(film.source.input_size[0], _LEAST_WIDTH), _MOST_WIDTH)
    drawn: dict[int, Bytes] = {}
    for event in sorted(events, key=lambda event: event.peak_s):  # as masks are read
        frame = next(film.frames(event.peak_s, event.peak_s))
        picture = frame.layout.to_bgr(frame.data) if painter is None else painter.of([event])(frame)
        colored = in_color(picture)
        size = (width, max(1, round(width * colored.shape[0] / colored.shape[1])))
        if event.box is not None and film.source.input_size[0] > width:
            colored = _around(colored, event.box, size)
        small = cv2.resize(colored, size, interpolation=cv2.INTER_AREA)
        plate = np.full((24, width, 3), 30, np.uint8)
        text, font = f"{event.number}  {format_time(event.peak_s)}", cv2.FONT_HERSHEY_SIMPLEX
        cv2.putText(plate, text, (6, 17), font, 0.5, (255, 255, 255), 1, cv2.LINE_AA)
        drawn[event.number] = np.vstack([plate, small]).astype(np.uint8)
    thumbs = [drawn[event.number] for event in events]
    across = max(1, min(_ACROSS, len(thumbs)))
    height = max((thumb.shape[0] for thumb in thumbs), default=width)
    dark = np.zeros((height, width, 3), np.uint8)
    thumbs += [dark] * (-len(thumbs) % across if thumbs else 1)
    rows = [thumbs[begin : begin + across] for begin in range(0, len(thumbs), across)]
    return np.vstack([np.hstack(row) for row in rows])


def _around(picture: Bytes, box: Box, size: tuple[int, int]) -> Bytes:
    """Return the part of a picture around a box, of a size or, where the box is larger, more."""
    height, width = picture.shape[:2]
    factor = max(1.0, 1.2 * box[2] / size[0], 1.2 * box[3] / size[1])
    factor = min(factor, width / size[0])
    wide, tall = min(width, round(factor * size[0])), min(height, round(factor * size[1]))
    left = round(min(max(0, box[0] + (box[2] - wide) / 2), width - wide))
    top = round(min(max(0, box[1] + (box[3] - tall) / 2), height - tall))
    return picture[top : top + tall, left : left + wide]


def join_clips(clips: Sequence[Path], out: Path) -> None:
    """Join clips of a film and their sound without encoding; InputError if they do not fit."""
    try:
        with av.open(str(out), "w") as target:
            _join(clips, target)
    except (av.FFmpegError, ValueError) as error:
        raise InputError(f"the clips cannot be joined ({error}); leave --reel out") from error


def _join(clips: Sequence[Path], target: Any) -> None:
    """Add the packets of each clip behind those that are there."""
    ours: dict[str, Any] = {}
    end = interval = 0.0
    for clip in clips:
        with av.open(str(clip)) as source:
            streams = [*source.streams.video[:1], *source.streams.audio[:1]]
            if not ours:  # the first clip says what there is: sound is in all or in none
                ours = {each.type: target.add_stream_from_template(each) for each in streams}
            begin, last = end, -1.0
            for packet in source.demux([each for each in streams if each.type in ours]):
                if packet.dts is None or packet.time_base is None:
                    continue
                if packet.dts < 0 and packet.stream.type == "audio":
                    continue  # what an encoder puts before the first sample is heard in no player
                base = float(packet.time_base)
                shift = round(begin / base)
                packet.dts += shift
                packet.pts = packet.dts if packet.pts is None else packet.pts + shift
                shown, lasts = packet.pts * base, (packet.duration or 0) * base
                if packet.stream.type == "video":  # the last packet may not say how long it lasts
                    interval = lasts or (shown - last if last >= 0 else interval)
                    lasts, last = interval, shown
                end = max(end, shown + lasts)
                packet.stream = ours[packet.stream.type]
                target.mux(packet)


class Span(NamedTuple):
    """A stretch of a film that becomes a clip, and the events in it."""

    start_s: float
    end_s: float
    events: tuple[SceneEvent, ...]

    @property
    def peak(self) -> SceneEvent:
        """The event with the largest objects."""
        return max(self.events, key=lambda event: event.area)


def plan_spans(events: Sequence[SceneEvent], options: ClipOptions) -> list[Span]:
    """Return the stretches: each event, in order of time, with what was before and after."""
    spans: list[Span] = []
    for event in events:
        start, end = max(0.0, event.start_s - options.before), event.end_s + options.after
        together: tuple[SceneEvent, ...] = (event,)
        if spans and start - spans[-1].end_s <= options.merge:
            last = spans.pop()
            start, end, together = last.start_s, max(last.end_s, end), (*last.events, event)
        spans.append(Span(start, end, together))
    kept = sorted(spans, key=lambda span: -span.peak.area)[: options.max_events]
    return sorted(kept, key=lambda span: span.start_s)


def clip_names(spans: Sequence[Span]) -> list[str]:
    """Name the clips, so that they sort by time on every file system."""
    starts = [format_time(span.start_s).replace(":", "-") for span in spans]
    digits = max(4, len(str(len(spans))))
    return [f"clip{n:0{digits}d}_{start}.mp4" for n, start in enumerate(starts, start=1)]


def write_clips(
    run: RunData,
    folder: Path,
    spans: Sequence[Span],
    *,
    mode: Literal["encode", "copy"] = "encode",
    painter: Painter | None = None,
    progress: ProgressCallback = no_progress,
) -> list[str]:
    """Write a clip for each stretch, none of which overlap, and clips.csv; return the names.

    Encoded clips are exact to the frame; copied ones begin with the key frame before. InputError if
    the film is gone, or is no video file and packets are asked for.
    """
    stretches = open_film(run)
    source, names = stretches.source, clip_names(spans)
    rows: list[Sequence[object]] = []
    if mode == "copy" and not isinstance(source, VideoFileSource):
        raise InputError(f"{source.name}: is no video file, and has no packets; use --mode encode")
    for number, (span, name) in enumerate(zip(spans, names, strict=True), start=1):
        if mode == "copy" and isinstance(source, VideoFileSource):
            excerpt = copy_excerpt(source, folder / name, span.start_s, span.end_s)
        else:
            excerpt = _encode(stretches, folder / name, span, painter)
        times = f"{excerpt.begin_s:.10g}", f"{excerpt.end_s:.10g}", excerpt.frames or ""
        events = " ".join(str(event.number) for event in span.events)
        tracks = sorted({track for event in span.events for track in event.tracks})
        row = [number, name, *times, events, " ".join(map(str, tracks))]
        rows.append([*row, span.peak.peak_frame])
        progress("clips", number, len(spans))
    write_rows(folder / "clips.csv", [CLIP_COLUMNS, *rows])
    return names


def open_film(run: RunData) -> Stretches:
    """Open the film of a run, to take stretches out of it; InputError if it is gone."""
    if not is_there(run.path):
        message = f"{run.path}: the film of {run.folder} is gone; put it back to cut clips from it"
        raise InputError(message)
    return Stretches(open_source(run.path, fps=run.fps))


def _encode(stretches: Stretches, out: Path, span: Span, painter: Painter | None) -> Excerpt:
    """Encode the frames of a clip, with their sound."""
    source, silent = stretches.source, out.with_suffix(".silent.mp4")
    frames = stretches.frames(span.start_s, span.end_s)
    draw = None if painter is None else painter.of(span.events)
    excerpt = encode_excerpt(frames, silent, draw=draw, rate=source.rate)
    if not excerpt.frames:
        message = f"{source.name}: shows nothing from {span.start_s:g} to {span.end_s:g} s"
        raise InputError(f"{message}; it is not the film that the events were found in")
    if isinstance(source, VideoFileSource) and add_sound(source, silent, out, excerpt.begin_s):
        silent.unlink()
    else:
        silent.rename(out)
    return excerpt
