"""The background of one state."""

import numpy as np

from bgsub.local.scene import Scene


def test_grain_is_interpolated_between_the_middles_of_levels():
    shares = np.ones(16, np.float32)
    shares[1] = 0.5  # levels 16 to 31
    size = (4, 4)
    colors, restless = np.zeros((1, *size, 3), np.uint8), np.zeros(size, np.uint8)
    scene = Scene(colors, restless, 3.0, [], grain=2.0, grain_shares=shares)
    assert scene.grain_by_level.shape == (256,)
    assert scene.grain_by_level[[0, 8, 24, 40, 255]].tolist() == [2.0, 2.0, 1.0, 2.0, 2.0]
    assert 1.0 < scene.grain_by_level[30] < 2.0
    assert (Scene(colors, restless, 3.0, []).grain_by_level == 3.0).all()


def test_noise_that_pixels_share_is_a_part_of_their_grain():
    colors, restless = np.zeros((1, 4, 4, 3), np.uint8), np.zeros((4, 4), np.uint8)
    scene = Scene(colors, restless, 3.0, [], grain=2.0, shared=0.5)
    assert scene.noise_by_level.shape == (2, 256)
    assert (scene.noise_by_level == np.array([[2.0], [0.5]])).all()
    unknown = Scene(colors, restless, 3.0, [], grain=2.0)
    assert (unknown.noise_by_level == 2.0).all()
