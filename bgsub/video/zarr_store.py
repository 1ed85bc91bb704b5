"""Frames from Zarr arrays, a few chunks at a time."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError, UsageError, is_or_are
from bgsub.version import how_to_install
from bgsub.video.arrays import EXPECTED, ArraySource, holds_frames
from bgsub.video.base import BadPicture, Options
from bgsub.video.images import is_image_name

_LARGEST_CHUNK = 1 << 30
_BLOCK_BYTES = 128 << 20
_LIBRARY_BYTES = 24 << 20
_SPARSE = 1000

# A store may name any codec that is installed, and some of those run code (pickle).
_CODECS = frozenset(
    {"blosc", "bytes", "crc32c", "delta", "gzip", "lz4", "shuffle", "transpose", "zlib", "zstd"}
)


class _StoreError(ValueError):
    """A store cannot be read; the text says why."""


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
    """Open the frames of a Zarr array, or of a group with one array or one called ``frames``.

    Raises UsageError if the library zarr is missing, InputError if the store is damaged or holds
    no frames, EmptySelectionError if no frame is selected.
    """
    check_zarr(name)
    try:
        array = _array_of_frames(path, name)
        frames = ZarrFrames(array, path / array.path) if holds_frames(array) else None
    except InputError:
        raise
    # Neither the library nor its codecs have errors of their own for what makes no sense.
    except Exception as error:
        text = " ".join(str(error).split())[:120] or type(error).__name__
        message = f"{name}: is no Zarr array that can be read: {text}"
        raise InputError(f"{message}; write it again with zarr or dask") from error
    if frames is None:
        raise InputError(f"{name}: is {array.dtype} of shape {array.shape}; {EXPECTED}")
    source = ArraySource(name, given, frames, options, codec="zarr")
    source.buffer_bytes = frames.buffer_bytes
    if frames.missing:
        source.note_at_opening(
            f"{frames.missing} of {frames.expected} chunks {is_or_are(frames.missing)} not stored; "
            f"the pixels there are {frames.fill}, as Zarr has it"
        )
    return source


def _array_of_frames(path: Path, name: str) -> Any:
    import zarr

    if not _is_store(path):
        raise _StoreError("it has no .zarray and no zarr.json")
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
    """The frames of a Zarr array, of which as many as one chunk holds are read at once.

    Parameters
    ----------
    array : zarr.Array
        Frames that `holds_frames` accepts.
    folder : Path
        Where its chunks are.

    Attributes
    ----------
    buffer_bytes : int
        Most bytes that reading takes, those of the library among them.
    expected, missing : int
        Chunks of the array, and those among them that are not stored.
    fill : int
        Value of pixels whose chunk is not stored.
    """

    def __init__(self, array: Any, folder: Path) -> None:
        self._array = array
        self.shape: tuple[int, ...] = array.shape
        self.dtype: np.dtype[Any] = array.dtype
        self.size = prod(self.shape)
        for codec in (*array.filters, *array.compressors, *getattr(array.metadata, "codecs", ())):
            kind = getattr(codec, "codec_id", None) or codec.to_dict()["name"]
            if kind == "sharding_indexed":
                raise _StoreError("it is stored in shards; copy it into one without")
            if kind not in _CODECS:
                raise _StoreError(f"it is packed with {kind!r}; known are {sorted(_CODECS)}")
        chunk_bytes = prod(array.chunks) * self.dtype.itemsize
        if chunk_bytes > _LARGEST_CHUNK:
            size = f"{chunk_bytes / 1e9:.3g} GB"
            raise _StoreError(f"a chunk of it takes {size}; copy it into one of smaller chunks")
        frame_bytes = max(1, prod(self.shape[1:]) * self.dtype.itemsize)
        self._chunk = array.chunks[0]
        self._step = max(1, min(self._chunk, _BLOCK_BYTES // frame_bytes))
        self.buffer_bytes = _LIBRARY_BYTES + self._step * frame_bytes + 2 * chunk_bytes
        self.fill = int(array.fill_value or 0)
        self.expected = array.nchunks
        stored = _count_chunks(folder, self.expected)
        self.missing = self.expected - stored
        if (stored + 1) * _SPARSE < self.expected:
            raise _StoreError(f"of {self.expected} chunks {stored} are stored")
        self._first, self._block = -1, np.empty(0, self.dtype)

    def __getitem__(self, index: int) -> NDArray[Any]:
        """Read a frame; BadPicture if one of its chunks is damaged."""
        import zarr

        begin = index - index % self._chunk
        first = begin + index % self._chunk // self._step * self._step
        if first != self._first:
            self._first = -1
            stop = min(first + self._step, begin + self._chunk)
            try:
                with zarr.config.set({"async.concurrency": 1}):
                    self._block = np.asarray(self._array[first:stop])
            except Exception as error:  # each codec has errors of its own
                text = " ".join(str(error).split())[:80] or type(error).__name__
                raise BadPicture(f"a chunk is damaged ({text})") from error
            self._first = first
        frame: NDArray[Any] = self._block[index - first]
        return frame


def _count_chunks(folder: Path, most: int) -> int:
    """Count the files of chunks, `most` at most; zarr would go through all that there might be."""
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
