import numpy as np
import pytest

from bgsub.robustpca.row_blocks import centred_blocks, row_blocks


@pytest.mark.parametrize(("n", "p"), [(7, 3), (1, 1), (2, 1 << 21), (3000, 1000)])
def test_row_blocks_cover_every_row_once(n, p):
    rows = np.concatenate([np.arange(n)[block] for block in row_blocks(n, p)])
    np.testing.assert_array_equal(rows, np.arange(n))


def test_centred_blocks_are_float64():
    X = np.array([[0, 255], [10, 3]], dtype=np.uint8)
    ((rows, block),) = centred_blocks(X, np.array([5, 5], dtype=np.uint8))
    assert block.dtype == np.float64
    np.testing.assert_array_equal(block, [[-5.0, 250.0], [5.0, -2.0]])
    assert rows == slice(0, 2)
