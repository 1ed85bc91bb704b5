"""Read NumPy's files, .npy and .npz, without trusting what they say of themselves.

NumPy parses the header of an array as Python text and gives whatever memory it asks for; a file
of a megabyte may ask for a gigabyte, or hold a header that no error of NumPy's is made for. Here
the header is read alone and checked, and the values come as they are needed.
"""

from __future__ import annotations

import io
import lzma
import math
import re
import shutil
import struct
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError

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
_BUFFER = 1 << 20
_SUFFIX = ".npy"


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
    with _as_damage():
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
    with _as_damage():
        if not header.nbytes:
            return np.empty(header.shape, header.dtype, header.order)
        return np.memmap(path, header.dtype, "r", header.offset, header.shape, header.order)


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
        with _as_damage():
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
        with self.open(name) as (header, file), _as_damage():
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
        with _as_damage():
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
        with self._path.open("rb") as file, _as_damage():
            file.seek(info.header_offset)
            _, name, extra = struct.unpack("<26sHH", file.read(30))
            return info.header_offset + 30 + int(name) + int(extra)

    def _info(self, name: str) -> zipfile.ZipInfo:
        with _as_damage():
            return self._zip.getinfo(name if name in self._zip.namelist() else name + _SUFFIX)

    @contextmanager
    def open(self, name: str) -> Iterator[tuple[ArrayHeader, IO[bytes]]]:
        """Open an array at its first value; errors as of `header`."""
        info = self._info(name)
        with _as_damage():
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
    with _as_damage():
        rest = values.data
        while rest:
            # Whatever the size of a read, the decompressor's own buffers grow with it.
            data = file.read(min(len(rest), _BUFFER))
            if not data:
                raise ArrayFileError("its values are cut off")
            rest[: len(data)] = data
            rest = rest[len(data) :]


@contextmanager
def _as_damage() -> Iterator[None]:
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
