"""Image files: known by Pillow and tifffile, decoded by these and OpenCV, which writes them."""

from __future__ import annotations

import io
import logging
import math
import os
import re
import tempfile
import threading
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError, writing
from bgsub.runtime.files import check_plain

Image = NDArray[np.uint8] | NDArray[np.uint16]

#: What counts as an image, by the end of its name in lower case.
IMAGE_SUFFIXES = frozenset(
    {".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".pgm", ".ppm", ".pnm"}
)
_BY_PILLOW = ("PNG", "JPEG", "BMP", "WEBP", "PPM")
_TIFF = {b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"}
_AS_STORED = cv2.IMREAD_ANYCOLOR | cv2.IMREAD_ANYDEPTH
_ORIENTATION = 274  # the tag of Exif and TIFF; from 5 on, rows and columns change places
_MOST_PIXELS = 1 << 30  # more are a damaged header or an attack

# Libraries log and warn about damage, which Python would print where nobody has said otherwise.
warnings.filterwarnings("ignore", category=UserWarning, module=r"PIL\.")
for _name in ("PIL", "tifffile"):
    logging.getLogger(_name).addHandler(logging.NullHandler())

# How lines of libpng, libjpeg, libtiff and OpenCV begin, and those that tell damage; bytes too many
# at the end of a JPEG are some cameras' way.
_LIBRARIES = re.compile(
    rb"^(?:\[ *(?:WARN|ERROR|FATAL):\d.*\n?"  # OpenCV leaves a line empty behind some
    rb"|(?:(?:libpng (?:warning|error)|JPEGLib|tempfile\.tif|_?TIFF\w*"
    rb"|(?:Corrupt|Premature|Invalid|Unsupported|Bogus) .*JPEG.*|EstimateStripByteCounts"
    rb"|MissingRequired|CheckDirCount|OJPEG\w*|ChopUp\w+|InitCCITT\w+|Fax\w+|Predictor\w+"
    rb"|[A-Za-z0-9]+(?:Decode|Setup)\w*): "
    rb"|Invalid SOS parameters|Inconsistent progression sequence|Unknown Adobe color transform"
    rb"|Application transferred too few|Premature end of JPEG|Warning: unknown JFIF revision"
    rb").*)\n?",
    re.MULTILINE,
)
_TELLS_DAMAGE = re.compile(
    rb"(?!.*extraneous bytes before marker 0xd9)(Corrupt|Premature|Invalid|Inconsistent)"
    rb"|.*TIFF_Error"
)
_STDERR = 2  # belongs to the process
_one_at_a_time = threading.RLock()


class ImageError(ValueError):
    """What cannot be decoded as an image; the text says why."""


@contextmanager
def _as_damage() -> Iterator[None]:
    """Raise `ImageError` for whatever libraries raise on damaged files."""
    try:
        yield
    except ImageError:
        raise
    except Exception as error:  # each codec has errors of its own
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ImageError("the file is cut off or damaged") from error


@contextmanager
def libraries_quiet() -> Iterator[list[bytes]]:
    """Take the lines of picture libraries; what other threads write meanwhile comes out at the end.

    Yields a list that holds these lines at the end: the only word about damage that they
    hide. Costs some hundredths of a millisecond.
    """
    taken: list[bytes] = []
    log = cv2.utils.logging
    with _one_at_a_time, tempfile.TemporaryFile(prefix="bgsub-stderr-") as caught:
        level = log.setLogLevel(log.LOG_LEVEL_ERROR)
        try:
            kept = os.dup(_STDERR)
        except OSError:  # it is closed
            kept = os.open(os.devnull, os.O_WRONLY)
        os.dup2(caught.fileno(), _STDERR)
        try:
            yield taken
        finally:
            log.setLogLevel(level)
            os.dup2(kept, _STDERR)
            os.close(kept)
            caught.seek(0)
            said = caught.read()
            taken += _LIBRARIES.findall(said)
            os.write(_STDERR, _LIBRARIES.sub(b"", said))


class ImageHeader(NamedTuple):
    """What an image is: its format in lower case, shape after rotation, uint8 or uint16, pages."""

    format: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    pages: int = 1


@contextmanager
def _any_size() -> Iterator[None]:
    """Let Pillow open pictures of any size: how large one may be is decided by its header."""
    import PIL.Image

    with _one_at_a_time:
        most, PIL.Image.MAX_IMAGE_PIXELS = PIL.Image.MAX_IMAGE_PIXELS, None
        try:
            yield
        finally:
            PIL.Image.MAX_IMAGE_PIXELS = most


def _open_by_pillow(source: Path | bytes, formats: tuple[str, ...] = _BY_PILLOW) -> Any:
    import PIL.Image
    import PIL.WebPImagePlugin  # or Pillow would import all of its forty plugins to find it

    with _any_size():
        try:
            file = io.BytesIO(source) if isinstance(source, bytes) else source
            return PIL.Image.open(file, formats=formats)
        except PIL.UnidentifiedImageError as error:
            what = "is not an image of a kind that is read, or is cut off or damaged"
            raise ImageError(f"the file {what}") from error


def read_header(source: Path | bytes) -> ImageHeader:
    """Read what an image is; ImageError if it is none, too large, or not of 8 or 16 bits."""
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        beginning = file.read(4)
    if not beginning:
        raise ImageError("the file is empty")
    if beginning in _TIFF:  # of which Pillow knows some kinds only
        header = TiffPages(source).header(0)
    else:
        with _as_damage(), _open_by_pillow(source) as picture:
            mode, (width, height) = picture.mode, picture.size
            kind = {"PPM": "pnm", "MPO": "jpeg"}.get(picture.format, picture.format.lower())
            stored = picture.tile[0][-1] if picture.tile else ""
            is_deep = mode.startswith("I") or ";16" in str(stored)
            if kind == "pnm" and isinstance(stored, tuple):  # (mode, largest value)
                is_deep |= stored[1] > 255
            pages = getattr(picture, "n_frames", 1) if kind in {"png", "webp"} else 1
            turned = "exif" in picture.info and picture.getexif().get(_ORIENTATION, 1) >= 5
            shape = (width, height) if turned else (height, width)
            is_grey = mode in {"1", "L"} or mode.startswith("I")
            if kind == "bmp" and mode == "P":  # OpenCV makes grey of a palette of greys
                colors = np.reshape(picture.getpalette(), (-1, 3))
                is_grey = bool((colors == colors[:, :1]).all())
        dtype = np.dtype(np.uint16 if is_deep and pages == 1 else np.uint8)
        header = ImageHeader(kind, shape if is_grey else (*shape, 3), dtype, pages)
    if math.prod(header.shape[:2]) > _MOST_PIXELS:
        size = f"{header.shape[1]}×{header.shape[0]}"
        raise ImageError(f"the file says that it is {size} pixels, too large a picture")
    return header


def count_pages(path: Path) -> int:
    """Return how many pictures an image file has; 0 if it is damaged."""
    try:
        return read_header(path).pages
    except (OSError, ImageError):
        return 0


def decode_image(data: bytes) -> Image:
    """Decode the first picture of an image file: (h, w) grey or (h, w, 3) blue, green and red.

    Alpha is dropped; the orientation of photographs is applied. ImageError as of `read_header`, and
    if it is cut off or damaged.
    """
    header = read_header(data)
    if header.format == "tiff":
        return TiffPages(data).read(0)
    with _as_damage():
        if header.format == "png":
            with _open_by_pillow(data) as picture:
                picture.verify()  # checksums: decoders leave those of the pixels alone
        return _by_opencv(data, header)


def _by_opencv(source: Path | bytes, header: ImageHeader, page: int = 0) -> Image:
    with libraries_quiet() as said:
        if isinstance(source, Path):
            _, pages = cv2.imreadmulti(str(source), page, 1, flags=_AS_STORED)
        else:
            data, only = np.frombuffer(source, np.uint8), (page, page + 1)
            _, pages = cv2.imdecodemulti(data, _AS_STORED, range=only)
    image: NDArray[Any] | None = pages[0] if pages else None
    is_torn = any(_TELLS_DAMAGE.match(line) for line in said)
    if is_torn or image is None or image.shape != header.shape:
        raise ImageError("the file is cut off or damaged")
    return image.astype(header.dtype, copy=False)


class TiffPages:
    """The pages of a TIFF file, each read when it is asked for; ImageError where it is damaged."""

    def __init__(self, source: Path | bytes) -> None:
        import tifffile

        self._given = source
        self._pillow: Any = None
        self._tiff: Any  # its pages may be of a kind without tags, but those by index are not
        with _as_damage():
            self._tiff = tifffile.TiffFile(
                io.BytesIO(source) if isinstance(source, bytes) else source
            )
        weakref.finalize(self, self._tiff.close)  # cycles in it would hold the file

    def header(self, page: int) -> ImageHeader:
        """Read what a page is, without its pixels."""
        with _as_damage():
            found = self._tiff.pages[page]
            height, width, bits = found.imagelength, found.imagewidth, found.bitspersample
            if found.sampleformat != 1 or bits > 16 or min(height, width) < 1:
                kind = found.dtype or "of an unknown type"
                raise ImageError(f"its values are {kind}; only 8-bit and 16-bit images are read")
            turned = found.tags.valueof(_ORIENTATION, 1) >= 5
            # White or black is zero; a second sample is alpha.
            is_grey = int(found.photometric) in {0, 1} and found.samplesperpixel <= 2
            shape = (width, height) if turned else (height, width)
            dtype = np.dtype(np.uint8 if bits <= 8 else np.uint16)
            count = len(self._tiff.pages)
            return ImageHeader("tiff", shape if is_grey else (*shape, 3), dtype, count)

    def read(self, page: int) -> Image:
        """Decode a page: grey, or blue, green and red."""
        header = self.header(page)
        with _as_damage():
            image = self._by_tifffile(page, header)
            if image is None and len(header.shape) == 3 and header.dtype == np.uint16:
                image = _by_opencv(self._given, header, page)
            elif image is None:
                image = self._by_pillow(page, header)
        return image

    def _by_tifffile(self, page: int, header: ImageHeader) -> Image | None:
        """Decode a page whose values are its pixels; None if they are not, or it cannot do that."""
        found = self._tiff.pages[page]
        is_plain = found.bitspersample in {8, 16} and found.tags.valueof(_ORIENTATION, 1) == 1
        kinds = {(1, 1), (1, 2), (2, 3), (2, 4)}  # photometric interpretation and samples
        if not is_plain or (int(found.photometric), found.samplesperpixel) not in kinds:
            return None
        try:
            image: NDArray[Any] = found.asarray()
        except ImportError:  # Zstandard, which Python has from 3.14 on
            return None
        except ValueError as error:
            if "imagecodecs" in str(error):
                return None
            raise
        if image.shape[-2:] == header.shape[:2] and image.ndim == 3:  # plane after plane
            image = np.moveaxis(image, 0, -1)
        if image.shape[:2] != header.shape[:2]:
            raise ImageError("the file is cut off or damaged")
        if len(header.shape) == 2:
            return np.ascontiguousarray(image if image.ndim == 2 else image[..., 0], header.dtype)
        colors = np.ascontiguousarray(image[..., :3], header.dtype)
        return cv2.cvtColor(colors, cv2.COLOR_RGB2BGR).astype(header.dtype, copy=False)

    def _by_pillow(self, page: int, header: ImageHeader) -> Image:
        """Decode a page of any kind, as it is to be seen; Pillow shortens colours of 16 bits."""
        import PIL.TiffImagePlugin  # noqa: F401 - or all plugins would be imported

        with _any_size(), libraries_quiet():
            if self._pillow is None:
                self._pillow = _open_by_pillow(self._given, ("TIFF",))
                weakref.finalize(self, self._pillow.close)
            self._pillow.seek(page)
            if header.dtype == np.uint16:
                image = np.asarray(self._pillow)
            elif len(header.shape) == 2:
                image = np.asarray(self._pillow.convert("L"))
            else:
                image = cv2.cvtColor(np.asarray(self._pillow.convert("RGB")), cv2.COLOR_RGB2BGR)
        if image.shape != header.shape:
            raise ImageError("the file is cut off or damaged")
        return image.astype(header.dtype, copy=False)


def is_image_name(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is an image by its name."""
    return Path(path).suffix.lower() in IMAGE_SUFFIXES


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
    """Encode a picture, grey or blue, green and red; ValueError if the format does not take it."""
    try:
        done, data = cv2.imencode(suffix, image)
    except cv2.error:
        done = False
    if not done:
        raise ValueError(f"no {suffix} can be made of {image.dtype} {image.shape}")
    return data.tobytes()


def write_image(path: str | os.PathLike[str], image: Image) -> None:
    """Write a picture, as the name ends; OutputError, or ValueError as of `encode_image`."""
    data = encode_image(image, Path(path).suffix)
    with writing(path, "free some space or choose another folder"):
        Path(path).write_bytes(data)
