import numpy as np

from bgsub.background.local.model import LocalModel
from bgsub.background.local.turbulence import BAND, level_band


def flickering(scenes):
    """A screen that shows any brightness, and somebody who passes before it in the end."""
    rng = np.random.default_rng(2)
    frames, truths = [], []
    for i in range(scenes.frames):
        frame, truth = scenes.place(), np.zeros(scenes.shape, bool)
        frame[10:50, 20:70] = rng.uniform(60, 200) + rng.uniform(-15, 15, (40, 1, 1))
        if i >= 70:
            scenes.put(frame, truth, 25, 8 * (i - 70), scenes.thing())
        frames.append(frame)
        truths.append(truth)
    return scenes.finish(frames), truths


def test_what_flickers_through_all_levels_is_background(scenes, learn):
    frames, truths = flickering(scenes)
    model = learn(frames)
    assert model.scenes[0].band is not None
    masks = [model.mask(frame) for frame in frames]
    assert np.mean(masks[:70]) < 0.02 * 255
    assert scenes.f_measure(masks[70:], truths[70:]) > 0.7
    again = LocalModel.from_arrays(model.arrays())
    for frame, mask in zip(frames[::11], masks[::11], strict=True):
        np.testing.assert_array_equal(again.mask(frame), mask)


def test_a_calm_place_has_no_band(passing):
    assert passing.model.scenes[0].band is None


def test_the_band_leaves_out_rare_levels_at_both_ends():
    levels = np.arange(101, dtype=np.uint8)[np.random.default_rng(0).permutation(101)]
    pictures = np.broadcast_to(levels[:, None, None, None], (101, 2, 3, 3))
    where = np.array([[True, False, True], [False, False, False]])
    low, high = level_band(pictures, where, np.full((2, 3, 3), 7, np.uint8))
    assert (low[where] == round(100 * BAND[0])).all()
    assert (high[where] == round(100 * BAND[1])).all()
    assert (low[~where] == 7).all()
    assert (high[~where] == 7).all()
