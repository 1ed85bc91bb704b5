"""Find the frames that are clean in a part of the picture: TRPCA of rank 0 in overlapping tiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from bgsub.robustpca.median import column_median
from bgsub.video.frames import Bytes

Singles = NDArray[np.float32]

_TILE = 16
"""Side of a tile in pixels, for pictures of up to 640×360; in proportion above."""

_SAMPLES = 8
_ROUNDS = 8


def coarseness(height: int, width: int) -> int:
    """Factor by which tiles and regions grow with the picture: 1 up to 640×360, 2 at 1280×720."""
    return max(1, round(float(np.sqrt(height * width / (640 * 360)))))


@dataclass(frozen=True, eq=False)
class CleanFrames:
    """Which frames of a sample are clean where.

    In a scene that is never empty most frames are clean in any one small tile. Four tilings, each
    shifted by half a tile, are blended by a tent, so that no seams show.

    Attributes
    ----------
    shape : tuple of int
        Height and width of the pictures.
    tile : int
        Side of a tile in pixels.
    supports : list of ndarray of uint8, shape (n, rows, columns)
        Per tiling: 255 where the frame belongs to the clean half of the tile.
    """

    shape: tuple[int, int]
    tile: int
    supports: list[Bytes]

    def weights(self, some: slice = slice(None)) -> Iterator[Bytes]:
        """Give how clean some frames are at every pixel, 0 to 252, (h, w); memory is reused."""
        height, width = self.shape
        shifts, tile = self._shifts(), self.tile
        tents = [self._tent(*support.shape[1:]) for support in self.supports]
        total, parts = np.empty(self.shape, np.uint8), [np.empty_like(tent) for tent in tents]
        for frame in range(len(self.supports[0]))[some]:
            total[:] = 0
            for (down, right), tent, part, support in zip(
                shifts, tents, parts, self.supports, strict=True
            ):
                across = np.repeat(support[frame], tile, axis=1)[:, None]
                np.bitwise_and(across, tent, out=part)
                shown = part.reshape(-1, part.shape[2])[down : down + height]
                cv2.add(total, shown[:, right : right + width], dst=total)
            yield total

    def _shifts(self) -> list[tuple[int, int]]:
        half = self.tile // 2
        return [(down, right) for down in (0, half) for right in (0, half)]

    def _tent(self, rows: int, columns: int) -> Bytes:
        """Weight of a tiling of so many tiles, shape (rows, tile, width).

        Those of all four sum to 252 or a little less.
        """
        tile = self.tile
        one = (tile / 2 - np.abs(np.arange(tile) - (tile - 1) / 2)) / (tile / 2)
        weights = (252 * np.outer(one, one)).astype(np.uint8)
        return np.tile(weights, (rows, columns)).reshape(rows, tile, -1)


def find_clean_frames(
    luma: Bytes, fraction: float = 0.5, each: Callable[..., Iterable[Bytes]] = map
) -> CleanFrames:
    """Fit the trimmed centre of every tile: the mean of the half of the frames nearest to it.

    Parameters
    ----------
    luma : ndarray of uint8, shape (n, h, w)
    fraction : float
        Share of the frames that is kept.
    each : callable, optional
        `map`, or `Workers.map`: each tiling is long work of its own.

    Returns
    -------
    CleanFrames

    Notes
    -----
    TRPCA of rank 0, that is least trimmed squares for a centre: start from the median, then
    alternate between the t nearest frames and their mean. All tiles at once.
    """
    n, height, width = luma.shape
    tile = _TILE * coarseness(height, width)
    step = tile // _SAMPLES
    fewer = np.ascontiguousarray(luma[:, ::step, ::step])
    median = column_median(fewer.reshape(n, -1)).reshape(fewer.shape[1:]).astype(np.float32)
    keep = int(np.ceil(n * fraction))
    shifts = [(down, right) for down in (0, _SAMPLES // 2) for right in (0, _SAMPLES // 2)]

    def trim(shift: tuple[int, int]) -> Bytes:
        return _trim(_cut(fewer, shift), _cut(median[None], shift), keep)

    return CleanFrames((height, width), tile, list(each(trim, shifts)))


def _cut(pictures: NDArray[np.uint8] | Singles, shift: tuple[int, int]) -> Singles:
    """Tiles of `_SAMPLES` squared values, shape (rows, columns, n, values)."""
    _, height, width = pictures.shape
    pad = [(s, -(side + s) % _SAMPLES) for s, side in zip(shift, (height, width), strict=True)]
    wide = np.pad(pictures, [(0, 0), *pad], mode="edge")
    n, rows, columns = len(wide), wide.shape[1] // _SAMPLES, wide.shape[2] // _SAMPLES
    blocks = wide.reshape(n, rows, _SAMPLES, columns, _SAMPLES).transpose(1, 3, 0, 2, 4)
    return blocks.reshape(rows, columns, n, _SAMPLES**2).astype(np.float32)


def _trim(tiles: Singles, start: Singles, keep: int) -> Bytes:
    """Support of the trimmed centre of every tile, shape (n, rows, columns)."""
    center = start[:, :, 0]
    squares = np.einsum("yxnp,yxnp->yxn", tiles, tiles)
    old = None
    for _ in range(_ROUNDS):
        # |x|² − 2 x·c; |c|² is the same for all frames of a tile.
        errors = squares - 2 * np.matmul(tiles, center[..., None])[..., 0]
        nearest = np.argpartition(errors, keep - 1, axis=2)[..., :keep]
        support = np.zeros(errors.shape, np.float32)
        np.put_along_axis(support, nearest, 1.0, axis=2)
        if old is not None and np.array_equal(support, old):
            break
        old = support
        center = np.matmul(support[:, :, None], tiles)[:, :, 0] / keep
    return np.ascontiguousarray((support * 255).astype(np.uint8).transpose(2, 0, 1))


def trimmed_mean(
    pictures: Bytes,
    clean: CleanFrames,
    each: Callable[..., Iterable[tuple[Singles, Singles]]] = map,
) -> Singles:
    """Mean of the clean frames at every pixel.

    Parameters
    ----------
    pictures : ndarray of uint8, shape (n, h, w, 3)
    clean : CleanFrames
    each : callable, optional
        `map`, or `Workers.map`: each half of the frames is long work of its own.

    Returns
    -------
    ndarray of float32, shape (h, w, 3)
    """

    def sum_up(some: slice) -> tuple[Singles, Singles]:
        sums = np.zeros(pictures.shape[1:], np.float32)  # of whole numbers: in any order the same
        total = np.zeros(pictures.shape[1:3], np.float32)
        for picture, weight in zip(pictures[some], clean.weights(some), strict=True):
            cv2.accumulateProduct(picture, cv2.merge([weight] * 3), sums)
            cv2.accumulate(weight, total)
        return sums, total

    half = -(-len(pictures) // 2)
    (sums, total), more = each(sum_up, [slice(half), slice(half, None)])
    sums += more[0]
    total += more[1]
    sums /= np.maximum(total, 1.0)[..., None]
    return sums


def clean_shares(labels: Bytes, clean: CleanFrames, layers: int) -> Singles:
    """Share of the clean frames at every pixel that each of the first layers explains.

    Parameters
    ----------
    labels : ndarray of uint8, shape (n, h, w)
    clean : CleanFrames
    layers : int
        K.

    Returns
    -------
    ndarray of float32, shape (K, h, w)
    """
    sums = np.zeros((layers, *labels.shape[1:]), np.float32)
    total = np.zeros(labels.shape[1:], np.float32)
    for shown, weight in zip(labels, clean.weights(), strict=True):
        cv2.accumulate(weight, total)
        for k in range(layers):
            cv2.accumulate(weight, sums[k], (shown == k).view(np.uint8))
    sums /= np.maximum(total, 1.0)
    return sums
