"""The blobs of a mask, and how far each stands out."""

import numpy as np

from bgsub.local.blobs import find_blobs
from bgsub.local.scoring import UNIT


def test_an_empty_mask_has_none():
    assert find_blobs(np.zeros((9, 12), np.uint8), np.full((9, 12), 40, np.uint8)) == ()


def test_blobs_say_where_they_are_and_how_far_they_stand_out():
    mask, mean = np.zeros((20, 30), np.uint8), np.zeros((20, 30), np.uint8)
    mask[2:6, 3:10] = 255
    mask[12:14, 20:22] = mask[14, 22] = 255  # corners touch: one blob
    mean[2:6, 3:10], mean[12:15, 20:23] = UNIT, 2 * UNIT
    mean[2:6, 3] = 0
    one, two = find_blobs(mask, mean)
    assert (one.x, one.y, one.area, one.cx, one.cy) == (3, 2, 28, 6.0, 3.5)
    assert one.strength == 6 / 7
    assert two.inside.tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    assert (two.x, two.y, two.area, two.strength) == (20, 12, 5, 2.0)


def test_together_the_blobs_are_the_mask():
    rng = np.random.default_rng(0)
    mask = (255 * (rng.random((40, 50)) < 0.3)).astype(np.uint8)
    drawn = np.zeros_like(mask)
    for blob in find_blobs(mask, mask):
        down, across = blob.inside.shape
        drawn[blob.y : blob.y + down, blob.x : blob.x + across] += 255 * blob.inside
        assert blob.area == blob.inside.sum()
    np.testing.assert_array_equal(drawn, mask)
