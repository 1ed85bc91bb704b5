"""Frames from arrays in memory and from .npy and .npz files."""

from __future__ import annotations

import io
import lzma
import math
import mmap
import re
import shutil
import struct
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal, NoReturn, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError
from bgsub.video.base import IndexedSource, Item, Options
from bgsub.video.geometry import Picture

# What NumPy and the decompressors raise on files that are damaged, or no arrays at all.
_DAMAGE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    KeyError,
    IndexError,
    NotImplementedError,
    RecursionError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    lzma.LZMAError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
_LONGEST_HEADER = 10_000


class ArrayFileError(ValueError):
    """A file holds no array that can be read; the text says why."""


@dataclass(frozen=True)
class ArrayHeader:
    """What an array file says before its values.

    Attributes
    ----------
    shape : tuple of int
        Each at least 0.
    dtype : dtype
        Plain numbers, booleans, texts or records of them; never objects.
    fortran_order : bool
        Whether the first index runs fastest.
    offset : int
        Bytes before the values.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran_order: bool
    offset: int

    @property
    def order(self) -> Literal["C", "F"]:
        """The order of the values in NumPy's terms."""
        return "F" if self.fortran_order else "C"

    @property
    def nbytes(self) -> int:
        """Bytes of the values."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(file: IO[bytes]) -> ArrayHeader:
    """Read the header of an array, up to its first value.

    Raises
    ------
    ArrayFileError
        If it is none, or one of objects, which only pickle could read.
    """
    with as_damage():
        version = np.lib.format.read_magic(file)
        # The length comes first: no more is read than it says, and no more parsed than is sane.
        size = 2 if version == (1, 0) else 4
        prefix = file.read(size)
        length = int.from_bytes(prefix, "little")
        if len(prefix) < size or length > _LONGEST_HEADER:
            raise ArrayFileError("its header is cut off or too long")
        # Python 2 wrote long numbers as 3L, of which NumPy warns.
        header = re.sub(rb"(?<=\d)L(?=[,)])", b" ", file.read(length))
        text = io.BytesIO(prefix + header)
        if version == (1, 0):
            shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(text)
        elif version in {(2, 0), (3, 0)}:
            shape, fortran_order, dtype = np.lib.format.read_array_header_2_0(text)
        else:
            raise ArrayFileError(f"its format {version[0]}.{version[1]} is unknown")
        if dtype.hasobject:
            raise ArrayFileError("it holds Python objects, which are never loaded")
        if not all(0 <= side <= np.iinfo(np.int64).max for side in shape):
            raise ArrayFileError(f"its shape is {shape}")
        # Python keeps a shape as it is written: True is no number of rows.
        shape = tuple(int(side) for side in shape)
        return ArrayHeader(shape, dtype, fortran_order, 6 + 2 + size + length)


def map_array(path: Path) -> NDArray[Any]:
    """Map the values of a .npy file, without reading them.

    Raises
    ------
    ArrayFileError
        If it holds no array, or fewer values than it says.
    OSError
        If it cannot be opened.
    """
    with path.open("rb") as file:
        header = read_header(file)
    held = path.stat().st_size - header.offset
    if held < header.nbytes:
        raise ArrayFileError(f"it is cut off: {header.nbytes} bytes are announced, {held} there")
    with as_damage():
        if not header.nbytes:
            return np.empty(header.shape, header.dtype, header.order)
        return np.memmap(path, header.dtype, "r", header.offset, header.shape, header.order)


@contextmanager
def as_damage() -> Iterator[None]:
    """Raise `ArrayFileError` for whatever NumPy and decompressors raise on damaged files."""
    try:
        yield
    except ArrayFileError:
        raise
    except MemoryError as error:  # of the parser, for a header of brackets; or of a huge size
        _damaged(error)
    except _DAMAGE as error:
        _damaged(error)
    except OSError as error:
        if error.errno is not None:
            raise
        _damaged(error)  # bz2 says so that its data are damaged


def _damaged(error: BaseException) -> NoReturn:
    text = " ".join(str(error).split())[:80]
    raise ArrayFileError(f"it is damaged, or no array ({text or type(error).__name__})") from error


_BUFFER = 1 << 20
_SUFFIX = ".npy"


class ArrayArchive(Mapping[str, NDArray[Any]]):
    """The arrays of a .npz file by name, each read when it is asked for. A context manager.

    Parameters
    ----------
    path : Path

    Attributes
    ----------
    names : list of str
        Of the arrays, without the suffix that they have as files.

    Raises
    ------
    ArrayFileError
        If it is no archive.
    OSError
        If it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        with as_damage():
            self._zip = zipfile.ZipFile(path)
        self._path = path
        self.names = [name.removesuffix(_SUFFIX) for name in self._zip.namelist()]

    def __enter__(self) -> ArrayArchive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Read an array as a whole; KeyError if there is none, other errors as of `header`."""
        if name not in self.names:
            raise KeyError(name)
        with self.open(name) as (header, file), as_damage():
            values = np.empty(header.nbytes, np.uint8)
            _fill(file, values)
            return np.ndarray(header.shape, header.dtype, values, order=header.order)

    def header(self, name: str) -> ArrayHeader:
        """Read what a member says of itself, and hold it against the size that it has.

        Raises
        ------
        ArrayFileError
            If there is no such member, it is no array, or it is damaged.
        """
        with self.open(name) as (header, _):
            return header

    def map(self, name: str) -> NDArray[Any]:
        """Map an array in the archive or, if it is compressed, unpacked in a temporary file.

        It is read to its end at once, which shows all damage; errors as of `header`, OSError if it
        cannot be unpacked, and InputError if there is no room for it.
        """
        with self.open(name) as (header, file):
            if not header.nbytes:
                return np.empty(header.shape, header.dtype, header.order)
            info = self._info(name)
            if info.compress_type == zipfile.ZIP_STORED:
                self._copy(header, file, None)
                start = self._start(info) + header.offset
                return np.memmap(self._path, header.dtype, "r", start, header.shape, header.order)
            self._check_room(header.nbytes)
            # Without a name wherever the system allows it: nothing is left of it.
            with tempfile.TemporaryFile(prefix="bgsub-array-") as unpacked:
                self._copy(header, file, unpacked)
                return np.memmap(unpacked, header.dtype, "r", 0, header.shape, header.order)

    def _copy(self, header: ArrayHeader, file: IO[bytes], target: IO[bytes] | None) -> None:
        buffer = np.empty(_BUFFER, np.uint8)
        for start in range(0, header.nbytes, _BUFFER):
            part = buffer[: header.nbytes - start]
            _fill(file, part)
            if target is not None:
                target.write(part.data)
        with as_damage():
            file.read(1)  # the checksum is looked at behind the last byte
        if target is not None:
            target.flush()

    def _check_room(self, needed: int) -> None:
        folder = tempfile.gettempdir()
        free = shutil.disk_usage(folder).free
        if needed > 0.95 * free:
            sizes = f"{needed / 1e9:.3g} GB, and {folder} has {free / 1e9:.3g} GB free"
            message = f"{self._path.name}: its frames take {sizes} to unpack them"
            raise InputError(f"{message}; set TMPDIR to a folder with more, or make it a .npy file")

    def _start(self, info: zipfile.ZipInfo) -> int:
        """Find the first byte of a member that is not compressed, behind its own header."""
        with self._path.open("rb") as file, as_damage():
            file.seek(info.header_offset)
            _, name, extra = struct.unpack("<26sHH", file.read(30))
            return info.header_offset + 30 + int(name) + int(extra)

    def _info(self, name: str) -> zipfile.ZipInfo:
        with as_damage():
            return self._zip.getinfo(name if name in self._zip.namelist() else name + _SUFFIX)

    @contextmanager
    def open(self, name: str) -> Iterator[tuple[ArrayHeader, IO[bytes]]]:
        """Open an array at its first value; errors as of `header`."""
        info = self._info(name)
        with as_damage():
            file = self._zip.open(info)
        with file:
            header = read_header(file)
            values = info.file_size - header.offset
            if values != header.nbytes:
                said = f"{header.nbytes} bytes are announced, {values} there"
                raise ArrayFileError(f"its {name} is damaged: {said}")
            yield header, file


def _fill(file: IO[bytes], values: NDArray[np.uint8]) -> None:
    """Read exactly as many bytes as an array has.

    Raises
    ------
    ArrayFileError
        If there are fewer, or they are damaged.
    """
    with as_damage():
        rest = values.data
        while rest:
            # Whatever the size of a read, the decompressor's own buffers grow with it.
            data = file.read(min(len(rest), _BUFFER))
            if not data:
                raise ArrayFileError("its values are cut off")
            rest[: len(data)] = data
            rest = rest[len(data) :]


ARRAY_SUFFIXES = frozenset({".npy", ".npz"})
EXPECTED = "expected uint8 or uint16 of shape (n, h, w) or, in RGB, (n, h, w, 3)"


class FrameArray(Protocol):
    """What is needed of an array of frames: an ndarray, or one that reads values as they come."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Frames, height, width, and channels of those in colour."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        ...

    @property
    def size(self) -> int:
        """Number of the values."""
        ...

    def __getitem__(self, index: int, /) -> Any: ...


