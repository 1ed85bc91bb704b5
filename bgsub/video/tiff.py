"""TIFF files page by page: microscopes keep a film in them.

tifffile says what each page is and reads the plain ones, the damage of which it finds. Pillow reads
what needs libtiff (LZW, JPEG, palettes, turned pages), and OpenCV colours of 16 bits among those.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.video.pillow import (
    DAMAGE,
    ImageError,
    ImageHeader,
    any_size,
    open_by_pillow,
    page_by_pillow,
)
from bgsub.video.stderr import libraries_quiet

_GREY, _RGB = (0, 1), 2  # TIFF's photometric interpretations: white or black is zero
_OPENCV_FLAGS = cv2.IMREAD_ANYCOLOR | cv2.IMREAD_ANYDEPTH


class TiffPages:
    """The pages of a TIFF file, each read when it is asked for. A context manager.

    Parameters
    ----------
    file : binary file
        Stays open as long as the pages are read; left to its owner.

    Raises
    ------
    ImageError
        If it is damaged, or no TIFF file.
    """

    def __init__(self, file: IO[bytes]) -> None:
        import imageio.v3 as iio

        self._file = file
        file.seek(0)
        self._tiff: Any  # its annotations do not know of ... for all pages
        try:
            self._tiff = iio.imopen(file, "r", plugin="tifffile")
            with _without_resolution():
                self._count = int(self._tiff.properties(index=..., page=...).n_images or 0)
        except _damage() as error:
            raise ImageError("the file is cut off or damaged") from error
        self._pillow: Any = None

    def __enter__(self) -> TiffPages:
        return self

    def __exit__(self, *_: object) -> None:
        self._tiff.close()
        if self._pillow is not None:
            self._pillow.close()

    def __len__(self) -> int:
        return self._count

    def header(self, page: int) -> ImageHeader:
        """Read what a page is, without its pixels.

        Raises
        ------
        ImageError
            If the page is damaged, or its values are neither 8 nor 16 bit whole numbers.
        """
        tags = self._tags(page)
        try:
            bits, kind = _most(tags, "BitsPerSample"), _most(tags, "SampleFormat")
            turned = int(tags.get("Orientation", 1)) >= 5
            height, width = int(tags["ImageLength"]), int(tags["ImageWidth"])
            grey = _is_grey(tags)
        except _damage() as error:
            raise ImageError("the file is cut off or damaged") from error
        if kind != 1 or bits > 16 or min(height, width) < 1:
            name = {1: "uint", 2: "int", 3: "float"}.get(kind, "of an unknown type, ")
            raise ImageError(f"its values are {name}{bits}; only 8-bit and 16-bit images are read")
        shape = (width, height) if turned else (height, width)
        dtype = np.dtype(np.uint8 if bits <= 8 else np.uint16)
        return ImageHeader("tiff", shape if grey else (*shape, 3), dtype, self._count)

    def seconds(self, page: int) -> float:  # noqa: ARG002 - as of all pages
        """Say how long a page is shown: no TIFF file says it."""
        return 0.0

    def read(self, page: int) -> NDArray[Any]:
        """Decode a page: grey, or blue, green and red, as `bgsub.video.images.decode_image`.

        Raises
        ------
        ImageError
            As of `header`.
        """
        header, tags = self.header(page), self._tags(page)
        try:
            if _is_plain(tags):
                try:
                    return _by_tifffile(self._tiff, page, header)
                except ValueError as error:
                    if "imagecodecs" not in str(error):
                        raise
            if header.dtype == np.uint16 and len(header.shape) == 3:
                return self._by_opencv(page)
            return self._by_pillow(page, header)
        except ImageError:
            raise
        except _damage() as error:
            raise ImageError("the file is cut off or damaged") from error

    def _tags(self, page: int) -> Mapping[str, Any]:
        try:
            with _without_resolution():
                found: Mapping[str, Any] = self._tiff.metadata(index=..., page=page)
        except _damage() as error:
            raise ImageError("the file is cut off or damaged") from error
        return found

    def _by_pillow(self, page: int, header: ImageHeader) -> NDArray[Any]:
        with libraries_quiet():
            if self._pillow is None:
                self._file.seek(0)
                self._pillow = open_by_pillow(self._file.read())
            with any_size():
                return page_by_pillow(self._pillow, page, header)

    def _by_opencv(self, page: int) -> NDArray[Any]:
        self._file.seek(0)
        data = np.frombuffer(self._file.read(), np.uint8)
        with libraries_quiet():
            _, pages = cv2.imdecodemulti(data, _OPENCV_FLAGS, range=(page, page + 1))
        if not pages:
            raise ImageError("the file is cut off or damaged")
        return np.asarray(pages[0])


@contextmanager
def _without_resolution() -> Iterator[None]:
    """Let imageio pass over a resolution of x/0 in silence: nobody here reads it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Ignoring resolution metadata", RuntimeWarning)
        yield


def _damage() -> tuple[type[Exception], ...]:
    """Give the errors of damaged files; tifffile is imported when there is one to read."""
    from tifffile import TiffFileError

    return (*DAMAGE, MemoryError, cv2.error, TiffFileError)


def _by_tifffile(tiff: Any, page: int, header: ImageHeader) -> NDArray[Any]:
    image: NDArray[Any] = tiff.read(index=..., page=page)
    if image.size < math.prod(header.shape):
        raise ImageError("the file is cut off or damaged")
    if image.shape[-2:] == header.shape[:2] and image.ndim == 3:  # plane after plane
        image = np.moveaxis(image, 0, -1)
    if len(header.shape) == 2:
        grey = image if image.ndim == 2 else image[..., 0]
        return np.ascontiguousarray(grey, header.dtype)
    colors = np.ascontiguousarray(image[..., :3], header.dtype)
    return np.asarray(cv2.cvtColor(colors, cv2.COLOR_RGB2BGR))


def _most(tags: Mapping[str, Any], name: str) -> int:
    """Give the largest of what a tag says of each sample, 1 where it is missing."""
    value = tags.get(name, 1)
    return int(max(value)) if isinstance(value, tuple) else int(value)


def _is_grey(tags: Mapping[str, Any]) -> bool:
    samples = int(tags.get("SamplesPerPixel", 1))  # the second is alpha
    return int(tags.get("PhotometricInterpretation", 1)) in _GREY and samples <= 2


def _is_plain(tags: Mapping[str, Any]) -> bool:
    """Say whether the values are those of the picture, pixel by pixel in the order of viewing."""
    samples, bits = int(tags.get("SamplesPerPixel", 1)), _most(tags, "BitsPerSample")
    photometric = int(tags.get("PhotometricInterpretation", 1))
    return (
        bits in {8, 16}
        and (photometric, samples) in {(1, 1), (1, 2), (_RGB, 3), (_RGB, 4)}
        and int(tags.get("Orientation", 1)) == 1
    )
