"""What is learned of a scene, whoever does which part of it."""

import numpy as np
import pytest

from bgsub.local import learning
from bgsub.local.model import LocalModel
from bgsub.local.params import DEFAULTS
from bgsub.runtime.threads import Workers


@pytest.fixture
def pictures():
    """A box that passes and its shadow, in a light that changes now and then."""
    rng = np.random.default_rng(6)
    pictures = np.full((30, 48, 64, 3), 120.0) + rng.normal(0, 2, (30, 48, 64, 3))
    for i, picture in enumerate(pictures):
        picture[20:32, 2 * i : 2 * i + 8] = 30
        picture[32:36, 2 * i : 2 * i + 8] *= 0.5
        picture[:] *= 1 - 0.2 * (i % 7 == 3)
    return np.clip(np.rint(pictures), 0, 255).astype(np.uint8)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_learn_the_same_of_large_pictures(pictures, monkeypatch, threads):
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
            scene.halo,
            usual,
        )

    alone = learned()
    small = len(asked)
    monkeypatch.setattr(learning, "WORTH_A_THREAD", 1)
    for one, other in zip(alone, learned(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(asked) == 2 * small + 5


def test_few_frames_in_the_dark_are_left_out_and_the_history_says_so():
    """The model is that of the other frames."""
    rng = np.random.default_rng(4)
    place = np.kron(rng.uniform(40, 200, (6, 8)), np.ones((8, 8)))[..., None] * np.ones(3)
    frames = np.repeat(place[None], 30, axis=0)
    frames[26:] *= 0.3
    frames = np.clip(np.rint(frames + rng.normal(0, 1, frames.shape)), 0, 255).astype(np.uint8)
    with Workers(1) as workers:
        found = LocalModel.fit(frames.copy(), workers=workers)
        without = LocalModel.fit(frames[:26].copy(), workers=workers)
    (state,) = found.history.states
    assert (state["sample_frames"], state["share"]) == (26, 1)
    (note,) = (note for note in found.history.notes if "not learned from" in note)
    assert "4 of 30 sampled frames" in note
    for name, array in without.arrays().items():
        if name != "local_history":
            np.testing.assert_array_equal(found.arrays()[name], array, err_msg=name)
