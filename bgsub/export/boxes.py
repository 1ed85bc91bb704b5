"""Write boxes of objects: VIA, MOT Challenge, CVAT, YOLO and MegaDetector."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from bgsub.errors import UsageError
from bgsub.export.run_data import RunData, by_frame
from bgsub.tracking.tracker import Observation
from bgsub.version import __version__

LABEL = "object"
"""Class of everything that is exported: what an object is, bgsub cannot know."""

_VIA_COLUMNS = (
    *("filename", "file_size", "file_attributes", "region_count"),
    *("region_id", "region_shape_attributes", "region_attributes"),
)

_CERTAIN_SCORE = 10.0
"""Score in thresholds from which a confidence is 1; a confidence is a share of it."""


def write_via(run: RunData, path: Path) -> None:
    """Write a VIA-tracks CSV file: a row a box, frames counted from 0 in file names and attributes.

    The reader of `movement` takes it as it is; x and y are those of the upper left corner. Images
    that are the film go by their own names.
    """
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_VIA_COLUMNS)
        for frame, objects in by_frame(run.objects()).items():
            name = f"{run.stem}.{frame - 1:08d}.png"
            if run.is_of_images:
                name = run.picture_name(frame)
            about = json.dumps({"frame": frame - 1})
            for index, seen in enumerate(objects):
                x, y, width, height = seen.box
                shape = {"name": "rect", "x": x, "y": y, "width": width, "height": height}
                attributes = {"track": str(seen.track), "confidence": f"{_confidence(seen):.3f}"}
                row = [name, 0, about, len(objects), index]
                writer.writerow([*row, json.dumps(shape), json.dumps(attributes)])


def write_mot(run: RunData, path: Path) -> None:
    """Write a gt.txt of the MOT Challenge: frames, tracks and corners counted from 1."""
    with path.open("w", encoding="ascii", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for seen in _in_order(run):
            x, y, width, height = (f"{value:g}" for value in _from_1(seen))
            writer.writerow([seen.frame, seen.track, x, y, width, height, 1, 1, 1])


def _from_1(seen: Observation) -> tuple[float, float, float, float]:
    x, y, width, height = seen.box
    return x + 1, y + 1, width, height


def write_cvat(run: RunData, path: Path) -> None:
    """Write CVAT's XML 1.1 for videos; each box is a key frame, since an import keeps no others.

    After its last frame a track ends with a box that is ``outside``, as CVAT marks it; so does one
    before each gap. Frames that the run left out, as with --every, are no gap: CVAT interpolates.
    """
    following = dict(pairwise(run.looked_at))
    frames = run.frames or max(run.looked_at, default=0)
    root = ET.Element("annotations")
    ET.SubElement(root, "version").text = "1.1"
    task = ET.SubElement(ET.SubElement(root, "meta"), "task")
    for name, value in (("name", run.name), ("size", frames), ("mode", "interpolation")):
        ET.SubElement(task, name).text = str(value)
    label = ET.SubElement(ET.SubElement(task, "labels"), "label")
    ET.SubElement(label, "name").text = LABEL
    size = ET.SubElement(task, "original_size")
    for name, value in (("width", run.width), ("height", run.height)):
        ET.SubElement(size, name).text = str(value)
    ordered = sorted(run.objects(), key=lambda each: (each.track, each.frame))
    for number, group in groupby(ordered, lambda each: each.track):
        track = ET.SubElement(root, "track", id=str(number), label=LABEL, source="auto")
        before: Observation | None = None
        for seen in group:
            after = seen.frame if before is None else _next_frame(before, following)
            if before is not None and seen.frame > after:
                _cvat_box(track, before, after, outside=True)
            _cvat_box(track, seen, seen.frame, outside=False)
            before = seen
        if before is not None and (after := _next_frame(before, following)) <= frames:
            _cvat_box(track, before, after, outside=True)
    ET.indent(root)
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _next_frame(seen: Observation, following: Mapping[int, int]) -> int:
    """Give the next frame that the run looked at, or else the next one."""
    return following.get(seen.frame, seen.frame + 1)


def _cvat_box(track: ET.Element, seen: Observation, frame: int, *, outside: bool) -> None:
    """Add a box in a frame, counted from 1; CVAT counts from 0."""
    x, y, width, height = seen.box
    corners = {"xtl": x, "ytl": y, "xbr": x + width, "ybr": y + height}
    box = ET.SubElement(track, "box", frame=str(frame - 1), keyframe="1")
    box.set("outside", str(int(outside)))
    box.set("occluded", str(int(seen.merged)))
    for name, value in corners.items():
        box.set(name, f"{value:.2f}")


def write_yolo(run: RunData, path: Path) -> None:
    """Write a folder of YOLO labels: a text file a frame, boxes by centre and size from 0 to 1.

    File names are those of the pictures, and of a film end with the number of the frame from 1;
    frames without an object have no file.
    """
    path.mkdir()
    (path / "classes.txt").write_text(f"{LABEL}\n", encoding="ascii")
    labels = path / "labels"
    labels.mkdir()
    for frame, objects in by_frame(run.objects()).items():
        lines = []
        for seen in objects:
            x, y, width, height = seen.box
            center = ((x + width / 2) / run.width, (y + height / 2) / run.height)
            values = (*center, width / run.width, height / run.height)
            lines.append(" ".join(["0", *(f"{value:.6f}" for value in values)]) + "\n")
        file = (labels / run.picture_name(frame)).with_suffix(".txt")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(lines), encoding="ascii")


def write_megadetector(run: RunData, path: Path) -> None:
    """Write MegaDetector's results, JSON 1.6: a film with frames counted from 0, or each image.

    Files are named as seen from the folder that they are in.

    Raises
    ------
    UsageError
        If the rate of the film is not known, which the format asks for.
    """
    results = {
        "info": {"format_version": "1.6", "detector": f"bgsub {__version__}"},
        "detection_categories": {"1": LABEL},
        "images": _of_images(run) if run.is_of_images else [_of_film(run)],
    }
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def _of_images(run: RunData) -> list[dict[str, Any]]:
    objects = by_frame(run.objects())
    return [
        {
            "file": run.picture_name(frame),
            "detections": [_megadetection(run, seen) for seen in objects.get(frame, [])],
        }
        for frame in run.looked_at
    ]


def _of_film(run: RunData) -> dict[str, Any]:
    if run.rate is None:
        message = f"{run.name}: its frame rate is not known, and megadetector cannot do without one"
        raise UsageError(f"{message}; choose another format")
    return {
        "file": Path(run.path).name,
        "frame_rate": float(run.rate),
        "frames_processed": [frame - 1 for frame in run.looked_at],
        "detections": [
            {**_megadetection(run, seen), "frame_number": seen.frame - 1} for seen in _in_order(run)
        ],
    }


def _megadetection(run: RunData, seen: Observation) -> dict[str, Any]:
    """Give an object as MegaDetector gives it: its box in shares of the picture."""
    x, y, width, height = seen.box
    shares = (x / run.width, y / run.height, width / run.width, height / run.height)
    return {
        "category": "1",
        "conf": round(_confidence(seen), 3),
        "bbox": [round(share, 5) for share in shares],
        "track": seen.track,
    }


def _in_order(run: RunData) -> list[Observation]:
    return sorted(run.objects(), key=lambda each: (each.frame, each.track))


def _confidence(seen: Observation) -> float:
    """Turn a score into a number from 0 to 1; 1 where no score is known."""
    return 1.0 if seen.score != seen.score else min(1.0, seen.score / _CERTAIN_SCORE)
