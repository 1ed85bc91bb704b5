"""Follow the objects of masks that exist already."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import BgsubError, InputError
from bgsub.evaluation.masks import MaskFiles, open_masks
from bgsub.export.run_data import load_run
from bgsub.options import ProgressCallback, SourceOptions, no_progress
from bgsub.outliers.events import Event
from bgsub.pipeline.results import (
    MANIFEST,
    ResultsDirectory,
    load_manifest,
    preamble,
    recorded_path,
)
from bgsub.tracking.absorption import Absorber, Stillness, absorbed_after
from bgsub.tracking.recorder import FILES, ObjectOptions, ObjectRecorder, Recorded, View, describe
from bgsub.tracking.regions import check_inside
from bgsub.video.frames import Bytes
from bgsub.video.source import FrameSource, open_source

_GREYS = 4  # levels between black and white that masks have: shadows, borders, what is not known


class _Footage(NamedTuple):
    """What masks were made of: its facts for run.json, and the film itself if it is there."""

    facts: dict[str, Any]
    source: dict[str, Any]
    view: View
    rate: Fraction | None
    film: FrameSource | None
    events: list[Event]


def follow_masks(
    given: str,
    out: Path,
    options: ObjectOptions,
    *,
    rate: Fraction | None = None,
    still_objects: Stillness | None = None,
    force: bool = False,
    progress: ProgressCallback = no_progress,
) -> tuple[Recorded, list[str]]:
    """Write tables of objects, tracks and events of masks, and return them and notes for the user.

    `given` is a folder of results with masks, a mask video, or a folder of mask images, and `rate`
    their frames a second where they do not say it. With the pictures of the film, if it still is
    there, objects that merge are told apart by their looks, without them by their motion. What has
    come to rest is foreground while the masks say so, or absorbed.
    """
    masks = open_masks(given)
    footage = _of_results(given, masks) or _of_masks(masks, rate)
    check_inside(footage.facts["name"], footage.view.size, options.regions, options.lines)
    names = [*FILES, *(["regions.csv"] if options.regions or options.lines else [])]
    notes = [] if footage.film else ["the film is not at hand: objects are told apart by motion"]
    per_second = float(footage.rate or 25)
    if footage.rate is None:
        notes.append("the rate is not known, 25 frames a second are assumed; give it with --fps")
    with ResultsDirectory(out, names, force=force) as results:
        recorder = ObjectRecorder(results.stage(""), footage.view, rate=per_second, options=options)
        with closing(recorder):
            frames = _frames(masks, footage, per_second)
            rest_s, (width, height) = absorbed_after(still_objects), footage.view.mask_size
            absorber = None if rest_s is None else Absorber(height, width, rest_s)
            for done, (number, time_s, given_mask, picture) in enumerate(frames, start=1):
                shown = given_mask if picture is None else picture
                mask = absorber.apply(given_mask, shown, time_s) if absorber else given_mask
                found = recorder.detect(mask, picture=picture)
                recorder.add(number, time_s, found, picture)
                progress("objects", done, len(masks.numbers))
            recorded = recorder.finish(footage.events)
        record = preamble("objects", {"source": footage.source, "min_area": options.min_area})
        record |= {"masks": str(Path(given).absolute()), "input": footage.facts, "bad_frames": []}
        record |= {"frames": {"used": len(masks.numbers)}, "findings": [describe(recorded)]}
        results.commit(record)
    return recorded, notes


def _of_results(given: str, masks: MaskFiles) -> _Footage | None:
    """Read what a run says of the footage of its masks; None where no run made them."""
    place = Path(given)
    folder = next((f for f in (place, place.parent) if (f / MANIFEST).is_file()), None)
    if folder is None:
        return None
    run, manifest = load_run(folder), load_manifest(folder)
    options = SourceOptions.from_json(manifest["options"]["source"])
    width, height = manifest.get("frame_size") or run.region[2:]
    film = None
    if masks.footage is not None:
        with suppress(BgsubError):  # gone or damaged since: the masks are enough
            film = open_source(masks.footage, **{**options.to_json(), "mask_image": None})
    view = View((run.width, run.height), run.region, (width, height))
    facts = {**manifest["input"], "path": recorded_path(manifest, manifest["input"]["path"])}
    return _Footage(facts, options.to_json(), view, run.rate, film, run.frame_events())


def _of_masks(masks: MaskFiles, rate: Fraction | None) -> _Footage:
    height, width = next(iter(masks.pictures.pick([0]))).shape[:2]
    if rate is None and Path(masks.path).is_file():
        with suppress(BgsubError):
            rate = open_source(masks.path).rate
    facts = {
        "path": masks.path,
        "name": Path(masks.path).name,
        "width": width,
        "height": height,
        "frames": int(masks.numbers[-1]) + int(masks.counts_from_0),
        "rate": None if rate is None else str(rate),
    }
    view = View((width, height), (0, 0, width, height), (width, height))
    return _Footage(facts, {}, view, rate, None, [])


def _frames(
    masks: MaskFiles, footage: _Footage, per_second: float
) -> Iterator[tuple[int, float, Bytes, Bytes | None]]:
    """Yield number, time, mask and picture of every frame, the numbers counted from 1."""
    film = None if footage.film is None else iter(footage.film)
    pictures = masks.pictures.pick(range(len(masks.pictures)))
    for number, small in zip(masks.numbers.tolist(), pictures, strict=True):
        frame = number + int(masks.counts_from_0)
        mask = np.where(small >= np.iinfo(small.dtype).max // 2 + 1, 255, 0).astype(np.uint8)
        width, height = footage.view.mask_size
        if mask.shape != (height, width):
            sizes = f"{mask.shape[1]}×{mask.shape[0]}, but the others are {width}×{height}"
            raise InputError(f"{masks.path}: frame {frame} is {sizes}")
        if _is_picture(small):
            message = f"{masks.path}: frame {frame} is a picture, and no mask"
            raise InputError(f"{message}: give bgsub run the film, which makes them")
        shown_frame = next((f for f in film if f.number >= frame), None) if film else None
        if shown_frame is None or shown_frame.number != frame:
            yield frame, (frame - 1) / per_second, mask, None
        else:
            picture = shown_frame.layout.to_bgr(shown_frame.data)
            yield frame, shown_frame.time_s, mask, picture


def _is_picture(mask: NDArray[np.integer[Any]]) -> bool:
    """Return whether most of a picture is more than black, white and a mask's few greys."""
    most = np.iinfo(mask.dtype).max
    between = mask[(mask > most // 8) & (mask < most - most // 8)]
    if 2 * between.size < mask.size:
        return False
    _, counts = np.unique(between, return_counts=True)
    return bool(2 * (between.size - np.sort(counts)[-_GREYS:].sum()) > mask.size)
