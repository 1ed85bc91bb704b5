"""Write events as cuts: an edit decision list, a list for FFmpeg, a list of seconds."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from bgsub.errors import UsageError
from bgsub.export.run_data import RunData
from bgsub.version import how_to_install


def write_edl(run: RunData, path: Path) -> None:
    """Write an edit decision list, CMX 3600: the events one after the other.

    Raises
    ------
    UsageError
        If OpenTimelineIO is not installed, or the film has a rate that time codes do not know.
    """
    try:
        import opentimelineio as otio
    except ImportError as error:
        message = f"--to edl: needs OpenTimelineIO; {how_to_install('export')} installs it"
        raise UsageError(message) from error
    rate = None if run.rate is None else float(run.rate)
    if rate is None or not otio.opentime.RationalTime.is_smpte_timecode_rate(rate):
        shown = "its frame rate is not known" if rate is None else f"has {rate:g} frames a second"
        message = f"{run.name}: {shown}, and an EDL counts in 24, 25, 30, 50 or 60"
        raise UsageError(f"{message}; choose csv-seconds or ffconcat")
    track = otio.schema.Track(name="V", kind=otio.schema.TrackKind.Video)
    for event in run.events():
        start = otio.opentime.RationalTime(event.first_frame - 1, rate)
        length = otio.opentime.RationalTime(event.last_frame - event.first_frame + 1, rate)
        span = otio.opentime.TimeRange(start, length)
        media = otio.schema.ExternalReference(Path(run.path).absolute().as_uri(), span)
        track.append(otio.schema.Clip(f"event {event.number}", media, span))
    timeline = otio.schema.Timeline(name=Path(run.name).stem)
    timeline.tracks.append(track)
    text = f"TITLE: {timeline.name}\n"
    if len(track):  # the library cannot write a list without any
        text = otio.adapters.write_to_string(timeline, "cmx_3600", rate=rate)
    path.write_text(text, encoding="utf-8")


def write_ffconcat(run: RunData, path: Path) -> None:
    """Write a list for ``ffmpeg -safe 0 -f concat``: the events one after the other."""
    lines = ["ffconcat version 1.0"]
    source = str(Path(run.path).absolute()).replace("'", "'\\''")
    for event in run.events():
        end = event.end_s + _frame_length(run)
        lines += [f"file '{source}'", f"inpoint {event.start_s:.6f}", f"outpoint {end:.6f}"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_seconds(run: RunData, path: Path) -> None:
    """Write start, end and name of each event in seconds, one a line."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for event in run.events():
            end = event.end_s + _frame_length(run)
            writer.writerow([f"{event.start_s:.6f}", f"{end:.6f}", f"event {event.number}"])


def write_lossless_cut(run: RunData, path: Path) -> None:
    """Write a project of LosslessCut: start, end and name of each event."""
    segments = [
        {
            "start": round(event.start_s, 6),
            "end": round(event.end_s + _frame_length(run), 6),
            "name": f"event {event.number}",
        }
        for event in run.events()
    ]
    project = {"version": 1, "mediaFileName": run.name, "cutSegments": segments}
    path.write_text(json.dumps(project, indent=2) + "\n", encoding="utf-8")


def _frame_length(run: RunData) -> float:
    """Seconds for which the last frame of an event is seen."""
    return 0.0 if run.rate is None else float(1 / run.rate)
