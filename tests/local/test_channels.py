"""The highest channel of pictures."""

import numpy as np
import pytest

from bgsub.local.channels import highest_channel, largest_difference, squared_distance


def test_the_highest_channel_and_the_largest_difference():
    one, other = np.random.default_rng(3).integers(0, 256, (2, 7, 9, 3), dtype=np.uint8)
    assert np.array_equal(highest_channel(one), one.max(axis=2))
    apart = np.abs(one.astype(int) - other).max(axis=2)
    assert np.array_equal(largest_difference(one, other), apart)


def test_a_grey_picture_has_one_channel():
    one, other = np.random.default_rng(4).integers(0, 256, (2, 7, 9), dtype=np.uint8)
    assert np.array_equal(highest_channel(one), one)
    assert np.array_equal(largest_difference(one, other), np.abs(one.astype(int) - other))


@pytest.mark.parametrize("channels", [1, 3])
def test_squared_distances_are_whole_numbers(channels):
    one, other = np.random.default_rng(5).integers(0, 256, (2, 7, 9, channels), dtype=np.uint8)
    apart = np.square(one.astype(int) - other).sum(axis=2)
    assert np.array_equal(squared_distance(one, other), apart)
