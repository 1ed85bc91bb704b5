"""From centre, components and scores to pictures: background, residual, foreground, preview."""

from __future__ import annotations

from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.background.model import BackgroundModel, Singles, tiles
from bgsub.video.frames import Bytes, Layout

FRAME_BLOCK = 32
"""Frames that go through a matrix product together, on every road, so that all give equal bits."""

ForegroundStyle = Literal["abs", "signed", "cutout"]


class PlaneSums:
    """m = Σ w_j x_j and U = Σ B_j x_j over all planes of the frames, as the frames pass by.

    Σ w_j = 1 and the columns of B sum to zero, so the sums may run over x_j − x_1, whose rounding
    errors in float32 are those of the differences and not of the levels.

    Parameters
    ----------
    weights : ndarray of shape (n,)
        w.
    basis : ndarray of shape (n, k)
        B.
    size : int
        Bytes of a frame.

    Notes
    -----
    4(k+1)·size bytes; 2(k+1)·size operations per frame.
    """

    def __init__(self, weights: NDArray[np.float64], basis: NDArray[np.float64], size: int) -> None:
        self._weights = np.column_stack([weights, basis]).T.astype(np.float32)
        self._sums = np.zeros((self._weights.shape[0], size), dtype=np.float32)
        self._first: Bytes | None = None

    def add(self, start: int, rows: Bytes) -> None:
        """Add the frames start, start + 1, …; shape (m, size). Blocks must come in order."""
        if self._first is None:
            self._first = rows[0].copy()
        weights = np.ascontiguousarray(self._weights[:, start : start + len(rows)])
        for tile in tiles(rows.shape[1]):
            difference = np.subtract(rows[:, tile], self._first[tile], dtype=np.float32)
            self._sums[:, tile] += weights @ difference

    def result(self) -> tuple[Singles, Singles]:
        """Centre (size,) and components (k, size)."""
        if self._first is None:
            message = "no frame was added"
            raise ValueError(message)
        return self._sums[0] + self._first, self._sums[1:]


class OutsideMask:
    """Where the pixels left out by a mask image lie in a frame's vector.

    Parameters
    ----------
    layout : Layout
    pixel_mask : ndarray of shape (h, w), bool, or None
        True where pixels take part; None for all.
    """

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


def reconstruct(model: BackgroundModel, scores: NDArray[np.float64]) -> Bytes:
    """x_b = m + Uy, rounded to grey levels and clipped to 0..255.

    Parameters
    ----------
    model : BackgroundModel
    scores : ndarray of shape (m, k)

    Returns
    -------
    ndarray of uint8, shape (m, size)
    """
    size = model.layout.size
    short = scores.astype(np.float32)
    background = np.empty((len(scores), size), dtype=np.uint8)
    for tile in tiles(size):
        levels = short @ model.components[:, tile]
        levels += model.center[tile]
        np.rint(levels, out=levels)
        np.clip(levels, 0.0, 255.0, out=levels)
        np.copyto(background[:, tile], levels, casting="unsafe")
    return background


def residual(picture: Bytes, background: Bytes) -> tuple[Bytes, Bytes]:
    """|x − x_b| of two pictures, per channel and as the largest channel difference.

    Parameters
    ----------
    picture, background : ndarray of uint8, shape (h, w) or (h, w, 3)

    Returns
    -------
    difference : ndarray of uint8, shape of the input
    largest : ndarray of uint8, shape (h, w)
    """
    difference = np.asarray(cv2.absdiff(picture, background), dtype=np.uint8)
    if difference.ndim == 2:
        return difference, difference
    blue, green, red = cv2.split(difference)
    return difference, np.asarray(cv2.max(cv2.max(blue, green), red), dtype=np.uint8)


def foreground(
    style: ForegroundStyle,
    picture: Bytes,
    background: Bytes,
    difference: Bytes,
    mask: Bytes | None,
    *,
    gain: float,
    wrap: bool,
) -> Bytes:
    """The foreground as a picture.

    Parameters
    ----------
    style : {"abs", "signed", "cutout"}
        ``abs``: gain·|x − x_b|. ``signed``: 128 + x − x_b. ``cutout``: x where the mask is set,
        black elsewhere.
    picture, background, difference : ndarray of uint8, shape (h, w) or (h, w, 3)
    mask : ndarray of uint8, shape (h, w)
        0 or 255; only for ``cutout``.
    gain : float
        Only for ``abs``.
    wrap : bool
        Only for ``signed``: modulo 256, so that x = foreground + x_b − 128 (mod 256) is exact, as
        lossless formats want it; clipped otherwise, as eyes want it.
    """
    if style == "abs":
        return np.asarray(cv2.convertScaleAbs(difference, alpha=gain), dtype=np.uint8)
    if style == "signed":
        if wrap:
            return picture - background + np.uint8(128)
        return np.asarray(cv2.addWeighted(picture, 1.0, background, -1.0, 128.0), dtype=np.uint8)
    return np.asarray(cv2.bitwise_and(picture, picture, mask=mask), dtype=np.uint8)


def preview(
    pictures: dict[str, Bytes], number: int, time_s: float, score: float | None, *, outlier: bool
) -> Bytes:
    """Input, background, foreground and mask in one picture, with the frame's number.

    Parameters
    ----------
    pictures : dict of str to ndarray of uint8, shape (h, w) or (h, w, 3)
        Four panels by caption, all of one size.
    number : int
        Of the frame, from 1.
    time_s : float
        Seconds.
    score : float or None
        Robust z-score of the frame's error.
    outlier : bool
        Adds a red bar with the word OUTLIER, so that the mark does not rest on its colour alone.

    Returns
    -------
    ndarray of uint8, shape (H, W, 3), both even
    """
    height, width = next(iter(pictures.values())).shape[:2]
    factor = max(1.0, 320.0 / width) if width < 640 else 640.0 / width
    size = (2 * round(width * factor / 2), 2 * round(height * factor / 2))
    way = cv2.INTER_AREA if factor < 1 else cv2.INTER_NEAREST
    tiles_ = []
    for caption, picture in pictures.items():
        colored = cv2.cvtColor(picture, cv2.COLOR_GRAY2BGR) if picture.ndim == 2 else picture
        tile = np.asarray(cv2.resize(colored, size, interpolation=way), dtype=np.uint8)
        _write(tile, caption, (6, 16))
        tiles_.append(tile)
    grid = np.vstack([np.hstack(tiles_[:2]), np.hstack(tiles_[2:])])
    bar = np.full((28, grid.shape[1], 3), 40, dtype=np.uint8)
    text = f"frame {number}   {time_s:.2f} s"
    if score is not None:
        text += f"   score {score:.1f}"
    if outlier:
        bar[:] = (0, 0, 190)
        text += "   OUTLIER"
    _write(bar, text, (8, 20))
    return np.vstack([bar, grid])


def _write(picture: Bytes, text: str, at: tuple[int, int]) -> None:
    """White letters on a dark box, which are read on any picture."""
    (width, height), below = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 0.5, 1)
    corner = (at[0] - 3, at[1] - height - 3)
    cv2.rectangle(picture, corner, (at[0] + width + 3, at[1] + below), (0, 0, 0), cv2.FILLED)
    cv2.putText(
        picture, text, at, cv2.FONT_HERSHEY_SIMPLEX, 0.5, (255, 255, 255), 1, cv2.LINE_AA
    )
