"""Image files: read through imageio (Pillow, tifffile), written by OpenCV.

OpenCV reads what Pillow would shorten to 8 bits (colours of 16 bits, the portable formats of any
depth), JPEG, whose damage Pillow hides, and writes all: Pillow takes three times as long for a PNG.
All go through open files: names in any alphabet work, and none is taken for an address.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError, cannot_write
from bgsub.files import check_plain
from bgsub.video import pillow
from bgsub.video.pillow import DAMAGE, Format, ImageError, ImageHeader
from bgsub.video.stderr import libraries_quiet
from bgsub.video.tiff import TiffPages

__all__ = [
    "IMAGE_SUFFIXES",
    "Image",
    "ImageError",
    "decode_image",
    "encode_image",
    "image_size",
    "is_image_name",
    "read_header",
    "read_image",
    "write_image",
]

#: What counts as an image, by the end of its name in lower case.
IMAGE_SUFFIXES = frozenset(
    {".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".pgm", ".ppm", ".pnm"}
)

Image = NDArray[np.uint8] | NDArray[np.uint16]

# How files of each format begin; others are handed to no library, whatever their name.
_BEGINNINGS: dict[Format, re.Pattern[bytes]] = {
    "png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "jpeg": re.compile(rb"\xff\xd8\xff"),
    "bmp": re.compile(rb"BM"),
    "tiff": re.compile(rb"II[*+]\0|MM\0[*+]"),
    "webp": re.compile(rb"RIFF....WEBP", re.DOTALL),
    "pnm": re.compile(rb"P[1-6]\s"),
}
_BEGINNING_BYTES = 512
_PNM_HEADER = re.compile(rb"P([1-6])" + 2 * rb"(?:\s+|#[^\n]*\n)+(\d+)")
_PNM_MOST = re.compile(rb"P[2356]" + 3 * rb"(?:\s+|#[^\n]*\n)+(\d+)")
# What libjpeg says when it fills a hole with grey; bytes too many at the end are some cameras' way.
_JPEG_DAMAGE = re.compile(
    rb"(?!.*extraneous bytes before marker 0xd9)(Corrupt|Premature|Invalid|Inconsistent)"
)

#: The most pixels of a picture, 2^30; more are a damaged header or an attack.
_MOST_PIXELS = 1 << 30


def is_image_name(path: str | os.PathLike[str]) -> bool:
    """Say whether a file is an image by its name."""
    return Path(path).suffix.lower() in IMAGE_SUFFIXES


def read_header(file: IO[bytes]) -> ImageHeader:
    """Read how large the first picture of a file is and of what kind, without its pixels.

    Raises
    ------
    ImageError
        If it is no image, damaged where this is said, of values that are neither 8 nor 16 bit whole
        numbers, or larger than any picture.
    """
    file.seek(0)
    beginning = file.read(_BEGINNING_BYTES)
    found = [each for each, start in _BEGINNINGS.items() if start.match(beginning)]
    if not found:
        reason = "is not an image of a kind that is read, or is cut off or damaged"
        raise ImageError(f"the file {reason}" if beginning else "the file is empty")
    if found[0] == "pnm":
        header = _pnm_header(beginning)
    elif found[0] == "tiff":
        with TiffPages(file) as pages:
            header = pages.header(0)
    else:
        header = pillow.read_header(file, found[0])
    if header.shape[0] * header.shape[1] > _MOST_PIXELS:
        size = f"{header.shape[1]}×{header.shape[0]}"
        raise ImageError(f"the file says that it is {size} pixels, too large a picture")
    return header


def _pnm_header(beginning: bytes) -> ImageHeader:
    match, most = _PNM_HEADER.match(beginning), _PNM_MOST.match(beginning)
    if match is None:
        raise ImageError("the file is cut off or damaged")
    kind, width, height = (int(number) for number in match.groups())
    is_deep = most is not None and int(most[3]) > 255
    shape = (height, width, 3) if kind in {3, 6} else (height, width)
    return ImageHeader("pnm", shape, np.dtype(np.uint16 if is_deep else np.uint8))


def decode_image(data: bytes) -> Image:
    """Decode an image file's bytes, the first picture if there are several.

    Returns
    -------
    ndarray of uint8 or uint16, shape (h, w) or (h, w, 3)
        Grey, or blue, green and red. Alpha is dropped; the orientation of photographs is applied.

    Raises
    ------
    ImageError
        If it is no image, cut off or damaged, or its values are neither 8 nor 16 bit whole numbers.
    """
    header = read_header(io.BytesIO(data))
    try:
        image = _decode(data, header)
    except ImageError:
        raise
    except (*DAMAGE, cv2.error) as error:
        raise ImageError("the file is cut off or damaged") from error
    if image.dtype == np.uint8:
        return image.astype(np.uint8, copy=False)
    return image.astype(np.uint16, copy=False)


def _decode(data: bytes, header: ImageHeader) -> NDArray[Any]:
    if header.format == "tiff":
        with TiffPages(io.BytesIO(data)) as pages:
            return pages.read(0)
    if header.format == "png":
        pillow.check_png(data)
    if header.mode and header.format != "jpeg":
        return pillow.decode_by_pillow(data, header)
    flags = cv2.IMREAD_ANYCOLOR | cv2.IMREAD_ANYDEPTH
    with libraries_quiet() as said:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), flags)
    if image is None or any(_JPEG_DAMAGE.match(line) for line in said):
        raise ImageError("the file is cut off or damaged")
    return np.asarray(image)


def read_image(path: str | os.PathLike[str]) -> Image:
    """Read an image file; see `decode_image` for what it gives.

    Raises
    ------
    InputError
        If the file cannot be read or decoded.
    """
    with _named(path):
        return decode_image(Path(path).read_bytes())


def image_size(path: str | os.PathLike[str]) -> tuple[int, int]:
    """Read the rows and columns of an image file, without its pixels; errors as of `read_image`."""
    with _named(path), Path(path).open("rb") as file:
        rows, columns = read_header(file).shape[:2]
        return rows, columns


@contextmanager
def _named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say of errors which file they are about."""
    check_plain(path)
    try:
        yield
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
