"""Read frames ahead in a thread, and store them as the rows of one large matrix."""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import IO, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import writing
from bgsub.video.frames import Bytes, Frame, Layout

_CHUNK_BYTES = 64 * 2**20
_ADVICE = "free some space or choose another folder"


class FrameMatrix:
    """Frames of one layout as the rows of an n×size matrix of bytes.

    Rows are kept in chunks of about 64 MB that are never moved, so that appending needs no more
    memory than the frames themselves. With `directory` the chunks lie in a temporary file there
    that has no name (where the system allows it), so that nothing is left even after a crash.
    """

    def __init__(
        self,
        layout: Layout,
        directory: str | os.PathLike[str] | None = None,
        *,
        chunk_bytes: int = _CHUNK_BYTES,
    ) -> None:
        self.layout = layout
        self.chunk_rows = max(1, chunk_bytes // layout.size)
        self._chunks: list[Bytes] = []
        self._numbers: list[int] = []
        self._times: list[float] = []
        self._file: IO[bytes] | None = None
        self._named = f"temporary file of the frames in {directory}"
        if directory is not None:
            with writing(self._named, _ADVICE):
                self._file = tempfile.TemporaryFile(prefix="bgsub-frames-", dir=directory)  # noqa: SIM115

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The frames' positions in their input, counted from 1; shape (n,)."""
        return np.array(self._numbers, dtype=np.int64)

    @property
    def times(self) -> NDArray[np.float64]:
        """The frames' times in seconds; shape (n,)."""
        return np.array(self._times, dtype=np.float64)

    def append(self, frame: Frame) -> None:
        """Copy a frame into the last row, unless it is in that `room`; OutputError if full."""
        row = self.room()
        if frame.data.ctypes.data != row.ctypes.data:
            row[:] = frame.data
        self._numbers.append(frame.number)
        self._times.append(frame.time_s)

    def room(self) -> Bytes:
        """Return the row of the next frame, for its bytes to be put there before it is added."""
        chunk, row = divmod(len(self), self.chunk_rows)
        if chunk == len(self._chunks):
            self.release()
            shape = (self.chunk_rows, self.layout.size)
            if self._file is None:
                self._chunks.append(np.empty(shape, dtype=np.uint8))
            else:
                length, unit = self.chunk_rows * self.layout.size, mmap.ALLOCATIONGRANULARITY
                # At multiples of what a mapping may begin at, so that each is mapped alone.
                begin = chunk * -(-length // unit) * unit
                with writing(self._named, _ADVICE):
                    _reserve(self._file, begin, length)
                    mapped = np.memmap(self._file, np.uint8, "r+", offset=begin, shape=shape)
                self._chunks.append(mapped)
        place: Bytes = self._chunks[chunk][row]
        return place

    def columns(self, start: int, stop: int, rows: NDArray[np.int64] | None = None) -> Bytes:
        """Copy a block of columns of all rows, or of increasing ones; no other row is read."""
        block = np.empty((len(self) if rows is None else rows.size, stop - start), dtype=np.uint8)
        for index, chunk in enumerate(self._chunks):
            first = index * self.chunk_rows
            if rows is None:
                part = block[first : first + self.chunk_rows]
                part[...] = chunk[: len(part), start:stop]
            else:
                low, high = np.searchsorted(rows, [first, first + self.chunk_rows])
                block[low:high] = chunk[rows[low:high] - first, start:stop]
            _release(chunk)
        return block

    def rows(self, start: int, stop: int) -> Bytes:
        """Return whole frames; a view where the rows lie in one chunk, otherwise a copy."""
        if start == stop:
            return np.empty((0, self.layout.size), dtype=np.uint8)
        parts = []
        for index in range(start // self.chunk_rows, (stop - 1) // self.chunk_rows + 1):
            offset = index * self.chunk_rows
            parts.append(self._chunks[index][max(start - offset, 0) : stop - offset])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def release(self) -> None:
        """Let the system take back the memory behind a spilled matrix; nothing is lost.

        Cheap, and without effect on a matrix in memory. Pages come back when they are read.
        """
        for chunk in self._chunks:
            _release(chunk)

    def close(self) -> None:
        """Free the memory and the temporary file; views that were handed out stay valid."""
        self._chunks.clear()
        self._numbers.clear()
        if self._file is not None:
            self._file.close()


def _release(chunk: Bytes) -> None:
    # Pages of a file that were read or written count as resident memory until they are dropped;
    # what was written stays in the system's cache of the file.
    mapping = getattr(chunk, "_mmap", None)
    if mapping is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)


def _reserve(file: IO[bytes], offset: int, length: int) -> None:
    """Make the file longer and take the space on the disk at once.

    A mapping of a file that is longer than what the disk holds kills the process when it is
    written to, instead of raising an error.
    """
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(file.fileno(), offset, length)
        except OSError as error:  # glibc writes itself where a file system refuses, musl does not
            if error.errno not in {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP}:
                raise
        else:
            return
    file.seek(offset)
    for done in range(0, length, 2**20):
        file.write(bytes(min(2**20, length - done)))
    file.flush()


Item = TypeVar("Item")

_END = object()


def prefetch(items: Iterable[Item], depth: int = 4) -> Iterator[Item]:
    """Iterate over items in a thread of its own, `depth` of them ahead at most.

    An error of the iterable is raised where its item would have come. Leaving the loop early, or
    an exception in it, stops the thread and closes the iterable.
    """
    source = iter(items)
    pool = ThreadPoolExecutor(1, "bgsub-decode")
    try:
        waiting = deque(pool.submit(next, source, _END) for _ in range(depth + 1))
        while (item := waiting.popleft().result()) is not _END:
            waiting.append(pool.submit(next, source, _END))
            yield cast("Item", item)
    finally:
        pool.shutdown(cancel_futures=True)
        close = getattr(source, "close", None)
        if close is not None:
            close()
