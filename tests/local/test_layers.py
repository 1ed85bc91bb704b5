"""Layers are named by their colours."""

import numpy as np

from bgsub.local.layers import color_of


def test_the_colour_of_a_label_is_that_of_its_layer():
    rng = np.random.default_rng(0)
    colors = rng.integers(0, 256, (4, 6, 7, 3), dtype=np.uint8)
    label = rng.integers(0, 4, (6, 7))
    for y, x in np.ndindex(6, 7):
        assert (color_of(colors, label)[y, x] == colors[label[y, x], y, x]).all()
