"""Image files, read and written: the one place where OpenCV's codecs are used.

Going through bytes, and not through OpenCV's own file access, makes names in any alphabet work and
gives errors where that would return nothing.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError, cannot_write
from bgsub.files import check_plain

#: What counts as an image, by the end of its name in lower case.
IMAGE_SUFFIXES = frozenset(
    {".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".pgm", ".ppm", ".pnm"}
)

Image = NDArray[np.uint8] | NDArray[np.uint16]


class ImageError(ValueError):
    """The bytes are not an image that can be decoded; the text says why."""


def is_image_name(path: str | os.PathLike[str]) -> bool:
    """Whether a file is an image by its name."""
    return Path(path).suffix.lower() in IMAGE_SUFFIXES


def decode_image(data: bytes) -> Image:
    """Decode an image file's bytes.

    Returns
    -------
    ndarray of uint8 or uint16, shape (h, w) or (h, w, 3)
        Grey, or blue, green and red. Alpha is dropped; the orientation of photographs is applied.

    Raises
    ------
    ImageError
        If it is no image, cut off or damaged, or its values are neither 8 nor 16 bit whole numbers.
    """
    return _decode(data, several=False)[0]


def _decode(data: bytes, *, several: bool) -> list[Image]:
    if not data:
        raise ImageError("the file is empty")
    if not _is_whole(data):
        raise ImageError("the file is cut off or damaged")
    buffer, flags = np.frombuffer(data, np.uint8), cv2.IMREAD_ANYCOLOR | cv2.IMREAD_ANYDEPTH
    with _quiet():
        try:
            decoded = (
                cv2.imdecodemulti(buffer, flags)[1] if several else [cv2.imdecode(buffer, flags)]
            )
        except cv2.error as error:
            raise ImageError("the file is damaged, or too large a picture") from error
    images = [_checked(image) for image in decoded if image is not None]
    if not images:
        raise ImageError("the file is not an image, or is cut off or damaged")
    return images


def _checked(image: NDArray[Any]) -> Image:
    if image.dtype == np.uint8:
        return image.astype(np.uint8, copy=False)
    if image.dtype == np.uint16:
        return image.astype(np.uint16, copy=False)
    raise ImageError(f"its values are {image.dtype}; only 8-bit and 16-bit images are read")


def read_image(path: str | os.PathLike[str]) -> Image:
    """Read an image file; see `decode_image` for what it gives.

    Raises
    ------
    InputError
        If the file cannot be read or decoded.
    """
    return _read(path, several=False)[0]


def read_pages(path: str | os.PathLike[str]) -> list[Image]:
    """Read all pages of an image file, at once; TIFF files of microscopes hold a film in pages.

    Raises
    ------
    InputError
        If the file cannot be read or decoded.
    """
    return _read(path, several=True)


def _read(path: str | os.PathLike[str], *, several: bool) -> list[Image]:
    check_plain(path)
    try:
        return _decode(Path(path).read_bytes(), several=several)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{path}: cannot be read ({reason}); check the path") from error
    except ImageError as error:
        raise InputError(f"{path}: {error}; check that it opens in a viewer") from error


def encode_image(image: Image, suffix: str = ".png") -> bytes:
    """Encode a picture, grey or in the order blue, green, red.

    Raises
    ------
    ValueError
        If there is no such format or it does not take the picture.
    """
    try:
        done, data = cv2.imencode(suffix, image)
    except cv2.error as error:
        raise ValueError(f"no {suffix} can be made of {image.dtype} {image.shape}") from error
    if not done:
        raise ValueError(f"no {suffix} can be made of {image.dtype} {image.shape}")
    return data.tobytes()


def write_image(path: str | os.PathLike[str], image: Image) -> None:
    """Write a picture, in the format that the name ends with.

    Raises
    ------
    OutputError
        If the file cannot be written.
    ValueError
        As `encode_image`.
    """
    data = encode_image(image, Path(path).suffix)
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise cannot_write(path, error, "free some space or choose another folder") from error


def _is_whole(data: bytes) -> bool:
    """Whether a PNG or JPEG has its end; libraries fill what is missing with grey, or complain."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return _png_is_whole(memoryview(data))
    if data.startswith(b"\xff\xd8\xff"):
        # Neither marker occurs within coded pixels, and a thumbnail comes before the last start.
        return data.rfind(b"\xff\xd9") > data.rfind(b"\xff\xda")
    return True


def _png_is_whole(data: memoryview) -> bool:
    offset = 8
    while offset + 12 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, offset)
        end = offset + 8 + length
        if end + 4 > len(data):
            return False
        if zlib.crc32(data[offset + 4 : end]) != struct.unpack_from(">I", data, end)[0]:
            return False
        if kind == b"IEND":
            return True
        offset = end + 4
    return False


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep OpenCV from writing about damaged files to standard error."""
    logging = cv2.utils.logging
    level = logging.getLogLevel()
    logging.setLogLevel(logging.LOG_LEVEL_SILENT)
    try:
        yield
    finally:
        logging.setLogLevel(level)
