"""Name the files that the outputs of a run are written to."""

from __future__ import annotations

from typing import Literal

from bgsub.errors import UsageError
from bgsub.options import RunOptions
from bgsub.video.sink import SUFFIXES, SinkKind

PlotFormat = Literal["png", "svg"]

_FILES = {
    "still": "background.png",
    "model": "model.npz",
    "report": "report.html",
    "heatmap": "heatmap.png",
    **{output: f"{output}.csv" for output in ("errors", "objects", "tracks", "events", "activity")},
}
"""Outputs that have one name in every format."""


def output_name(output: str, video_format: SinkKind, plot_format: PlotFormat) -> str:
    """Name the file (or folder of pictures) that an output is written to."""
    if output in _FILES:
        return _FILES[output]
    if output in {"plot", "spectrum"}:
        return plot_name(output, plot_format)
    return output + SUFFIXES[video_kind(output, video_format)]


def plot_name(output: str, plot_format: PlotFormat) -> str:
    """Name the file that a plot is written to."""
    return f"{'errors' if output == 'plot' else output}.{plot_format}"


def output_names(options: RunOptions) -> list[str]:
    """Name everything that a run will write.

    Raises
    ------
    UsageError
        If that is nothing.
    """
    if not options.outputs:
        message = "--only names no output; name at least one"
        raise UsageError(message)
    formats = options.format, options.plot_format
    names = [output_name(output, *formats) for output in sorted(options.outputs)]
    names += ["events.json"] if "events" in options.outputs else []
    names += ["heatmap.npy"] if "heatmap" in options.outputs else []
    names += [output_name("input", *formats)] if "report" in options.outputs else []
    watched = options.regions is not None or options.line
    return names + (["regions.csv"] if watched and "objects" in options.outputs else [])


def video_kind(output: str, video_format: SinkKind) -> SinkKind:
    """Give the format of a video; scores are numbers of 16 bits, which H.264 does not hold."""
    if output in {"input", "preview", "overlay"}:
        return "mp4"
    return "mkv" if output == "scores" and video_format == "mp4" else video_format
