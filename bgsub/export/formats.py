"""Write boxes of objects: VIA, MOT Challenge, CVAT, YOLO and MegaDetector."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.errors import OutputError, UsageError, cannot_write
from bgsub.export.run_data import RunData, by_frame
from bgsub.runtime.files import alone_in, make_folder, sync_all
from bgsub.tracking.association import covered
from bgsub.tracking.detections import center
from bgsub.tracking.tracker import Observation
from bgsub.version import __version__, how_to_install
from bgsub.video.frames import Bytes

LABEL = "object"
"""Class of everything that is exported: what an object is, bgsub cannot know."""

_VIA_COLUMNS = (
    *("filename", "file_size", "file_attributes", "region_count"),
    *("region_id", "region_shape_attributes", "region_attributes"),
)


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
    return 1.0 if seen.score != seen.score else min(1.0, seen.score)


_LARGE = 2**31
"""Bytes from which a stack is a BigTIFF, which not every program reads."""


def label_objects(mask: Bytes, objects: list[Observation]) -> NDArray[np.uint32]:
    """Give each pixel of a mask the number of the track that it belongs to.

    Parameters
    ----------
    mask : ndarray of shape (h, w), uint8
    objects : list of Observation
        Those of its frame.

    Returns
    -------
    ndarray of shape (h, w), uint32
        0 where there is no object. A region goes to the object whose box covers most of it; where
        several share it, each pixel goes to the one whose box is nearest in sizes of that box. Of
        what the mask does not show, since it was not yet known, the box is taken.
    """
    labels = np.zeros(mask.shape, np.uint32)
    if not objects:
        return labels
    boxes = np.array([each.box for each in objects])
    count, regions, stats, _ = cv2.connectedComponentsWithStats(mask, ltype=cv2.CV_32S)
    for region in range(1, count):
        x, y, width, height = (int(value) for value in stats[region, :4])
        part = (slice(y, y + height), slice(x, x + width))
        inside = regions[part] == region
        box = (x, y, width, height)
        shares = np.maximum(covered(box, boxes), covered(boxes, box))
        owners = [each for each, share in zip(objects, shares, strict=True) if share > 0.5]
        if len(owners) == 1:
            labels[part][inside] = owners[0].track
        elif owners:
            labels[part][inside] = _nearest(owners, x, y, inside.shape)[inside]
    shown = set(np.unique(labels).tolist())
    for seen in objects:
        if not seen.merged and seen.track not in shown:
            part = _pixels_of(seen)
            labels[part][labels[part] == 0] = seen.track
    return labels


def _pixels_of(seen: Observation) -> tuple[slice, slice]:
    """Give the rows and columns of the box of an object."""
    x, y, width, height = seen.box
    return slice(round(y), round(y + height)), slice(round(x), round(x + width))


def _nearest(
    owners: list[Observation], x: int, y: int, shape: tuple[int, ...]
) -> NDArray[np.uint32]:
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    distances = []
    for owner in owners:
        center_x, center_y = center(owner.box)
        off_x = (columns + x + 0.5 - center_x) / max(owner.box[2], 1)
        off_y = (rows + y + 0.5 - center_y) / max(owner.box[3], 1)
        distances.append(off_x**2 + off_y**2)
    numbers = np.array([owner.track for owner in owners], np.uint32)
    nearest: NDArray[np.uint32] = numbers[np.argmin(distances, axis=0)]
    return nearest


def write_coco(run: RunData, path: Path) -> None:
    """Write COCO instances: an image a frame, boxes, run lengths of the mask and track numbers.

    What is hidden behind another has no pixel, and is left out.

    Raises
    ------
    UsageError
        If pycocotools is not installed.
    """
    try:
        from pycocotools import mask as run_lengths
    except ImportError as error:
        raise _missing("coco", "pycocotools") from error
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    _, frames = _labelled(run)
    for number, labels, objects in frames:
        size = {"width": run.width, "height": run.height}
        images.append({"id": number, "file_name": run.picture_name(number), **size})
        for seen in objects:
            inside = labels == seen.track
            if not inside.any():
                continue
            encoded = run_lengths.encode(np.asfortranarray(inside, dtype=np.uint8))
            counts = encoded["counts"].decode("ascii")
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": number,
                    "category_id": 1,
                    "track_id": seen.track,
                    "bbox": list(seen.box),
                    "area": int(np.count_nonzero(inside)),
                    "segmentation": {"size": [run.height, run.width], "counts": counts},
                    "iscrowd": 0,
                }
            )
    instances = {
        "images": images,
        "annotations": annotations,
        "categories": [{"id": 1, "name": LABEL}],
    }
    path.write_text(json.dumps(instances) + "\n", encoding="utf-8")


def write_labels(run: RunData, path: Path) -> None:
    """Write a TIFF stack of label images, a page a frame; 0 is background.

    Pixels have 16 bits, and 32 where there are more than 65,535 tracks.

    Raises
    ------
    UsageError
        If tifffile is not installed.
    """
    try:
        import tifffile
    except ImportError as error:
        raise _missing("labels", "tifffile") from error
    count, frames = _labelled(run)
    most = max((seen.track for seen in run.objects()), default=0)
    kind = np.dtype(np.uint16 if most <= np.iinfo(np.uint16).max else np.uint32)
    shape = (count, run.height, run.width)
    with tifffile.TiffWriter(path, bigtiff=kind.itemsize * math.prod(shape) >= _LARGE) as stack:
        stack.write(
            (labels.astype(kind) for _, labels, _ in frames),
            shape=shape,
            dtype=kind,
            photometric="minisblack",
            compression="zlib",
            metadata={"axes": "TYX"},
        )


_Labelled = tuple[int, NDArray[np.uint32], list[Observation]]


def _labelled(run: RunData) -> tuple[int, Iterator[_Labelled]]:
    """Give the number of frames, and of each its number, its labels and its objects."""
    objects = by_frame(run.objects())
    numbers, masks = run.masks()

    def frames() -> Iterator[_Labelled]:
        for number, mask in zip(numbers, masks, strict=True):
            own = objects.get(number, [])
            yield number, label_objects(mask, own), own

    return len(numbers), frames()


def _missing(form: str, library: str) -> UsageError:
    message = f"--to {form}: needs {library}; {how_to_install('export')} installs it"
    return UsageError(message)


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
    "via": Format(write_via, "boxes as VIA-tracks CSV, for movement and VIA"),
    "mot": Format(write_mot, "boxes as gt.txt of the MOT Challenge"),
    "coco": Format(write_coco, "boxes and pixels as COCO instances with track_id"),
    "cvat": Format(write_cvat, "tracks as CVAT XML 1.1 for videos"),
    "yolo": Format(write_yolo, "boxes as a folder of YOLO labels"),
    "megadetector": Format(write_megadetector, "boxes as MegaDetector results 1.6"),
    "labels": Format(write_labels, "pixels as a TIFF stack, for TrackMate and napari"),
    "edl": Format(write_edl, "events as an edit decision list, CMX 3600"),
    "ffconcat": Format(write_ffconcat, "events as a list for ffmpeg -f concat"),
    "csv-seconds": Format(write_seconds, "events in seconds, one a line"),
    "lossless-cut": Format(write_lossless_cut, "events as a project of LosslessCut"),
}


def export(run: RunData, form: str, path: Path, *, force: bool = False) -> None:
    """Write a run's objects or events in one of the formats.

    Parameters
    ----------
    run : RunData
    form : str
        A name in `bgsub.export.formats.FORMATS`.
    path : Path
        The file (or, for YOLO, the folder) to write.
    force : bool
        Replace a plain file of that name; a folder is never replaced.

    Raises
    ------
    OutputError
        If it exists, or cannot be written; nothing is left then.
    InputError, UsageError
        If the run lacks what the format shows, or the format cannot express it.
    """
    _check_free(path, force=force)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with alone_in(path.parent):
            claim = make_folder(path.parent)
        try:
            staged = claim.path / path.name
            FORMATS[form].write(run, staged)
            sync_all([staged])
            _check_free(path, force=force)
            os.replace(staged, path)  # noqa: PTH105 - replaces on Windows too
        finally:
            claim.remove()
    except OSError as error:
        raise cannot_write(path, error, "choose another place") from error


def _check_free(path: Path, *, force: bool) -> None:
    if not os.path.lexists(path):
        return
    if not path.is_file() or path.is_symlink():
        raise OutputError(f"{path}: exists and is no plain file; choose another name")
    if not force:
        raise OutputError(f"{path}: exists; replace it with --force or choose another name")
