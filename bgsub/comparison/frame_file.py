"""Write the luma of all frames into one file that several processes read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bgsub.comparison.shared_file import SharedFile
from bgsub.errors import OutputError
from bgsub.fit.memory_need import AUTO_FIT_FRAMES
from bgsub.options import ProgressCallback
from bgsub.runtime.limits import amount, free_space
from bgsub.video.frames import Bytes
from bgsub.video.sample import sample_rows
from bgsub.video.source import FrameSource


@dataclass(frozen=True, eq=False)
class FrameFile:
    """A matrix of frames in a file.

    Attributes
    ----------
    file : SharedFile
        n·p bytes, row by row.
    numbers, times : ndarray of shape (n,)
        Frame numbers from 1, and seconds.
    height, width : int
    pixel_mask : ndarray of shape (h, w), bool, or None
        Pixels that take part; only these are in the file.
    total : int
        Frames of the input, of which these may be a sample.
    """

    file: SharedFile
    numbers: NDArray[np.int64]
    times: NDArray[np.float64]
    height: int
    width: int
    pixel_mask: NDArray[np.bool_] | None
    total: int

    @property
    def shape(self) -> tuple[int, int]:
        """n frames and p pixels."""
        whole = self.height * self.width
        return self.numbers.size, whole if self.pixel_mask is None else int(self.pixel_mask.sum())

    def map(self) -> Bytes:
        """Map the matrix, uint8 of shape (n, p); it is read from the file where it is used."""
        return np.memmap(self.file.file, dtype=np.uint8, mode="r", shape=self.shape)

    def picture(self, row: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give a row of p values as a picture of shape (h, w), 0 outside the mask."""
        if self.pixel_mask is None:
            return row.reshape(self.height, self.width)
        picture = np.zeros((self.height, self.width))
        picture[self.pixel_mask] = row
        return picture


def write_frames(
    source: FrameSource,
    file: SharedFile,
    *,
    progress: ProgressCallback,
    most: int | None = None,
    seed: int = 0,
) -> FrameFile:
    """Write the luma of an input's frames, or of a sample of them, to a file.

    Parameters
    ----------
    source : FrameSource
    file : SharedFile
        Empty.
    progress : callable
    most : int, optional
        Longer inputs are sampled; None is `AUTO_FIT_FRAMES`.
    seed : int
        Of the sample.

    Returns
    -------
    FrameFile

    Raises
    ------
    OutputError
        If the disk is too small.
    BgsubError
        As reading the source raises.

    Notes
    -----
    Memory: single frames. An input that may be longer than `most`, or does not know its length, is
    decoded twice.
    """
    most = most or AUTO_FIT_FRAMES
    expected = source.frames_estimate
    wanted: set[int] | None = None
    total = 0
    if expected is None or expected > most:
        for _ in source:
            total += 1
            progress("count", total, expected)
        wanted = set(sample_rows(total, most, seed).tolist())
        expected = total
    mask = None if source.pixel_mask is None else source.pixel_mask.ravel()
    pixels = source.layout.pixels if mask is None else int(mask.sum())
    _check_room(file.folder, (len(wanted) if wanted is not None else expected) * pixels)
    numbers, times = [], []
    try:
        for index, frame in enumerate(source):
            total = index + 1
            progress("decode", total, expected)
            if wanted is not None and index not in wanted:
                continue
            luma = frame.data[: source.layout.pixels]
            file.file.write((luma if mask is None else luma[mask]).tobytes())
            numbers.append(frame.number)
            times.append(frame.time_s)
        file.file.flush()
    except OSError as error:
        message = f"{file.folder}: frames cannot be kept there ({error.strerror}); use --temp"
        raise OutputError(message) from error
    return FrameFile(
        file=file,
        numbers=np.array(numbers, dtype=np.int64),
        times=np.array(times),
        height=source.layout.height,
        width=source.layout.width,
        pixel_mask=source.pixel_mask,
        total=total,
    )


def _check_room(folder: Path, needed: int) -> None:
    free = free_space(folder)
    if free and needed > free:
        message = (
            f"{folder}: has {amount(free)} free, but the frames take {amount(needed)}; "
            "use --temp with another folder, or --every, --scale or --fit-frames"
        )
        raise OutputError(message)
