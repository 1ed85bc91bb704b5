"""Read frames from Zarr arrays, a few chunks at a time."""

from __future__ import annotations

import itertools
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError
from bgsub.video.arrays import EXPECTED, ArraySource, holds_frames
from bgsub.video.base import BadPicture, Options
from bgsub.video.images import is_image_name
from bgsub.video.zarr_checks import (
    StoreError,
    arrays_of,
    check_chunk,
    check_zarr,
    is_store,
    read_header,
)
from bgsub.wording import is_or_are

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
