"""Places of a picture are those that NumPy finds, and boxes hold them with what is around."""

import numpy as np
import pytest

from bgsub.local.positions import box_around, positions


@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_positions_are_those_of_nonzero(share):
    flags = np.random.default_rng(0).random((7, 11)) < share
    for given in (flags, flags.astype(np.uint8) * 255):
        for own, other in zip(positions(given), np.nonzero(given), strict=True):
            np.testing.assert_array_equal(own, other)


@pytest.mark.parametrize(
    ("at", "box"),
    [
        (np.s_[3:5, 6:9], (slice(1, 7), slice(4, 11))),
        (np.s_[0:1, 0:2], (slice(0, 3), slice(0, 4))),
        (np.s_[9:10, 11:12], (slice(7, 12), slice(9, 14))),
    ],
)
def test_a_box_ends_at_the_picture(at, box):
    region = np.zeros((10, 12), np.bool_)
    region[at] = True
    assert box_around(region, 2) == box
    assert region[box].sum() == region.sum()
