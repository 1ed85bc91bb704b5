"""Sum up the Gram matrix of many frames on the workers of a cluster, tile by tile.

The frames lie in a file of the shared folder, in blocks of pixels: of each block the rows of a tile
are read at once. A tile is that of `bgsub.robustpca.gram_tiles` to the bit, since sums of integers
are exact, and comes back as a file, which another try of the same tile may replace.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgsub.cluster.pool import Pool, Task
from bgsub.errors import BgsubError, InputError, cannot_write
from bgsub.fit.frame_fit import GramMaker
from bgsub.robustpca.gram import ColumnReader, Gram, block_columns, exact_pieces, gram_matrix
from bgsub.robustpca.gram_tiles import TILE_ROWS, Tile, mirror, tiles
from bgsub.robustpca.median import column_median
from bgsub.runtime.temporary import alone_in, make_folder

_FRAMES, _MEDIANS = "frames.u1", "medians.u1"


@dataclass(frozen=True)
class SharedFrames:
    """Frames in a file, block of pixels by block, and the medians of their pixels.

    Attributes
    ----------
    folder : str
    n, p, step : int
        Frames, pixels, and pixels of a block.
    """

    folder: str
    n: int
    p: int
    step: int

    def blocks(self, tile: Tile) -> Iterator[tuple[NDArray[np.float32], int]]:
        """Give the pixels of the rows of a tile, and below them of its columns, less the medians.

        Yields
        ------
        ndarray of shape (a + b, c), float32
        int
            a.
        """
        folder = Path(self.folder)
        medians = np.fromfile(folder / _MEDIANS, np.uint8)
        with (folder / _FRAMES).open("rb") as file:
            for start in range(0, self.p, self.step):
                width = min(self.step, self.p - start)
                parts = [_rows(file, start * self.n, part, width) for part in tile]
                both = np.concatenate(parts).astype(np.float32)
                both -= medians[start : start + width].astype(np.float32)
                yield both, len(parts[0])


def _rows(file: Any, offset: int, part: slice, width: int) -> NDArray[np.uint8]:
    file.seek(offset + part.start * width)
    count = (part.stop - part.start) * width
    data = np.fromfile(file, np.uint8, count)
    if data.size < count:
        raise InputError(f"{file.name}: is cut off; do all workers see the same folder?")
    return data.reshape(-1, width)


def write_frames(reader: ColumnReader, folder: Path) -> tuple[SharedFrames, NDArray[np.uint8]]:
    """Write frames where all workers find them, and give the medians of their pixels."""
    n, p = reader.shape
    step = block_columns(n)
    medians = np.empty(p, np.uint8)
    with (folder / _FRAMES).open("wb") as file:
        for start in range(0, p, step):
            block = np.ascontiguousarray(reader.columns(start, min(start + step, p)))
            medians[start : start + step] = column_median(block)
            file.write(block.data)
    medians.tofile(folder / _MEDIANS)
    return SharedFrames(str(folder.absolute()), n, p, step), medians


def _sum_tile(frames: dict[str, Any], tile: tuple[int, int, int, int]) -> str:
    """Sum up a tile on a worker, and give the name of the file that it is in.

    Notes
    -----
    Memory: 12ab bytes for a tile of a rows and b columns, and a few blocks.
    """
    shared = SharedFrames(**frames)
    rows, columns = slice(*tile[:2]), slice(*tile[2:])
    total = np.zeros((rows.stop - rows.start, columns.stop - columns.start))
    for both, split in shared.blocks((rows, columns)):
        for piece in exact_pieces(both):
            total += piece[:split] @ piece[split:].T
    name = f"{rows.start}-{columns.start}.f8"
    partial = Path(shared.folder) / f".{name}.{os.getpid()}.{id(total)}"
    total.tofile(partial)
    partial.replace(Path(shared.folder) / name)
    return name


def cluster_gram(pool: Pool, out: Path, rows: int = TILE_ROWS) -> GramMaker:
    """Give what makes a Gram matrix on a cluster, with a hidden folder in `out` meanwhile.

    Frames that are one tile are summed here.
    """
    return functools.partial(_gram, pool, out, rows)


def _gram(
    pool: Pool,
    out: Path,
    rows: int,
    X: ColumnReader,
    /,
    *,
    threads: int,
    progress: Callable[[int, int], None],
    apart: Sequence[slice],
) -> Gram:
    n, p = X.shape
    if n <= rows or apart:
        return gram_matrix(X, threads=threads, progress=progress, apart=apart)
    try:
        with alone_in(out):
            claim = make_folder(out)
        try:
            frames, medians = write_frames(X, claim.path)
            K = np.zeros((n, n))
            cut = tiles(n, rows)
            tasks = [_task(frames, tile) for tile in cut]
            for done, (place, reply) in enumerate(pool.do(tasks), start=1):
                if isinstance(reply, BaseException):
                    raise _failure(reply)
                tile = K[cut[place]]
                path = claim.path / reply
                tile[...] = np.fromfile(path).reshape(tile.shape)
                path.unlink()
                progress(done * p // len(tasks), p)
        finally:
            claim.remove()
    except OSError as error:
        raise cannot_write(out, error) from error
    mirror(K, rows)
    return Gram(K, medians, p, 0, -(-p // frames.step))


def _task(frames: SharedFrames, tile: Tile) -> Task:
    upper, left = tile
    edges = (upper.start, upper.stop, left.start, left.stop)
    return Task(_sum_tile, (asdict(frames), edges), "bgsub-gram")


def _failure(error: BaseException) -> BaseException:
    if isinstance(error, (BgsubError, KeyboardInterrupt)):
        return error
    message = f"a tile of the Gram matrix failed on a worker ({type(error).__name__}: {error})"
    return BgsubError(message)
