"""Images as frames: a folder, a glob or a pattern of files, or the pages of one file."""

from __future__ import annotations

import glob
import re
from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import suppress
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np

from bgsub.errors import InputError
from bgsub.runtime.files import check_plain
from bgsub.video.base import BadPicture, IndexedSource, Item, Options
from bgsub.video.geometry import Picture
from bgsub.video.images import (
    AnimatedPages,
    ImageError,
    ImageHeader,
    TiffPages,
    decode_image,
    is_image_name,
    open_pages,
    read_header,
)

_VIDEOS = frozenset(
    f".{suffix}"
    for suffix in (
        "mp4 avi mkv mov m4v mpg mpeg ts mts webm wmv flv y4m gif npy npz zarr".split()  # noqa: SIM905
    )
)
_PLOTS = {"background.png", "errors.png", "spectrum.png"}
"""Pictures that bgsub writes beside run.json: no frames."""

_PRINTF = re.compile(r"%\d*d")


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return a key that sorts names as people count: frame2 before frame10.

    Examples
    --------
    >>> sorted(["frame10.png", "frame2.png", "frame1.png"], key=natural_key)
    ['frame1.png', 'frame2.png', 'frame10.png']
    """
    parts = re.split(r"(\d+)", name)
    # [0-9] only: other digits that \d matches are text here, as they are to the file system.
    return tuple(
        (0, int(part), part) if part.isascii() and part.isdigit() else (1, 0, part.casefold())
        for part in parts
        if part
    )


def in_natural_order(paths: Iterable[Path]) -> list[Path]:
    """Sort files by folder and name in natural order; the same order on every system."""
    return sorted(paths, key=lambda path: (natural_key(str(path)), str(path)))


def list_directory(folder: Path) -> list[Path]:
    """List the images of a folder, hidden files left out, in natural order.

    InputError if the folder cannot be read, holds no image, or holds those of results alone.
    """
    try:
        files = [file for file in folder.iterdir() if _is_visible_image(file)]
        is_result = (folder / "run.json").is_file() and {file.name for file in files} <= _PLOTS
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{folder}: cannot be read ({reason}); check its permissions") from error
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
    return in_natural_order(files)


def is_printf(name: str) -> bool:
    """Return whether a file name contains one number to be counted through, as in ``f%04d.png``."""
    rest, numbers = _PRINTF.subn("", name.replace("%%", ""))
    return numbers == 1 and "%" not in rest


def list_printf(path: Path) -> list[Path]:
    """List the files that a printf pattern stands for, by number; numbers may be missing.

    InputError if there are none, or only what is no file.
    """
    before, after = _PRINTF.split(path.name.replace("%%", "\0"))
    before, after = (re.escape(part.replace("\0", "%")) for part in (before, after))
    candidate = re.compile(f"{before} *([0-9]+){after}")
    try:
        names = [file.name for file in path.parent.iterdir()]
    except OSError:
        names = []
    found = [
        (int(match[1]), name)
        for name in names
        if (match := candidate.fullmatch(name)) and path.name % int(match[1]) == name
    ]
    if not found:
        message = f"{path}: no file has a name of this pattern"
        raise InputError(f"{message}; check the folder and the number of digits")
    files = [path.parent / name for _, name in sorted(found)]
    plain = [file for file in files if file.is_file()]
    if not plain:
        check_plain(files[0])
    return plain or files


def list_glob(pattern: str) -> list[Path]:
    """List the images that a glob stands for, in natural order; InputError if there are none."""
    matches = [Path(name) for name in glob.glob(pattern, recursive=True)]  # noqa: PTH207 - absolute ones too
    files = [file for file in matches if _is_visible_image(file)]
    if not files:
        what = "no image matches" if matches else "nothing matches"
        raise InputError(f"{pattern}: {what} this pattern; check the folder and the pattern")
    return in_natural_order(files)


def _is_visible_image(path: Path) -> bool:
    return is_image_name(path) and not path.name.startswith(".") and path.is_file()


class ImageFilesSource(IndexedSource):
    """Images of one size as frames; only those selected are read.

    InputError if no image can be decoded and, when iterating, if one has another size than the
    first. EmptySelectionError if no image is selected.
    """

    kind = "images"

    def __init__(self, name: str, path: str, files: list[Path], options: Options) -> None:
        super().__init__(name, path, options)
        self._files = files
        self.input_frames = len(files)
        self.duration_s = float(len(files) / self._per_second)
        if self.frames_estimate == 0:
            raise self._nothing_selected(len(files), float((len(files) - 1) / self._per_second))
        self._first, header = self._first_header()
        self.codec = self._first.suffix.lower().lstrip(".")
        self._is_gray = len(header.shape) == 2
        self.pixel_format = f"{'gray' if self._is_gray else 'bgr'}{8 * header.dtype.itemsize}"
        self._native_size = (header.shape[1], header.shape[0])
        self._plan(self._native_size, "gray" if self._is_gray else "bgr")

    def _first_header(self) -> tuple[Path, ImageHeader]:
        """Return the first image that can be told to be one; its pixels are not decoded."""
        reason = ""
        for path in self._files:
            try:
                with path.open("rb") as file:
                    return path, read_header(file)
            except OSError as error:
                reason = reason or f"{path.name}: {(error.strerror or str(error)).lower()}"
            except ImageError as error:
                reason = reason or f"{path.name}: {error}"
        message = f"{self.name}: none of its images can be decoded ({reason})"
        raise InputError(f"{message}; check that they open in a viewer")

    def _items(self, notes: list[str]) -> Generator[Item, None, None]:
        for index, file in enumerate(self._files):
            load = partial(self._picture, file, notes)
            yield Item(index + 1, float(index / self._per_second), load)

    def _picture(self, file: Path, notes: list[str]) -> Picture:
        try:
            image = decode_image(file.read_bytes())
        except OSError as error:
            raise BadPicture((error.strerror or str(error)).lower()) from error
        except ImageError as error:
            raise BadPicture(str(error)) from error
        size = (image.shape[1], image.shape[0])
        if size != self._native_size:
            first = "{}×{}".format(*self._native_size)
            message = f"{file}: is {size[0]}×{size[1]} pixels, but {self._first.name} is {first}"
            raise InputError(f"{message}; all images of one input must have one size")
        if image.ndim == 3 and self._is_gray and self.layout.kind == "gray":
            note = "some images are in colour, but the first is grey: all are read as grey"
            if note not in notes and self.options.color != "gray":
                notes.append(note)
        return Picture((self._to_8_bit(image),))


class PagesSource(IndexedSource):
    """The pictures of one file as frames, one in memory at a time.

    InputError if pages differ in size or kind, or one is damaged where it says what it is.
    EmptySelectionError if no frame is selected.
    """

    def __init__(self, name: str, path: str, file: Path, options: Options) -> None:
        super().__init__(name, path, options)
        self._open = partial(open_pages, file)
        try:
            with self._open() as pages:
                count = len(pages)
                header = self._common_header(pages)
                shown = pages.seconds(0)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise InputError(f"{name}: cannot be read ({reason}); check its permissions") from error
        except ImageError as error:
            raise InputError(f"{name}: {error}; check that it opens in a viewer") from error
        self._is_timed = bool(shown)
        if shown:
            self._warn_of_fps("an animation")
            self.rate = 1 / Fraction(shown).limit_denominator(1000)
        self.kind = "images" if shown else "array"
        self.codec = header.format
        self.input_frames = count
        step = 1 / (self.rate or self._per_second)
        self.duration_s = float(count * step)
        is_gray = len(header.shape) == 2
        self.pixel_format = f"{'gray' if is_gray else 'rgb'}{8 * header.dtype.itemsize}"
        if self.frames_estimate == 0:
            raise self._nothing_selected(count, float((count - 1) * step))
        self._plan((header.shape[1], header.shape[0]), "gray" if is_gray else "bgr")

    def _common_header(self, pages: TiffPages | AnimatedPages) -> ImageHeader:
        first = pages.header(0)
        for page in range(1, len(pages)):
            header = pages.header(page)
            if (header.shape, header.dtype) != (first.shape, first.dtype):
                message = f"{self.name}: page {page + 1} is {header.dtype} of shape {header.shape}"
                expected = f"the first {first.dtype} of {first.shape}"
                raise InputError(f"{message}, {expected}; all pages must be alike")
        return first

    def _items(self, notes: list[str]) -> Generator[Item, None, None]:  # noqa: ARG002 - the base's
        with self._open() as pages:
            opened = [pages]
            time_s = 0.0
            try:
                for page in range(len(pages)):
                    load = partial(self._picture, opened, page)
                    yield Item(page + 1, time_s, load)
                    time_s = self._end(pages, page, time_s)
            finally:
                opened.clear()  # frames that are asked for later open the file again

    def _end(self, pages: TiffPages | AnimatedPages, page: int, time_s: float) -> float:
        if self.rate is None or not self._is_timed:
            return float((page + 1) / self._per_second)
        with suppress(ImageError):
            if shown := pages.seconds(page):
                return time_s + shown
        return time_s + float(1 / self.rate)

    def _picture(self, opened: list[TiffPages | AnimatedPages], page: int) -> Picture:
        try:
            if opened:
                image = opened[0].read(page)
            else:
                with self._open() as pages:
                    image = pages.read(page)
        except OSError as error:
            raise BadPicture((error.strerror or str(error)).lower()) from error
        except ImageError as error:
            raise BadPicture(str(error)) from error
        return Picture((self._to_8_bit(np.ascontiguousarray(image)),))
