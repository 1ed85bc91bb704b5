"""Open an input, whatever it is: a video file, images or an array."""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import closing, suppress
from fractions import Fraction
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError, UsageError
from bgsub.runtime.files import check_plain
from bgsub.video import images as pictures
from bgsub.video.arrays import ARRAY_SUFFIXES, ArraySource, is_zarr, open_array, open_zarr
from bgsub.video.base import BadFrame, FrameSource, IndexedSource, Item, OnBadFrame, Options
from bgsub.video.geometry import ColorMode, MaskImage, Picture
from bgsub.video.images import ImageError, is_image_name
from bgsub.video.selection import Position, Region, Selection, parse_rate, parse_region

__all__ = ["BadFrame", "Footage", "FrameSource", "open_source"]

Footage = str | os.PathLike[str] | NDArray[Any]
"""What `open_source` opens: a path, or an array of frames."""

_VIDEOS = {
    *(".mp4", ".avi", ".mkv", ".mov", ".m4v", ".mpg", ".mpeg", ".ts", ".mts", ".webm", ".wmv"),
    *(".flv", ".y4m", ".gif", ".npy", ".npz", ".zarr"),
}
_PLOTS = {"background.png", "errors.png", "spectrum.png"}  # beside run.json: no frames
_PRINTF = re.compile(r"%\d*d")


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
        (``f%04d.png``); an image, or a TIFF file with pages; a .npy or .npz file or a .zarr store;
        or an array of uint8 or uint16 of shape (n, h, w) or, in RGB, (n, h, w, 3).
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
        A picture of the input's size; what is 128 or more is fitted, but never foreground.
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
    parts = _PRINTF.split(path.name.replace("%%", "\0"))
    if len(parts) == 2 and "%" not in "".join(parts):  # one number, to be counted through
        return _counted(path, *parts)
    if not glob.has_magic(given):
        return []
    matches = [Path(name) for name in glob.glob(given, recursive=True)]  # noqa: PTH207 - absolute ones too
    files = [file for file in matches if _is_visible_image(file)]
    if not files:
        what = "no image matches" if matches else "nothing matches"
        raise InputError(f"{given}: {what} this pattern; check the folder and the pattern")
    return _in_natural_order(files)


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
    try:
        with path.open("rb") as file:
            is_empty = not file.read(1)
    except OSError as error:
        raise _unreadable(path, error) from error
    if is_empty:
        raise InputError(f"{path}: is empty (0 bytes); get a new copy of the file")
    if path.suffix.lower() in ARRAY_SUFFIXES:
        return open_array(path, name, given, options)
    if is_image_name(path):
        if pictures.count_pages(path) < 2:
            return ImageFilesSource(name, given, [path], options)
        kind = pictures.read_header(path).format
        if kind == "tiff":
            return TiffSource(name, given, path, options)
        if kind == "webp":  # of an animated PNG FFmpeg makes a video
            raise InputError(f"{given}: is an animation, which is not read; convert it to a video")
    # PyAV takes a quarter of a second to import, and images and arrays do without.
    from bgsub.video.film import VideoFileSource

    return VideoFileSource(path, options)


def _unreadable(name: object, error: OSError) -> InputError:
    reason = (error.strerror or str(error)).lower()
    return InputError(f"{name}: cannot be read ({reason}); check its permissions")


def _one_of(value: Any, allowed: tuple[Any, ...], name: str) -> Any:
    if value not in allowed:
        raise UsageError(f"{name} {value!r} is unknown; choose {', '.join(allowed)}")
    return value


def _in_natural_order(paths: Iterable[Path]) -> list[Path]:
    """Sort files by folder and name as people count, frame2 before frame10, on every system."""

    def key(path: Path) -> tuple[list[tuple[int, int, str]], str]:
        # [0-9] only: other digits are text here, as they are to the file system.
        parts = [part for part in re.split(r"([0-9]+)", str(path)) if part]
        return [
            (0, int(part), part) if part[0] in "0123456789" else (1, 0, part.casefold())
            for part in parts
        ], str(path)

    return sorted(paths, key=key)


def list_directory(folder: Path) -> list[Path]:
    """List the images of a folder, hidden files left out; InputError if it has none of footage."""
    try:
        files = [file for file in folder.iterdir() if _is_visible_image(file)]
        is_result = (folder / "run.json").is_file() and {file.name for file in files} <= _PLOTS
    except OSError as error:
        raise _unreadable(folder, error) from error
    if is_result:
        message = f"{folder}: holds results of bgsub, and no frames"
        raise InputError(f"{message}; give the footage, or a video of these by its name")
    if not files:
        found = Counter(path.suffix for path in folder.iterdir() if path.suffix.lower() in _VIDEOS)
        if found:
            suffix, count = found.most_common(1)[0]
            what = "a video" if found.total() == 1 else f"{found.total()} videos"
            others = "" if count == found.total() else ", and the others likewise"
            message = f"{folder}: holds {what} and no images"
            raise InputError(f"{message}; give them as {folder / '*'}{suffix}{others}")
        kinds = "png, jpg, bmp, tif, webp, pgm or ppm"
        raise InputError(f"{folder}: holds no images; give a folder with {kinds} files")
    return _in_natural_order(files)


