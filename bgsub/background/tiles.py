"""Products of scores and components, a tile of pixels at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Singles = NDArray[np.float32]

_TILE = 1 << 14


def tiles(size: int, step: int = _TILE) -> list[slice]:
    """Cut columns into tiles whose float32 work stays in the cache."""
    return [slice(start, min(start + step, size)) for start in range(0, size, step)]


def combined(scores: Singles, components: Singles, out: Singles | None = None) -> Singles:
    """Return scores @ components, shape (m, b).

    A single component is not left to `np.matmul`, which takes ten times as long for it as for the
    same products element by element.
    """
    if components.shape[0] == 1:
        return np.multiply(scores, components, out=out)
    return np.matmul(scores, components, out=out)
