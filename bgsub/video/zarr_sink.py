"""Write frames as Zarr arrays, which dask, xarray and napari open."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.errors import OutputError
from bgsub.video.frames import Layout
from bgsub.video.images import Image
from bgsub.video.pictures import as_picture
from bgsub.video.verify import check_count, make_empty_folder, output_error
from bgsub.video.zarr_checks import check_zarr

_CHUNK_BYTES = 4 << 20
_AXES = ("frame", "y", "x", "channel")


class ZarrSink:
    """Writes a Zarr array of frames, (n, h, w) or (n, h, w, 3) in RGB; see `FrameSink`.

    Chunks hold full frames, as many as take 4 MiB, in one folder. It is of version 2 of the format,
    which every reader knows.
    """

    def __init__(self, path: Path, name: str, *, layout: Layout) -> None:
        self.name = name
        self.path = path
        self.padded = False
        self.count = 0
        self._layout = layout
        self._array: Any = None
        self._waiting: list[NDArray[Any]] = []
        self._finished = False
        self._complete = False
        check_zarr("--format zarr")
        make_empty_folder(path)

    def write(self, frame: Image, time_s: float | None = None) -> None:  # noqa: ARG002 - contract
        """Add a frame, grey of 8 or 16 bits or BGR; see `VideoSink.write`."""
        if self._finished:
            raise ValueError(f"{self.path}: the sink is closed")
        picture = self._picture(frame)
        if self._array is None:
            self._start(picture)
        elif picture.shape != self._array.shape[1:] or picture.dtype != self._array.dtype:
            raise ValueError(f"{self.path}: expected frames like the first, not {picture.shape}")
        self._waiting.append(picture)
        self.count += 1
        if len(self._waiting) == self._array.chunks[0]:
            self._flush()

    def _picture(self, frame: Image) -> NDArray[Any]:
        picture = as_picture(frame, self._layout)
        if picture.ndim == 3:
            return np.asarray(cv2.cvtColor(picture, cv2.COLOR_BGR2RGB))
        return picture.copy()

    def _start(self, first: NDArray[Any]) -> None:
        import zarr

        try:
            self._array = zarr.create_array(
                store=str(self.path),
                shape=(0, *first.shape),
                chunks=(max(1, _CHUNK_BYTES // first.nbytes), *first.shape),
                dtype=first.dtype,
                zarr_format=2,
                attributes={"_ARRAY_DIMENSIONS": list(_AXES[: first.ndim + 1]), "title": self.name},
                # A chunk that is missing is one that was lost.
                config={"write_empty_chunks": True},
                overwrite=True,
            )
        except OSError as error:
            raise output_error(self.path, error) from error

    def _flush(self) -> None:
        start = self.count - len(self._waiting)
        try:
            self._array.resize((self.count, *self._array.shape[1:]))
            self._array[start:] = np.stack(self._waiting)
        except OSError as error:
            raise output_error(self.path, error) from error
        self._waiting.clear()

    def close(self) -> int:
        """Write what waits, read the array again and give its number of frames.

        The chunks are counted, and the first and the last are unpacked; see `VideoSink.close`.
        """
        if self._complete:
            return self.count
        if self._finished:
            raise ValueError(f"{self.path}: the sink was aborted or could not be closed")
        self._finished = True
        if self._array is None:
            raise OutputError(f"{self.path}: no frame was written to it; select some frames")
        last = self._waiting[-1] if self._waiting else None
        if self._waiting:
            self._flush()
        self._check(last)
        self._complete = True
        return self.count

    def _check(self, last: NDArray[Any] | None) -> None:
        import zarr

        try:
            written = zarr.open_array(store=str(self.path), mode="r", zarr_format=2)
            chunks = sum(entry.name[0] != "." for entry in self.path.iterdir())
            found = written.shape[0] if chunks == written.nchunks else 0
            check_count(self.path, found, self.count)
            ends = [np.asarray(written[place]) for place in (0, self.count - 1)]
        # Each codec has errors of its own.
        except (OSError, ValueError, RuntimeError) as error:
            raise output_error(self.path, error) from error
        if last is not None and not np.array_equal(ends[-1], last):
            message = f"{self.path}: holds another last frame than was written"
            raise OutputError(f"{message}; check the disk and run again")

    def abort(self) -> None:
        """Remove the array."""
        self._finished, self._complete = True, False
        self._waiting.clear()
        with contextlib.suppress(OSError):
            shutil.rmtree(self.path)
