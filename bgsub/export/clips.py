"""Cut a film into clips, one for each event."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import cv2
import numpy as np

from bgsub.errors import InputError
from bgsub.export.run_data import RunData, by_frame
from bgsub.tracking.drawing import draw_objects
from bgsub.tracking.events import SceneEvent
from bgsub.tracking.tracker import Observation
from bgsub.video.excerpt import add_sound, copy_excerpt, encode_excerpt
from bgsub.video.frames import Bytes, Frame
from bgsub.video.images import write_image
from bgsub.video.seeking import can_seek, frames_between
from bgsub.video.source import FrameSource, open_source
from bgsub.video.timecode import format_time
from bgsub.video.video_file import VideoFileSource

Mode = Literal["encode", "copy"]
Overlay = Literal["none", "boxes"]

CLIP_COLUMNS = ("clip", "file", "start_s", "end_s", "frames", "events", "tracks", "peak_frame")
"""Header of clips.csv; a copied clip begins with a key frame, so its frames are not counted."""

_THUMB = 240
"""Width of a picture of the contact sheet in pixels."""


@dataclass(frozen=True)
class Span:
    """A stretch of a film that becomes a clip.

    Attributes
    ----------
    start_s, end_s : float
    events : tuple of SceneEvent
        Those in it.
    """

    start_s: float
    end_s: float
    events: tuple[SceneEvent, ...]

    @property
    def peak(self) -> SceneEvent:
        """The event with the largest objects."""
        return max(self.events, key=lambda event: event.area)


def plan_spans(
    events: Sequence[SceneEvent],
    *,
    before_s: float,
    after_s: float,
    merge_s: float,
    most: int | None = None,
) -> list[Span]:
    """Choose the stretches: each event with what was before and after, near ones joined.

    Parameters
    ----------
    events : sequence of SceneEvent
        In order of time.
    before_s, after_s : float
    merge_s : float
        Stretches with at most so many seconds between them become one.
    most : int, optional
        Keep those with the largest events, in order of time.
    """
    spans: list[Span] = []
    for event in events:
        start, end = max(0.0, event.start_s - before_s), event.end_s + after_s
        if spans and start - spans[-1].end_s <= merge_s:
            last = spans[-1]
            spans[-1] = Span(last.start_s, max(last.end_s, end), (*last.events, event))
        else:
            spans.append(Span(start, end, (event,)))
    if most is None or len(spans) <= most:
        return spans
    kept = sorted(spans, key=lambda span: -span.peak.area)[:most]
    return sorted(kept, key=lambda span: span.start_s)


def clip_names(spans: Sequence[Span]) -> list[str]:
    """Name the clips, so that they sort by time on every file system."""
    starts = [format_time(span.start_s).replace(":", "-") for span in spans]
    return [f"clip{number:04d}_{start}.mp4" for number, start in enumerate(starts, start=1)]


def write_clips(
    run: RunData,
    folder: Path,
    spans: Sequence[Span],
    *,
    mode: Mode = "encode",
    overlay: Overlay = "none",
    sheet: str | None = None,
    progress: Callable[[str, int, int | None], None] | None = None,
) -> list[str]:
    """Write a clip for each stretch, and clips.csv, which says what is in which.

    Parameters
    ----------
    run : RunData
        Whose film is cut; it must still be there.
    folder : Path
        Where the files are written; it is there already.
    spans : sequence of Span
    mode : {"encode", "copy"}
        Exact to the frame; or packets as they are, from the key frame before the stretch.
    overlay : {"none", "boxes"}
        Boxes and numbers of the objects, drawn on encoded clips.
    sheet : str, optional
        Name of a contact sheet of the peak frames.
    progress : callable, optional

    Returns
    -------
    list of str
        Names of the files, in order of time.

    Raises
    ------
    InputError
        If the film is gone, or is no video file and packets are asked for.
    """
    source = _film(run)
    objects = by_frame(run.objects()) if overlay == "boxes" else {}
    names, rows = clip_names(spans), []
    for index, (span, name) in enumerate(zip(spans, names, strict=True)):
        begin, count = _write(source, folder / name, span, mode, objects)
        tracks = sorted({track for event in span.events for track in event.tracks})
        rows.append(
            [
                *(index + 1, name, f"{begin:.6g}", f"{span.end_s:.6g}", count or ""),
                " ".join(str(event.number) for event in span.events),
                " ".join(map(str, tracks)),
                span.peak.peak_frame,
            ]
        )
        if progress is not None:
            progress("clips", index + 1, len(spans))
    with (folder / "clips.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(CLIP_COLUMNS)
        writer.writerows(rows)
    if sheet is not None:
        write_image(folder / sheet, contact_sheet(source, [span.peak for span in spans]))
    return names


def _film(run: RunData) -> FrameSource:
    if not Path(run.path).exists():
        message = f"{run.path}: the film of {run.folder} is gone; put it back to cut clips from it"
        raise InputError(message)
    return open_source(run.path)


def _write(
    source: FrameSource,
    out: Path,
    span: Span,
    mode: Mode,
    objects: dict[int, list[Observation]],
) -> tuple[float, int]:
    """Write one clip; give where it begins, and its frames where they are known."""
    if mode == "copy":
        if not isinstance(source, VideoFileSource):
            message = f"{source.name}: is no video file, and has no packets; use --mode encode"
            raise InputError(message)
        return copy_excerpt(source, out, span.start_s, span.end_s), 0
    draw = _drawing(objects, source) if objects else None
    silent = out.with_suffix(".silent.mp4")
    frames = _frames(source, span)
    count, begin = encode_excerpt(frames, silent, draw=draw, rate=source.rate)
    has_sound = isinstance(source, VideoFileSource) and add_sound(source, silent, out, begin)
    if has_sound:
        silent.unlink()
    else:
        silent.rename(out)
    return begin, count


def _frames(source: FrameSource, span: Span) -> Iterable[Frame]:
    if isinstance(source, VideoFileSource) and can_seek(source):
        return frames_between(source, span.start_s, span.end_s)
    return open_source(source.path, start=f"{span.start_s:.6f}s", end=f"{span.end_s:.6f}s")


def _drawing(
    objects: dict[int, list[Observation]], source: FrameSource
) -> Callable[[Frame], Bytes]:
    """Draw the objects that are nearest in time: a frame that was sought has no number."""
    times = {seen[0].time_s: seen for seen in objects.values()}
    known = np.array(sorted(times))
    half = 0.5 / float(source.rate or 25)

    def draw(frame: Frame) -> Bytes:
        picture = frame.layout.to_bgr(frame.data)
        place = int(np.abs(known - frame.time_s).argmin())
        near = abs(known[place] - frame.time_s) <= half
        return draw_objects(picture, times[known[place]] if near else [])

    return draw


def contact_sheet(source: FrameSource, events: Sequence[SceneEvent]) -> Bytes:
    """Draw the peak frames of events side by side, with their numbers and times.

    Parameters
    ----------
    source : FrameSource
    events : sequence of SceneEvent

    Returns
    -------
    ndarray of shape (h, w, 3), uint8
    """
    thumbs = [_thumb(source, event) for event in events]
    across = max(1, min(4, len(thumbs)))
    height = max((thumb.shape[0] for thumb in thumbs), default=_THUMB)
    rows = []
    for begin in range(0, max(len(thumbs), 1), across):
        row = [*thumbs[begin : begin + across]]
        row += [np.zeros((height, _THUMB, 3), np.uint8)] * (across - len(row))
        rows.append(np.hstack(row))
    return np.vstack(rows)


def _thumb(source: FrameSource, event: SceneEvent) -> Bytes:
    span = Span(event.peak_s, event.peak_s, (event,))
    frame = next(iter(_frames(source, span)))
    picture = frame.layout.to_bgr(frame.data)
    colored = cv2.cvtColor(picture, cv2.COLOR_GRAY2BGR) if picture.ndim == 2 else picture
    size = (_THUMB, max(1, round(_THUMB * colored.shape[0] / colored.shape[1])))
    small = cv2.resize(colored, size, interpolation=cv2.INTER_AREA)
    plate = np.full((24, _THUMB, 3), 30, np.uint8)
    text = f"{event.number}  {format_time(event.peak_s)}"
    at = (6, 17)
    cv2.putText(plate, text, at, cv2.FONT_HERSHEY_SIMPLEX, 0.5, (255, 255, 255), 1, cv2.LINE_AA)
    return np.vstack([plate, small]).astype(np.uint8)
