"""Frames from arrays in memory, from .npy and .npz files and from Zarr stores."""

from __future__ import annotations

import math
import mmap
import shutil
import tempfile
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError, UsageError, is_or_are
from bgsub.version import how_to_install
from bgsub.video.base import BadPicture, IndexedSource, Options
from bgsub.video.geometry import Picture
from bgsub.video.images import is_image_name

ARRAY_SUFFIXES = frozenset({".npy", ".npz"})
_EXPECTED = "expected uint8 or uint16 of shape (n, h, w) or, in RGB, (n, h, w, 3)"
_LARGEST_CHUNK = 1 << 30
_BLOCK_BYTES = 128 << 20
_LIBRARY_BYTES = 24 << 20
_SPARSE = 1000
# A store may name any codec that is installed, and some of those run code (pickle).
_CODECS = frozenset(
    {"blosc", "bytes", "crc32c", "delta", "gzip", "lz4", "shuffle", "transpose", "zlib", "zstd"}
)


class ArrayFileError(ValueError):
    """A file holds no array that can be read; the text says why."""


@contextmanager
def _as_damage() -> Iterator[None]:
    """Raise `ArrayFileError` for whatever NumPy and decompressors raise on damaged files."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of headers that Python 2 wrote
            yield
    except (ArrayFileError, InputError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ArrayFileError(f"it is damaged, or no array ({_shortly(error)})") from error


def _shortly(error: Exception) -> str:
    """Return what an error says, in some words of one line."""
    return " ".join(str(error).split())[:120] or type(error).__name__


def map_array(path: Path) -> NDArray[Any]:
    """Map the values of a .npy file, without reading them; ArrayFileError, or OSError."""
    with _as_damage():
        return np.lib.format.open_memmap(path, mode="r")


class ArrayHeader(NamedTuple):
    """Shape, type and order of the values of an array file."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    order: Literal["C", "F"]

    @property
    def nbytes(self) -> int:
        """Bytes of the values."""
        return math.prod(self.shape) * self.dtype.itemsize


class ArrayArchive(Mapping[str, NDArray[Any]], AbstractContextManager["ArrayArchive"]):
    """The arrays of a .npz file by name, each read when it is asked for.

    ArrayFileError for what is damaged, no array, or of Python objects, which are never loaded.
    """

    def __init__(self, path: Path) -> None:
        with _as_damage():
            self._zip = zipfile.ZipFile(path)
        self._path = path
        self.names = [name.removesuffix(".npy") for name in self._zip.namelist()]

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
        with self._opened(name) as (_, file):
            file.seek(0)
            return np.asarray(np.lib.format.read_array(file, allow_pickle=False))

    def header(self, name: str) -> ArrayHeader:
        """Read the header of an array, and hold it against the size that it has."""
        with self._opened(name) as (header, _):
            return header

    def map(self, name: str) -> NDArray[Any]:
        """Unpack an array into a temporary file and map that; InputError if there is no room."""
        with self._opened(name) as (header, file):
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
            with tempfile.TemporaryFile(prefix="bgsub-array-") as unpacked:
                shutil.copyfileobj(file, unpacked, 1 << 20)
                unpacked.flush()
                return np.memmap(unpacked, header.dtype, "r", 0, header.shape, header.order)

    @contextmanager
    def _opened(self, name: str) -> Iterator[tuple[ArrayHeader, IO[bytes]]]:
        """Open an array at its first value."""
        with _as_damage():
            info = self._zip.getinfo(name if name in self._zip.namelist() else f"{name}.npy")
            with self._zip.open(info) as file:
                formats = np.lib.format
                is_first = formats.read_magic(file) == (1, 0)
                read = formats.read_array_header_1_0 if is_first else formats.read_array_header_2_0
                shape, is_fortran, dtype = read(file)
                header = ArrayHeader(shape, dtype, "F" if is_fortran else "C")
                values = info.file_size - file.tell()
                if dtype.hasobject:
                    raise ArrayFileError("it holds Python objects, which are never loaded")
                if values != header.nbytes:
                    said = f"{header.nbytes} bytes are announced, {values} there"
                    raise ArrayFileError(f"its {name} is damaged: {said}")
                yield header, file


def open_array(path: Path, name: str, given: str, options: Options) -> ArraySource:
    """Open the frames of a .npy file, or the only array or ``frames`` of a .npz file."""
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


def check_zarr(what: str) -> None:
    """Raise UsageError if the library zarr is not installed, which `what` needs."""
    if find_spec("zarr") is None:
        message = f"{what}: needs the library zarr"
        raise UsageError(f"{message}; {how_to_install('zarr')} installs it")


def is_zarr(folder: Path) -> bool:
    """Return whether a folder is a Zarr store or has the name of one, and holds no images."""
    try:
        is_meant = folder.suffix.lower() == ".zarr" or _is_store(folder)
        return is_meant and not any(map(is_image_name, folder.iterdir()))
    except OSError:  # which is said where its images are looked for
        return False


def _is_store(folder: Path) -> bool:
    return any((folder / name).is_file() for name in (".zarray", ".zgroup", "zarr.json"))


def open_zarr(path: Path, name: str, given: str, options: Options) -> ArraySource:
    """Open the frames of a Zarr array, or of a group with one array or one called ``frames``."""
    check_zarr(name)
    try:
        array = _array_of_frames(path, name)
        _check_frames(array, name)
        frames = ZarrFrames(array, path / array.path)
    except InputError:
        raise
    # Neither the library nor its codecs have errors of their own for what makes no sense.
    except Exception as error:
        message = f"{name}: is no Zarr array that can be read: {_shortly(error)}"
        raise InputError(f"{message}; write it again with zarr or dask") from error
    return ArraySource(name, given, frames, options)


