"""Write objects and events in the formats of the programs that people use next."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.errors import UsageError
from bgsub.export.run_data import RunData
from bgsub.runtime.files import check_free, staged, write_rows
from bgsub.tracking.targets import covered
from bgsub.tracking.tracker import Observation
from bgsub.version import __version__, how_to_install
from bgsub.video.frames import Bytes

LABEL = "object"  # class of everything that is exported: what an object is, bgsub cannot know
_LARGE = 2**31  # bytes from which a stack is a BigTIFF, which not every program reads
_VIA_COLUMNS = (
    *("filename", "file_size", "file_attributes", "region_count"),
    *("region_id", "region_shape_attributes", "region_attributes"),
)


def write_via(run: RunData, path: Path) -> None:
    """Write a VIA-tracks CSV file, as `movement` reads it: a row a box, frames counted from 0."""
    rows: list[Sequence[object]] = [_VIA_COLUMNS]
    for frame, objects in run.by_frame().items():
        name = run.images[frame - 1] if run.images else f"{run.stem}.{frame - 1:08d}.png"
        about = json.dumps({"frame": frame - 1})
        for index, seen in enumerate(objects):
            x, y, width, height = seen.box
            shape = {"name": "rect", "x": x, "y": y, "width": width, "height": height}
            attributes = {"track": str(seen.track), "confidence": f"{_confidence(seen):.3f}"}
            row = [name, 0, about, len(objects), index]
            rows.append([*row, json.dumps(shape), json.dumps(attributes)])
    write_rows(path, rows)


def write_mot(run: RunData, path: Path) -> None:
    """Write a gt.txt of the MOT Challenge: frames, tracks and corners counted from 1."""
    rows: list[Sequence[object]] = []
    for seen in run.objects():
        x, y, width, height = seen.box
        box = (f"{value:g}" for value in (x + 1, y + 1, width, height))
        rows.append([seen.frame, seen.track, *box, 1, 1, 1])
    write_rows(path, rows)


def write_cvat(run: RunData, path: Path) -> None:
    """Write CVAT's XML 1.1 for videos; each box is a key frame, since an import keeps no others.

    A track ends with a box that is ``outside``, and so does one before each gap. Frames that the
    run left out, as with --every, are no gap: CVAT interpolates.
    """
    following = dict(pairwise(run.looked_at))
    frames = run.frames or max(run.looked_at, default=0)
    root = ET.Element("annotations")
    ET.SubElement(root, "version").text = "1.1"
    task = ET.SubElement(ET.SubElement(root, "meta"), "task")
    _add(task, name=run.name, size=frames, mode="interpolation")
    _add(ET.SubElement(ET.SubElement(task, "labels"), "label"), name=LABEL)
    _add(ET.SubElement(task, "original_size"), width=run.width, height=run.height)
    ordered = sorted(run.objects(), key=lambda each: (each.track, each.frame))
    for number, group in groupby(ordered, lambda each: each.track):
        track = ET.SubElement(root, "track", id=str(number), label=LABEL, source="auto")
        own = list(group)
        for seen, then in zip(own, [*(each.frame for each in own[1:]), frames + 1], strict=True):
            x, y, width, height = seen.box
            corners = {"xtl": x, "ytl": y, "xbr": x + width, "ybr": y + height}
            after = following.get(seen.frame, seen.frame + 1)
            for frame in [seen.frame, *([after] if after < then else [])]:
                box = ET.SubElement(track, "box", frame=str(frame - 1), keyframe="1")  # from 0
                box.attrib |= {"outside": f"{frame == after:d}", "occluded": f"{seen.merged:d}"}
                box.attrib |= {name: f"{value:.2f}" for name, value in corners.items()}
    ET.indent(root)
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _add(parent: ET.Element, **texts: object) -> None:
    for name, text in texts.items():
        ET.SubElement(parent, name).text = str(text)


def write_yolo(run: RunData, path: Path) -> None:
    """Write YOLO labels: a file for each frame with objects, boxes by centre and size, 0 to 1."""
    path.mkdir()
    (path / "classes.txt").write_text(f"{LABEL}\n", encoding="ascii")
    labels = path / "labels"
    labels.mkdir()
    for frame, objects in run.by_frame().items():
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
    """Write MegaDetector's JSON 1.6, frames from 0; UsageError for a film of unknown rate."""

    def detection(seen: Observation) -> dict[str, Any]:
        x, y, width, height = seen.box
        shares = (x / run.width, y / run.height, width / run.width, height / run.height)
        return {
            "category": "1",
            "conf": round(_confidence(seen), 3),
            "bbox": [round(share, 5) for share in shares],
            "track": seen.track,
        }

    images: list[dict[str, Any]] = []
    if run.images:
        objects = run.by_frame()
        for frame in run.looked_at:
            detections = [detection(seen) for seen in objects.get(frame, [])]
            images.append({"file": run.picture_name(frame), "detections": detections})
    elif run.rate is None:
        message = f"{run.name}: its frame rate is not known, and megadetector cannot do without one"
        raise UsageError(f"{message}; choose another format")
    else:
        found = [{**detection(seen), "frame_number": seen.frame - 1} for seen in run.objects()]
        film = {
            "file": Path(run.path).name,
            "frame_rate": float(run.rate),
            "frames_processed": [frame - 1 for frame in run.looked_at],
            "detections": found,
        }
        images.append(film)
    results = {
        "info": {"format_version": "1.6", "detector": f"bgsub {__version__}"},
        "detection_categories": {"1": LABEL},
        "images": images,
    }
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def _confidence(seen: Observation) -> float:
    """Return a score as a number from 0 to 1; 1 where no score is known."""
    return 1.0 if math.isnan(seen.score) else min(1.0, seen.score)


