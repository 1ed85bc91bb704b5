import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgsub.robustpca import gram, gram_tiles
from bgsub.robustpca.gram import gram_matrix
from bgsub.runtime.pool import ThreadPool


@given(n=st.integers(1, 60), rows=st.integers(1, 70))
def test_tiles_cover_the_upper_triangle_once(n, rows):
    seen = np.zeros((n, n), int)
    for upper, left in gram_tiles.tiles(n, rows):
        seen[upper, left] += 1
    assert (seen[np.triu_indices(n)] == 1).all()
    K = np.triu(np.arange(n * n).reshape(n, n).astype(float))
    full = np.triu(K) + np.triu(K, 1).T
    K[seen == 0] = -1
    inside = np.where(seen, full, -1.0)
    gram_tiles.mirror(inside, rows)
    np.testing.assert_array_equal(inside, full)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("bright", [False, True])
def test_the_sum_by_tiles_has_the_same_bits(threads, bright, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(90, 140, (150, 9000)).astype(np.uint8)
    if bright:  # blocks that are cut
        X[::2] = 255
        X[1::3] = 0
    whole = gram_matrix(X)
    done = []
    monkeypatch.setattr(gram, "TILE_ROWS", 40)
    tiled = gram_matrix(X, threads=threads, progress=lambda now, total: done.append((now, total)))
    np.testing.assert_array_equal(tiled.values, whole.values)
    np.testing.assert_array_equal(tiled.offset, whole.offset)
    assert (tiled.cut_blocks, tiled.blocks) == (whole.cut_blocks, whole.blocks)
    assert (whole.cut_blocks > 0) is bright
    assert done[-1] == (9000, 9000)


def test_nothing_of_its_size_is_made_beside_it():
    n = 1500
    pieces = [np.ones((n, 40), np.float32)]
    tracemalloc.start()
    try:
        K = np.zeros((n, n))
        with ThreadPool(2) as pool:
            gram_tiles.add_products(K, pieces, pool, 200)
        gram_tiles.mirror(K, 200)
        assert tracemalloc.get_traced_memory()[1] < 8 * n**2 + 2 * 13 * 200**2 + n * 400
    finally:
        tracemalloc.stop()
    assert (K == 40).all()