def _array_of_frames(path: Path, name: str) -> Any:
    import zarr

    if not _is_store(path):
        raise ArrayFileError("it has no .zarray and no zarr.json")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other files in the folder
        found = zarr.open(store=str(path), mode="r")
        if isinstance(found, zarr.Array):
            return found
        names = sorted(found.array_keys())
        if "frames" in names or len(names) == 1:
            return found["frames" if "frames" in names else names[0]]
    listed = ", ".join(names[:9]) or "no array"
    advice = f"name one, as {path / names[0]}" if names else "give an array of frames"
    raise InputError(f"{name}: is a group that holds {listed}; {advice}")


class ZarrFrames:
    """The frames of a Zarr array in a folder, of which as many as one chunk holds are read at once.

    Reading takes `buffer_bytes` at most, those of the library among them. Of `expected` chunks
    `missing` are not stored: their pixels are `fill`.
    """

    def __init__(self, array: Any, folder: Path) -> None:
        self._array = array
        self.shape: tuple[int, ...] = array.shape
        self.dtype: np.dtype[Any] = array.dtype
        self.size = math.prod(self.shape)
        for codec in (*array.filters, *array.compressors, *getattr(array.metadata, "codecs", ())):
            kind = getattr(codec, "codec_id", None) or codec.to_dict()["name"]
            if kind == "sharding_indexed":
                raise ArrayFileError("it is stored in shards; copy it into one without")
            if kind not in _CODECS:
                raise ArrayFileError(f"it is packed with {kind!r}; known are {sorted(_CODECS)}")
        chunk_bytes = math.prod(array.chunks) * self.dtype.itemsize
        if chunk_bytes > _LARGEST_CHUNK:
            size = f"{chunk_bytes / 1e9:.3g} GB"
            raise ArrayFileError(f"a chunk of it takes {size}; copy it into one of smaller chunks")
        frame_bytes = max(1, math.prod(self.shape[1:]) * self.dtype.itemsize)
        self._step = max(1, min(array.chunks[0], _BLOCK_BYTES // frame_bytes))
        self.buffer_bytes = _LIBRARY_BYTES + self._step * frame_bytes + 2 * chunk_bytes
        self.fill = int(array.fill_value or 0)
        self.expected = array.nchunks
        # zarr would go through all chunks that there might be.
        files = (file for file in folder.rglob("*") if file.is_file() and file.name != "zarr.json")
        stored = sum(not file.name.startswith(".") for file in files)
        self.missing = max(0, self.expected - stored)
        if (stored + 1) * _SPARSE < self.expected:
            raise ArrayFileError(f"of {self.expected} chunks {stored} are stored")
        self._first, self._block = -1, np.empty(0, self.dtype)

    def __getitem__(self, index: int) -> NDArray[Any]:
        """Read a frame; BadPicture if one of its chunks is damaged."""
        import zarr

        chunk = self._array.chunks[0]
        begin = index - index % chunk
        first = begin + (index - begin) // self._step * self._step
        if first != self._first:
            self._first = -1
            try:
                with zarr.config.set({"async.concurrency": 1}):
                    stop = min(first + self._step, begin + chunk)
                    self._block = np.asarray(self._array[first:stop])
            except Exception as error:  # each codec has errors of its own
                raise BadPicture(f"a chunk is damaged ({_shortly(error)})") from error
            self._first = first
        frame: NDArray[Any] = self._block[index - first]
        return frame


def _check_frames(frames: Any, name: str) -> None:
    """Raise InputError unless an array has the type of frames and the shape (n, h, w[, 1 or 3])."""
    has_type = frames.dtype.newbyteorder("=") in {np.dtype(np.uint8), np.dtype(np.uint16)}
    shape = frames.shape
    if not has_type or not (len(shape) == 3 or (len(shape) == 4 and shape[3] in {1, 3})):
        raise InputError(f"{name}: is {frames.dtype} of shape {shape}; {_EXPECTED}")


class ArraySource(IndexedSource):
    """Frames of uint8 or uint16, (n, h, w), (n, h, w, 1) or, in RGB, (n, h, w, 3); not copied."""

    kind = "array"

    def __init__(
        self, name: str, path: str, frames: NDArray[Any] | ZarrFrames, options: Options
    ) -> None:
        super().__init__(name, path, options)
        _check_frames(frames, name)
        if frames.size == 0:
            raise InputError(f"{name}: is empty, of shape {frames.shape}; {_EXPECTED}")
        self._frames, self.codec = frames, "zarr" if isinstance(frames, ZarrFrames) else "numpy"
        self._mapping = getattr(frames, "_mmap", None)
        self.buffer_bytes = getattr(frames, "buffer_bytes", 0)
        shape = frames.shape[1:] if frames.shape[3:] == (3,) else frames.shape[1:3]
        self._announce(frames.shape[0], shape, frames.dtype)
        if isinstance(frames, ZarrFrames) and frames.missing:
            self._opening_warnings.append(
                f"{frames.missing} of {frames.expected} chunks {is_or_are(frames.missing)} not "
                f"stored; the pixels there are {frames.fill}, as Zarr has it"
            )

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