def holds_frames(frames: FrameArray) -> bool:
    """Say whether an array has the type and the shape of frames, (n, h, w) or (n, h, w, 1 or 3)."""
    has_type = frames.dtype.newbyteorder("=") in {np.dtype(np.uint8), np.dtype(np.uint16)}
    shape = frames.shape
    return has_type and (len(shape) == 3 or (len(shape) == 4 and shape[3] in {1, 3}))


def open_array(path: Path, name: str, given: str, options: Options) -> ArraySource:
    """Open the frames of a .npy or .npz file; never anything pickled.

    Files are mapped, and what is compressed is unpacked into a temporary file and mapped there, so
    that the frames may take more than the memory. In a .npz file they are its only array, or the
    one called ``frames``.

    Raises
    ------
    InputError
        If the file cannot be read or holds no such array, or there is no room to unpack it.
    EmptySelectionError
        If no frame is selected.
    """
    try:
        if path.suffix.lower() == ".npy":
            frames = map_array(path)
        else:
            with ArrayArchive(path) as archive:
                frames = archive.map(_frames_member(path, archive))
    except (OSError, ArrayFileError) as error:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        message = f"{path.name}: is not an array file that can be read: {reason}"
        raise InputError(f"{message}; save it again with numpy.save or numpy.savez") from error
    return ArraySource(name, given, frames, options)


