"""Render background, residual and foreground from centre, components and scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.robustpca.spaces import Singles, combined, slices
from bgsub.runtime.threads import Workers, scratch
from bgsub.video.frames import Bytes, Layout, doubled, to_bgr_matrix

if TYPE_CHECKING:
    from bgsub.background.model import BackgroundModel

# Columns of a block of frames to be summed, which has four times as many rows as one to be shown:
# up to 4096 NumPy would copy what it takes from each row, for as long again.
_SUM_TILE = 4608
# Bits behind the point: 255 times the largest weight, 1.86, twice over must fit into 16 bits.
_FIXED_POINT = 5


class PlaneSums:
    """Sum m = Σ w_j x_j and U = Σ B_j x_j over all planes of the frames, as the frames pass by.

    Σ w_j = 1 and the columns of B sum to zero, so the sums may run over x_j − x_1, whose rounding
    errors in float32 are those of the differences and not of the levels. w is (n,), B is (n, k),
    and `size` the bytes of a frame: 2(k+1)·size operations per frame, 4(k+1)·size bytes.
    """

    def __init__(self, weights: NDArray[np.float64], basis: NDArray[np.float64], size: int) -> None:
        self._weights = np.column_stack([weights, basis]).T.astype(np.float32)
        self._sums = np.zeros((self._weights.shape[0], size), dtype=np.float32)
        self._first: Singles | None = None

    def add(self, start: int, rows: Bytes, workers: Workers) -> None:
        """Add the frames start, start + 1, …; shape (m, size). Blocks must come in order."""
        first = rows[0].astype(np.float32) if self._first is None else self._first
        self._first = first
        weights = np.ascontiguousarray(self._weights[:, start : start + len(rows)])

        def add_tile(tile: slice) -> None:
            part = rows[:, tile]
            difference = scratch("difference", part.shape, np.float32)
            np.copyto(difference, part)
            difference -= first[tile]
            sums = scratch("sums", (len(weights), part.shape[1]), np.float32)
            self._sums[:, tile] += np.matmul(weights, difference, out=sums)

        workers.each(add_tile, slices(rows.shape[1], _SUM_TILE))

    def result(self) -> tuple[Singles, Singles]:
        """Return centre (size,) and components (k, size)."""
        if self._first is None:
            raise ValueError("no frame was added")
        self._sums[0] += self._first
        return self._sums[0], self._sums[1:]


class OutsideMask:
    """Where the pixels left out by a mask image, False in it, lie in a frame's vector."""

    def __init__(self, layout: Layout, pixel_mask: NDArray[np.bool_] | None) -> None:
        self._index: NDArray[np.int64] | None = None
        if pixel_mask is None:
            return
        outside = ~pixel_mask
        parts = [outside.ravel()]
        if layout.kind == "bgr":
            parts.append(np.repeat(outside.ravel(), 3))
        elif layout.kind == "yuv420":
            rows, columns = layout.chroma_shape
            even = np.pad(
                outside, ((0, 2 * rows - layout.height), (0, 2 * columns - layout.width)), "edge"
            )
            parts += [even.reshape(rows, 2, columns, 2).all(axis=(1, 3)).ravel()] * 2
        self._index = np.flatnonzero(np.concatenate(parts))

    def restore(self, background: Bytes, rows: Bytes) -> None:
        """Put the frames' own pixels back into the background where the mask leaves them out."""
        if self._index is not None:
            background[:, self._index] = rows[:, self._index]


def reconstruct(model: BackgroundModel, scores: NDArray[np.float64], workers: Workers) -> Bytes:
    """Compute x_b = m + Uy of scores (m, k), rounded to grey levels and clipped to 0..255.

    2mk·size operations in float32.
    """
    size = model.layout.size
    short = scores.astype(np.float32)
    background = np.empty((len(scores), size), dtype=np.uint8)

    def fill(tile: slice) -> None:
        center = model.center[tile] + np.float32(0.5)
        levels = scratch("levels", (len(short), center.size), np.float32)
        combined(short, model.components[:, tile], out=levels)
        levels += center
        np.clip(levels, 0.0, 255.0, out=levels)
        np.copyto(background[:, tile], levels, casting="unsafe")

    workers.each(fill, slices(size))
    return background


