"""List the formats of an export: what reads them, and the function that writes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bgsub.export import boxes, cuts, pixels
from bgsub.export.run_data import RunData


@dataclass(frozen=True)
class Format:
    """A format of an export.

    Attributes
    ----------
    write : callable
        Takes a run and the path to write to.
    help : str
        What it holds, and what reads it.
    """

    write: Callable[[RunData, Path], None]
    help: str


FORMATS = {
    "via": Format(boxes.write_via, "boxes as VIA-tracks CSV, for movement and VIA"),
    "mot": Format(boxes.write_mot, "boxes as gt.txt of the MOT Challenge"),
    "coco": Format(pixels.write_coco, "boxes and pixels as COCO instances with track_id"),
    "cvat": Format(boxes.write_cvat, "tracks as CVAT XML 1.1 for videos"),
    "yolo": Format(boxes.write_yolo, "boxes as a folder of YOLO labels"),
    "megadetector": Format(boxes.write_megadetector, "boxes as MegaDetector results 1.6"),
    "labels": Format(pixels.write_labels, "pixels as a TIFF stack, for TrackMate and napari"),
    "edl": Format(cuts.write_edl, "events as an edit decision list, CMX 3600"),
    "ffconcat": Format(cuts.write_ffconcat, "events as a list for ffmpeg -f concat"),
    "csv-seconds": Format(cuts.write_seconds, "events in seconds, one a line"),
    "lossless-cut": Format(cuts.write_lossless_cut, "events as a project of LosslessCut"),
}