def _frames_member(path: Path, archive: ArrayArchive) -> str:
    names = archive.names
    if "frames" in names or len(names) == 1:
        return "frames" if "frames" in names else names[0]
    found = ", ".join(names[:9]) or "nothing"
    message = f"{path.name}: holds {found}"
    raise InputError(f'{message}; save the frames alone, or under the name "frames"')


class ArraySource(IndexedSource):
    """An array as frames.

    Parameters
    ----------
    name, path : str
    frames : ndarray of uint8 or uint16, shape (n, h, w), (n, h, w, 1) or (n, h, w, 3)
        Grey, or red, green and blue. It is not copied.
    options : Options
    codec : str
        What the array was read from.

    Raises
    ------
    InputError
        If the array has another shape or dtype, or no pixels.
    EmptySelectionError
        If no frame is selected.
    """

    kind = "array"

    def __init__(
        self,
        name: str,
        path: str,
        frames: FrameArray,
        options: Options,
        *,
        codec: str = "numpy",
    ) -> None:
        super().__init__(name, path, options)
        if not holds_frames(frames):
            raise InputError(f"{name}: is {frames.dtype} of shape {frames.shape}; {EXPECTED}")
        if frames.size == 0:
            raise InputError(f"{name}: is empty, of shape {frames.shape}; {EXPECTED}")
        is_color = len(frames.shape) == 4 and frames.shape[3] == 3
        self._frames = frames
        self._mapping = getattr(frames, "_mmap", None)
        count = frames.shape[0]
        self.input_frames = count
        self.duration_s = float(count / self._per_second)
        self.codec = codec
        self.pixel_format = f"{'rgb' if is_color else 'gray'}{8 * frames.dtype.itemsize}"
        if self.frames_estimate == 0:
            raise self._nothing_selected(count, float((count - 1) / self._per_second))
        self._plan((frames.shape[2], frames.shape[1]), "bgr" if is_color else "gray")

    def _items(self, notes: list[str]) -> Generator[Item, None, None]:  # noqa: ARG002 - the base's
        for index in range(self._frames.shape[0]):
            load = partial(self._picture, index)
            yield Item(index + 1, float(index / self._per_second), load)

    def _picture(self, index: int) -> Picture:
        # Pages of a mapped file that were read count as memory of this process until then.
        if self._mapping is not None and hasattr(mmap, "MADV_DONTNEED"):
            self._mapping.madvise(mmap.MADV_DONTNEED)
        image = self._to_8_bit(self.values(index))
        if image.ndim == 3:
            image = cv2.cvtColor(image, cv2.COLOR_RGB2BGR).astype(np.uint8, copy=False)
        return Picture((image,))

    def values(self, index: int) -> NDArray[Any]:
        """Give a frame of the input as it is in the array, (h, w) or (h, w, 3), counted from 0."""
        frame = np.ascontiguousarray(self._frames[index])
        return frame[:, :, 0] if frame.ndim == 3 and frame.shape[2] == 1 else frame
