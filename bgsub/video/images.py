"""Image files: read through imageio (Pillow, tifffile), written by OpenCV."""

from __future__ import annotations

import io
import logging
import math
import os
import re
import struct
import tempfile
import threading
import warnings
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError, cannot_write
from bgsub.runtime.files import check_plain

_STDERR = 2
_LIBRARIES = re.compile(
    rb"((libpng (warning|error)|(Corrupt|Premature|Invalid|Unsupported|Bogus) .*JPEG.*|JPEGLib"
    rb"|tempfile\.tif|_?TIFF\w*|EstimateStripByteCounts|MissingRequired|CheckDirCount|OJPEG\w*"
    rb"|ChopUp\w+|InitCCITT\w+|Fax\w+|Predictor\w+|[A-Za-z0-9]+(Decode|Setup)\w*): "
    rb"|Invalid SOS parameters|Inconsistent progression sequence|Unknown Adobe color transform"
    rb"|Application transferred too few|Warning: unknown JFIF revision)"
)

# The descriptor belongs to the process.
_one_at_a_time = threading.Lock()


@contextmanager
def libraries_quiet() -> Iterator[list[bytes]]:
    """Take the lines of picture libraries; what other threads write meanwhile comes out at the end.

    Yields a list that holds these lines at the end: for libjpeg the only word about damage that it
    hides. Costs some hundredths of a millisecond.
    """
    taken: list[bytes] = []
    with _one_at_a_time, _opencv_quiet():
        try:
            kept = os.dup(_STDERR)
        except OSError:  # closed: something has to be there, or the next file that is opened is
            kept = None
            null = os.open(os.devnull, os.O_WRONLY)
            if null != _STDERR:
                os.dup2(null, _STDERR)
                os.close(null)
        with tempfile.TemporaryFile(prefix="bgsub-stderr-") as caught:
            os.dup2(caught.fileno(), _STDERR)
            try:
                yield taken
            finally:
                if kept is None:
                    os.close(_STDERR)
                else:
                    os.dup2(kept, _STDERR)
                    os.close(kept)
                caught.seek(0)
                for line in caught:
                    if _LIBRARIES.match(line):
                        taken.append(line)
                    elif kept is not None:
                        os.write(_STDERR, line)


@contextmanager
def _opencv_quiet() -> Iterator[None]:
    logging = cv2.utils.logging
    level = logging.getLogLevel()
    logging.setLogLevel(logging.LOG_LEVEL_SILENT)
    try:
        yield
    finally:
        logging.setLogLevel(level)


Format = Literal["png", "jpeg", "bmp", "tiff", "webp", "pnm"]

_ORIENTATION = 274  # the tag of Exif; from 5 on, rows and columns change places

