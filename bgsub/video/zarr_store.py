"""Frames from Zarr arrays, a few chunks at a time."""

from __future__ import annotations

import itertools
import json
import math
import os
import stat
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError, UsageError
from bgsub.version import how_to_install
from bgsub.video.arrays import EXPECTED, ArraySource, holds_frames
from bgsub.video.base import BadPicture, Options
from bgsub.video.images import is_image_name
from bgsub.wording import is_or_are

_LARGEST_CHUNK = 1 << 30
"""Bytes of a chunk that is read; frames are to be had one by one."""

_LARGEST_HEADER = 1 << 20
_PIECE = 1 << 20
_ZSTD_BLOCK = 1 << 17

_COMPRESSORS = frozenset({"blosc", "zstd", "lz4", "zlib", "gzip"})
_FILTERS = frozenset({"shuffle", "delta"})
_CODECS = frozenset({"bytes", "transpose", "crc32c", "blosc", "zstd", "gzip"})

V2_ARRAY, V2_GROUP, V3_NODE = ".zarray", ".zgroup", "zarr.json"


class StoreError(ValueError):
    """A store, or one of its chunks, cannot be read; the text says why."""


def check_zarr(what: str) -> None:
    """Raise UsageError if the library zarr is not installed, which `what` needs."""
    if find_spec("zarr") is None:
        message = f"{what}: needs the library zarr"
        raise UsageError(f"{message}; {how_to_install('zarr')} installs it")


@dataclass(frozen=True)
class StoreHeader:
    """What a store says of its array.

    Attributes
    ----------
    version : int
        Of the Zarr format, 2 or 3.
    shape, chunks : tuple of int
    dtype : dtype
    compressor : str
        One of those that are known here; empty for none.
    """

    version: Literal[2, 3]
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: np.dtype[Any]
    compressor: str

    @property
    def chunk_bytes(self) -> int:
        """Bytes of a chunk that is unpacked."""
        return math.prod(self.chunks) * self.dtype.itemsize


def is_store(folder: Path) -> bool:
    """Say whether a folder is a Zarr array or group."""
    return any((folder / name).is_file() for name in (V2_ARRAY, V2_GROUP, V3_NODE))


def arrays_of(folder: Path) -> list[str] | None:
    """List the arrays in a group by name; None if the folder is an array itself.

    Raises
    ------
    StoreError
        If the folder says neither.
    OSError
        If it cannot be read.
    """
    if (folder / V2_ARRAY).is_file():
        return None
    if (folder / V3_NODE).is_file() and _read(folder / V3_NODE).get("node_type") != "group":
        return None
    if not is_store(folder):
        raise StoreError(f"it has no {V2_ARRAY} and no {V3_NODE}")
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries if entry.is_dir())
    return [name for name in names if _is_array(folder / name)]


def _is_array(folder: Path) -> bool:
    if (folder / V2_ARRAY).is_file():
        return True
    return (folder / V3_NODE).is_file() and _read(folder / V3_NODE).get("node_type") == "array"


def read_header(folder: Path) -> StoreHeader:
    """Read what a store says of its array.

    Raises
    ------
    StoreError
        If it is damaged, or needs a codec that is not known here.
    OSError
        If it cannot be read.
    """
    try:
        if (folder / V2_ARRAY).is_file():
            return _version_2(_read(folder / V2_ARRAY))
        return _version_3(_read(folder / V3_NODE))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, StoreError):
            raise
        text = " ".join(str(error).split())[:80]
        raise StoreError(f"what it says of itself is damaged ({text})") from error


def _read(path: Path) -> dict[str, Any]:
    if path.stat().st_size > _LARGEST_HEADER:
        raise StoreError(f"its {path.name} is larger than any")
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise StoreError(f"its {path.name} is not JSON") from error
    if not isinstance(found, dict):
        raise StoreError(f"its {path.name} describes no array")
    return found


