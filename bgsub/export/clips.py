"""Cut a film into clips, one for each event."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bgsub.errors import InputError
from bgsub.export.overlays import Painter
from bgsub.export.run_data import RunData
from bgsub.export.stretches import Stretches
from bgsub.tracking.events import SceneEvent
from bgsub.video.excerpt import Excerpt, add_sound, copy_excerpt, encode_excerpt
from bgsub.video.source import FrameSource, is_there, open_source
from bgsub.video.timecode import format_time
from bgsub.video.video_file import VideoFileSource

_CLIP_COLUMNS = ("clip", "file", "start_s", "end_s", "frames", "events", "tracks", "peak_frame")
"""Header of clips.csv; a copied clip begins with a key frame, so its frames are not counted."""


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
    digits = max(4, len(str(len(spans))))
    return [f"clip{n:0{digits}d}_{start}.mp4" for n, start in enumerate(starts, start=1)]


def write_clips(
    run: RunData,
    folder: Path,
    spans: Sequence[Span],
    *,
    mode: Literal["encode", "copy"] = "encode",
    painter: Painter | None = None,
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
        In order of time; no two overlap.
    mode : {"encode", "copy"}
        Exact to the frame; or packets as they are, from the key frame before the stretch.
    painter : Painter, optional
        Draws on encoded clips.
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
    stretches = open_film(run, numbered=painter is not None and painter.needs_numbers)
    names, rows = clip_names(spans), []
    for index, (span, name) in enumerate(zip(spans, names, strict=True)):
        if mode == "copy":
            excerpt = _copy(stretches.source, folder / name, span)
        else:
            excerpt = _encode(stretches, folder / name, span, painter)
        rows.append([index + 1, name, *_row(span, excerpt)])
        if progress is not None:
            progress("clips", index + 1, len(spans))
    with (folder / "clips.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_CLIP_COLUMNS)
        writer.writerows(rows)
    return names


def _row(span: Span, excerpt: Excerpt) -> list[Any]:
    """Say what a clip shows: the rest of its row in clips.csv."""
    tracks = sorted({track for event in span.events for track in event.tracks})
    return [
        *(f"{excerpt.begin_s:.10g}", f"{excerpt.end_s:.10g}", excerpt.frames or ""),
        " ".join(str(event.number) for event in span.events),
        " ".join(map(str, tracks)),
        span.peak.peak_frame,
    ]


def open_film(run: RunData, *, numbered: bool = False) -> Stretches:
    """Open the film of a run, to take stretches out of it.

    Parameters
    ----------
    run : RunData
    numbered : bool
        See `Stretches`.

    Raises
    ------
    InputError
        If it is gone.
    """
    if not is_there(run.path):
        message = f"{run.path}: the film of {run.folder} is gone; put it back to cut clips from it"
        raise InputError(message)
    return Stretches(open_source(run.path, fps=run.fps), numbered=numbered, fps=run.fps)


def _copy(source: FrameSource, out: Path, span: Span) -> Excerpt:
    """Copy the packets of a clip."""
    if not isinstance(source, VideoFileSource):
        message = f"{source.name}: is no video file, and has no packets; use --mode encode"
        raise InputError(message)
    return copy_excerpt(source, out, span.start_s, span.end_s)


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