# What Pillow, tifffile and imageio raise on damaged files.
_DAMAGE = (
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
    """What the beginning of an image file says: shape after rotation, uint8 or uint16, pages.

    `mode` is Pillow's name of how the pixels are stored; empty where another library reads them.
    """

    format: Format
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    pages: int = 1
    mode: str = ""


def _pillow_header(file: IO[bytes], kind: Format) -> ImageHeader:
    """Read how large a picture is and of what kind, without its pixels.

    ImageError if it is damaged. Colours of 16 bits, which Pillow would shorten, and those that it
    would convert in its own way have no mode.
    """
    import PIL.Image

    file.seek(0)
    try:
        with _any_size(), PIL.Image.open(file, formats=[kind.upper()]) as picture:
            mode, (width, height) = picture.mode, picture.size
            deep = mode.startswith("I") or ";16" in str(getattr(picture, "tile", ""))
            turned = "exif" in picture.info and picture.getexif().get(_ORIENTATION, 1) >= 5
            pages = int(getattr(picture, "n_frames", 1))
    except (*_DAMAGE, MemoryError) as error:
        raise ImageError("the file is cut off or damaged") from error
    grey = mode in {"1", "L"} or mode.startswith("I")
    shape = (width, height) if turned else (height, width)
    is_foreign = (deep and not grey) or mode in {"CMYK", "YCbCr", "LAB"}
    dtype = np.dtype(np.uint16 if deep else np.uint8)
    return ImageHeader(
        kind, shape if grey else (*shape, 3), dtype, pages, "" if is_foreign else mode
    )


def _check_png(data: bytes) -> None:
    """Raise one of `_DAMAGE` if a checksum is wrong; decoders leave those of the pixels alone."""
    import PIL.Image

    with _any_size(), PIL.Image.open(io.BytesIO(data), formats=["PNG"]) as picture:
        picture.verify()


def _open_by_pillow(data: bytes) -> Any:
    """Open the pictures of a file; raises one of `_DAMAGE`."""
    import imageio.v3 as iio

    with _any_size():
        return iio.imopen(io.BytesIO(data), "r", plugin="pillow")


def _page_by_pillow(file: Any, page: int, header: ImageHeader) -> NDArray[Any]:
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
def _any_size() -> Iterator[None]:
    """Let Pillow open pictures of any size: how large they may be is decided by their header."""
    import PIL.Image

    with _size_check:
        most = PIL.Image.MAX_IMAGE_PIXELS
        PIL.Image.MAX_IMAGE_PIXELS = None
        try:
            yield
        finally:
            PIL.Image.MAX_IMAGE_PIXELS = most


_GREY, _RGB = (0, 1), 2  # TIFF's photometric interpretations: white or black is zero
_OPENCV_FLAGS = cv2.IMREAD_ANYCOLOR | cv2.IMREAD_ANYDEPTH


class TiffPages:
    """The pages of a TIFF file, each read when it is asked for. A context manager.

    The file stays open as long as pages are read, and is left to its owner. ImageError if it is
    damaged, or no TIFF file.
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

        ImageError if it is damaged, or its values are neither 8 nor 16 bit whole numbers.
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
        """Return 0: no TIFF file says how long a page is shown."""
        return 0.0

    def read(self, page: int) -> NDArray[Any]:
        """Decode a page: grey, or blue, green and red; ImageError as of `header`."""
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
                self._pillow = _open_by_pillow(self._file.read())
            with _any_size():
                return _page_by_pillow(self._pillow, page, header)

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
    """Return the errors of damaged files; tifffile is imported when there is one to read."""
    from tifffile import TiffFileError

    return (*_DAMAGE, MemoryError, cv2.error, TiffFileError)


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
    """Return the largest of what a tag says of each sample, 1 where it is missing."""
    value = tags.get(name, 1)
    return int(max(value)) if isinstance(value, tuple) else int(value)


def _is_grey(tags: Mapping[str, Any]) -> bool:
    samples = int(tags.get("SamplesPerPixel", 1))  # the second is alpha
    return int(tags.get("PhotometricInterpretation", 1)) in _GREY and samples <= 2


def _is_plain(tags: Mapping[str, Any]) -> bool:
    """Return whether the values are the pixels of the picture in the order of viewing."""
    samples, bits = int(tags.get("SamplesPerPixel", 1)), _most(tags, "BitsPerSample")
    photometric = int(tags.get("PhotometricInterpretation", 1))
    return (
        bits in {8, 16}
        and (photometric, samples) in {(1, 1), (1, 2), (_RGB, 3), (_RGB, 4)}
        and int(tags.get("Orientation", 1)) == 1
    )


class AnimatedPages:
    """The pictures of an animated WebP or PNG, which build on each other. A context manager."""

    def __init__(self, data: bytes, header: ImageHeader) -> None:
        self._header = header
        try:
            if header.format == "png":
                _check_png(data)
            self._file = _open_by_pillow(data)
        except (*_DAMAGE, MemoryError) as error:
            raise ImageError("the file is cut off or damaged") from error
        self._last: tuple[int, NDArray[Any], float] | None = None

    def __enter__(self) -> AnimatedPages:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __len__(self) -> int:
        return self._header.pages

    def header(self, page: int) -> ImageHeader:  # noqa: ARG002 - all are alike
        """Return what a page is."""
        return self._header

    def read(self, page: int) -> NDArray[Any]:
        """Decode a picture, and those that it builds on; ImageError if it is damaged."""
        return self._read(page)[0]

    def seconds(self, page: int) -> float:
        """Return how long a picture is shown, which is known when it is decoded."""
        return self._read(page)[1]

    def _read(self, page: int) -> tuple[NDArray[Any], float]:
        if self._last is None or self._last[0] != page:
            try:
                image = _page_by_pillow(self._file, page, self._header)
                shown = self._file.metadata(index=page).get("duration") or 0
                self._last = page, image, float(shown) / 1000
            except (*_DAMAGE, MemoryError) as error:
                raise ImageError("the file is cut off or damaged") from error
        return self._last[1:]


@contextmanager
def open_pages(path: Path) -> Iterator[TiffPages | AnimatedPages]:
    """Open the pictures of a TIFF file, or of an animated WebP or PNG."""
    with path.open("rb") as file:
        header = read_header(file)
        if header.format == "tiff":
            with TiffPages(file) as pages:
                yield pages
            return
        file.seek(0)
        data = file.read()
    with AnimatedPages(data, header) as pictures:
        yield pictures


def count_pages(path: Path) -> int:
    """Return how many pictures an image file has; 0 if it is damaged."""
    try:
        with path.open("rb") as file:
            return read_header(file).pages
    except (OSError, ImageError):
        return 0


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
    """Return whether a file is an image by its name."""
    return Path(path).suffix.lower() in IMAGE_SUFFIXES


def read_header(file: IO[bytes]) -> ImageHeader:
    """Read how large the first picture of a file is and of what kind, without its pixels.

    ImageError if it is no image, damaged where this is said, of values that are neither 8 nor 16
    bit whole numbers, or larger than any picture.
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
        header = _pillow_header(file, found[0])
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
    """Decode the first picture of an image file: (h, w) grey or (h, w, 3) blue, green and red.

    Alpha is dropped; the orientation of photographs is applied. ImageError if it is no image, cut
    off or damaged, or its values are neither 8 nor 16 bit whole numbers.
    """
    header = read_header(io.BytesIO(data))
    try:
        image = _decode(data, header)
    except ImageError:
        raise
    except (*_DAMAGE, cv2.error) as error:
        raise ImageError("the file is cut off or damaged") from error
    if image.dtype == np.uint8:
        return image.astype(np.uint8, copy=False)
    return image.astype(np.uint16, copy=False)


def _decode(data: bytes, header: ImageHeader) -> NDArray[Any]:
    if header.format == "tiff":
        with TiffPages(io.BytesIO(data)) as pages:
            return pages.read(0)
    if header.format == "png":
        _check_png(data)
    if header.mode and header.format != "jpeg":
        with _open_by_pillow(data) as file:
            return _page_by_pillow(file, 0, header)
    flags = cv2.IMREAD_ANYCOLOR | cv2.IMREAD_ANYDEPTH
    with libraries_quiet() as said:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), flags)
    if image is None or any(_JPEG_DAMAGE.match(line) for line in said):
        raise ImageError("the file is cut off or damaged")
    return np.asarray(image)


def read_image(path: str | os.PathLike[str]) -> Image:
    """Read an image file as `decode_image` does; InputError if it cannot be read or decoded."""
    check_plain(path)
    try:
        return decode_image(Path(path).read_bytes())
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{path}: cannot be read ({reason}); check the path") from error
    except ImageError as error:
        raise InputError(f"{path}: {error}; check that it opens in a viewer") from error


def encode_image(image: Image, suffix: str = ".png") -> bytes:
    """Encode a picture, grey or in the order blue, green, red.

    ValueError if the format does not take it.
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

    OutputError, or ValueError as `encode_image`.
    """
    data = encode_image(image, Path(path).suffix)
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise cannot_write(path, error, "free some space or choose another folder") from error