def _version_2(said: Mapping[str, Any]) -> StoreHeader:
    compressor = said["compressor"]
    name = "" if compressor is None else str(compressor["id"])
    _check_codecs([name] if name else [], _COMPRESSORS)
    _check_codecs([str(one["id"]) for one in said.get("filters") or []], _FILTERS)
    return _header(2, said["shape"], said["chunks"], said["dtype"], name)


def _version_3(said: Mapping[str, Any]) -> StoreHeader:
    if said["zarr_format"] != 3 or said["node_type"] != "array":
        raise StoreError(f"its {V3_NODE} describes no array")
    if said["chunk_grid"]["name"] != "regular":
        raise StoreError("its chunks have several sizes")
    names = [one if isinstance(one, str) else str(one["name"]) for one in said["codecs"]]
    if "sharding_indexed" in names:
        raise StoreError("it is stored in shards; copy it into one without")
    if said.get("storage_transformers"):
        raise StoreError("it has storage transformers, which are not known")
    _check_codecs(names, _CODECS)
    packed = [name for name in names if name in _COMPRESSORS]
    if len(packed) > 1:
        raise StoreError("it is compressed twice")
    chunks = said["chunk_grid"]["configuration"]["chunk_shape"]
    return _header(3, said["shape"], chunks, said["data_type"], "".join(packed))


def _check_codecs(names: list[str], known: frozenset[str]) -> None:
    for name in names:
        if name not in known:
            message = f"it is packed with {name[:40]!r}; known are {', '.join(sorted(known))}"
            raise StoreError(message)


def _header(
    version: Literal[2, 3], shape: Any, chunks: Any, dtype: Any, compressor: str
) -> StoreHeader:
    sides = [*shape, *chunks]
    if len(shape) != len(chunks) or not all(type(side) is int for side in sides):
        raise StoreError(f"its shape is {str(shape)[:40]}, in chunks of {str(chunks)[:40]}")
    if not all(0 <= side < 1 << 53 for side in shape) or not all(side > 0 for side in chunks):
        raise StoreError(f"its shape is {str(shape)[:40]}, in chunks of {str(chunks)[:40]}")
    if not isinstance(dtype, str):
        raise StoreError(f"its values are {str(dtype)[:40]}")
    header = StoreHeader(version, tuple(shape), tuple(chunks), np.dtype(dtype), compressor)
    if header.chunk_bytes > _LARGEST_CHUNK:
        size = f"{header.chunk_bytes / 1e9:.3g} GB"
        raise StoreError(f"a chunk of it takes {size}; copy it into one of smaller chunks")
    return header


def check_chunk(path: Path, header: StoreHeader) -> bool:
    """Check that a chunk unpacks to no more than it should; False if there is none.

    Raises
    ------
    StoreError
        If it would, or is no file.
    OSError
        If it cannot be read.

    Notes
    -----
    What is packed with zlib or gzip does not say how large it is, and is unpacked for it.
    """
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    if not stat.S_ISREG(status.st_mode):
        raise StoreError(f"{path.name} is no file")
    limit = header.chunk_bytes
    if status.st_size > limit + limit // 8 + _ZSTD_BLOCK:
        raise StoreError(f"{path.name} is larger than a chunk")
    with path.open("rb") as file:
        size = _UNPACKED[header.compressor](file, limit)
    if size > limit:
        raise StoreError(f"{path.name} unpacks to more than a chunk")
    return True


def _as_it_is(_file: IO[bytes], _limit: int) -> int:
    return 0


def _blosc(file: IO[bytes], _limit: int) -> int:
    return int(struct.unpack_from("<I", _exactly(file, 16), 4)[0])


def _lz4(file: IO[bytes], _limit: int) -> int:
    return int(struct.unpack("<I", _exactly(file, 4))[0])


