"""Read NumPy's .npz archives without trusting what they say of themselves.

Each array is checked by its header before anything is unpacked, and its values come piece by piece.
"""

from __future__ import annotations

import shutil
import struct
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError
from bgsub.video.npy import ArrayFileError, ArrayHeader, as_damage, read_header

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
