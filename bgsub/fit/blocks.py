"""Choose how many frames are worked on together, from the size of a frame alone.

The number must not depend on the memory limit, the storage or the threads, or sums would be
rounded in another order and the results would differ in their last bits.
"""

from __future__ import annotations

RENDER_ROWS = 16
"""Small frames that are reconstructed together; tests set it lower, so that clips have blocks."""

SUM_BLOCKS = 4
"""Such blocks that are summed together, of small frames."""

CHUNK_BYTES = 64 * 2**20
"""Bytes of a chunk of a frame matrix, about."""

_RENDER_BYTES = 64 * 2**20
_SUM_BYTES = 128 * 2**20
_QUEUE_FRAMES = 8
# Small frames come in blocks, faster than an encoder takes them: as many wait as these bytes hold.
_QUEUE_BYTES, _MOST_QUEUED = 2 * 2**20, 64


def render_rows(size: int) -> int:
    """Return how many frames of so many bytes are reconstructed together."""
    return max(1, min(RENDER_ROWS, _RENDER_BYTES // size))


def sum_rows(size: int) -> int:
    """Return how many fitted frames are summed together, a multiple of `render_rows`."""
    rows = render_rows(size)
    return rows * max(1, min(SUM_BLOCKS, _SUM_BYTES // (rows * size)))


def chunk_bytes(size: int) -> int:
    """Return the bytes of a chunk of a frame matrix, such that no block lies across two chunks."""
    block = sum_rows(size) * size
    return block * max(1, CHUNK_BYTES // block)


def queue_frames(size: int) -> int:
    """Return the most frames that wait for an encoder."""
    small = min(_MOST_QUEUED, _QUEUE_BYTES // size)
    return max(2, small, min(_QUEUE_FRAMES, _RENDER_BYTES // size))
