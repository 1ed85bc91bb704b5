"""Draw a sample of the frames of a film that is spread evenly over it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def sample_rows(n_frames: int, n_sample: int, seed: int) -> NDArray[np.int64]:
    """Draw one frame at random from each of equal stretches; all frames where they are no more.

    Parameters
    ----------
    n_frames, n_sample : int
    seed : int

    Returns
    -------
    ndarray of shape (min(n_frames, n_sample),), increasing
    """
    if n_sample >= n_frames:
        return np.arange(n_frames)
    edges = np.arange(n_sample + 1) * n_frames // n_sample
    return np.asarray(np.random.default_rng(seed).integers(edges[:-1], edges[1:]), dtype=np.int64)
