"""Compute the exact Gram matrix of many frames by tiles: blocks of frames against blocks of frames.

A tile has the same bits on whatever thread it is summed, and where sums of integers are exact, on
whatever machine and in whatever order. Only tiles on and above the diagonal are summed, and
nothing of n² numbers is kept besides K itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgsub.runtime.pool import ThreadPool

TILE_ROWS = 2048
"""Rows of a tile: its product in float32 takes 16 MiB."""

Tile = tuple[slice, slice]
"""Rows and columns of K."""


def tiles(n: int, rows: int) -> list[Tile]:
    """Cut the upper triangle of an n×n matrix into tiles of so many rows, the last ones smaller."""
    parts = [slice(start, min(start + rows, n)) for start in range(0, n, rows)]
    return list(combinations_with_replacement(parts, 2))


def add_products(
    K: NDArray[np.float64],
    pieces: Iterable[NDArray[np.floating[Any]]],
    pool: ThreadPool,
    rows: int,
) -> None:
    """Add AAᵀ of some pieces of a block to the upper triangle of K, each tile on one thread.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Changed in place.
    pieces : iterable of ndarray of shape (n, c), float32 or float64
        See `bgsub.robustpca.gram.exact_pieces`.
    pool : ThreadPool
    rows : int
        Of a tile.
    """
    for piece in pieces:

        def add(tile: Tile, piece: NDArray[np.floating[Any]] = piece) -> None:
            upper, left = tile
            K[upper, left] += piece[upper] @ piece[left].T

        pool.map(add, tiles(len(K), rows))


def mirror(K: NDArray[np.float64], rows: int) -> None:
    """Copy the tiles above the diagonal of K to those below."""
    for upper, left in tiles(len(K), rows):
        if upper != left:
            K[left, upper] = K[upper, left].T
