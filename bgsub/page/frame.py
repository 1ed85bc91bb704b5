"""Read the four pictures of a frame from a folder of results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from bgsub.errors import InputError, UsageError
from bgsub.page.data import source_options
from bgsub.page.media import View, of_results, open_film, pictures_of
from bgsub.page.result import Result, read_result
from bgsub.video.frames import Bytes
from bgsub.video.images import read_image
from bgsub.video.source import open_source


@dataclass(frozen=True, eq=False)
class FramePictures:
    """A frame of a run, as it was seen and as it was taken apart.

    Attributes
    ----------
    number : int
        From 1 in the input.
    time_s : float
        Seconds in the input.
    input, background, foreground : ndarray of shape (h, w, 3), uint8, or None
        In RGB, at the size that the run worked on; None where there is no such picture.
    mask : ndarray of shape (h, w), uint8, or None
        255 where something foreign is, 0 elsewhere; H.264 changes them by a few.
    """

    number: int
    time_s: float
    input: Bytes | None
    background: Bytes | None
    foreground: Bytes | None
    mask: Bytes | None

    def __repr__(self) -> str:
        views = ("input", "background", "foreground", "mask")
        seen = [view for view in views if getattr(self, view) is not None]
        return f"<frame {self.number} at {self.time_s:g} s: {', '.join(seen) or 'no pictures'}>"


def read_frame(
    folder: Path, manifest: Mapping[str, Any], number: int, footage: str | None
) -> FramePictures:
    """Read the pictures of a frame.

    Parameters
    ----------
    manifest : mapping
        Its run.json.
    number : int
        From 1 in the input.
    footage : str or None
        What the run was made of; where it is gone, input.mp4 is read if the run wrote one.

    Notes
    -----
    Videos of a run are sought. Of other footage all frames before it are decoded.
    """
    result = read_result(folder, manifest)
    place = result.place(number)
    if result.numbers[place] != number:
        message = f"frame {number}: the run used {result.numbers.size} frames"
        first, last = result.numbers[0], result.numbers[-1]
        raise UsageError(f"{message} from {first} to {last}, and not this one")
    mask = _of_run(result, "mask", place)
    seen = _of_footage(result, footage, number)
    return FramePictures(
        number=number,
        time_s=float(result.times[place]),
        input=_of_run(result, "input", place) if seen is None else seen,
        background=_of_run(result, "background", place),
        foreground=_of_run(result, "foreground", place),
        mask=None if mask is None else np.ascontiguousarray(mask[..., 0]),
    )


def _of_run(result: Result, view: View, place: int) -> Bytes | None:
    """Read a picture from what the run wrote; None if it wrote none of this view."""
    path = of_results(result.folder, view)
    if path is None:
        return None
    if path.suffix == ".zarr":
        (frame,) = open_source(path, start=place + 1, end=place + 1, exact_color=True)
        return np.asarray(_in_color(frame.image), np.uint8)
    if path.is_dir():
        picture = read_image(path / f"{place + 1:06d}.png")
        return np.asarray(cv2.cvtColor(_in_color(picture), cv2.COLOR_BGR2RGB), np.uint8)
    film = open_film(path, any_kind=True)
    if film is None or film.stamps.size != result.numbers.size:
        raise InputError(f"{path}: does not hold the frames of its run; run bgsub again")
    for _, picture in pictures_of(film, [place]):
        width, height = result.manifest.get("frame_size") or picture.shape[1::-1]
        return picture[:height, :width]  # H.264 has frames of even size
    raise InputError(f"{path}: frame {place + 1} cannot be decoded; run bgsub again")


def _in_color(picture: Any) -> Any:
    return cv2.cvtColor(picture, cv2.COLOR_GRAY2BGR) if picture.ndim == 2 else picture


def _of_footage(result: Result, footage: str | None, number: int) -> Bytes | None:
    if footage is None:
        return None
    options = source_options(result.manifest) | {"start": number, "end": number}
    options.pop("every", None)
    try:
        for frame in open_source(footage, **options, exact_color=True):
            picture = _in_color(frame.layout.to_bgr(frame.data))
            return np.asarray(cv2.cvtColor(picture, cv2.COLOR_BGR2RGB), np.uint8)
    except InputError:
        return None
    return None
