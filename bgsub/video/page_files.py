"""Files with several pictures as frames: TIFF stacks, animated WebP and PNG; read page by page."""

from __future__ import annotations

import io
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError
from bgsub.video.base import BadPicture, Item, Options
from bgsub.video.geometry import Picture
from bgsub.video.images import read_header
from bgsub.video.indexed import IndexedSource
from bgsub.video.pillow import (
    DAMAGE,
    ImageError,
    ImageHeader,
    check_png,
    open_by_pillow,
    page_by_pillow,
)
from bgsub.video.tiff import TiffPages


class Pages(Protocol):
    """The pictures of a file that is open."""

    def __len__(self) -> int: ...

    def header(self, page: int) -> ImageHeader:
        """Say what a page is; ImageError if it is damaged."""
        ...

    def read(self, page: int) -> NDArray[Any]:
        """Decode a page; ImageError if it is damaged."""
        ...

    def seconds(self, page: int) -> float:
        """Say how long a page is shown, 0 where the file does not say; ImageError as of `read`."""
        ...


Opener = Callable[[Path], AbstractContextManager[Pages]]


@contextmanager
def _open_tiff(path: Path) -> Iterator[TiffPages]:
    """Open the pages of a TIFF file."""
    with path.open("rb") as file, TiffPages(file) as pages:
        yield pages


class AnimatedPages:
    """The pictures of an animated WebP or PNG, which build on each other. A context manager.

    Parameters
    ----------
    data : bytes
        The whole file.
    header : ImageHeader
        Of the first picture.
    """

    def __init__(self, data: bytes, header: ImageHeader) -> None:
        self._header = header
        try:
            if header.format == "png":
                check_png(data)
            self._file = open_by_pillow(data)
        except (*DAMAGE, MemoryError) as error:
            raise ImageError("the file is cut off or damaged") from error
        self._last: tuple[int, NDArray[Any], float] | None = None

    def __enter__(self) -> AnimatedPages:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __len__(self) -> int:
        return self._header.pages

    def header(self, page: int) -> ImageHeader:  # noqa: ARG002 - all are alike
        """Say what a page is."""
        return self._header

    def read(self, page: int) -> NDArray[Any]:
        """Decode a picture, and those that it builds on; ImageError if it is damaged."""
        return self._read(page)[0]

    def seconds(self, page: int) -> float:
        """Say how long a picture is shown, which is known when it is decoded; as `read`."""
        return self._read(page)[1]

    def _read(self, page: int) -> tuple[NDArray[Any], float]:
        if self._last is None or self._last[0] != page:
            try:
                image = page_by_pillow(self._file, page, self._header)
                shown = self._file.metadata(index=page).get("duration") or 0
                self._last = page, image, float(shown) / 1000
            except (*DAMAGE, MemoryError) as error:
                raise ImageError("the file is cut off or damaged") from error
        return self._last[1:]


@contextmanager
def _open_animation(path: Path) -> Iterator[AnimatedPages]:
    """Open the pictures of an animated WebP or PNG."""
    data = path.read_bytes()
    with AnimatedPages(data, read_header(io.BytesIO(data))) as pages:
        yield pages


def pages_opener(path: Path) -> Opener | None:
    """Say how to open the pictures of an image file, None if it has one, or is damaged."""
    try:
        with path.open("rb") as file:
            header = read_header(file)
    except (OSError, ImageError):
        return None
    if header.pages < 2:
        return None
    return _open_tiff if header.format == "tiff" else _open_animation


class PagesSource(IndexedSource):
    """The pictures of one file as frames, one in memory at a time.

    Parameters
    ----------
    name, path : str
        What the user gave.
    file : Path
    opener : callable
        `_open_tiff` or `_open_animation`.
    options : Options

    Raises
    ------
    InputError
        If pages differ in size or kind, or one is damaged where it says what it is.
    EmptySelectionError
        If no frame is selected.
    """

    def __init__(self, name: str, path: str, file: Path, opener: Opener, options: Options) -> None:
        super().__init__(name, path, options)
        self._open = partial(opener, file)
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
            self._refuse_fps("an animation")
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

    def _common_header(self, pages: Pages) -> ImageHeader:
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

    def _end(self, pages: Pages, page: int, time_s: float) -> float:
        if self.rate is None or not self._is_timed:
            return float((page + 1) / self._per_second)
        with suppress(ImageError):
            if shown := pages.seconds(page):
                return time_s + shown
        return time_s + float(1 / self.rate)

    def _picture(self, opened: list[Pages], page: int) -> Picture:
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