def _zstd(file: IO[bytes], _limit: int) -> int:
    """Take the size that a Zstandard frame announces, or the most that its blocks can hold."""
    magic, descriptor = struct.unpack("<IB", _exactly(file, 5))
    if magic != 0xFD2FB528:
        raise StoreError("a chunk is not packed as it says")
    single, flag = bool(descriptor & 32), descriptor >> 6
    file.seek((not single) + (0, 1, 2, 4)[descriptor & 3], os.SEEK_CUR)
    length = (int(single), 2, 4, 8)[flag]
    if length:
        return int.from_bytes(_exactly(file, length), "little") + (256 if length == 2 else 0)
    # Encoders also make blocks that are not full.
    return sum(_zstd_blocks(file)) // 8


def _zstd_blocks(file: IO[bytes]) -> Iterator[int]:
    """Give the most bytes that each block of a frame unpacks to."""
    last = False
    while not last:
        word = int.from_bytes(_exactly(file, 3), "little")
        last, kind, size = bool(word & 1), word >> 1 & 3, word >> 3
        if kind == 3:
            raise StoreError("a chunk is damaged")
        file.seek(1 if kind == 1 else size, os.SEEK_CUR)
        yield _ZSTD_BLOCK if kind == 2 else size


def _zlib(file: IO[bytes], limit: int) -> int:
    """Unpack zlib or gzip, members one after the other, until it is too much."""
    total = 0
    rest = file.read(_PIECE)
    while rest:
        unpacker = zlib.decompressobj(47)
        while rest and not unpacker.eof:
            try:
                total += len(unpacker.decompress(rest, _PIECE))
            except zlib.error as error:
                if total == 0:
                    raise StoreError(f"a chunk is damaged ({error})") from error
                return total  # zeros behind the last member
            if total > limit:
                return total
            rest = unpacker.unconsumed_tail or file.read(_PIECE)
        rest = unpacker.unused_data + rest if unpacker.eof else b""
    return total


