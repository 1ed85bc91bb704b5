"""The size that scores are made at, and the memory that learning them takes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from bgsub.outliers.scorer_learning import FrameWeights, ScorerLearner
from bgsub.outliers.scorer_size import scorer_bytes, shrink, shrink_inside, shrinking
from bgsub.runtime.threads import Workers
from bgsub.video.frames import Layout


@pytest.mark.parametrize(("height", "width", "factor"), [(240, 320, 1), (540, 720, 2)])
def test_learning_keeps_to_what_is_announced(height: int, width: int, factor: int) -> None:
    n, k = 120, 2
    rng = np.random.default_rng(0)
    fitted = FrameWeights(
        np.full(n, 1 / n), rng.normal(size=(n, k)) / n, rng.normal(size=(n, k)), np.ones(n, bool)
    )
    block = rng.integers(0, 256, (8, height * width), dtype=np.uint8)
    assert shrinking(height, width) == factor
    with Workers(1) as workers:
        tracemalloc.start()
        try:
            learner = ScorerLearner(fitted, Layout("gray", height, width), None, workers)
            for start in range(0, n, 8):
                learner.add(start, block)
            passing = tracemalloc.get_traced_memory()[1]
            learner.finish()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    while_frames_pass, at_the_end = scorer_bytes(height * width, n, k, 1)
    assert passing <= 1.1 * while_frames_pass
    assert 0.6 * at_the_end <= peak <= 1.05 * at_the_end


def test_large_pictures_are_shrunk_by_means() -> None:
    assert shrinking(240, 320) == 1
    assert shrinking(720, 1280) == 3
    picture = np.arange(7 * 8, dtype=np.uint8).reshape(7, 8)
    small = shrink(picture, 3)
    assert small.shape == (2, 2)
    assert small[0, 0] == picture[:3, :3].mean()


def test_squares_count_all_pixels_of_which_count() -> None:
    shape = (720, 1280)
    inside = np.ones(shape, bool)
    inside[:, :100] = False
    small = shrink_inside(inside, shape)
    assert small.shape == (240, 426)
    assert not small[:, :34].any()
    assert small[:, 34:].all()
    assert shrink_inside(None, shape).shape == (240, 426)


def test_where_no_square_counts_as_a_whole_the_best_ones_do() -> None:
    inside = np.zeros((720, 1280), bool)
    inside[3:5, 3:5] = inside[9:11, 9:12] = True
    assert np.argwhere(shrink_inside(inside, inside.shape)).tolist() == [[3, 3]]
