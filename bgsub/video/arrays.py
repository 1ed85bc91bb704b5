"""Read frames from arrays in memory and from .npy and .npz files."""

from __future__ import annotations

import mmap
from collections.abc import Generator
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError
from bgsub.video.base import Item, Options
from bgsub.video.geometry import Picture
from bgsub.video.indexed import IndexedSource
from bgsub.video.npy import ArrayFileError, map_array
from bgsub.video.npz import ArrayArchive

ARRAY_SUFFIXES = frozenset({".npy", ".npz"})
EXPECTED = "expected uint8 or uint16 of shape (n, h, w) or, in RGB, (n, h, w, 3)"


class FrameArray(Protocol):
    """What is needed of an array of frames: an ndarray, or one that reads values as they come."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Frames, height, width, and channels of those in colour."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        ...

    @property
    def size(self) -> int:
        """Number of the values."""
        ...

    def __getitem__(self, index: int, /) -> Any: ...


def holds_frames(frames: FrameArray) -> bool:
    """Say whether an array has the type and the shape of frames, (n, h, w) or (n, h, w, 1 or 3)."""
    has_type = frames.dtype.newbyteorder("=") in {np.dtype(np.uint8), np.dtype(np.uint16)}
    shape = frames.shape
    return has_type and (len(shape) == 3 or (len(shape) == 4 and shape[3] in {1, 3}))


def open_array(path: Path, name: str, given: str, options: Options) -> ArraySource:
    """Open the frames of a .npy or .npz file; never anything pickled.

    Files are mapped, and what is compressed is unpacked into a temporary file and mapped there, so
    that the frames may take more than the memory. In a .npz file they are its only array, or the
    one called ``frames``.

    Raises
    ------
    InputError
        If the file cannot be read or holds no such array, or there is no room to unpack it.
    EmptySelectionError
        If no frame is selected.
    """
    try:
        if path.suffix.lower() == ".npy":
            frames = map_array(path)
        else:
            with ArrayArchive(path) as archive:
                frames = archive.map(_frames_member(path, archive))
    except (OSError, ArrayFileError) as error:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        message = f"{path.name}: is not an array file that can be read: {reason}"
        raise InputError(f"{message}; save it again with numpy.save or numpy.savez") from error
    return ArraySource(name, given, frames, options)


def _frames_member(path: Path, archive: ArrayArchive) -> str:
    names = archive.names
    if "frames" in names or len(names) == 1:
        return "frames" if "frames" in names else names[0]
    found = ", ".join(names[:9]) or "nothing"
    message = f"{path.name}: holds {found}"
    raise InputError(f'{message}; save the frames alone, or under the name "frames"')


class ArraySource(IndexedSource):
    """An array as frames.

    Parameters
    ----------
    name, path : str
    frames : ndarray of uint8 or uint16, shape (n, h, w), (n, h, w, 1) or (n, h, w, 3)
        Grey, or red, green and blue. It is not copied.
    options : Options
    codec : str
        What the array was read from.

    Raises
    ------
    InputError
        If the array has another shape or dtype, or no pixels.
    EmptySelectionError
        If no frame is selected.
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
        """Give a frame of the input as it is in the array, (h, w) or (h, w, 3), counted from 0."""
        frame = np.ascontiguousarray(self._frames[index])
        return frame[:, :, 0] if frame.ndim == 3 and frame.shape[2] == 1 else frame
