"""Store a frame as a flat vector of bytes that begins with its luma plane.

Everything that is fitted works on the luma plane, and everything that is written needs the
colours. Keeping both in one vector, luma first, lets a block of frames be a plain matrix whose
leading columns are the data of the fit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Part = tuple[slice, slice]  # of a picture: rows and columns
LayoutKind = Literal["gray", "yuv420", "bgr"]
Matrix = Literal["bt601", "bt709"]

# Red and blue weights of the luma of each standard; everything else follows from these two.
_LUMA_WEIGHTS = {"bt601": (0.299, 0.114), "bt709": (0.2126, 0.0722)}


@cache
def to_bgr_matrix(matrix: str) -> NDArray[np.float64]:
    """Return the affine 3×4 map from full-range (Y, U, V) to (B, G, R)."""
    red, blue = _LUMA_WEIGHTS[matrix]
    green = 1 - red - blue
    from_u = np.array([2 * (1 - blue), -2 * (1 - blue) * blue / green, 0.0])
    from_v = np.array([0.0, -2 * (1 - red) * red / green, 2 * (1 - red)])
    return np.column_stack([np.ones(3), from_u, from_v, -128 * (from_u + from_v)])


@dataclass(frozen=True)
class Layout:
    """How the bytes of a frame are arranged; the first ``pixels`` bytes are always its luma.

    Luma is full range: 0 is black and 255 is white, whatever the range of the file was. ``gray``
    has nothing else; in ``yuv420`` U and V at half the size in both directions follow, rounded up;
    in ``bgr`` the pixels as interleaved blue, green and red, and `with_chroma` U and V behind them,
    for `seen`. `matrix` is the standard that ties YUV to RGB where there are U and V.
    """

    kind: LayoutKind
    height: int
    width: int
    matrix: Matrix = "bt601"
    with_chroma: bool = False

    @cached_property
    def pixels(self) -> int:
        """Number of pixels, h·w, which is the number of bytes of the luma plane."""
        return self.height * self.width

    @cached_property
    def chroma_shape(self) -> tuple[int, int]:
        """Rows and columns of each chroma plane of 4:2:0."""
        return (self.height + 1) // 2, (self.width + 1) // 2

    @cached_property
    def size(self) -> int:
        """Number of bytes of a frame."""
        rows, columns = self.chroma_shape
        colors = 3 * self.pixels if self.kind == "bgr" else 0
        return self.pixels + colors + (2 * rows * columns if self.has_chroma else 0)

    @property
    def has_chroma(self) -> bool:
        """Whether frames in this layout have planes of U and V."""
        return self.kind == "yuv420" or self.with_chroma

    @property
    def plain(self) -> Layout:
        """The layout without the planes that only `seen` uses; they are the end of a frame."""
        return replace(self, with_chroma=False, matrix="bt601") if self.with_chroma else self

    @property
    def is_color(self) -> bool:
        """Whether frames in this layout carry colours."""
        return self.kind != "gray"

    def luma(self, vector: Bytes) -> Bytes:
        """Return the luma plane of a frame, an (h, w) view."""
        return vector[: self.pixels].reshape(self.height, self.width)

    def planes(self, vector: Bytes) -> tuple[Bytes, ...]:
        """Return views of a frame's planes: ``(Y,)``, ``(Y, U, V)`` or, for bgr, ``(Y, BGR)``."""
        luma = self.luma(vector)
        if self.kind == "gray":
            return (luma,)
        if self.kind == "bgr":
            colors = vector[self.pixels : 4 * self.pixels]
            return luma, colors.reshape(self.height, self.width, 3)
        return luma, *self.chroma(vector)

    def chroma(self, vector: Bytes) -> tuple[Bytes, Bytes]:
        """Return U and V, (h', w') views; of ``yuv420`` and where there are such beside ``bgr``."""
        rows, columns = self.chroma_shape
        start = self.size - 2 * rows * columns
        planes = vector[start : self.size].reshape(2, rows, columns)
        return planes[0], planes[1]

    def pack(self, image: Bytes) -> Bytes:
        """Store a picture of uint8, grey or in OpenCV's order blue, green, red, as a new vector.

        It is converted where the layout asks for the other kind. ValueError if it does not fit.
        """
        expected = (self.height, self.width)
        if image.dtype != np.uint8 or image.shape not in {expected, (*expected, 3)}:
            message = f"expected a uint8 picture of {expected} or {(*expected, 3)}"
            raise ValueError(f"{message}, not {image.dtype} of {image.shape}")
        vector = np.empty(self.size, dtype=np.uint8)
        luma = self.luma(vector)
        if self.kind == "gray" and image.ndim == 2:
            luma[...] = image
            return vector
        image = in_color(image)
        if self.kind != "yuv420":
            cv2.cvtColor(image, cv2.COLOR_BGR2GRAY, dst=luma)
        if self.kind == "bgr":
            self.planes(vector)[1][...] = image
        if self.kind == "yuv420" or self.with_chroma:
            forward = to_bgr_matrix(self.matrix)
            inverse = np.linalg.inv(forward[:, :3])
            backward = np.column_stack([inverse, -inverse @ forward[:, 3]])
            yuv = np.asarray(cv2.transform(image, backward), dtype=np.uint8)
            if self.kind == "yuv420":
                luma[...] = yuv[:, :, 0]
            # Averages over 2×2 pixels; an odd size is continued as encoders do, by its last row.
            odd = (0, self.height % 2, 0, self.width % 2)
            even = cv2.copyMakeBorder(yuv[:, :, 1:], *odd, cv2.BORDER_REPLICATE)
            small = cv2.resize(even, self.chroma_shape[::-1], interpolation=cv2.INTER_AREA)
            for plane, target in zip(cv2.split(small), self.chroma(vector), strict=True):
                target[...] = plane
        return vector

    def to_bgr(self, vector: Bytes, part: Part = np.s_[:, :]) -> Bytes:
        """Return a part of a frame as a picture in OpenCV's order, (h, w, 3), or (h, w) for gray.

        A view for gray and bgr; a new picture for yuv420, its chroma repeated over 2×2 pixels.
        """
        return self.seen(vector, part) if self.kind == "yuv420" else self.planes(vector)[-1][part]

    def seen(self, vector: Bytes, part: Part = np.s_[:, :]) -> Bytes:
        """As `to_bgr`, of the file's luma and chroma where they are kept: in every format."""
        if not self.has_chroma:
            return self.planes(vector)[-1][part]
        (top, down, _), (left, right, _) = map(slice.indices, part, (self.height, self.width))
        pairs = np.s_[top // 2 : (down + 1) // 2, left // 2 : (right + 1) // 2]
        own = np.s_[top % 2 : top % 2 + down - top, left % 2 : left % 2 + right - left]
        u, v = (doubled(one[pairs])[own] for one in self.chroma(vector))
        return self.colored(self.luma(vector)[part], u, v)

    def colored(self, luma: Bytes, u: Bytes, v: Bytes) -> Bytes:
        """Return the picture in OpenCV's order of three planes of one size, whatever that is."""
        if self.matrix == "bt601":  # OpenCV's YCrCb is full-range BT.601, and much faster
            bgr = cv2.cvtColor(cv2.merge([luma, v, u]), cv2.COLOR_YCrCb2BGR)
        else:
            bgr = cv2.transform(cv2.merge([luma, u, v]), to_bgr_matrix(self.matrix))
        return bgr.astype(np.uint8, copy=False)


class Seen:
    """A frame's picture as objects are looked for in it, of which parts are converted when asked.

    ``seen[rows, columns]`` is a part, of BGR or grey, made once.
    """

    def __init__(self, layout: Layout, vector: Bytes) -> None:
        self._layout, self._vector = layout, vector
        self.shape = (layout.height, layout.width, 3)[: 3 if layout.is_color else 2]
        self._parts: dict[tuple[Any, ...], Bytes] = {}

    def __getitem__(self, part: Part) -> Bytes:
        rows, columns = part
        key = rows.start, rows.stop, columns.start, columns.stop
        if key not in self._parts:
            self._parts[key] = self._layout.seen(self._vector, part)
        return self._parts[key]


# A picture, or what can be asked for parts of one.
Pixels = Bytes | Seen


def doubled(plane: Bytes) -> Bytes:
    """Repeat the pixels of a plane over 2×2 pixels, in a quarter of the time of `cv2.resize`."""
    return np.multiply(plane, np.uint16(257), dtype=np.uint16).view(np.uint8).repeat(2, axis=0)


@dataclass(frozen=True, eq=False)
class Frame:
    """One frame: its position in the input from 1, with nothing left out, its time and bytes."""

    number: int
    time_s: float
    data: Bytes
    layout: Layout

    @property
    def luma(self) -> Bytes:
        """The luma plane, an (h, w) view."""
        return self.layout.luma(self.data)

    @property
    def image(self) -> Bytes:
        """The picture as people expect it: (h, w, 3) in RGB order, or (h, w) when it is grey."""
        picture = self.layout.to_bgr(self.data)
        if picture.ndim == 2:
            return picture
        return cv2.cvtColor(picture, cv2.COLOR_BGR2RGB).astype(np.uint8, copy=False)


def in_color(picture: Bytes) -> Bytes:
    """Return a picture, (h, w) or (h, w, 3), with three channels; that of three itself."""
    if picture.ndim == 3:
        return picture
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_GRAY2BGR), dtype=np.uint8)


def in_grey(picture: Bytes) -> Bytes:
    """Return a picture, (h, w, 3) or (h, w), with one channel; that of one itself."""
    if picture.ndim == 2:
        return picture
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY), dtype=np.uint8)


def pixels_within(outline: cv2.typing.MatLike) -> float:
    """Count the pixels that an outline (``cv2.CHAIN_APPROX_NONE``) encloses, with its own.

    By Pick's theorem: with A the area of the polygon through the centres of the b pixels of the
    outline, it covers A + b/2 + 1 pixels.
    """
    return 1.0 if len(outline) == 1 else cv2.contourArea(outline) + len(outline) / 2 + 1


def cut_out(mask: Bytes, outline: cv2.typing.MatLike) -> tuple[int, int, Bytes]:
    """Return the corner of an outline's box, and 1 where the mask's lowest bit is set in it."""
    x, y, wide, high = cv2.boundingRect(outline)
    inside = np.zeros((high, wide), np.uint8)
    cv2.drawContours(inside, [outline], -1, 1, cv2.FILLED, offset=(-x, -y))
    cv2.bitwise_and(inside, mask[y : y + high, x : x + wide], dst=inside)
    return x, y, inside
