"""Frames from arrays in memory and from .npy and .npz files."""

from __future__ import annotations

import math
import mmap
import shutil
import tempfile
import warnings
import zipfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError
from bgsub.video.base import IndexedSource, Item, Options
from bgsub.video.geometry import Picture


class ArrayFileError(ValueError):
    """A file holds no array that can be read; the text says why."""


@dataclass(frozen=True)
class ArrayHeader:
    """Shape, type and order of the values of an array file; never of Python objects."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    order: Literal["C", "F"]

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
    with as_damage(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of headers that Python 2 wrote
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
        elif version in {(2, 0), (3, 0)}:
            shape, is_fortran, dtype = np.lib.format.read_array_header_2_0(file)
        else:
            raise ArrayFileError(f"its format {version[0]}.{version[1]} is unknown")
    if dtype.hasobject:
        raise ArrayFileError("it holds Python objects, which are never loaded")
    if not all(0 <= side <= np.iinfo(np.int64).max for side in shape):
        raise ArrayFileError(f"its shape is {shape}")
    return ArrayHeader(shape, dtype, "F" if is_fortran else "C")


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
        offset = file.tell()
    held = path.stat().st_size - offset
    if held < header.nbytes:
        raise ArrayFileError(f"it is cut off: {header.nbytes} bytes are announced, {held} there")
    with as_damage():
        if not header.nbytes:
            return np.empty(header.shape, header.dtype, header.order)
        return np.memmap(path, header.dtype, "r", offset, header.shape, header.order)


@contextmanager
def as_damage() -> Iterator[None]:
    """Raise `ArrayFileError` for whatever NumPy and decompressors raise on damaged files."""
    try:
        yield
    except ArrayFileError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        text = " ".join(str(error).split())[:80] or type(error).__name__
        raise ArrayFileError(f"it is damaged, or no array ({text})") from error


class ArrayArchive(Mapping[str, NDArray[Any]]):
    """The arrays of a .npz file by name, each read when it is asked for. A context manager.

    Its methods raise `ArrayFileError` for what is damaged, or no array.

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
        self.names = [name.removesuffix(".npy") for name in self._zip.namelist()]

    def __enter__(self) -> ArrayArchive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Read an array as a whole; KeyError if there is none."""
        if name not in self.names:
            raise KeyError(name)
        with self.open(name) as (_, file), as_damage(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of headers that Python 2 wrote
            file.seek(0)
            return np.asarray(np.lib.format.read_array(file, allow_pickle=False))

    def header(self, name: str) -> ArrayHeader:
        """Read the header of an array, and hold it against the size that it has."""
        with self.open(name) as (header, _):
            return header

    def map(self, name: str) -> NDArray[Any]:
        """Unpack an array into a temporary file and map that.

        Raises OSError if it cannot be unpacked, and InputError if there is no room for it.
        """
        with self.open(name) as (header, file):
            if not header.nbytes:
                return np.empty(header.shape, header.dtype, header.order)
            folder = tempfile.gettempdir()
            free = shutil.disk_usage(folder).free
            if header.nbytes > 0.95 * free:
                sizes = f"{header.nbytes / 1e9:.3g} GB, and {folder} has {free / 1e9:.3g} GB free"
                message = f"{self._path.name}: its frames take {sizes} to unpack them"
                advice = "set TMPDIR to a folder with more, or make it a .npy file"
                raise InputError(f"{message}; {advice}")
            # Without a name wherever the system allows it: nothing is left of it.
            with tempfile.TemporaryFile(prefix="bgsub-array-") as unpacked, as_damage():
                shutil.copyfileobj(file, unpacked, 1 << 20)
                unpacked.flush()
                return np.memmap(unpacked, header.dtype, "r", 0, header.shape, header.order)

    @contextmanager
    def open(self, name: str) -> Iterator[tuple[ArrayHeader, IO[bytes]]]:
        """Open an array at its first value."""
        with as_damage():
            info = self._zip.getinfo(name if name in self._zip.namelist() else f"{name}.npy")
            file = self._zip.open(info)
        with file:
            header = read_header(file)
            values = info.file_size - file.tell()
            if values != header.nbytes:
                said = f"{header.nbytes} bytes are announced, {values} there"
                raise ArrayFileError(f"its {name} is damaged: {said}")
            yield header, file


ARRAY_SUFFIXES = frozenset({".npy", ".npz"})
EXPECTED = "expected uint8 or uint16 of shape (n, h, w) or, in RGB, (n, h, w, 3)"


class FrameArray(Protocol):
    """An ndarray of frames, or what reads them as they are asked for."""

    @property
    def shape(self) -> tuple[int, ...]: ...  # noqa: D102
    @property
    def dtype(self) -> np.dtype[Any]: ...  # noqa: D102
    @property
    def size(self) -> int: ...  # noqa: D102

    def __getitem__(self, index: int, /) -> Any: ...


def holds_frames(frames: FrameArray) -> bool:
    """Return whether an array has the type of frames and the shape (n, h, w[, 1 or 3])."""
    has_type = frames.dtype.newbyteorder("=") in {np.dtype(np.uint8), np.dtype(np.uint16)}
    shape = frames.shape
    return has_type and (len(shape) == 3 or (len(shape) == 4 and shape[3] in {1, 3}))


def open_array(path: Path, name: str, given: str, options: Options) -> ArraySource:
    """Open the frames of a .npy or .npz file, mapped into memory; never anything pickled.

    In a .npz file they are its only array, or the one called ``frames``. Raises InputError where
    they cannot be read, EmptySelectionError where no frame is selected.
    """
    try:
        if path.suffix.lower() == ".npy":
            frames = map_array(path)
        else:
            with ArrayArchive(path) as archive:
                names = archive.names
                if "frames" not in names and len(names) != 1:
                    found = ", ".join(names[:9]) or "nothing"
                    message = f"{path.name}: holds {found}"
                    advice = 'save the frames alone, or under the name "frames"'
                    raise InputError(f"{message}; {advice}")
                frames = archive.map("frames" if "frames" in names else names[0])
    except (OSError, ArrayFileError) as error:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        message = f"{path.name}: is not an array file that can be read: {reason}"
        raise InputError(f"{message}; save it again with numpy.save or numpy.savez") from error
    return ArraySource(name, given, frames, options)


class ArraySource(IndexedSource):
    """Frames of uint8 or uint16, shape (n, h, w), (n, h, w, 1) or, in RGB, (n, h, w, 3).

    Not copied.
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
        """Return a frame as it is in the array, (h, w) or (h, w, 3), counted from 0."""
        frame = np.ascontiguousarray(self._frames[index])
        return frame[:, :, 0] if frame.ndim == 3 and frame.shape[2] == 1 else frame
