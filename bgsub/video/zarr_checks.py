"""Check Zarr stores before the library reads them: what they say of themselves, and each chunk.

A store names the programs that unpack it, pickle among them, and a chunk of a kilobyte may unpack
to gigabytes. Only codecs that are known here are let through, and only chunks that unpack to what
the array says.
"""

from __future__ import annotations

import json
import math
import os
import stat
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np

from bgsub.errors import UsageError
from bgsub.version import how_to_install

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
