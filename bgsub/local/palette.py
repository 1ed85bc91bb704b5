"""Collect the colours that all of a turbulent place shows again and again: see `turbulence`.

A curtain or a shop window may show any of its colours at any of its pixels, and throughout the
film; those of a visitor are seen in few parts of the film.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bgsub.local.positions import positions
from bgsub.video.frames import Bytes

CELL = 32
"""Side of a place in pixels, for pictures of up to 640×360; in proportion above."""

PARTS = 10
"""Parts of the film in which a colour is seen or not."""

_OFTEN = 0.6
"""Share of the parts that show a colour of the place, at least."""

_BITS = 5
_LEVELS = 1 << _BITS
COLORS = _LEVELS**3
"""Colours that are told apart, by the upper five bits of each channel."""
_STEP = 256 // _LEVELS


@dataclass(frozen=True, eq=False)
class Palette:
    """The colours of some places.

    Attributes
    ----------
    cells : ndarray of int16, shape (h, w)
        Number of the place that a pixel belongs to, -1 where there is none.
    distances : ndarray of uint8, shape (places, 32768)
        Grey levels from every colour, of 5 bits a channel, to the nearest one of the place.
    """

    cells: NDArray[np.int16]
    distances: Bytes

    @classmethod
    def from_arrays(
        cls,
        cells: NDArray[np.int16] | None,
        distances: Bytes | None,
        shape: tuple[int, ...],
    ) -> Palette | None:
        """Give the palette of these arrays, None without them.

        Raises
        ------
        ValueError
            If they do not fit each other or pictures of that shape.
        """
        if cells is None or distances is None:
            return None
        if cells.shape != shape or cells.dtype != np.int16:
            raise ValueError(cells.shape)
        if cells.size and not -1 <= int(cells.min()) <= int(cells.max()) < len(distances):
            raise ValueError(cells.shape)
        if distances.shape[1:] != (COLORS,) or distances.dtype != np.uint8:
            raise ValueError(distances.shape)
        return cls(cells, distances)

    def at_rows(self, rows: NDArray[np.int64]) -> Palette:
        """Give the palette of these rows, in their order."""
        return Palette(self.cells[rows], self.distances)

    def keep_apart(self, distance: Bytes, picture: Bytes, other: Bytes) -> None:
        """Raise distances of pixels of a place to those from the place's colours.

        Parameters
        ----------
        distance : ndarray of uint8, shape (h, w)
            Overwritten.
        picture : ndarray of uint8, shape (h, w, 3)
        other : ndarray of uint8, shape (h, w)
            Distances that count instead where they are smaller.
        """
        at = np.flatnonzero((distance < other) & (self.cells >= 0))
        if at.size:
            cells = self.cells.ravel()[at]
            found = self.distances[cells, _numbers(picture.reshape(-1, 3)[at])]
            flat = distance.reshape(-1)
            flat[at] = np.maximum(flat[at], found)


def _numbers(colors: Bytes) -> NDArray[np.int32]:
    """Number of every colour among those of 5 bits a channel."""
    blue, green, red = ((colors[..., k] >> (8 - _BITS)).astype(np.int32) for k in range(3))
    return np.asarray((blue << 2 * _BITS) | (green << _BITS) | red, dtype=np.int32)


def find_palette(pictures: Bytes, where: NDArray[np.bool_], coarse: int) -> Palette:
    """Collect the colours that some places show throughout the film.

    Parameters
    ----------
    pictures : ndarray of uint8, shape (n, h, w, 3)
        In order of time.
    where : ndarray of bool, shape (h, w)
        What belongs to a place, in one pixel at least.
    coarse : int
        Factor by which places grow with the picture.

    Returns
    -------
    Palette
    """
    y, x = positions(where)
    side = CELL * coarse
    _, own = np.unique((y // side) * (where.shape[1] // side + 1) + x // side, return_inverse=True)
    cells = np.full(where.shape, -1, np.int16)
    cells[y, x] = own
    # Few scenes have such places, and the import takes as long as the masks of many frames.
    from scipy.ndimage import distance_transform_cdt

    places = int(own.max()) + 1
    offsets = own.astype(np.int32) * COLORS
    parts = [part for part in np.array_split(np.arange(len(pictures)), PARTS) if part.size]
    seen = np.zeros(places * COLORS, np.uint8)
    for part in parts:
        here = np.zeros_like(seen)
        for i in part.tolist():
            here[offsets + _numbers(pictures[i][y, x])] = 1
        seen += here
    usual = (seen >= _OFTEN * len(parts)).reshape(places, _LEVELS, _LEVELS, _LEVELS)
    distances = np.empty((places, COLORS), np.uint8)
    for colors, far in zip(usual, distances, strict=True):
        steps = distance_transform_cdt(~colors, "chessboard") if colors.any() else _LEVELS
        # Colours a step apart may be next to each other or nearly two steps apart.
        far[:] = np.clip(_STEP * np.ravel(steps) - _STEP // 2, 0, 255)
    return Palette(cells, distances)