def _counted(path: Path, before: str, after: str) -> list[Path]:
    """List the files that a printf pattern stands for, by number; InputError if there are none."""
    before, after = (re.escape(part.replace("\0", "%")) for part in (before, after))
    candidate = re.compile(f"{before} *([0-9]+){after}")
    found = []
    with suppress(OSError):
        for file in path.parent.iterdir():
            match = candidate.fullmatch(file.name)
            if match and path.name % int(match[1]) == file.name:
                found.append((int(match[1]), file))
    if not found:
        message = f"{path}: no file has a name of this pattern"
        raise InputError(f"{message}; check the folder and the number of digits")
    files = [file for _, file in sorted(found)]
    plain = [file for file in files if file.is_file()]
    if not plain:
        check_plain(files[0])
    return plain or files


def _is_visible_image(path: Path) -> bool:
    return is_image_name(path) and not path.name.startswith(".") and path.is_file()


class ImageFilesSource(IndexedSource):
    """Images of one size as frames; only those selected are read."""

    kind = "images"

    def __init__(self, name: str, path: str, files: list[Path], options: Options) -> None:
        super().__init__(name, path, options)
        self._files, self._mixes = files, False
        reason = ""
        for file in files:  # the first that can be told to be an image; its pixels are not decoded
            try:
                header = pictures.read_header(file)
                break
            except (OSError, ImageError) as error:
                said = getattr(error, "strerror", None) or str(error)
                reason = reason or f"{file.name}: {said.lower()}"
        else:
            message = f"{name}: none of its images can be decoded ({reason})"
            raise InputError(f"{message}; check that they open in a viewer")
        self._first, self._shape = file, header.shape
        self.codec = file.suffix.lower().lstrip(".")
        self._announce(len(files), header.shape, header.dtype, "bgr")

    def _items(self, notes: list[str]) -> Generator[Item, None, None]:
        try:
            yield from super()._items(notes)
        finally:
            if self._mixes and self.layout.kind == "gray" and self.options.color != "gray":
                notes.append(
                    "some images are in colour, but the first is grey: all are read as grey"
                )

    def _picture(self, index: int) -> Picture:
        file, (height, width) = self._files[index], self._shape[:2]
        image = pictures.decode_image(file.read_bytes())
        if image.shape[:2] != (height, width):
            size = f"{image.shape[1]}×{image.shape[0]}"
            message = f"{file}: is {size} pixels, but {self._first.name} is {width}×{height}"
            raise InputError(f"{message}; all images of one input must have one size")
        self._mixes |= image.ndim > len(self._shape)
        return Picture((self._to_8_bit(image),))


class TiffSource(IndexedSource):
    """The pages of a TIFF file as frames, alike in size and kind, one in memory at a time."""

    kind, codec = "array", "tiff"

    def __init__(self, name: str, path: str, file: Path, options: Options) -> None:
        super().__init__(name, path, options)
        self._file, self._lock = file, Lock()
        try:
            pages = pictures.TiffPages(file)
            first = pages.header(0)
            for page in range(1, first.pages):
                header = pages.header(page)
                if (header.shape, header.dtype) != (first.shape, first.dtype):
                    message = f"{name}: page {page + 1} is {header.dtype} of shape {header.shape}"
                    expected = f"the first {first.dtype} of {first.shape}"
                    raise InputError(f"{message}, {expected}; all pages must be alike")
        except OSError as error:
            raise _unreadable(name, error) from error
        except ImageError as error:
            raise InputError(f"{name}: {error}; check that it opens in a viewer") from error
        self._announce(first.pages, first.shape, first.dtype)

    def _items(self, notes: list[str]) -> Generator[Item, None, None]:
        # Each iteration opens the file for itself: another one reads elsewhere in it.
        pages = pictures.TiffPages(self._file)
        with closing(super()._items(notes)) as items:
            for item in items:
                yield item._replace(load=partial(self._picture, item.number - 1, pages))

    def _picture(self, index: int, pages: pictures.TiffPages | None = None) -> Picture:
        with self._lock:  # several threads may ask for frames
            image = (pages or pictures.TiffPages(self._file)).read(index)
        return Picture((self._to_8_bit(image),))