def label_objects(mask: Bytes, objects: list[Observation]) -> NDArray[np.uint32]:
    """Return the number of the track that each pixel of a mask belongs to, uint32; 0 is none.

    Of objects that share a region, each pixel goes to the one whose box is nearest in sizes of that
    box. Of what the mask does not show, since it was not yet known, the box is taken.
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
        if owners:
            rows, columns = np.nonzero(inside)
            left, top, wide, high = np.array([owner.box for owner in owners]).T[..., None]
            off_x = (columns + x + 0.5 - left - wide / 2) / np.maximum(wide, 1)
            off_y = (rows + y + 0.5 - top - high / 2) / np.maximum(high, 1)
            nearest = np.argmin(off_x**2 + off_y**2, axis=0)
            labels[part][inside] = np.array([owner.track for owner in owners])[nearest]
    shown = set(np.unique(labels).tolist())
    for seen in objects:
        if not seen.merged and seen.track not in shown:
            left, top, wide, high = seen.box
            part = slice(round(top), round(top + high)), slice(round(left), round(left + wide))
            labels[part][labels[part] == 0] = seen.track
    return labels


def write_coco(run: RunData, path: Path) -> None:
    """Write COCO instances: images, boxes, run lengths and tracks; what is hidden is left out."""
    run_lengths = _library("coco", "pycocotools.mask", "pycocotools")
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for number, labels, objects in _labelled(run, *run.masks()):
        size = {"width": run.width, "height": run.height}
        images.append({"id": number, "file_name": run.picture_name(number), **size})
        for seen in objects:
            inside = labels == seen.track
            if not inside.any():
                continue
            encoded = run_lengths.encode(np.asfortranarray(inside, dtype=np.uint8))
            counts = encoded["counts"].decode("ascii")
            about: dict[str, Any] = {"id": len(annotations) + 1, "image_id": number}
            about |= {"category_id": 1, "track_id": seen.track, "bbox": list(seen.box)}
            about |= {"area": int(np.count_nonzero(inside)), "iscrowd": 0}
            about["segmentation"] = {"size": [run.height, run.width], "counts": counts}
            annotations.append(about)
    instances = {"images": images, "annotations": annotations}
    instances["categories"] = [{"id": 1, "name": LABEL}]
    path.write_text(json.dumps(instances) + "\n", encoding="utf-8")


def write_labels(run: RunData, path: Path) -> None:
    """Write a TIFF stack of label images, 0 background; 32 bits from 65,536 tracks on, else 16."""
    tifffile = _library("labels", "tifffile", "tifffile")
    numbers, masks = run.masks()
    most = max((seen.track for seen in run.objects()), default=0)
    kind = np.dtype(np.uint16 if most <= np.iinfo(np.uint16).max else np.uint32)
    shape = (len(numbers), run.height, run.width)
    with tifffile.TiffWriter(path, bigtiff=kind.itemsize * math.prod(shape) >= _LARGE) as stack:
        pages = (labels.astype(kind) for _, labels, _ in _labelled(run, numbers, masks))
        form = {"photometric": "minisblack", "compression": "zlib"}
        stack.write(pages, shape=shape, dtype=kind, metadata={"axes": "TYX"}, **form)


def _labelled(
    run: RunData, numbers: list[int], masks: Iterator[Bytes]
) -> Iterator[tuple[int, NDArray[np.uint32], list[Observation]]]:
    """Yield the number of each frame, its labels and its objects."""
    objects = run.by_frame()
    for number, mask in zip(numbers, masks, strict=True):
        own = objects.get(number, [])
        yield number, label_objects(mask, own), own


def _library(form: str, module: str, name: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        message = f"--to {form}: needs {name}; {how_to_install('export')} installs it"
        raise UsageError(message) from error


def write_edl(run: RunData, path: Path) -> None:
    """Write an edit decision list, CMX 3600; UsageError for a rate that time codes do not know."""
    otio = _library("edl", "opentimelineio", "OpenTimelineIO")
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
    for start, end, _ in _cuts(run):
        lines += [f"file '{source}'", f"inpoint {start:.6f}", f"outpoint {end:.6f}"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_seconds(run: RunData, path: Path) -> None:
    """Write start, end and name of each event in seconds, one a line."""
    write_rows(path, ((f"{start:.6f}", f"{end:.6f}", name) for start, end, name in _cuts(run)))


def write_lossless_cut(run: RunData, path: Path) -> None:
    """Write a project of LosslessCut: start, end and name of each event."""
    segments = [
        {"start": round(start, 6), "end": round(end, 6), "name": name}
        for start, end, name in _cuts(run)
    ]
    project = {"version": 1, "mediaFileName": run.name, "cutSegments": segments}
    path.write_text(json.dumps(project, indent=2) + "\n", encoding="utf-8")


def _cuts(run: RunData) -> list[tuple[float, float, str]]:
    """Return the seconds at which each event begins and at which its last frame goes; its name."""
    length = 0.0 if run.rate is None else float(1 / run.rate)
    return [(each.start_s, each.end_s + length, f"event {each.number}") for each in run.events()]


FORMATS: dict[str, Callable[[RunData, Path], None]] = {
    "via": write_via,
    "mot": write_mot,
    "coco": write_coco,
    "cvat": write_cvat,
    "yolo": write_yolo,
    "megadetector": write_megadetector,
    "labels": write_labels,
    "edl": write_edl,
    "ffconcat": write_ffconcat,
    "csv-seconds": write_seconds,
    "lossless-cut": write_lossless_cut,
}


def export(run: RunData, form: str, path: Path, *, force: bool = False) -> None:
    """Write a run's objects or events in one of the `FORMATS`, to a file or, for YOLO, a folder.

    With `force`, a plain file is replaced; a folder never is. An OutputError leaves nothing.
    """
    check_free(path, force=force, plain=True)
    with staged(path, "choose another place") as place:
        FORMATS[form](run, place)
        check_free(path, force=force, plain=True)