def largest_difference(layout: Layout, row: Bytes, own: Bytes) -> Bytes:
    """Compute max over the colour channels of |x − x_b|, in grey levels, (h, w).

    For 4:2:0 frames no picture is converted to RGB: a channel's difference is ΔY + δ_c with δ_c a
    linear function of the chroma differences at half the size. Luma is a mean of the channels, so
    max_c δ_c ≥ 0 ≥ min_c δ_c, and max_c |ΔY + δ_c| = max(ΔY + max_c δ_c, −ΔY − min_c δ_c) can be
    had from saturating sums of bytes. Exact to two grey levels.
    """
    if layout.kind == "gray":
        return np.asarray(cv2.absdiff(layout.luma(row), layout.luma(own)), dtype=np.uint8)
    if layout.kind == "bgr":
        blue, green, red = cv2.split(cv2.absdiff(layout.to_bgr(row), layout.to_bgr(own)))
        return np.asarray(cv2.max(cv2.max(blue, green), red), dtype=np.uint8)
    (luma, *chroma), (luma_own, *chroma_own) = layout.planes(row), layout.planes(own)
    highest, lowest = _chroma_reach(layout, chroma, chroma_own)
    more, less = cv2.subtract(luma, luma_own), cv2.subtract(luma_own, luma)
    above = cv2.subtract(cv2.add(more, highest, dst=highest), less, dst=highest)
    below = cv2.subtract(cv2.add(less, lowest, dst=lowest), more, dst=lowest)
    return np.asarray(cv2.max(above, below, dst=above), dtype=np.uint8)


def _chroma_reach(layout: Layout, chroma: list[Bytes], own: list[Bytes]) -> tuple[Bytes, Bytes]:
    """Compute max_c δ_c and −min_c δ_c for every pixel of the frame, in grey levels."""
    blue, red, high, low, none = scratch("chroma", (5, *layout.chroma_shape), np.int16)
    np.subtract(chroma[0], own[0], out=blue, dtype=np.int16)
    np.subtract(chroma[1], own[1], out=red, dtype=np.int16)
    weights = np.rint(to_bgr_matrix(layout.matrix)[:, 1:3] * (1 << _FIXED_POINT)).astype(np.int16)
    # Blue does not depend on V, nor red on U: each becomes its channel in place, after green.
    green = np.multiply(blue, weights[1, 0], out=high)
    green += np.multiply(red, weights[1, 1], out=low)
    blue *= weights[0, 0]
    red *= weights[2, 1]
    np.minimum(green, blue, out=low)
    np.maximum(green, blue, out=high)
    # None as an array: NumPy compares with a single number several times more slowly.
    none[:] = 0
    for channel in (red, none):
        np.minimum(low, channel, out=low)
        np.maximum(high, channel, out=high)
    return _double(high, layout, 1), _double(low, layout, -1)


def _double(plane: NDArray[np.int16], layout: Layout, sign: int) -> Bytes:
    """Round fixed-point numbers of one sign, halves up, and repeat each over 2×2 pixels."""
    unit = sign / (1 << _FIXED_POINT)
    levels = cv2.convertScaleAbs(plane, alpha=unit, beta=abs(unit) / 2)
    return doubled(levels.astype(np.uint8, copy=False))[: layout.height, : layout.width]


def difference_picture(largest: Bytes, gain: float) -> Bytes:
    """Return gain·max_c |x − x_b|, clipped to 255; shape (h, w)."""
    return np.asarray(cv2.convertScaleAbs(largest, alpha=gain), dtype=np.uint8)


def signed_difference(layout: Layout, row: Bytes, own: Bytes, *, wrap: bool) -> Bytes:
    """Return 128 + x − x_b, as a picture or as a vector in the layout.

    With `wrap` modulo 256, so that x = foreground + x_b − 128 (mod 256) is exact, as lossless
    formats want it; clipped otherwise, as eyes want it.
    """
    if wrap or layout.kind == "bgr":
        row, own = layout.to_bgr(row), layout.to_bgr(own)
    if wrap:
        return row - own + np.uint8(128)
    shape = row.shape if row.ndim > 1 else (1, row.size)
    signed = cv2.addWeighted(row.reshape(shape), 1.0, own.reshape(shape), -1.0, 128.0)
    return np.asarray(signed, dtype=np.uint8).reshape(row.shape)


def cutout(layout: Layout, row: Bytes, mask: Bytes) -> Bytes:
    """Return x where the mask is set, black elsewhere, as a picture or a vector in the layout."""
    if layout.kind != "yuv420":
        picture = layout.to_bgr(row)
        return np.asarray(cv2.bitwise_and(picture, picture, mask=mask), dtype=np.uint8)
    cut = np.full_like(row, 128)
    luma, *chroma = layout.planes(cut)
    _, *colors = layout.planes(row)
    np.bitwise_and(layout.luma(row), mask, out=luma)
    for plane, color in zip(chroma, colors, strict=True):
        np.copyto(plane, color, where=mask[::2, ::2] > 0)
    return cut
