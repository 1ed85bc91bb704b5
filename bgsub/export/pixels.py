"""Write which pixels are whose: COCO instances and label images."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.errors import UsageError
from bgsub.export.boxes import LABEL
from bgsub.export.run_data import RunData, by_frame
from bgsub.tracking.association import covered
from bgsub.tracking.detections import center
from bgsub.tracking.tracker import Observation
from bgsub.version import how_to_install
from bgsub.video.frames import Bytes

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
