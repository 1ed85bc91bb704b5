"""Keep the frames of a run: in memory, in a file, or decode them again when they are wanted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import MemoryLimitError
from bgsub.fit.memory import Plan, chunk_bytes, render_rows, sum_rows
from bgsub.options import ProgressCallback
from bgsub.runtime.limits import give_back, spill_folder
from bgsub.video.film_index import Place
from bgsub.video.frames import Bytes
from bgsub.video.matrix import FrameMatrix, prefetch
from bgsub.video.seek import frames_at
from bgsub.video.selection import sample_rows
from bgsub.video.source import FrameSource


class FrameBlock(NamedTuple):
    """Some frames in a row, as one matrix; without a fit there are no coefficients and z-scores."""

    rows: Bytes
    numbers: NDArray[np.int64]
    times: NDArray[np.float64]
    coefficients: NDArray[np.float64] | None = None
    outlier_scores: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class Borrowed:
    """Frames of a film before and behind those of a run, fitted with them; the source has all."""

    source: FrameSource
    before: Sequence[Place]
    after: Sequence[Place]

    def __len__(self) -> int:
        return len(self.before) + len(self.after)


class FitColumns:
    """The luma of some rows of a frame matrix, inside the pixel mask."""

    def __init__(
        self,
        matrix: FrameMatrix,
        rows: NDArray[np.int64] | None,
        pixel_mask: NDArray[np.bool_] | None,
    ) -> None:
        self._matrix, self._rows = matrix, rows
        self._index = None if pixel_mask is None else np.flatnonzero(pixel_mask)
        frames = len(matrix) if rows is None else rows.size
        pixels = matrix.layout.pixels if self._index is None else self._index.size
        self.shape: tuple[int, int] = (frames, pixels)
        self.dtype: np.dtype[Any] = np.dtype(np.uint8)

    def columns(self, start: int, stop: int) -> Bytes:
        """Return the pixels start to stop (exclusive) of all frames of the fit."""
        if self._index is None:
            return self._matrix.columns(start, stop, self._rows)
        index = self._index[start:stop]
        first = int(index[0])
        return self._matrix.columns(first, int(index[-1]) + 1, self._rows)[:, index - first]


def are_left_out(doubtful: int, frames: int) -> bool:
    """Return whether the doubtful ones of some frames are not fitted: unless they are most."""
    return 2 * doubtful <= frames


class FrameStore:
    """The frames of one input, read once and kept as the plan says until `close`.

    Borrowed frames are fitted with those of the input, and are none of it. Where the plan has a
    sample of a sample, `fitted` counts the frames of the larger one. `fit_rows` are the frames that
    are fitted, by their places among those borrowed from before, all, and those borrowed from
    behind; doubtful ones are not, unless most are doubtful.
    """

    def __init__(
        self,
        source: FrameSource,
        plan: Plan,
        *,
        seed: int,
        temp: str | Path | None,
        progress: ProgressCallback,
        fitted: int | None = None,
        borrowed: Borrowed | None = None,
    ) -> None:
        self._borrowed = borrowed or Borrowed(source, (), ())
        self._before = 0
        self._source, self._plan, self._progress = source, plan, progress
        self._fitted = fitted or plan.most_fitted
        self.name = source.name
        self.gram_threads = plan.gram_threads
        layout = source.layout
        folder = None if plan.storage != "spill" else Path(temp or spill_folder())
        self._matrix = FrameMatrix(layout, folder, chunk_bytes=chunk_bytes(layout.size))
        self.close = self._matrix.close
        try:
            (self._read_sample if plan.storage == "sample" else self._read_all)(seed)
            give_back()
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def fits_all(self) -> bool:
        """Whether every frame is fitted, and no others."""
        return not len(self._borrowed) and self.fit_rows.size == len(self)

    def _read_all(self, seed: int) -> None:
        matrix, source = self._matrix, self._source
        self._borrow(self._borrowed.before)
        self._before = before = len(matrix)
        every = render_rows(matrix.layout.size)
        # Not ahead of time: FFmpeg has threads of its own, and a frame that is freed by the thread
        # that made it leaves its memory to the next.
        for frame in source.frames_into(matrix.room):
            matrix.append(frame)
            done = len(matrix) - before
            if done > self._plan.most_frames:
                raise MemoryLimitError(
                    f"{source.name}: has more frames than it announces, and they do not fit into "
                    "the memory limit; use --memory with more, or --scale or --end"
                )
            if len(matrix) % every == 0:
                matrix.release()
            self._progress("decode", done, source.frames_estimate)
        self.numbers, self.times = matrix.numbers[before:], matrix.times[before:]
        self._borrow(self._borrowed.after)
        self.fit_rows = self._sample(seed, before, len(matrix) - before - len(self))
        self.fit_numbers = matrix.numbers[self.fit_rows]
        self.fit_times = matrix.times[self.fit_rows]

    def _borrow(self, places: Sequence[Place]) -> None:
        if places:
            for frame in frames_at(self._borrowed.source, places):
                self._matrix.append(frame)
            self._matrix.release()

    def _sample(self, seed: int, before: int, after: int) -> NDArray[np.int64]:
        """Choose what is fitted, where so many frames are borrowed."""
        trusted = np.flatnonzero(~np.isin(self.numbers, self._source.doubtful_frames))
        if not are_left_out(len(self) - trusted.size, len(self)):
            trusted = np.arange(len(self))
        own = trusted[sample_rows(trusted.size, self._fitted - before - after, seed)]
        behind = before + len(self)
        rows = np.concatenate([np.arange(before), before + own, np.arange(behind, behind + after)])
        return np.asarray(rows[sample_rows(rows.size, self._plan.most_fitted, seed)])

    def _read_sample(self, seed: int) -> None:
        """Count the frames, then keep those of the sample."""
        numbers, times = [], []
        for frame in prefetch(self._source):
            numbers.append(frame.number)
            times.append(frame.time_s)
            self._progress("count", len(numbers), self._source.frames_estimate)
        self.numbers, self.times = np.array(numbers, dtype=np.int64), np.array(times)
        borrowed = self._borrowed
        before, behind = len(borrowed.before), len(borrowed.before) + len(self)
        self.fit_rows = rows = self._sample(seed, before, len(borrowed.after))
        self._borrow([borrowed.before[row] for row in rows[rows < before]])
        wanted = set((rows[(rows >= before) & (rows < behind)] - before).tolist())
        for index, frame in enumerate(prefetch(self._source)):
            if index in wanted:
                self._matrix.append(frame)
            self._progress("decode", index + 1, len(self))
        self._borrow([borrowed.after[row - behind] for row in rows[rows >= behind]])
        self.fit_numbers, self.fit_times = self._matrix.numbers, self._matrix.times

    def fit_columns(self, pixel_mask: NDArray[np.bool_] | None) -> FitColumns:
        """Return the luma of the fitted frames, by columns."""
        all_fitted = len(self._matrix) == self.fit_numbers.size
        return FitColumns(self._matrix, None if all_fitted else self.fit_rows, pixel_mask)

    def fit_blocks(self) -> Iterator[tuple[int, Bytes]]:
        """Yield blocks of the fitted frames in order: index of the first among them, and rows."""
        wanted = self.fit_rows
        if self._plan.storage == "sample":
            wanted = np.arange(self.fit_numbers.size)
        step = sum_rows(self._source.layout.size)
        for start in range(0, wanted.size, step):
            rows = wanted[start : start + step]
            if rows[-1] - rows[0] == rows.size - 1:
                yield start, self._matrix.rows(int(rows[0]), int(rows[-1]) + 1)
            else:
                parts = [self._matrix.rows(int(row), int(row) + 1) for row in rows]
                yield start, np.concatenate(parts)
            self._matrix.release()

    def all_blocks(self) -> Iterator[FrameBlock]:
        """Yield blocks of all frames in order."""
        if self._plan.storage == "sample":
            yield from decoded_blocks(self._source)
            return
        step = render_rows(self._source.layout.size)
        for start in range(0, len(self), step):
            part = slice(start, min(start + step, len(self)))
            rows = self._matrix.rows(self._before + part.start, self._before + part.stop)
            yield FrameBlock(rows, self.numbers[part], self.times[part])
            self._matrix.release()


def decoded_blocks(source: FrameSource) -> Iterator[FrameBlock]:
    """Yield blocks of the frames of a source as they are decoded, the last one shorter."""
    step = render_rows(source.layout.size)
    rows: Bytes | None = None
    numbers: list[int] = []
    times: list[float] = []
    for frame in prefetch(source, depth=max(1, step // 2)):
        if rows is None:
            rows = np.empty((step, frame.data.size), dtype=np.uint8)
        rows[len(numbers)] = frame.data
        numbers.append(frame.number)
        times.append(frame.time_s)
        if len(numbers) == step:
            yield FrameBlock(rows, np.array(numbers, dtype=np.int64), np.array(times))
            rows, numbers, times = None, [], []
    if rows is not None:
        rows = rows[: len(numbers)]
        yield FrameBlock(rows, np.array(numbers, dtype=np.int64), np.array(times))
