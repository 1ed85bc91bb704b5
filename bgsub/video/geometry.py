"""Turn a decoded image into a frame: orientation, region, scale, range, layout, pixel masks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.errors import EmptySelectionError, UsageError
from bgsub.video.frames import Bytes, Layout, LayoutKind, Matrix, in_color
from bgsub.video.images import read_image
from bgsub.video.selection import Region

ColorMode = Literal["auto", "gray", "color"]
_MAX_SCALE = 16

# Limited range to full range as scale and shift: exactly what a table of rounded values gives, at
# less than half the time of a lookup. The last term of the chroma keeps its level 16, which comes
# to 0.5, from being rounded as the processor pleases.
Expansion = tuple[float, float]
_LUMA_RANGE = (255 / 219, -16 * 255 / 219)
_CHROMA_RANGE = (255 / 224, 128 - 128 * 255 / 224 + 1e-3)


class Picture(NamedTuple):
    """A picture as it was decoded, its planes possibly views of the decoder's memory.

    ``(Y,)``; ``(Y, U, V)`` with U and V at half the size, rounded up; or ``(BGR,)``, beside which
    there are Y, and where they are wanted U and V, as the file has them. Other planes than BGR may
    use the limited range, 16..235 and 16..240.
    """

    planes: tuple[Bytes, ...]
    limited: bool = False
    own_luma: Bytes | None = None
    own_chroma: tuple[Bytes, ...] = ()


class Orientation(NamedTuple):
    """How a picture is to be turned for viewing: transposed first, then mirrored."""

    transpose: bool = False
    flip_x: bool = False
    flip_y: bool = False

    @classmethod
    def from_display_matrix(cls, matrix: Sequence[int]) -> Orientation:
        """Read FFmpeg's display matrix, nine numbers, rounded to quarter turns.

        It maps a pixel (x, y) to (a·x + c·y, b·x + d·y), where a, b, c, d are its items 0, 1, 3, 4.
        """
        a, b, c, d = matrix[0], matrix[1], matrix[3], matrix[4]
        if abs(b) > abs(a):
            return cls(transpose=True, flip_x=c < 0, flip_y=b < 0)
        return cls(transpose=False, flip_x=a < 0, flip_y=d < 0)

    def size(self, size: tuple[int, int]) -> tuple[int, int]:
        """Return width and height after turning."""
        return (size[1], size[0]) if self.transpose else size

    def apply(self, plane: Bytes) -> Bytes:
        """Turn one plane; the plane itself where nothing is to be done."""
        turned = cv2.transpose(plane) if self.transpose else plane
        if self.flip_x or self.flip_y:
            turned = cv2.flip(turned, -1 if self.flip_x and self.flip_y else int(self.flip_x))
        return turned.astype(np.uint8, copy=False)


@dataclass(frozen=True)
class Geometry:
    """How pictures of a native size are turned, cut to a region and scaled to a size."""

    native_size: tuple[int, int]
    orientation: Orientation
    region: Region
    size: tuple[int, int]

    @classmethod
    def plan(
        cls,
        native_size: tuple[int, int],
        orientation: Orientation,
        roi: Region | None,
        scale: float,
        name: str,
    ) -> Geometry:
        """Work out the sizes; UsageError if a region or a scale is impossible."""
        width, height = orientation.size(native_size)
        region = Region(0, 0, width, height) if roi is None else roi
        if region.x + region.width > width or region.y + region.height > height:
            message = f"{name}: roi {region} reaches out of the picture of {width}×{height}"
            raise UsageError(f"{message}; X + W is {width} at most, Y + H is {height} at most")
        if not 0 < scale <= _MAX_SCALE:
            raise UsageError(f"scale {scale}: must be above 0 and at most {_MAX_SCALE}")
        size = (round(region.width * scale), round(region.height * scale))
        if min(size) < 1:
            message = f"scale {scale} leaves no pixel of {region.width}×{region.height}"
            raise UsageError(f"{name}: {message}; choose a larger scale")
        return cls(native_size, orientation, region, size)

    @property
    def input_size(self) -> tuple[int, int]:
        """Width and height of the turned picture."""
        return self.orientation.size(self.native_size)

    def layout(
        self,
        kind: LayoutKind,
        matrix: Matrix,
        color: ColorMode,
        *,
        exact_color: bool,
        with_chroma: bool = False,
    ) -> Layout:
        """Choose the layout for pictures that come in `kind`."""
        (width, height), region = self.size, self.region
        # Planes at half size must not be moved against the luma by what is done to each.
        even = () if self.orientation == Orientation() else self.native_size
        if self.size != (region.width, region.height):
            even = (*even, region.width, region.height, *self.size)
        is_aligned = not any(side % 2 for side in (region.x, region.y, *even))
        planes = kind == "yuv420" and is_aligned
        chosen: LayoutKind = kind
        if color == "gray":
            chosen = "gray"
        elif (kind == "gray" and color == "color") or (
            kind == "yuv420" and (exact_color or not planes)
        ):
            chosen = "bgr"
        both = with_chroma and planes and chosen == "bgr"
        standard: Matrix = matrix if both or chosen == "yuv420" else "bt601"
        return Layout(chosen, height, width, standard, both)

    def pack(self, picture: Picture, layout: Layout, out: Bytes | None = None) -> Bytes:
        """Turn, crop, scale and store a picture of the native size, in `out` or a new vector.

        Planes that need no turning and scaling are copied once, while their range is expanded. The
        luma is the same bytes in every layout: that of the file, or of its BGR before anything is
        scaled.
        """
        vector = np.empty(layout.size, dtype=np.uint8) if out is None else out
        luma, *colors = layout.planes(vector)
        first = picture.planes[0]
        own = first if picture.own_luma is None else picture.own_luma
        if own.ndim == 3:
            own = cv2.cvtColor(own, cv2.COLOR_BGR2GRAY).astype(np.uint8, copy=False)
        self._place(own, luma, _LUMA_RANGE if picture.limited else None)
        if layout.kind == "bgr":
            if first.ndim == 2 and picture.limited:
                first = _expand(first, _LUMA_RANGE)
            self._place(in_color(first), colors[0])
        if layout.kind == "yuv420" or layout.with_chroma:
            expansion = _CHROMA_RANGE if picture.limited else None
            planes = picture.planes[1:] or picture.own_chroma
            for plane, target in zip(planes, layout.chroma(vector), strict=False):
                self._place(plane, target, expansion, halve=True)
        return vector

    def _place(
        self, plane: Bytes, target: Bytes, expand: Expansion | None = None, *, halve: bool = False
    ) -> None:
        region = self.region
        x, y, width, height = region.x, region.y, region.width, region.height
        if halve:
            x, y, width, height = x // 2, y // 2, (width + 1) // 2, (height + 1) // 2
        part = self.orientation.apply(plane)[y : y + height, x : x + width]
        resizes = part.shape != target.shape
        if expand is not None:
            part = _expand(part, expand, None if resizes else target)
        elif not resizes:
            target[...] = part
        if resizes:
            shrinks = target.shape[0] < part.shape[0]
            how = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
            cv2.resize(part, target.shape[1::-1], dst=target, interpolation=how)


def _expand(plane: Bytes, expansion: Expansion, out: Bytes | None = None) -> Bytes:
    """Expand a plane to full range, rounded and clipped, in a single pass over the pixels."""
    scale, shift = expansion
    return cv2.addWeighted(plane, scale, plane, 0, shift, dst=out).astype(np.uint8, copy=False)


LEVEL = 128


class MaskImage(NamedTuple):
    """A picture of an input's size, white from 128 on; `what` it is stands in errors."""

    levels: Bytes
    name: str
    what: str

    @classmethod
    def read(cls, given: str | os.PathLike[str] | NDArray[Any], what: str) -> MaskImage:
        """Read a file, InputError if it is none, or take an array of uint8, uint16 or bool."""
        image: NDArray[Any] = given if isinstance(given, np.ndarray) else read_image(given)
        name = what if isinstance(given, np.ndarray) else Path(given).name
        if image.dtype == np.bool_:
            image = image.astype(np.uint8) * np.uint8(255)
        elif image.dtype == np.uint16:
            image = (image >> 8).astype(np.uint8)
        if image.ndim == 3 and image.shape[2] == 3:
            image = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
        if image.dtype != np.uint8 or image.ndim != 2:
            message = f"{what}: is {image.dtype} of shape {image.shape}"
            raise UsageError(f"{message}; expected uint8, uint16 or bool of shape (h, w)")
        return cls(image.astype(np.uint8, copy=False), name, what)

    def pixel_mask(self, geometry: Geometry) -> NDArray[np.bool_]:
        """Return the pixels of the frames that are white, that is inside; there must be one."""
        inside = self._white(geometry)
        if not inside.any():
            message = f"no pixel of the {self.what} is white (128 or more) where the frames are"
            raise EmptySelectionError(f"{self.name}: {message}; paint what is to be fitted white")
        return inside

    def ignored(
        self, geometry: Geometry, pixel_mask: NDArray[np.bool_] | None
    ) -> NDArray[np.bool_]:
        """Return the white pixels, to be ignored; one of the fit (None for all) must be left."""
        ignored = self._white(geometry)
        left = ~ignored if pixel_mask is None else pixel_mask & ~ignored
        if not left.any():
            message = f"the {self.what} leaves no pixel that could be foreground"
            advice = "paint black what is not to be ignored"
            raise EmptySelectionError(f"{self.name}: {message}; {advice}")
        return ignored

    def _white(self, geometry: Geometry) -> NDArray[np.bool_]:
        """Return where most of what a pixel of the frames covers is white."""
        width, height = geometry.input_size
        rows, columns = self.levels.shape
        if (rows, columns) != (height, width):
            sizes = f"{columns}×{rows} pixels, the input {width}×{height}"
            raise UsageError(f"{self.name}: the {self.what} has {sizes}; they must be the same")
        region = geometry.region
        part = self.levels[region.y :, region.x :][: region.height, : region.width]
        inside = np.where(part >= LEVEL, 255, 0).astype(np.uint8)
        resized = cv2.resize(inside, geometry.size, interpolation=cv2.INTER_AREA)
        return np.asarray(resized >= LEVEL)
