"""What is learned of a scene, whoever does which part of it."""

import numpy as np
import pytest

from bgsub.local import learning, light
from bgsub.local.params import DEFAULTS
from bgsub.runtime.threads import Workers


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_learn_the_same_of_large_pictures(monkeypatch, threads):
    rng = np.random.default_rng(6)
    pictures = np.full((30, 48, 64, 3), 120.0) + rng.normal(0, 2, (30, 48, 64, 3))
    for i, picture in enumerate(pictures):
        picture[20:32, 2 * i : 2 * i + 8] = 30
        picture[32:36, 2 * i : 2 * i + 8] *= 0.5
    pictures = np.clip(np.rint(pictures), 0, 255).astype(np.uint8)
    asked = []

    class Counted(Workers):
        def map(self, function, items):
            asked.append(function)
            return super().map(function, items)

    def learned():
        with Counted(threads) as workers:
            scenes, usual, *_ = learning.learn_scenes(pictures.copy(), workers, 0, None, DEFAULTS)
        scene = scenes[0]
        return (
            scene.noise,
            scene.contrast,
            scene.grain_shares,
            scene.darkest,
            scene.shade,
            scene.weak_inside,
            usual,
        )

    alone = learned()
    assert light.thumbnail not in asked
    monkeypatch.setattr(learning, "WORTH_A_THREAD", 1)
    for one, other in zip(alone, learned(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert asked.count(light.thumbnail) == 2
