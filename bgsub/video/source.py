"""Open an input, whatever it is: a video file, images or an array."""

from __future__ import annotations

import glob
import os
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError, UsageError
from bgsub.runtime.files import check_plain
from bgsub.video.arrays import ARRAY_SUFFIXES, ArraySource, is_zarr, open_array, open_zarr
from bgsub.video.base import BadFrame, FrameSource, OnBadFrame, Options
from bgsub.video.geometry import ColorMode, MaskImage
from bgsub.video.image_files import (
    ImageFilesSource,
    PagesSource,
    is_printf,
    list_directory,
    list_glob,
    list_printf,
)
from bgsub.video.images import count_pages, is_image_name
from bgsub.video.selection import Position, Region, Selection, parse_rate, parse_region

__all__ = ["BadFrame", "Footage", "FrameSource", "open_source"]

Footage = str | os.PathLike[str] | NDArray[Any]
"""What `open_source` opens: a path, or an array of frames."""


def open_source(
    source: Footage,
    *,
    start: str | int | Position | None = None,
    end: str | int | Position | None = None,
    every: str | int | Position | None = None,
    scale: float = 1.0,
    roi: str | tuple[int, int, int, int] | Region | None = None,
    mask_image: str | os.PathLike[str] | NDArray[Any] | None = None,
    ignore: str | os.PathLike[str] | NDArray[Any] | None = None,
    color: ColorMode = "auto",
    on_bad_frame: OnBadFrame = "skip",
    fps: str | float | Fraction | None = None,
    threads: int | None = None,
    exact_color: bool = False,
    with_chroma: bool = False,
) -> FrameSource:
    """Open an input and find out what it is; no more than its first frame is decoded.

    Parameters
    ----------
    source : path or ndarray
        A video file; a folder of images, a glob (``shots/*.png``) or a printf pattern
        (``f%04d.png``); an image, a TIFF file with pages, an animated WebP or PNG; a .npy or .npz
        file or a .zarr store; or an array of
        uint8 or uint16 of shape (n, h, w) or, in RGB, (n, h, w, 3).
    start, end, every : str or int, optional
        First and last frame, both included, and the distance between frames: as frame numbers
        counted from 1, ``12.5s`` or ``HH:MM:SS.mmm``. Selections by time on images and arrays
        count `fps`. Frames of a video are counted from its beginning, so that they are exact;
        those that no selected one needs are not decoded.
    scale : float
        Factor on both sides of the picture.
    roi : "X,Y,W,H" or (x, y, w, h), optional
        The part of the picture that is kept, in pixels before scaling.
    mask_image : path or ndarray of uint8, optional
        A picture of the input's size; what is darker than 128 is left out of the fit.
    ignore : path or ndarray of uint8, optional
        A picture of the input's size; what is 128 and brighter takes part in the fit, but is never
        foreground.
    color : {"auto", "gray", "color"}
        Whether frames carry colours; as the input by default.
    on_bad_frame : {"skip", "repeat", "fail"}
        What to do about a frame that cannot be decoded: leave it out, give the frame before it
        again, or raise InputError.
    fps : str or number, optional
        Frames a second of images and arrays, such as 12.5 or ``30000/1001``; 25 where it is not
        given. Videos have times of their own.
    threads : int, optional
        Threads for decoding; one for each processor by default.
    exact_color : bool
        Hand out colours as BGR, for outputs that are to be lossless.
    with_chroma : bool
        The chroma of 4:2:0 beside them, see `bgsub.video.frames.Layout.seen`.

    Returns
    -------
    FrameSource

    Raises
    ------
    UsageError
        If an option makes no sense, or not for this input.
    InputError
        If the input cannot be read.
    EmptySelectionError
        If no frame or no pixel is selected.
    """
    options = Options(
        selection=Selection.parse(start, end, every),
        scale=scale,
        roi=None if roi is None else parse_region(roi),
        mask=None if mask_image is None else MaskImage.read(mask_image, "mask image"),
        ignore=None if ignore is None else MaskImage.read(ignore, "ignore image"),
        color=_one_of(color, get_args(ColorMode), "color"),
        on_bad_frame=_one_of(on_bad_frame, get_args(OnBadFrame), "on_bad_frame"),
        threads=threads,
        exact_color=exact_color,
        with_chroma=with_chroma,
        fps=None if fps is None else parse_rate(fps),
    )
    if isinstance(source, np.ndarray):
        return ArraySource("array", "array", source, options)
    if not isinstance(source, (str, os.PathLike)):
        message = f"a {type(source).__name__} is no footage; give a path, or frames as one array"
        raise UsageError(f"{message}, such as numpy.stack(frames)")
    return _open_path(os.fspath(source), options)


def is_there(given: str) -> bool:
    """Return whether a path leads to footage: a file, a folder, or a pattern of some images."""
    return Path(given).exists() or bool(image_files(given))


def image_files(given: str) -> list[Path]:
    """List the images that a folder, a pattern or a glob stands for; none for other footage."""
    try:
        return listed_images(given)
    except InputError:
        return []


def listed_images(given: str) -> list[Path]:
    """Return what `image_files` does; InputError where images are meant and there are none."""
    path = Path(given)
    if path.is_dir():
        return [] if is_zarr(path) else list_directory(path)
    if path.exists():
        return []
    if is_printf(path.name):
        return list_printf(path)
    return list_glob(given) if glob.has_magic(given) else []


def _open_path(given: str, options: Options) -> FrameSource:
    path = Path(given)
    check_plain(given)
    name = path.resolve().name if path.is_dir() else path.name or given
    if images := listed_images(given):
        return ImageFilesSource(name, given, images, options)
    if not path.exists():
        raise InputError(f"{given}: no such file or folder; check the path")
    if path.is_dir():
        return open_zarr(path, name, given, options)
    _check_readable(path)
    if path.suffix.lower() in ARRAY_SUFFIXES:
        return open_array(path, name, given, options)
    if is_image_name(path):
        if count_pages(path) > 1:
            return PagesSource(name, given, path, options)
        return ImageFilesSource(name, given, [path], options)
    # PyAV takes a quarter of a second to import, and images and arrays do without.
    from bgsub.video.film import VideoFileSource

    return VideoFileSource(path, options)


def _check_readable(path: Path) -> None:
    try:
        with path.open("rb") as file:
            is_empty = not file.read(1)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"{path}: cannot be read ({reason}); check its permissions") from error
    if is_empty:
        raise InputError(f"{path}: is empty (0 bytes); get a new copy of the file")


def _one_of(value: Any, allowed: tuple[Any, ...], name: str) -> Any:
    if value not in allowed:
        raise UsageError(f"{name} {value!r} is unknown; choose {', '.join(allowed)}")
    return value