def _exactly(file: IO[bytes], size: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise StoreError("a chunk is cut off")
    return data


_UNPACKED = {
    "": _as_it_is,
    "blosc": _blosc,
    "lz4": _lz4,
    "zstd": _zstd,
    "zlib": _zlib,
    "gzip": _zlib,
}


_SUFFIX = ".zarr"

_BLOCK_BYTES = 128 << 20
_SPARSE = 1000
_LIBRARY_BYTES = 24 << 20


def is_zarr(folder: Path) -> bool:
    """Say whether a folder is meant as a Zarr store: it is one or has the name, and no images."""
    try:
        is_named = folder.suffix.lower() == _SUFFIX or is_store(folder)
        return is_named and not any(map(is_image_name, folder.iterdir()))
    except OSError:  # which is said where its images are looked for
        return False


def open_zarr(path: Path, name: str, given: str, options: Options) -> ArraySource:
    """Open the frames of a Zarr array, or of a group with one array or one called ``frames``.

    Raises
    ------
    UsageError
        If the library zarr is not installed.
    InputError
        If the store is damaged, or holds no frames.
    EmptySelectionError
        If no frame is selected.
    """
    try:
        frames = ZarrFrames(path / _frames_member(path, name))
    except (OSError, StoreError) as error:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        message = f"{name}: is no Zarr array that can be read: {reason}"
        raise InputError(f"{message}; write it again with zarr or dask") from error
    if not holds_frames(frames):
        raise InputError(f"{name}: is {frames.dtype} of shape {frames.shape}; {EXPECTED}")
    source = ArraySource(name, given, frames, options, codec="zarr")
    source.buffer_bytes = frames.buffer_bytes
    if frames.missing:
        source.note_at_opening(
            f"{frames.missing} of {frames.expected} chunks {is_or_are(frames.missing)} not stored; "
            f"the pixels there are {frames.fill}, as Zarr has it"
        )
    return source


def _frames_member(path: Path, name: str) -> str:
    """Name the array of frames within a group; empty if the store is an array itself."""
    names = arrays_of(path)
    if names is None:
        return ""
    if "frames" in names or len(names) == 1:
        return "frames" if "frames" in names else names[0]
    found = ", ".join(names[:9]) or "no array"
    advice = f"name one, as {path / names[0]}" if names else "give an array of frames"
    raise InputError(f"{name}: is a group that holds {found}; {advice}")


class ZarrFrames:
    """The values of a Zarr array by their first index; as many chunks as hold it are read at once.

    Parameters
    ----------
    folder : Path

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype
    buffer_bytes : int
        Most bytes that reading takes, those of the library among them.
    expected, missing : int
        Chunks of the array, and those among them that are not stored.
    fill : int
        Value of pixels whose chunk is not stored.

    Raises
    ------
    StoreError
        If the array is damaged, or nearly nothing of it is there.
    OSError
        If it cannot be read.
    UsageError
        If the library zarr is not installed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._header = header = read_header(folder)
        self.shape, self.dtype = header.shape, header.dtype
        if not holds_frames(self) or not self.size:
            return
        self._array = _open(folder, header.version)
        if self._array.shape != self.shape or self._array.dtype != self.dtype:
            raise StoreError("what it says of itself is damaged")
        frame_bytes = prod(self.shape[1:]) * self.dtype.itemsize
        self._step = max(1, min(header.chunks[0], _BLOCK_BYTES // frame_bytes))
        self.buffer_bytes = _LIBRARY_BYTES + self._step * frame_bytes + 2 * header.chunk_bytes
        self.fill = int(self._array.fill_value or 0)
        grid = [-(-side // chunk) for side, chunk in zip(self.shape, header.chunks, strict=True)]
        self._places = list(map(range, grid[1:]))
        self.expected = prod(grid)
        self.missing = self.expected - _count_chunks(folder, self.expected)
        stored = self.expected - self.missing
        if (stored + 1) * _SPARSE < self.expected:
            raise StoreError(f"of {self.expected} chunks {stored} are stored")
        self._first, self._block = -1, np.empty(0, self.dtype)

    @property
    def ndim(self) -> int:
        """Number of indices."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of values."""
        return prod(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: int) -> NDArray[Any]:
        """Read a frame; BadPicture if one of its chunks is damaged."""
        chunk = self._header.chunks[0]
        first = index - index % chunk + index % chunk // self._step * self._step
        if first != self._first:
            self._first = -1
            self._block = self._read(first, min(first + self._step, index - index % chunk + chunk))
            self._first = first
        frame: NDArray[Any] = self._block[index - first]
        return frame

    def _read(self, start: int, stop: int) -> NDArray[Any]:
        import zarr

        try:
            for place in itertools.product(*self._places):
                coordinates = (start // self._header.chunks[0], *place)
                key = self._array.metadata.encode_chunk_key(coordinates)
                check_chunk(self._folder / key, self._header)
            with zarr.config.set({"async.concurrency": 1}):
                return np.asarray(self._array[start:stop])
        except StoreError as error:
            raise BadPicture(str(error)) from error
        except OSError as error:
            raise BadPicture((error.strerror or str(error)).lower()) from error
        # Each codec has errors of its own.
        except Exception as error:
            text = " ".join(str(error).split())[:80] or type(error).__name__
            raise BadPicture(f"a chunk is damaged ({text})") from error


def _open(folder: Path, version: Literal[2, 3]) -> Any:
    check_zarr(folder.name)
    import zarr

    try:
        return zarr.open_array(store=str(folder), mode="r", zarr_format=version)
    # The library has no error of its own for values that make no sense.
    except Exception as error:
        text = " ".join(str(error).split())[:80] or type(error).__name__
        raise StoreError(f"what it says of itself is damaged ({text})") from error


def _count_chunks(folder: Path, most: int) -> int:
    """Count the files of chunks, `most` at most."""
    found, folders = 0, [folder]
    while folders and found < most:
        for entry in folders.pop().iterdir():
            if entry.name.startswith(".") or entry.name == "zarr.json":
                continue
            if entry.is_dir():
                folders.append(entry)
            else:
                found += 1
    return min(found, most)
