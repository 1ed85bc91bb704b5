"""Read NumPy's .npy files without trusting what they say of themselves.

NumPy parses the header of an array as Python text and gives whatever memory it asks for; a file
of a megabyte may ask for a gigabyte, or hold a header that no error of NumPy's is made for. Here
the header is read alone and checked, and the values come as they are needed.
"""

from __future__ import annotations

import io
import lzma
import math
import re
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

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
