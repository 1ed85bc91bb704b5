"""Read grey pictures of 8 or 16 bits by their position: masks, ground truth and scores.

Unlike a `FrameSource` it keeps 16-bit values, knows the numbers in file names, and lets no picture
that is asked for be missing.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.errors import InputError
from bgsub.video.arrays import ArraySource
from bgsub.video.image_files import is_printf, list_directory, list_glob, list_printf
from bgsub.video.images import Image, is_image_name, read_image
from bgsub.video.page_files import pages_opener
from bgsub.video.source import FrameSource, open_source
from bgsub.video.zarr_frames import is_zarr

_DEEP = re.compile(r"gray(?:9|10|12|14|16)(?:le|be)")


class GreyPictures(Protocol):
    """Pictures of one input in a fixed order, each with a position from 0.

    Attributes
    ----------
    path : str
        As it was given.
    numbers : ndarray of int64, shape (n,), or None
        The numbers in the file names, increasing; None for a video, which has no names.
    """

    path: str
    numbers: NDArray[np.int64] | None

    def __len__(self) -> int: ...

    def label(self, position: int) -> str:
        """Name a picture for people."""
        ...

    def pick(self, positions: Sequence[int]) -> Iterator[Image]:
        """Give the pictures at some positions, in increasing order, as (h, w) of 8 or 16 bits."""
        ...


def open_grey(path: str) -> GreyPictures:
    """Open images (a folder, glob, printf pattern or file), a video or an array as grey pictures.

    Raises
    ------
    InputError
        If it cannot be read, or images have no numbers in their names, or two have the same.
    """
    place = Path(path)
    if place.is_dir() and not is_zarr(place):
        return GreyImages(path, list_directory(place))
    if not place.exists() and is_printf(place.name):
        return GreyImages(path, list_printf(place))
    if not place.exists() and glob.has_magic(path):
        return GreyImages(path, list_glob(path))
    if place.is_file() and is_image_name(place) and pages_opener(place) is None:
        return GreyImages(path, [place])
    return GreyVideo(path)


def numbers_of(files: Sequence[Path]) -> list[int | None]:
    """Give the number in each file's name: of the last group of digits that tells them apart.

    Examples
    --------
    >>> numbers_of([Path("in000012.jpg")]), numbers_of([Path("s3_008_v2.png"), Path("s3_9_v2.png")])
    ([12], [8, 9])
    """
    groups = [re.findall(r"[0-9]+", file.stem) for file in files]
    which = -1
    if len({len(group) for group in groups}) == 1:
        columns = list(zip(*groups, strict=True))
        differing = [place for place, column in enumerate(columns) if len(set(column)) > 1]
        which = differing[-1] if differing else -1
    return [int(group[which]) if group else None for group in groups]


def to_grey(image: Image) -> Image:
    """Give a picture as grey, (h, w), with as many bits as it has."""
    if image.ndim == 2:
        return image
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    if image.dtype == np.uint8:
        return grey.astype(np.uint8, copy=False)
    return grey.astype(np.uint16, copy=False)


class GreyImages:
    """Image files, ordered by the numbers in their names; each is read when it is asked for."""

    def __init__(self, path: str, files: Sequence[Path]) -> None:
        self.path = path
        numbered: dict[int, Path] = {}
        for file, number in zip(files, numbers_of(files), strict=True):
            if number is None:
                message = f"{file}: has no number in its name to match it by; rename it"
                raise InputError(message)
            if number >= 1 << 63:
                message = (
                    f"{file}: has a number of {len(str(number))} digits in its name; rename it"
                )
                raise InputError(message)
            if number in numbered:
                message = f"{file}: has the same number as {numbered[number].name}, {number}"
                raise InputError(f"{message}; every image needs a number of its own")
            numbered[number] = file
        self.files = [numbered[number] for number in sorted(numbered)]
        self.numbers: NDArray[np.int64] | None = np.array(sorted(numbered), dtype=np.int64)

    def __len__(self) -> int:
        return len(self.files)

    def label(self, position: int) -> str:
        """Give the path of an image."""
        return str(self.files[position])

    def pick(self, positions: Sequence[int]) -> Iterator[Image]:
        """Read the images at some positions."""
        return (to_grey(read_image(self.files[position])) for position in positions)


class GreyVideo:
    """The luma of a video file, or of an array; frames are decoded from the beginning each time."""

    numbers: NDArray[np.int64] | None = None

    def __init__(self, path: str) -> None:
        self.path = path
        self._source: FrameSource = open_source(path, color="gray")
        self._is_deep = _DEEP.fullmatch(self._source.pixel_format) is not None
        self._array = self._source if isinstance(self._source, ArraySource) else None
        self._count = _count(self._source)

    def __len__(self) -> int:
        return self._count

    def label(self, position: int) -> str:
        """Name a frame, counted from 1."""
        return f"{self.path} frame {position + 1}"

    def pick(self, positions: Sequence[int]) -> Iterator[Image]:
        """Decode, and give the frames at some positions; InputError if one is damaged or missing.

        16-bit grey video and arrays come out with their 16 bits, everything else with 8.
        """
        if self._array is not None and self._array.pixel_format == "gray16":
            yield from (self._array.values(position) for position in positions)
            return
        wanted = iter(positions)
        position = next(wanted, None)
        with closing(self._deep() if self._is_deep else self._luma()) as frames:
            while position is not None:
                number, image = next(frames, (None, None))
                if image is None or number is None or number > position:
                    message = f"{self.label(position)}: cannot be decoded"
                    raise InputError(f"{message}; the file is cut off or damaged, create it again")
                if number == position:
                    yield image
                    position = next(wanted, None)

    def _luma(self) -> Generator[tuple[int, Image], None, None]:
        for frame in self._source:
            yield frame.number - 1, frame.luma

    def _deep(self) -> Generator[tuple[int, Image], None, None]:
        import av

        from bgsub.video import pyav

        try:
            with pyav.open_input(self.path) as container:
                for number, frame in enumerate(container.decode(video=0)):
                    if not frame.is_corrupt:
                        yield number, frame.to_ndarray().astype(np.uint16, copy=False)
        except av.FFmpegError:
            return  # the frame that is asked for next is missed


def _count(source: FrameSource) -> int:
    """Count the frames: of a video by its packets, which is much quicker than decoding it."""
    if source.kind != "video":
        return source.input_frames or 0
    from bgsub.video import pyav

    with pyav.open_input(source.path) as container:
        stream = container.streams.best("video")
        return sum(packet.size > 0 for packet in container.demux(stream))


def footage_pictures(path: str, frames: Sequence[int]) -> dict[int, NDArray[np.uint8]]:
    """Give some frames of footage as pictures of three channels in OpenCV's order.

    Parameters
    ----------
    path : str
        As for `bgsub.video.source.open_source`.
    frames : sequence of int
        Frame numbers counted from 1.

    Returns
    -------
    dict
        By frame number; without those that the footage does not have.
    """
    wanted = set(frames)
    source = open_source(path, start=min(wanted), end=max(wanted), exact_color=True)
    found: dict[int, NDArray[np.uint8]] = {}
    for frame in source:
        if frame.number in wanted:
            picture = frame.layout.to_bgr(frame.data)
            if picture.ndim == 2:
                picture = np.repeat(picture[:, :, None], 3, axis=2)
            found[frame.number] = picture.copy()
    return found
