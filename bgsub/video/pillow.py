"""Pictures that Pillow opens, through imageio: what they are, and their pixels.

Both are imported when a picture is read: they take longer to import than a short film to decode.
"""

from __future__ import annotations

import io
import logging
import struct
import threading
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

Format = Literal["png", "jpeg", "bmp", "tiff", "webp", "pnm"]

_ORIENTATION = 274  # the tag of Exif; from 5 on, rows and columns change places

# What Pillow, tifffile and imageio raise on damaged files.
DAMAGE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    UserWarning,  # where warnings are errors
    ValueError,
    struct.error,
    zlib.error,
)

# They log and warn about damage too, which Python would print where nobody has said otherwise.
warnings.filterwarnings("ignore", category=UserWarning, module=r"PIL\.")
for _name in ("PIL", "tifffile"):
    logging.getLogger(_name).addHandler(logging.NullHandler())

_size_check = threading.RLock()


class ImageError(ValueError):
    """The bytes are not an image that can be decoded; the text says why."""


@dataclass(frozen=True)
class ImageHeader:
    """What a picture will be when it is decoded, as far as its file's beginning says it.

    Attributes
    ----------
    format : str
    shape : tuple of int
        (h, w) or (h, w, 3), the orientation of photographs applied.
    dtype : dtype
        uint8 or uint16.
    pages : int
        Pictures in the file.
    mode : str
        Pillow's name of how the pixels are stored; empty where another library reads them.
    """

    format: Format
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    pages: int = 1
    mode: str = ""


def read_header(file: IO[bytes], kind: Format) -> ImageHeader:
    """Read how large a picture is and of what kind, without its pixels.

    Colours of 16 bits, which Pillow would shorten, and those that it would convert in its own way
    have no mode.

    Raises
    ------
    ImageError
        If it is damaged where this is said.
    """
    import PIL.Image

    file.seek(0)
    try:
        with any_size(), PIL.Image.open(file, formats=[kind.upper()]) as picture:
            mode, (width, height) = picture.mode, picture.size
            deep = mode.startswith("I") or ";16" in str(getattr(picture, "tile", ""))
            turned = "exif" in picture.info and picture.getexif().get(_ORIENTATION, 1) >= 5
            pages = int(getattr(picture, "n_frames", 1))
    except (*DAMAGE, MemoryError) as error:
        raise ImageError("the file is cut off or damaged") from error
    grey = mode in {"1", "L"} or mode.startswith("I")
    shape = (width, height) if turned else (height, width)
    is_foreign = (deep and not grey) or mode in {"CMYK", "YCbCr", "LAB"}
    dtype = np.dtype(np.uint16 if deep else np.uint8)
    return ImageHeader(
        kind, shape if grey else (*shape, 3), dtype, pages, "" if is_foreign else mode
    )


def check_png(data: bytes) -> None:
    """Raise one of `DAMAGE` if a checksum is wrong; decoders leave those of the pixels alone."""
    import PIL.Image

    with any_size(), PIL.Image.open(io.BytesIO(data), formats=["PNG"]) as picture:
        picture.verify()


def open_by_pillow(data: bytes) -> Any:
    """Open the pictures of a file; raises one of `DAMAGE`."""
    import imageio.v3 as iio

    with any_size():
        return iio.imopen(io.BytesIO(data), "r", plugin="pillow")


def decode_by_pillow(data: bytes, header: ImageHeader) -> NDArray[Any]:
    """Decode the first picture of a file; raises one of `DAMAGE`."""
    with open_by_pillow(data) as file:
        return page_by_pillow(file, 0, header)


def page_by_pillow(file: Any, page: int, header: ImageHeader) -> NDArray[Any]:
    """Decode a picture of a file that imageio has opened with Pillow, in OpenCV's colour order."""
    mode: str | None = None
    if header.dtype == np.uint8:
        # By way of alpha: Pillow warns of palettes with transparent entries otherwise.
        mode = "L" if len(header.shape) == 2 else "RGBA" if header.mode in {"P", "PA"} else "RGB"
    image: NDArray[Any] = file.read(index=page, mode=mode, rotate=True, writeable_output=False)
    if image.ndim == 3:
        order = cv2.COLOR_RGBA2BGR if image.shape[2] == 4 else cv2.COLOR_RGB2BGR
        return np.asarray(cv2.cvtColor(image, order))
    return image.astype(header.dtype, copy=False)


@contextmanager
def any_size() -> Iterator[None]:
    """Let Pillow open pictures of any size: how large they may be is decided by their header."""
    import PIL.Image

    with _size_check:
        most = PIL.Image.MAX_IMAGE_PIXELS
        PIL.Image.MAX_IMAGE_PIXELS = None
        try:
            yield
        finally:
            PIL.Image.MAX_IMAGE_PIXELS = most
