"""Read pictures that say which pixels count: --mask-image and --ignore."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.errors import EmptySelectionError, UsageError
from bgsub.video.frames import Bytes
from bgsub.video.geometry import Geometry
from bgsub.video.images import image_size, read_image

_LEVEL = 128


@dataclass(frozen=True, eq=False)
class MaskImage:
    """A picture of an input's size in which 128 and more is white.

    Attributes
    ----------
    shape : (int, int)
        Rows and columns.
    load : callable
        Gives the levels, (h, w) of uint8; called when the size is found to be right.
    name, what : str
        What the picture is called, and what it is, in errors.
    """

    shape: tuple[int, int]
    load: Callable[[], Bytes]
    name: str
    what: str

    @classmethod
    def read(cls, given: str | os.PathLike[str] | NDArray[Any], what: str) -> MaskImage:
        """Read what a picture is from a file, or take an array of uint8, uint16 or bool.

        Raises
        ------
        InputError
            If the file is no picture; `load` raises it if it is damaged.
        UsageError
            If an array is no picture.
        """
        if isinstance(given, np.ndarray):
            levels = _levels(given, what)
            rows, columns = levels.shape
            return cls((rows, columns), lambda: levels, what, what)
        height, width = image_size(given)
        return cls(
            (height, width), lambda: _levels(read_image(given), what), Path(given).name, what
        )

    def pixel_mask(self, geometry: Geometry) -> NDArray[np.bool_]:
        """Give the pixels of the frames that are inside, that is white; shape that of the frames.

        Raises
        ------
        UsageError
            If the picture has another size than the input.
        EmptySelectionError
            If no pixel is inside.
        """
        inside = self._white(geometry)
        if not inside.any():
            message = f"no pixel of the {self.what} is white (128 or more) where the frames are"
            raise EmptySelectionError(f"{self.name}: {message}; paint what is to be fitted white")
        return inside

    def ignored(
        self, geometry: Geometry, pixel_mask: NDArray[np.bool_] | None
    ) -> NDArray[np.bool_]:
        """Give the pixels of the frames that are to be ignored, that is white; there may be none.

        Parameters
        ----------
        geometry : Geometry
        pixel_mask : ndarray of bool, shape (h, w), or None
            The pixels of the fit, None for all.

        Raises
        ------
        UsageError
            If the picture has another size than the input.
        EmptySelectionError
            If no pixel is left that could be foreground.
        """
        ignored = self._white(geometry)
        left = ~ignored if pixel_mask is None else pixel_mask & ~ignored
        if not left.any():
            message = f"the {self.what} leaves no pixel that could be foreground"
            advice = "paint black what is not to be ignored"
            raise EmptySelectionError(f"{self.name}: {message}; {advice}")
        return ignored

    def _white(self, geometry: Geometry) -> NDArray[np.bool_]:
        """Say whether most of what a pixel of the frames covers is white."""
        width, height = geometry.input_size
        if self.shape != (height, width):
            rows, columns = self.shape
            sizes = f"{columns}×{rows} pixels, the input {width}×{height}"
            raise UsageError(f"{self.name}: the {self.what} has {sizes}; they must be the same")
        region = geometry.region
        rows_, columns_ = (
            slice(region.y, region.y + region.height),
            slice(region.x, region.x + region.width),
        )
        inside = np.where(self.load()[rows_, columns_] >= _LEVEL, 255, 0).astype(np.uint8)
        if geometry.size != (region.width, region.height):
            resized = cv2.resize(inside, geometry.size, interpolation=cv2.INTER_AREA)
            inside = resized.astype(np.uint8, copy=False)
        return np.asarray(inside >= _LEVEL)


def _levels(image: NDArray[Any], what: str) -> Bytes:
    if image.dtype == np.bool_:
        image = image.astype(np.uint8) * np.uint8(255)
    elif image.dtype == np.uint16:
        image = (image >> 8).astype(np.uint8)
    if image.ndim == 3 and image.shape[2] == 3:
        image = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    if image.dtype != np.uint8 or image.ndim != 2:
        message = f"{what}: is {image.dtype} of shape {image.shape}"
        raise UsageError(f"{message}; expected uint8, uint16 or bool of shape (h, w)")
    return image.astype(np.uint8, copy=False)
